//! Summarises how far predicted figures are from measured ones, by column over all cells.

use std::collections::BTreeMap;

use inferometer_model::stats::percentile;

use crate::Cell;
use crate::prediction::{Columns, ErrorSummary};

/// The distribution of the absolute errors of each column in percent, over all cells that have errors. `None` if no
/// cell is compared with measured values.
pub fn error_summaries(cells: &[Cell]) -> Option<BTreeMap<String, ErrorSummary>> {
    cells.iter().any(|cell| cell.prediction.measured.is_some()).then(|| errors(cells))
}

fn errors(cells: &[Cell]) -> BTreeMap<String, ErrorSummary> {
    let errors: Vec<[Option<f64>; 4]> =
        cells.iter().filter_map(|cell| Some(cell.prediction.error_pct?.values())).collect();
    let column = |(at, name): (usize, &str)| {
        let mut values: Vec<f64> = errors.iter().filter_map(|row| row[at]).map(f64::abs).collect();
        values.sort_unstable_by(f64::total_cmp);
        let max = *values.last()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (median, p90) = (percentile(&values, 0.5), percentile(&values, 0.9));
        Some((name.to_owned(), ErrorSummary { mean, median, p90, max }))
    };
    Columns::NAMES.into_iter().enumerate().filter_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell;
    use crate::prediction::CellPrediction;

    #[test]
    fn prediction_errors_are_signed_per_cell_and_absolute_in_the_summary() {
        let measured = Columns { requests_per_s: Some(10.0), ..Columns::default() };
        let cells = [8.0, 11.0, 13.0].map(|predicted| {
            let found = Columns { requests_per_s: Some(predicted), ..Columns::default() };
            let error_pct = Some(found.error_pct(&measured));
            let mut cell = cell::cell(1, 1, Vec::new());
            cell.prediction = CellPrediction { error_pct, ..CellPrediction::default() };
            cell
        });
        let signed = cells[0].prediction.error_pct.unwrap();
        assert!((signed.requests_per_s.unwrap() + 20.0).abs() < 1e-9);
        assert_eq!(signed.output_tokens_per_s, None);
        let summary = errors(&cells);
        assert_eq!(summary.len(), 1);
        let requests = summary["requests_per_s"];
        assert!((requests.mean - 20.0).abs() < 1e-9 && (requests.median - 20.0).abs() < 1e-9);
        assert!((requests.max - 30.0).abs() < 1e-9 && (requests.p90 - 28.0).abs() < 1e-9);
    }

    #[test]
    fn the_json_of_a_measured_cell_has_no_keys_of_predictions() {
        let text = serde_json::to_string(&cell::cell(1, 2, Vec::new())).unwrap();
        assert!(!text.contains("interval") && !text.contains("measured"), "{text}");
    }
}
