//! Results for spreadsheets: a row per cell and pass, with every figure of a pass. Never rounds,
//! and never leaves a unit to be guessed: it stands in the name of the column.

use inferometer_core::outcome::OutcomeKind;
use inferometer_core::record::TokensFrom;
use inferometer_core::summary::{Cell, Distribution, PassSummary, Summary};

use crate::figure::{instrument_measures, measures};

/// One named value; an absent one is an empty field.
type Field = (String, String);

/// `cells.csv` after RFC 4180: a header, then a row per cell and pass, CRLF after each. Without
/// passes there is only an empty text, for the header names figures of passes.
#[must_use]
pub fn cells(summary: &Summary) -> String {
    let mut out = String::new();
    for cell in &summary.cells {
        for pass in &cell.passes {
            let fields = row(summary, cell, pass);
            if out.is_empty() {
                out += &line(fields.iter().map(|(name, _)| name.as_str()));
            }
            out += &line(fields.iter().map(|(_, value)| value.as_str()));
        }
    }
    out
}

/// Every figure of one pass, with whose it is.
fn row(summary: &Summary, cell: &Cell, pass: &PassSummary) -> Vec<Field> {
    let target = &summary.target;
    let unit = if pass.blocks.is_some() { "characters" } else { "tokens" };
    let mut fields = vec![
        field("run_id", &summary.run_id),
        field("model", &target.model),
        field("engine", target.engine.as_deref().unwrap_or_default()),
        field("engine_version", target.engine_version.as_deref().unwrap_or_default()),
        field("simulated", target.simulated),
        field("predicted", summary.predicted),
        field(&format!("input_length_{unit}"), cell.input_length),
        field(&format!("output_length_{unit}"), cell.output_length),
        field("pass", pass.kind.name()),
        field("load", &pass.load),
        field("repeat", pass.repeat),
        optional("concurrency_requests", pass.concurrency),
        optional("rate_requests_per_s", pass.rate),
        field("planned_requests", pass.planned),
    ];
    fields.extend(
        OutcomeKind::ALL
            .map(|kind| field(&format!("{}_requests", kind.name()), pass.outcomes.of(kind))),
    );
    fields.extend([
        number("duration_s", pass.duration_s),
        number("requests_per_s", pass.requests_per_s),
        field("input_tokens", pass.input_tokens),
        field("output_tokens", pass.output_tokens),
        number("output_tokens_per_s", pass.output_tokens_per_s),
        field("tokens_from", pass.tokens_from.map_or("", tokens_from)),
        field("peak_concurrency_requests", pass.peak_concurrency),
        number("mean_concurrency_requests", pass.mean_concurrency),
    ]);
    let steady = pass.steady_state.as_ref();
    fields.extend([
        number("steady_startup_s", steady.map(|steady| steady.startup_s)),
        number("steady_duration_s", steady.map(|steady| steady.duration_s)),
        number("steady_drain_s", steady.map(|steady| steady.drain_s)),
        number("steady_requests_per_s", steady.map(|steady| steady.requests_per_s)),
        number("steady_output_tokens_per_s", steady.map(|steady| steady.output_tokens_per_s)),
    ]);
    let goodput = pass.goodput.as_ref();
    fields.extend([
        optional("goodput_met_requests", goodput.map(|goodput| goodput.met)),
        number("goodput_requests_per_s", goodput.and_then(|goodput| goodput.requests_per_s)),
        number("slo_attainment", goodput.and_then(|goodput| goodput.attainment)),
    ]);
    for measure in measures(pass).into_iter().chain(instrument_measures(pass)) {
        distribution(&mut fields, measure.name, measure.unit, measure.values);
    }
    let instrument = &pass.instrument;
    fields.extend([
        field("reads", instrument.reads),
        field("kernel_stamped_reads", instrument.kernel_stamped_reads),
        field("coalesced_events", instrument.coalesced_events),
    ]);
    fields
}

/// The parts of a distribution, the unit last in each name.
fn distribution(out: &mut Vec<Field>, name: &str, unit: &str, values: Option<&Distribution>) {
    let mut part = |part: &str, value: Option<f64>| {
        out.push(number(&format!("{name}_{part}_{unit}"), value));
    };
    part("mean", values.map(|d| d.mean));
    part("mean_lo", values.and_then(|d| d.mean_ci).map(|ci| ci[0]));
    part("mean_hi", values.and_then(|d| d.mean_ci).map(|ci| ci[1]));
    part("p50", values.map(|d| d.p50));
    part("p50_lo", values.and_then(|d| d.p50_ci).map(|ci| ci[0]));
    part("p50_hi", values.and_then(|d| d.p50_ci).map(|ci| ci[1]));
    part("p90", values.map(|d| d.p90));
    part("p95", values.and_then(|d| d.p95));
    part("p99", values.map(|d| d.p99));
    part("p99_lo", values.and_then(|d| d.p99_ci).map(|ci| ci[0]));
    part("p99_hi", values.and_then(|d| d.p99_ci).map(|ci| ci[1]));
    part("p999", values.and_then(|d| d.p999));
    part("max", values.map(|d| d.max));
    out.push(optional(&format!("{name}_n"), values.map(|d| d.n)));
    out.push(optional(&format!("{name}_exact"), values.map(|d| d.exact)));
}

/// The name of a source of counts, as JSON has it.
pub(crate) fn tokens_from(source: TokensFrom) -> &'static str {
    match source {
        TokensFrom::Usage => "usage",
        TokensFrom::Tokenizer => "tokenizer",
        TokensFrom::Events => "events",
    }
}

fn field(name: &str, value: impl ToString) -> Field {
    (name.to_owned(), value.to_string())
}

fn optional(name: &str, value: Option<impl ToString>) -> Field {
    (name.to_owned(), value.map_or_else(String::new, |value| value.to_string()))
}

fn number(name: &str, value: Option<f64>) -> Field {
    optional(name, value.filter(|value| value.is_finite()))
}

/// One line; a field is quoted when it holds a comma, a quote or a line end.
fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = fields
        .map(|text| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        })
        .collect();
    format!("{}\r\n", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_with_a_comma_a_quote_or_a_line_end_is_quoted() {
        assert_eq!(
            line(["plain", "a,b", "say \"x\"", "two\nlines"].into_iter()),
            "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\r\n"
        );
    }
}
