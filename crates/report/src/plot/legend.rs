//! Selects the series that a legend names.

use crate::chart::{Chart, Series};

/// The first series with each name, in the order in which series are drawn.
pub(super) fn entries(chart: &Chart) -> Vec<&Series> {
    let mut entries: Vec<&Series> = Vec::new();
    for series in chart.series() {
        if !entries.iter().any(|known| known.name == series.name) {
            entries.push(series);
        }
    }
    entries
}
