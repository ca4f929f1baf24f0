//! The charts of a live view: values over time, and the distributions of latencies. The report crate
//! draws the charts.

use std::time::Duration;

use inferometer_analysis::so_far::SoFar;
use inferometer_model::{Nanos, stats::histogram::Histogram};
use inferometer_report::chart::{Axis, Chart, Extent, Panel, Scale, Series, Shape};
use inferometer_report::plot::figure;

use minijinja::Value;

use crate::trusted;

/// The number of points of a line over time.
const MOMENTS: u32 = 80;
/// The number of columns of a distribution.
const COLUMNS: u32 = 40;
/// The height of a panel in pixels.
const HEIGHT: f64 = 110.0;

/// The chart of output tokens and requests in flight over the time of a pass, from the requests that have
/// ended; `None` if no request has ended.
pub(crate) fn over_time(pass: &SoFar) -> Option<Value> {
    let (from, until) = pass.window().filter(|(from, until)| until > from)?;
    let step = Some(until.since(from) / MOMENTS).filter(|step| !step.is_zero())?;
    let edges: Vec<Nanos> = (0..=MOMENTS).map(|at| from + step * at).collect();
    let moments = || edges[..MOMENTS as usize].iter().copied();
    let seconds = |at: Nanos| at.since(from).as_secs_f64();
    let steps = pass.in_flight.steps();
    let in_flight = |at: Nanos| {
        let before = steps.partition_point(|(begin, _)| *begin <= at);
        before.checked_sub(1).map_or(0.0, |last| steps[last].1 as f64)
    };
    let tokens = Series {
        x: moments().map(seconds).collect(),
        y: pass.tokens.between_each(&edges).iter().map(|of| of / step.as_secs_f64()).collect(),
        ..Series::new("output tokens/s", 0, Shape::Step)
    };
    let requests = Series {
        x: moments().map(seconds).collect(),
        y: moments().map(|at| in_flight(at + step / 2)).collect(),
        ..Series::new("in flight", 1, Shape::Step)
    };
    let x = Axis::new("Time in the pass", "s").with_extent(Extent::Values);
    let mut chart = Chart::new("live-time", "Over time", x);
    let note = "Only ended requests are shown, because requests in flight are not in the log yet.";
    chart.notes = vec![note.to_owned()];
    chart.panels = vec![
        Panel::new(Axis::new("Output", "tokens/s"), HEIGHT, vec![tokens]),
        Panel::new(Axis::new("In flight", "requests"), HEIGHT, vec![requests]),
    ];
    drawn(&chart)
}

/// A histogram of each metric of [`SoFar::drawn`], with a logarithmic axis.
pub(crate) fn distributions(pass: &SoFar) -> impl Iterator<Item = Value> {
    (2..).zip(pass.drawn()).filter_map(|(style_index, (metric, spans))| {
        let title = metric.title;
        let columns = columns(title, style_index, spans)?;
        let x = Axis::new(title, "ms").with_scale(Scale::Log).with_extent(Extent::Values);
        let heading = format!("{title}, {} values so far", spans.count());
        let mut chart = Chart::new(format!("live-{}", metric.name), heading, x);
        chart.panels = vec![Panel::new(Axis::new("Share", "%"), HEIGHT, vec![columns])];
        drawn(&chart)
    })
}

/// The columns of a histogram, from the first percentile to the maximum; `None` without values, or if the first
/// percentile is 0.
fn columns(name: &str, style_index: usize, spans: &Histogram) -> Option<Series> {
    let (low, high) = (spans.quantile(0.01).as_secs_f64(), spans.max().as_secs_f64());
    if spans.count() == 0 || low <= 0.0 {
        return None;
    }
    let (from, to) = (low * 0.96, high * 1.05);
    let edge = |at: u32| from * (to / from).powf(f64::from(at) / f64::from(COLUMNS));
    let up_to = |at: u32| spans.count_up_to(Duration::from_secs_f64(edge(at)));
    let share = |at: u32| 100.0 * (up_to(at + 1) - up_to(at)) as f64 / spans.count() as f64;
    let each = |of: &dyn Fn(u32) -> f64| (0..COLUMNS).map(of).collect::<Vec<f64>>();
    Some(Series {
        x: each(&|at| 1e3 * (edge(at) * edge(at + 1)).sqrt()),
        y: each(&share),
        left: each(&|at| 1e3 * edge(at)),
        right: each(&|at| 1e3 * edge(at + 1)),
        ..Series::new(name, style_index, Shape::Bars)
    })
}

fn drawn(chart: &Chart) -> Option<Value> {
    (!chart.is_empty()).then(|| trusted(figure(chart)))
}

/// A latency as text for people: `12.3 ms`, or in seconds from 10 s on.
pub(crate) fn ms(span: Duration) -> String {
    match span.as_secs_f64() * 1e3 {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 10_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    }
}
