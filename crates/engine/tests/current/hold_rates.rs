//! Ranges state the share of measured figures that they contain. Tests that this share is about right, by fit and by
//! set.

#[path = "../../examples/hold_rates/rows.rs"]
mod rows;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use inferometer_engine::profile::profiles;
use rows::{Counted, Fit, Predicted, counted, predict_all};

static ROWS: LazyLock<Vec<Predicted>> = LazyLock::new(|| predict_all().expect("rows that play"));

/// The counts of each set.
fn by_set(rows: &[Predicted], fit: Fit) -> BTreeMap<String, Counted> {
    let mut sets: BTreeMap<String, Vec<&Predicted>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.fit == fit) {
        sets.entry(row.run.set.clone()).or_default().push(row);
    }
    let count = |rows: Vec<&Predicted>| counted(rows.iter().flat_map(|row| row.figures).flatten());
    sets.into_iter().map(|(set, rows)| (set, count(rows))).collect()
}

#[test]
fn calibrated_ranges_contain_at_least_85_percent_of_figures_and_not_all_of_left_out_rows() {
    let least = 85;
    // `fewest` is the least number of figures with a calibrated range.
    for (fit, fewest) in [(Fit::Fitted, 195), (Fit::HalfLeftOut, 195), (Fit::Test, 48)] {
        let sets = by_set(&ROWS, fit);
        let [mut inside, mut all] = [0, 0];
        for (set, counted) in &sets {
            let [of_set, figures] = counted.calibrated;
            // In each set, one more figure may be outside by chance.
            assert!(100 * (of_set + 1) >= least * figures, "{fit:?} {set}: {of_set} of {figures}");
            inside += of_set;
            all += figures;
        }
        assert!(all >= fewest, "{fit:?}: {all} figures are calibrated");
        assert!(100 * inside >= least * all, "{fit:?}: {inside} of {all}");
        // Ranges that are too wide would contain all figures.
        let is_wide = fit == Fit::HalfLeftOut && 100 * inside > 97 * all;
        assert!(!is_wide, "{fit:?}: {inside} of {all}");
    }
}

/// Profiles state the errors of fits without half of the rows. The stored constants must come from these fits.
#[test]
fn stored_constants_of_fits_without_half_the_rows_have_the_errors_that_profiles_state() {
    let mut compared = 0;
    for profile in profiles() {
        for table in &profile.provenance {
            let is_of_table = |row: &&Predicted| {
                row.fit == Fit::HalfLeftOut
                    && row.run.config.profile.name == profile.name
                    && row.run.config.model.name == table.table
                    && row.run.weights() == table.weights
            };
            let tpot = ROWS.iter().filter(is_of_table).filter_map(|row| row.figures[1]);
            let Some(found) = counted(tpot).median_error() else { continue };
            let stated = table.left_out_lengths["tpot_ms"].median;
            assert!((found - stated).abs() < 0.05, "{}: {found} {stated}", profile.name);
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
}
