//! Parses objectives from text. The error for a text that cannot be parsed says what is valid.

use super::{Comparison, JudgedMetric, LimitUnit, Objective, Statistic};
use crate::{did_you_mean, metrics::definition::Unit, metrics::registry};

/// The text between a share of requests and the objectives that these requests must meet.
const OF_REQUESTS: &str = " of requests at ";

/// Why a text is not a list of objectives.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum SloError {
    /// The text between two commas is empty, or the whole text is.
    #[error("an objective is empty; write it like `ttft_p99<500ms,failures<1%`")]
    Empty,
    /// The objective has no `<`, `<=`, `>` or `>=`.
    #[error("`{text}` has no comparison; write it like `ttft_p99<500ms`")]
    NoComparison { text: String },
    /// There is no metric of this name that objectives may name.
    #[error("`{text}`: unknown metric `{name}`{}; objectives can use {}",
        did_you_mean(name, spellings().iter().map(String::as_str)),
        JudgedMetric::names().collect::<Vec<_>>().join(", "))]
    UnknownMetric { text: String, name: String },
    /// The metric has many values per pass, but the objective names no known statistic.
    #[error("`{text}` has no known statistic of {metric}; write it like `{metric}_p99<500ms`, with \
        one of {}", Statistic::ALL.map(Statistic::name).join(", "),
        metric = .metric.name())]
    NoStatistic { text: String, metric: JudgedMetric },
    /// The objective names a statistic, although the metric has one value per pass.
    #[error("`{text}` has a statistic, but {metric} has only one value per pass; write {metric} \
        without a statistic", metric = .metric.name())]
    NeedlessStatistic { text: String, metric: JudgedMetric },
    /// The limit is not a number in a unit of the metric, or it is a time that is not above 0.
    #[error("`{text}` has no valid limit; after the comparison, write {}",
        expected(*.metric))]
    BadLimit { text: String, metric: JudgedMetric },
}

/// Parses objectives such as `ttft_p99<500ms,tpot_p99<50ms`, separated by commas.
///
/// # Errors
/// One error for each objective that cannot be parsed.
pub fn parse(text: &str) -> Result<Vec<Objective>, Vec<SloError>> {
    each(text, objective)
}

/// Parses the parts of a text, which are separated by commas.
pub(crate) fn each<T, E>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, Vec<E>> {
    let (mut parsed, mut errors) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        match parse(part.trim()) {
            Ok(part) => parsed.push(part),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(parsed) } else { Err(errors) }
}

fn objective(text: &str) -> Result<Objective, SloError> {
    if text.is_empty() {
        return Err(SloError::Empty);
    }
    let (name, comparison, limit) =
        split(text).ok_or_else(|| SloError::NoComparison { text: text.to_owned() })?;
    let (metric, statistic) = quantity(text, name)?;
    let (limit, unit) = limit_of(metric, limit)
        .ok_or_else(|| SloError::BadLimit { text: text.to_owned(), metric })?;
    Ok(Objective { text: text.to_owned(), metric, statistic, comparison, limit, unit })
}

/// Splits an objective into the text before the comparison sign, the comparison, and the text after the sign.
pub fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    let (name, rest) = text.split_at(text.find(['<', '>'])?);
    // The two-character signs come first, because each of them begins with a one-character sign.
    let signs = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Below),
        (">", Comparison::Above),
    ];
    let (comparison, limit) = signs
        .into_iter()
        .find_map(|(sign, comparison)| Some((comparison, rest.strip_prefix(sign)?)))?;
    Some((name.trim(), comparison, limit.trim()))
}

/// A text that is the same for objectives with the same meaning: `ttft_p95<120ms` and `ttft_p95 < 0.12s`. Objectives
/// are separated by commas, and their order has no meaning. The share of requests before them, as in
/// `95% of requests at ttft<1s,tpot<50ms`, and other text stay as they are.
pub fn by_value(text: &str) -> String {
    let (share, objectives) = match text.split_once(OF_REQUESTS) {
        Some((share, objectives)) => (format!("{share}{OF_REQUESTS}"), objectives),
        None => (String::new(), text),
    };
    let parts = objectives.split(',').map(|part| match split(part) {
        Some((name, comparison, limit)) => {
            let number_ends = limit.find(|c: char| !(c.is_ascii_digit() || c == '.'));
            let (number, unit) = limit.split_at(number_ends.unwrap_or(limit.len()));
            // `4/s` and `4` are the same limit.
            let unit = unit.trim();
            let unit = unit.strip_prefix("/s").unwrap_or(unit);
            let factor = LimitUnit::of_time(unit).map(LimitUnit::in_metric_units);
            let value = number.parse::<f64>();
            let limit = match (factor, value) {
                (Some(factor), Ok(value)) => format!("{:.6}ms", value * factor),
                (None, Ok(value)) => format!("{value:.6}{unit}"),
                (_, Err(_)) => limit.to_owned(),
            };
            format!("{name}{}{limit}", comparison.sign())
        }
        None => part.trim().to_owned(),
    });
    let mut parts: Vec<String> = parts.collect();
    parts.sort_unstable();
    share + &parts.join(",")
}

