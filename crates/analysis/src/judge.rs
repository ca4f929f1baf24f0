//! Judges objectives on the passes of a run.

use inferometer_model::metrics::slo::{Comparison, JudgedMetric, Objective};
use inferometer_model::{PassKind, Statistic, metrics::throughput};

use crate::range::{Range, Trust};
use crate::{Cell, PassSummary, predicted_range::predicted_range, trust, verdict::SloResult};

/// Judges each objective on each pass to which the objective applies.
///
/// An objective on throughput applies to the passes that load the server. It applies to one_by_one passes only if the
/// cell has no other kind of pass. All other objectives apply to every pass. If the pass lacks the figure, the
/// objective is not met if no request of the pass completed, and undecided otherwise. An objective on a predicted rate
/// or latency is decided only if the prediction states a calibrated range, and if the whole range lies on one side of
/// the limit.
pub fn judge(objectives: &[Objective], cells: &[Cell]) -> Vec<SloResult> {
    let mut results = Vec::new();
    for objective in objectives {
        for cell in cells {
            let loaded = cell.passes.iter().any(|pass| pass.kind != PassKind::OneByOne);
            for pass in &cell.passes {
                if applies_to(objective.metric, pass, loaded) {
                    results.push(judge_pass(objective, cell, pass));
                }
            }
        }
    }
    results
}

pub(crate) fn judge_pass(objective: &Objective, cell: &Cell, pass: &PassSummary) -> SloResult {
    let measured = measure(objective.metric, objective.statistic, pass);
    let figure = (objective.metric, objective.statistic);
    let range = measured.and_then(|value| predicted_range(figure, cell, pass, value));
    let (undecided, too_few) = match (measured, &range) {
        (Some(_), None) => (undecided(objective, pass), too_few(objective, pass)),
        (Some(_), Some(range)) => {
            let why = stopped(pass).or_else(|| range.leaves_open(objective));
            (why, too_few(objective, pass))
        }
        (None, _) => (not_measured(objective, pass), None),
    };
    let interval = match &range {
        Some(range) => range.ends,
        None => interval(objective, pass),
    };
    let in_its_unit = |value: f64| value / objective.unit.in_metric_units();
    SloResult {
        objective: objective.text.clone(),
        place: cell.place(pass),
        measured: measured.map(in_its_unit),
        interval: interval.map(|ends| ends.map(in_its_unit)),
        met: measured.is_some_and(|value| objective.comparison.holds(value, objective.limit)),
        undecided,
        too_few,
    }
}

/// The reason, as a sentence, why the result of an objective is uncertain. Two reasons are possible. One is that the
/// pass was ended early. The other is that the figure is not trusted, and the limit lies within the range of the true
/// value, or this range is unknown.
fn undecided(objective: &Objective, pass: &PassSummary) -> Option<String> {
    if let Some(why) = stopped(pass) {
        return Some(why);
    }
    let definition = objective.metric.definition();
    let is_upper = matches!(objective.comparison, Comparison::Below | Comparison::AtMost);
    let (range, why) = match objective.metric.is_distribution() {
        true => {
            let range = trust::latency(pass, definition, objective.statistic?);
            let why = match range {
                // A cache can only make TTFT smaller. So if an upper limit is missed with the cache, it is missed
                // without the cache, too.
                Some(Range { low, high, .. })
                    if low == high
                        && is_upper
                        && !objective.comparison.holds(high, objective.limit) =>
                {
                    return None;
                }
                Some(Range { low, high, .. }) if low == high => trust::SENT_BEFORE.to_owned(),
                _ => trust::why_of_latency(pass),
            };
            (range, why)
        }
        false if objective.metric.is_throughput() => {
            (trust::rate(pass, pass.figure(definition)), trust::why_of_rate(pass))
        }
        false => return None,
    };
    let range = range.filter(|range| range.trust != Trust::Trusted)?;
    let holds = |end| objective.comparison.holds(end, objective.limit);
    // If both ends are equal, the distance of the true value is unknown.
    let is_open = range.low == range.high || holds(range.low) != holds(range.high);
    let ends = match range.low == range.high {
        true => String::new(),
        false => {
            let [low, high] =
                [range.low, range.high].map(|end| end / objective.unit.in_metric_units());
            format!(", between {low:.3} and {high:.3} {}", objective.unit.name())
        }
    };
    is_open
        .then(|| format!("the true value may be on either side of the limit{ends}, because {why}"))
}

/// A sentence that the pass was ended early; `None` if it was not.
fn stopped(pass: &PassSummary) -> Option<String> {
    let why =
        "the pass was ended early, so the value covers only requests that had completed by then";
    pass.stopped.map(|_| why.to_owned())
}

/// The 95 % confidence interval of the measured figure, in the metric's unit.
fn interval(objective: &Objective, pass: &PassSummary) -> Option<[f64; 2]> {
    let metric = objective.metric.definition();
    match objective.statistic {
        Some(statistic) => statistic.interval(pass.latency(metric)?),
        None if *metric == throughput::REQUESTS => pass.requests_per_s_ci,
        None if *metric == throughput::OUTPUT_TOKENS => pass.output_tokens_per_s_ci,
        None => None,
    }
}

/// A sentence that the figure was not measured, such as TTFT of answers that are not streamed. `None` if no request
/// completed.
fn not_measured(objective: &Objective, pass: &PassSummary) -> Option<String> {
    (pass.outcomes.complete > 0).then(|| format!("{} was not measured", objective.metric.name()))
}

/// A sentence that the percentile of few values is close to their maximum. Such a percentile cannot show that an
/// objective is met, because more values would have a larger maximum. `None` if there are enough values, if the
/// objective is missed, or if it is not on a percentile.
fn too_few(objective: &Objective, pass: &PassSummary) -> Option<String> {
    let values = pass.latency(objective.metric.definition())?;
    let statistic = objective.statistic?;
    let needed = (1.0 / (1.0 - statistic.share()?)).round() as u64;
    let holds = objective.comparison.holds(statistic.of(values)?, objective.limit);
    (values.n < needed && holds).then(|| {
        format!(
            "a {} of {} values is close to their maximum, and cannot show that the objective is met: {needed} \
                values or more are needed",
            statistic.name(),
            values.n
        )
    })
}

/// The measured value of a pass, in the metric's unit.
pub(crate) fn measure(
    metric: JudgedMetric,
    statistic: Option<Statistic>,
    pass: &PassSummary,
) -> Option<f64> {
    match metric.is_distribution() {
        true => statistic?.of(pass.latency(metric.definition())?),
        false => pass.figure(metric.definition()),
    }
}

/// Whether a metric applies to a pass. A metric of throughput does not apply to a one_by_one pass if
/// another pass loads the server.
pub(crate) fn applies_to(metric: JudgedMetric, pass: &PassSummary, cell_is_loaded: bool) -> bool {
    !(cell_is_loaded && metric.is_throughput() && pass.kind == PassKind::OneByOne)
}

#[cfg(test)]
mod tests;
