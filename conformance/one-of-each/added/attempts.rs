//! The chart of planned requests by pass.

use inferometer_analysis::summary::Summary;

use crate::chart::{Axis, Chart, Series};
use crate::trace::Traces;

/// The chart of a run.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let (x, y) = (1..).zip(passes).map(|(at, pass)| (f64::from(at), pass.planned as f64)).unzip();
    let series = Series { name: "planned".to_owned(), x, y, ..Series::default() };
    let mut chart = Chart::new("attempts", "Planned requests by pass", Axis::new("Pass", ""));
    chart.panels = vec![super::panel("Requests", "", 170.0, vec![series])];
    vec![chart]
}
