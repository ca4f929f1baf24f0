//! Objectives on each request, as goodput uses them: `ttft<500ms,tpot<50ms`.
//!
//! Objectives on statistics of a pass are in [`crate::metrics::slo`].

use serde::{Deserialize, Serialize};

use crate::metrics::slo::{Comparison, JudgedMetric, LimitUnit, each, limit_of, split};
use crate::metrics::{Unit, registry};
use crate::{Timeline, did_you_mean};

/// An objective that a request meets or misses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestObjective {
    /// The objective as the user wrote it.
    pub text: String,
    /// The metric, which has one value per request.
    pub metric: JudgedMetric,
    /// Whether values below or above the limit meet the objective.
    pub comparison: Comparison,
    /// The limit in the unit of the metric: milliseconds, or tokens per second.
    pub limit: f64,
    /// The unit in which the user wrote the limit.
    pub unit: LimitUnit,
}

/// Why a text is not a list of objectives on requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum GoodputError {
    /// The text between two commas is empty, or the whole text is.
    #[error("an objective is empty; write it like `ttft<500ms,tpot<50ms`")]
    Empty,
    /// The objective has no `<`, `<=`, `>` or `>=`.
    #[error("`{0}` has no comparison; write it like `ttft<500ms`")]
    NoComparison(String),
    /// Objectives on requests may not name a metric of this name.
    #[error("`{text}`: unknown metric `{name}`{}; objectives on requests can use {}{}",
        did_you_mean(name, names()),
        names().collect::<Vec<_>>().join(", "),
        if name.contains("_p") { "; use --slo for statistics of a pass" } else { "" })]
    UnknownMetric { text: String, name: String },
    /// The limit is not a time above 0, or for a speed not a number.
    #[error("`{text}` has no valid limit; after the comparison, write {}", expected(*.metric))]
    BadLimit { text: String, metric: JudgedMetric },
}

/// The names of the metrics that objectives on requests may name.
fn names() -> impl Iterator<Item = &'static str> {
    registry::judged_on_requests().map(|(metric, _)| metric.name)
}

fn expected(metric: JudgedMetric) -> &'static str {
    match metric.definition().unit {
        Unit::TokensPerSecond => "a number per second, as in `per_user_speed>20`",
        _ => "a time above 0 in us, ms or s",
    }
}

/// Parses objectives on requests, separated by commas.
///
/// # Errors
/// One error for each objective that cannot be parsed.
pub fn parse(text: &str) -> Result<Vec<RequestObjective>, Vec<GoodputError>> {
    each(text, objective)
}

fn objective(text: &str) -> Result<RequestObjective, GoodputError> {
    if text.is_empty() {
        return Err(GoodputError::Empty);
    }
    let (name, comparison, limit) =
        split(text).ok_or_else(|| GoodputError::NoComparison(text.to_owned()))?;
    let metric =
        JudgedMetric::of_name(name).filter(|metric| metric.on_requests().is_some()).ok_or_else(
            || GoodputError::UnknownMetric { text: text.to_owned(), name: name.to_owned() },
        )?;
    let (limit, unit) = limit_of(metric, limit)
        .ok_or_else(|| GoodputError::BadLimit { text: text.to_owned(), metric })?;
    Ok(RequestObjective { text: text.to_owned(), metric, comparison, limit, unit })
}

impl RequestObjective {
    /// Whether a request met the objective. A request that did not complete meets no objective. If no token
    /// follows the first visible event of a complete stream, its TPOT counts as 0. A request without a value of
    /// the metric does not meet the objective.
    pub fn is_met(&self, timeline: &Timeline<'_>) -> bool {
        let value = self.metric.on_requests().and_then(|how| (how.value)(timeline));
        timeline.record.outcome.is_complete()
            && value.is_some_and(|value| self.comparison.holds(value, self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{ms, steady, stream};
    use crate::outcome::Outcome;
    use crate::record::EventKind::Text;
    use crate::record::Record;

    fn met(objectives: &str, record: &Record) -> bool {
        let timeline = Timeline::new(record);
        parse(objectives).unwrap().iter().all(|objective| objective.is_met(&timeline))
    }

    #[test]
    fn each_objective_is_judged_on_the_latencies_of_a_single_request() {
        // TTFT 40 ms, TPOT 10 ms, E2E 140 ms; due 25 ms before it was sent.
        let mut record = steady(100.0, 40.0, 10.0, 11);
        record.due = ms(75.0);
        for (objective, expected) in [
            ("ttft<40ms", false),
            ("ttft<=40ms", true),
            ("ttft<41ms,tpot<9ms", false),
            ("ttft<41ms, tpot<0.011s", true),
            ("ttft_from_due<64ms", false),
            ("e2e_from_due<166ms,e2e>139ms,send_delay<=25000us", true),
        ] {
            assert_eq!(met(objective, &record), expected, "{objective}");
        }
        record.outcome = Outcome::Truncated;
        assert!(!met("ttft<41ms", &record));
    }

    #[test]
    fn a_single_event_meets_a_tpot_objective_and_a_response_without_streaming_does_not() {
        let single = stream(0.0, &[(5.0, Text, Some(1))]);
        assert!(met("tpot<1ms", &single));
        let objective = &parse("tpot<1ms").unwrap()[0];
        let whole = Record { streamed: false, ..single };
        assert!(!objective.is_met(&Timeline::new(&whole)) && objective.metric.needs_stream());
    }

    #[test]
    fn each_invalid_objective_gets_a_separate_error_message() {
        let told: Vec<String> = parse("ttft,tpott<5ms,,ttft_p99<5ms,e2e<5%")
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        for (line, words) in told.iter().zip([
            "has no comparison", "did you mean `tpot`?", "is empty", "use --slo for statistics",
            "`e2e<5%` has no valid limit",
        ]) {
            assert!(line.contains(words), "{line}");
        }
        assert_eq!(told.len(), 5);
    }
}
