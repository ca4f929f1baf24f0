//! Results for spreadsheets: a row per pass, with the main figures of the pass. No figure is rounded, and the
//! name of a column contains its unit.

use std::fmt;

use inferometer_analysis::range::{Range, Trust};
use inferometer_analysis::{Cell, PassSummary, Summary, pass::further, trust};
use inferometer_model::stats::Distribution;
use inferometer_model::{Definition, OutcomeKind, Statistic, TokensFrom, visible};

use crate::measures::{Measure, instrument_measures, measures};

/// The name of a column and its value. An absent value is an empty field in CSV.
pub type Field = (String, Value);

/// A value that may be absent. The type is known in both cases.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(Option<String>),
    /// A whole number.
    Integer(Option<u64>),
    /// A finite number.
    Number(Option<f64>),
    /// True or false.
    Flag(Option<bool>),
}

/// The text of `cells.csv` (RFC 4180): a header, then a row per pass. Each line ends with CRLF. Without
/// passes the text is empty, because the header depends on the figures of passes.
pub fn cells(summary: &Summary) -> String {
    let mut writer = ::csv::WriterBuilder::new();
    let mut writer = writer.terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    let written = "invariant: memory can be written to, and all rows have the same fields";
    for (index, fields) in rows(summary).into_iter().enumerate() {
        if index == 0 {
            writer.write_record(fields.iter().map(|(name, _)| name)).expect(written);
        }
        let values = fields.iter().map(|(_, value)| value.to_string());
        writer.write_record(values).expect(written);
    }
    let bytes = writer.into_inner().expect(written);
    String::from_utf8(bytes).expect("invariant: every field is UTF-8 text")
}

/// The rows of `cells.csv` with typed values, one per pass. All rows have the same fields.
pub fn rows(summary: &Summary) -> Vec<Vec<Field>> {
    (0..)
        .zip(summary.passes())
        .map(|(number, (cell, pass))| row(summary, cell, (number, pass)))
        .collect()
}

/// The main figures of one pass, with its run, its cell, and its index in the run (the column `pass`, from 0).
fn row(summary: &Summary, cell: &Cell, (pass_index, pass): (u64, &PassSummary)) -> Vec<Field> {
    let target = &summary.target;
    // The client's error is unknown for predictions, imports, and results of earlier versions.
    let is_judged = summary.verdict.figures.is_some();
    let unit = if pass.blocks.is_some() { "characters" } else { "tokens" };
    let mut fields = vec![
        field("run_id", summary.run_id.as_str()),
        field("model", target.model.as_str()),
        field("engine", target.engine.as_deref()),
        field("engine_version", target.engine_version.as_deref()),
        field("simulated", target.simulated),
        field("predicted", summary.predicted),
        field(&format!("input_length_{unit}"), cell.input_length),
        field(&format!("output_length_{unit}"), cell.output_length),
        field("pass", pass_index),
        field("kind", pass.kind.name()),
        field("load", pass.load.as_str()),
        field("repeat", pass.repeat),
        field("concurrency_requests", pass.concurrency.map(u64::from)),
        number("rate_requests_per_s", pass.rate),
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
        field("tokens_from", pass.tokens_from.map(TokensFrom::name)),
        field("peak_concurrency_requests", pass.peak_concurrency),
        number("mean_concurrency_requests", pass.mean_concurrency),
    ]);
    for (name, figure) in
        [("requests", pass.requests_per_s), ("output_tokens", pass.output_tokens_per_s)]
    {
        error(&mut fields, name, "per_s", figure.filter(|_| is_judged), trust::rate(pass, figure));
    }
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
        field("goodput_met_requests", goodput.map(|goodput| goodput.met)),
        number("goodput_requests_per_s", goodput.and_then(|goodput| goodput.requests_per_s)),
        number("slo_attainment", goodput.and_then(|goodput| goodput.attainment)),
    ]);
    for measure in measures(pass).into_iter().chain(instrument_measures(pass)) {
        distribution(&mut fields, &measure.name, measure.unit, measure.values);
        if let Some(metric) = measure.metric {
            errors(&mut fields, &measure, metric, pass, is_judged);
        }
    }
    let instrument = &pass.instrument;
    fields.extend([
        field("reads", instrument.reads),
        field("kernel_stamped_reads", instrument.kernel_stamped_reads),
        field("coalesced_events", instrument.coalesced_events),
    ]);
    for (key, metric) in further() {
        let (figure, range) = (pass.figure(metric), trust::value(pass, metric));
        fields.push(number(key, figure));
        let stem = key.strip_suffix("_per_s");
        if let Some(stem) = stem {
            error(&mut fields, stem, "per_s", figure.filter(|_| is_judged), range);
        }
    }
    fields
}

