//! Which charts a run has, and what is in them. Never draws, and never thins out without saying
//! so beside the chart.

mod course;
mod latency;
mod load;
mod timeline;

use inferometer_analysis::summary::Summary;

use crate::chart::{Across, Chart, Panel, Series, Spacing};
use crate::label;
use crate::plot::Axis;
use crate::trace::{LatencyKind, PassTrace, Traces};

pub(crate) use course::course;
pub(crate) use latency::{cumulative, histogram, tail_table};

/// The name of a pass's place in a page: the `pass`th of the `cell`th cell, from 0.
pub(crate) fn pass_id(cell: usize, pass: usize) -> String {
    format!("pass-{}-{}", cell + 1, pass + 1)
}

/// The name of the place of a latency's distribution in a page.
pub(crate) fn latency_id(cell: usize, pass: usize, kind: LatencyKind) -> String {
    format!("{}-{}", pass_id(cell, pass), kind.name())
}

/// The charts of a run as a whole, each of which is a file too: the load curve, the latencies of
/// its passes beside each other, and its time line. Without traces there is only what a summary
/// holds.
#[must_use]
pub fn of_run(summary: &Summary, traces: &Traces) -> Vec<Chart> {
    let mut charts = load::charts(summary);
    charts.extend(
        LatencyKind::ALL.iter().filter_map(|kind| latency::over_passes(summary, traces, *kind)),
    );
    charts.extend(timeline::chart(summary, traces));
    for chart in &mut charts {
        chart.notice = label::notice(summary);
    }
    charts
}

/// How many points a line of a pass may have, so that a page of many passes stays small.
pub(crate) fn points_of_a_pass(traces: &Traces) -> usize {
    (4_800 / traces.all().count().max(1)).clamp(48, 300)
}

/// A time axis.
fn seconds(title: &str) -> Across {
    Across { axis: Axis::new(title, "s"), spacing: Spacing::Linear, named: Vec::new() }
}

/// A panel that begins at zero.
fn panel(title: &str, unit: &str, height: f64, series: Vec<Series>) -> Panel {
    Panel { axis: Axis::new(title, unit), spacing: Spacing::Linear, ends: None, height, series }
}

/// The beginning of a pass on the axis of its run, in seconds.
fn begin_s(traces: &Traces, trace: &PassTrace) -> Option<f64> {
    let first = traces.all().filter_map(|trace| Some(trace.window?.0)).min()?;
    Some(trace.window?.0.seconds_after(first))
}
