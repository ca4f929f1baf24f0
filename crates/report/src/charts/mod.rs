//! Selects the charts of a run, and creates them. Each module creates [`crate::chart::Chart`]s from results
//! and traces, and does not draw them. The notes of a chart state which data the chart reduces or leaves out.
//!
//! A new chart of a run needs a file here, its `mod` line and a line in `OF_RUN`. Reports and pages then show the
//! chart, because they use the results of [`of_run`]. A chart of a run is also written to a file. A chart with a line
//! for each pass shows at most seven lines at first, and names or counts the others, as `latency` does with the
//! functions of `choice`.

mod ab;
mod blocks;
mod choice;
mod course;
mod effects;
mod grid;
mod heat;
mod latency;
mod load;
mod objective;
mod positions;
mod search;
mod sweep;
mod timeline;
mod trend;

use inferometer_analysis::{Summary, compare::Trend};

use crate::chart::{Axis, Chart, Extent, Panel, Series};
use crate::{Traces, ab::AbDocument, comparison::Comparison, label, trace::PassTrace};

pub(crate) use course::course;
pub(crate) use latency::tail_table;

/// A function that creates charts of a run. Without traces, only the data of the summary is available.
type OfRun = fn(&Summary, &Traces) -> Vec<Chart>;

/// The charts of a run, in the order in which they are shown.
const OF_RUN: [OfRun; 8] = [
    search::charts,
    sweep::charts,
    blocks::charts,
    grid::charts,
    heat::charts,
    load::charts,
    latency::charts,
    timeline::charts,
];

/// The charts of a run as a whole; each of them is also a file.
pub fn of_run(summary: &Summary, traces: &Traces) -> Vec<Chart> {
    let charts = OF_RUN.iter().flat_map(|charts| charts(summary, traces)).collect();
    of(charts, std::slice::from_ref(summary))
}

/// The charts of several runs together: the charts of sweeps and of grids. For a single run, all its charts
/// that need no records.
pub fn of_several(summaries: &[Summary]) -> Vec<Chart> {
    match summaries {
        [summary] => of_run(summary, &Traces::default()),
        several => of([sweep::of_several(several), grid::of_several(several)].concat(), several),
    }
}

/// The charts of a plan with several servers: the effect of each argument.
pub fn of_comparison(comparison: &Comparison) -> Vec<Chart> {
    effects::charts(comparison)
}

/// The charts of a comparison of two servers in blocks.
pub fn of_ab(document: &AbDocument) -> Vec<Chart> {
    of(ab::charts(&document.ab), &document.runs)
}

/// The charts of a trend, one for each of its figures, but at most 16.
pub fn of_trend(trend: &Trend) -> Vec<Chart> {
    trend::charts(trend)
}

/// Sets the subject, the origin and the notice, which are the same for all charts of these runs.
fn of(mut charts: Vec<Chart>, summaries: &[Summary]) -> Vec<Chart> {
    for chart in &mut charts {
        chart.subject = label::subject(summaries);
        chart.origin = label::origin(summaries);
        chart.notice = label::notice_of_all(summaries);
    }
    charts
}

/// The HTML id of a pass in a page. The indices of the cell and of the pass count from 0, the numbers in
/// the id from 1.
pub(crate) fn pass_id(cell: usize, pass: usize) -> String {
    format!("pass-{}-{}", cell + 1, pass + 1)
}

/// The maximum number of points of a line in the chart of one pass, from 48 to 300. The more passes the page has,
/// the lower the number, so that the page stays small.
pub(crate) fn points_of_a_pass(traces: &Traces) -> usize {
    (1_600 / traces.all().count().max(1)).clamp(48, 300)
}

/// A time axis in seconds, from the smallest to the largest value.
fn seconds(title: &str) -> Axis {
    Axis::new(title, "s").with_extent(Extent::Values)
}

/// A panel whose vertical axis begins at zero.
fn panel(title: &str, unit: &str, height: f64, series: Vec<Series>) -> Panel {
    Panel::new(Axis::new(title, unit), height, series)
}

/// The seconds from the first send of the run to the first send of the pass; absent if the pass sent no
/// request.
fn begin_s(traces: &Traces, trace: &PassTrace) -> Option<f64> {
    let first = traces.all().filter_map(|trace| Some(trace.window?.0)).min()?;
    Some(trace.window?.0.seconds_after(first))
}