/// Adds a field for each statistic of a distribution, for each end of its intervals, for the number of values, and for
/// whether the values are exact.
fn distribution(out: &mut Vec<Field>, name: &str, unit: &str, values: Option<&Distribution>) {
    let mut part = |part: String, value: Option<f64>| {
        out.push(number(&format!("{name}_{part}_{unit}"), value));
    };
    for statistic in Statistic::ALL {
        part(statistic.name().to_owned(), values.and_then(|d| statistic.of(d)));
        if matches!(statistic, Statistic::P95 | Statistic::P999 | Statistic::Max) {
            continue;
        }
        let interval = values.and_then(|d| statistic.interval(d));
        part(format!("{}_lo", statistic.name()), interval.map(|ci| ci[0]));
        part(format!("{}_hi", statistic.name()), interval.map(|ci| ci[1]));
    }
    out.push(field(&format!("{name}_n"), values.map(|d| d.n)));
    out.push(field(&format!("{name}_exact"), values.map(|d| d.exact)));
}

/// Adds the client's own error in the mean, the median and the 99th percentile. The fields are empty if the error is
/// not judged.
fn errors(
    out: &mut Vec<Field>,
    measure: &Measure<'_>,
    metric: &Definition,
    pass: &PassSummary,
    is_judged: bool,
) {
    for statistic in [Statistic::Mean, Statistic::P50, Statistic::P99] {
        let name = format!("{}_{}", measure.name, statistic.name());
        let figure = measure.values.filter(|_| is_judged).and_then(|of| statistic.of(of));
        error(out, &name, measure.unit, figure, trust::latency(pass, metric, statistic));
    }
}

/// Adds two fields: the largest error of the figure that the client can cause, and the resulting trust. They
/// are empty without a figure.
fn error(out: &mut Vec<Field>, name: &str, unit: &str, figure: Option<f64>, range: Option<Range>) {
    let off = figure.map(|figure| range.map_or(0.0, |range| range.off(figure)));
    let trust = figure.map(|_| range.map_or(Trust::Trusted, |range| range.trust));
    out.push(number(&format!("{name}_error_{unit}"), off));
    out.push(field(&format!("{name}_trust"), trust.map(Trust::name)));
}

fn field(name: &str, value: impl Into<Value>) -> Field {
    (name.to_owned(), value.into())
}

fn number(name: &str, value: Option<f64>) -> Field {
    (name.to_owned(), Value::Number(value.filter(|value| value.is_finite())))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(Some(value)) => visible::no_formula(value).fmt(f),
            Self::Integer(Some(value)) => value.fmt(f),
            Self::Number(Some(value)) => value.fmt(f),
            Self::Flag(Some(value)) => value.fmt(f),
            Self::Text(None) | Self::Integer(None) | Self::Number(None) | Self::Flag(None) => {
                Ok(())
            }
        }
    }
}

macro_rules! values_from {
    ($($type:ty => |$value:ident| $to:expr),+ $(,)?) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $to
            }
        })+
    };
}

values_from! {
    &str => |value| Self::Text(Some(value.to_owned())),
    Option<&str> => |value| Self::Text(value.map(str::to_owned)),
    u32 => |value| Self::Integer(Some(value.into())),
    u64 => |value| Self::Integer(Some(value)),
    Option<u64> => |value| Self::Integer(value),
    bool => |value| Self::Flag(Some(value)),
    Option<bool> => |value| Self::Flag(value),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_values_are_unchanged_except_formulas_and_absent_values_are_empty() {
        let values = [Value::from("a,b"), Value::Number(Some(0.1)), Value::Integer(None)];
        assert_eq!(values.map(|value| value.to_string()), ["a,b", "0.1", ""]);
        let values = [Value::from("=1+2"), Value::from("@x"), Value::Number(Some(-0.5))];
        assert_eq!(values.map(|value| value.to_string()), ["'=1+2", "'@x", "-0.5"]);
    }
}
