//! Tests intervals of closed loops whose requests begin together and end together.

use inferometer_model::fixture::steady;
use inferometer_model::stats::seed;
use inferometer_model::{Bound, PassPlan, Timeline};

use super::{e2e_of, held_in};
use crate::PassFold;

#[test]
fn a_wave_of_requests_that_run_together_counts_as_little_more_than_one_of_them() {
    let plan = PassPlan::closed(32, Bound::requests(168));
    let (holds, stated) = held_in(|seed| {
        let (mut rng, mut fold) = (seed::rng(seed, &["together"]), PassFold::new(&plan));
        let (mut start_ms, mut gap_ms) = (0.0, 10.0);
        for index in 0..168 {
            if index % 32 == 0 {
                start_ms += 32.0 * gap_ms;
                gap_ms = 10.0 * (1.0 + 0.02 * seed::normal(&mut rng));
            }
            let mut record = steady(start_ms, gap_ms, gap_ms, 32);
            record.index = index;
            fold.add(&Timeline::new(&record));
        }
        let pass = fold.finish();
        let e2e = e2e_of(&pass);
        (e2e.mean, e2e.mean_ci)
    });
    assert!(stated == 200 && holds >= 180, "{holds} of {stated}");
}
