//! The figures of a pass as data, so that every output lists the same ones under the same
//! names. No figure is computed here.

use inferometer_analysis::pass::PassSummary;
use inferometer_metrics::{Definition, registry};
use inferometer_stats::Distribution;

/// One distribution of a pass.
pub(crate) struct Measure<'a> {
    /// Its name without the unit, as machines read it: `ttft`.
    pub name: &'static str,
    /// Its name as people read it: `TTFT`.
    pub title: &'static str,
    /// `ms` or `us`.
    pub unit: &'static str,
    /// The values; absent when there are none.
    pub values: Option<&'a Distribution>,
}

/// The distributions that describe the server, in the order of the registry of metrics.
pub(crate) fn measures(pass: &PassSummary) -> Vec<Measure<'_>> {
    let measure = |(_, metric): (_, &'static Definition)| Measure {
        name: metric.name,
        title: metric.title,
        unit: "ms",
        values: pass.latency(metric),
    };
    registry::in_results().map(measure).collect()
}

/// The distributions that describe the instrument.
pub(crate) fn instrument_measures(pass: &PassSummary) -> Vec<Measure<'_>> {
    let us = |name, title, values| Measure { name, title, unit: "us", values };
    let instrument = &pass.instrument;
    vec![
        us("receive_lateness", "Receive lateness", instrument.receive_lateness_us.as_ref()),
        us("arrival_width", "Arrival width", instrument.arrival_width_us.as_ref()),
        us("ttft_bound", "TTFT error bound", instrument.ttft_bound_us.as_ref()),
        us("tpot_bound", "TPOT error bound", instrument.tpot_bound_us.as_ref()),
        us("itl_bound", "ITL error bound", instrument.itl_bound_us.as_ref()),
        us("e2e_bound", "E2E error bound", instrument.e2e_bound_us.as_ref()),
    ]
}