/// Splits a name such as `ttft_p99` into the metric and, if there is one, the statistic after its last
/// underscore. `text` is the whole objective, for messages.
///
/// # Errors
/// When the metric is unknown, or when the name has no statistic, or a statistic that the metric does not
/// have.
pub fn quantity(text: &str, name: &str) -> Result<(JudgedMetric, Option<Statistic>), SloError> {
    let text = || text.to_owned();
    if let Some(metric) = metric_of(name) {
        return match metric.is_distribution() {
            true => Err(SloError::NoStatistic { text: text(), metric }),
            false => Ok((metric, None)),
        };
    }
    let (head, tail) = name.rsplit_once('_').unwrap_or((name, ""));
    match (metric_of(head), Statistic::named(tail)) {
        (Some(metric), Some(statistic)) if metric.is_distribution() => {
            Ok((metric, Some(statistic)))
        }
        (Some(metric), _) if !metric.is_distribution() => {
            Err(SloError::NeedlessStatistic { text: text(), metric })
        }
        (Some(metric), _) => Err(SloError::NoStatistic { text: text(), metric }),
        (None, _) => Err(SloError::UnknownMetric { text: text(), name: name.to_owned() }),
    }
}

fn metric_of(name: &str) -> Option<JudgedMetric> {
    JudgedMetric::of_name(name)
}

/// Parses a limit. Returns the limit in the unit of the metric, and the unit in which the user wrote it.
/// `None` if the limit is not valid for the metric.
pub fn limit_of(metric: JudgedMetric, limit: &str) -> Option<(f64, LimitUnit)> {
    let number_ends = limit.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = limit.split_at(number_ends.unwrap_or(limit.len()));
    let unit = match (metric.definition().unit, unit.trim()) {
        (Unit::Percent, "%") => LimitUnit::Percent,
        (Unit::RequestsPerSecond | Unit::TokensPerSecond, "" | "/s") => LimitUnit::PerSecond,
        (Unit::JobsPerHour, "" | "/h") => LimitUnit::PerHour,
        (Unit::Share, "") => LimitUnit::Share,
        (Unit::Ratio, "") => LimitUnit::Times,
        (Unit::Tokens, "") => LimitUnit::Tokens,
        (Unit::Milliseconds | Unit::MillisecondsPerToken, unit) => LimitUnit::of_time(unit)?,
        _ => return None,
    };
    let number = number.parse::<f64>().ok()?;
    // The limit of a time must be above zero.
    let is_time =
        matches!(metric.definition().unit, Unit::Milliseconds | Unit::MillisecondsPerToken);
    let can_be = number > 0.0 || !is_time;
    can_be.then(|| (number * unit.in_metric_units(), unit))
}

/// An example of a limit for the metric.
fn expected(metric: JudgedMetric) -> &'static str {
    match metric.definition().unit {
        Unit::Percent => "a percentage, as in `failures<1%`",
        Unit::RequestsPerSecond => "a number per second, as in `requests_per_s>4.5`",
        Unit::TokensPerSecond => "a number per second, as in `output_tokens_per_s>2000`",
        Unit::JobsPerHour => "a number per hour, as in `jobs_per_h>100`",
        Unit::Ratio => "a number, as in `job_slowdown_p95<2`",
        Unit::Tokens => "a number of tokens, as in `reasoning_tokens_p95<2000`",
        Unit::Share => "a share from 0 to 1, as in `slo_attainment>0.95`",
        _ => "a time above 0 in us, ms or s, as in `ttft_p99<500ms`",
    }
}

/// All names that are valid before a comparison sign.
fn spellings() -> Vec<String> {
    let mut spellings = Vec::new();
    for metric in registry::judged().map(JudgedMetric::of) {
        let name = metric.name();
        if metric.is_distribution() {
            spellings
                .extend(Statistic::ALL.map(|statistic| format!("{name}_{}", statistic.name())));
        } else {
            spellings.push(name.to_owned());
        }
    }
    spellings
}
