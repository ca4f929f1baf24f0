//! Tests how much longer requests take on an engine that is slightly slower.

use inferometer_engine::fit::runs::{RunFigures, simulate_run, simulate_slower};
use inferometer_model::load::PassPlan;

use crate::test_rows;

#[test]
fn a_slower_engine_has_a_higher_tpot_and_even_more_so_near_its_capacity() {
    let runs = test_rows();
    let change = |rate: f64| -> [f64; 5] {
        let is_it = |pass: &PassPlan| pass.constant_load() == Some(rate);
        let run = runs.iter().find(|run| run.set.starts_with("resid") && is_it(&run.pass));
        let run = run.expect("a run at this rate");
        let at = |factor| {
            let figures =
                simulate_slower(&run.config, &run.pass, factor, |block| run.requests(block));
            figures.expect("a run").expect("an open load")
        };
        let of = |figures: RunFigures| figures.values().map(|figure| figure.expect("a figure"));
        assert_eq!(of(at(1.0)), of(simulate_run(&run.config.profile, run).expect("a run")));
        let (same, slower) = (of(at(1.0)), of(at(1.05)));
        std::array::from_fn(|figure| slower[figure] / same[figure])
    };
    let (low, near) = (change(2.0), change(10.0));
    // All requests are served, so requests/s stay the same.
    assert!(low[0] > 0.99 && near[0] > 0.99, "{low:?} {near:?}");
    assert!(low[1] > 1.05 && low[1] < 1.08, "{low:?}");
    assert!(near[1] > 1.08, "{near:?}");
}
