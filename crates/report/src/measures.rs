//! The distributions of a pass with their names, so that every output lists the same distributions under
//! the same names. No figure is computed here.

use std::borrow::Cow;

use inferometer_analysis::PassSummary;
use inferometer_model::{Definition, metrics::registry, stats::Distribution};

/// One distribution of a pass.
pub(crate) struct Measure<'a> {
    /// The name for programs, without the unit: `ttft`.
    pub name: Cow<'static, str>,
    /// The name for people: `TTFT`.
    pub title: Cow<'static, str>,
    /// The metric; absent for the distributions of [`instrument_measures`].
    pub metric: Option<&'static Definition>,
    /// The unit of the values in names: `ms`, `us` or `tokens_per_s`.
    pub unit: &'static str,
    /// The distribution; absent if the pass has no values.
    pub values: Option<&'a Distribution>,
}

/// The distributions of metrics: latencies of the server, and the send delay of the client. They have the order of
/// the registry of metrics.
pub(crate) fn measures(pass: &PassSummary) -> Vec<Measure<'_>> {
    let measure = |(_, metric): (_, &'static Definition)| Measure {
        name: metric.name.into(),
        title: metric.title.into(),
        metric: Some(metric),
        unit: metric.unit.in_names(),
        values: pass.latency(metric),
    };
    registry::in_results().map(measure).collect()
}

/// The other distributions that describe the client: how late data was read, how wide arrival intervals are, and the
/// error bounds of metrics.
pub(crate) fn instrument_measures(pass: &PassSummary) -> Vec<Measure<'_>> {
    let us = |name, title, values| Measure { name, title, metric: None, unit: "us", values };
    let instrument = &pass.instrument;
    let (late, width) = (&instrument.receive_lateness_us, &instrument.arrival_width_us);
    let mut measures = vec![
        us("receive_lateness".into(), "Receive lateness".into(), late.as_ref()),
        us("arrival_width".into(), "Arrival width".into(), width.as_ref()),
    ];
    measures.extend(registry::bounded().map(|(metric, _)| {
        let names = (format!("{}_bound", metric.name), format!("{} error bound", metric.title));
        us(names.0.into(), names.1.into(), instrument.bounds.bound(metric))
    }));
    measures
}
