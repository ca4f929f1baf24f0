//! The figures of a pass as data, so that every output lists the same ones under the same
//! names. No figure is computed here.

use inferometer_analysis::pass::PassSummary;
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

/// The distributions that describe the server, in the order of [`PassSummary`].
pub(crate) fn measures(pass: &PassSummary) -> Vec<Measure<'_>> {
    let ms = |name, title, values| Measure { name, title, unit: "ms", values };
    vec![
        ms("ttft", "TTFT", pass.ttft_ms.as_ref()),
        ms("tpot", "TPOT", pass.tpot_ms.as_ref()),
        ms("itl", "ITL", pass.itl_ms.as_ref()),
        ms("e2e", "E2E", pass.e2e_ms.as_ref()),
        ms("ttft_from_due", "TTFT from due", pass.ttft_from_due_ms.as_ref()),
        ms("e2e_from_due", "E2E from due", pass.e2e_from_due_ms.as_ref()),
        ms("send_delay", "Send delay", pass.send_delay_ms.as_ref()),
        ms("latency_per_token", "Latency per token", pass.latency_per_token_ms.as_ref()),
        ms(
            "latency_per_output_token",
            "Latency per output token",
            pass.latency_per_output_token_ms.as_ref(),
        ),
    ]
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
