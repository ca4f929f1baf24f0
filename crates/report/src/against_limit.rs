//! States figures beside the limits that they are judged by: `ttft_p99 = 612 ms (590 to 640), limit < 500 ms`.

use inferometer_analysis::{compare::GateResult, verdict::SloResult};
use inferometer_model::metrics::slo::{Comparison, split};

use crate::{gate_table, label, number, number::number_and_unit};

/// The largest number of results that one line names.
const MOST_NAMED: usize = 3;

/// The result of an objective: the figure, its interval if it has one, and the limit. A text that is not an objective
/// is returned unchanged.
pub fn objective(result: &SloResult) -> String {
    let Some((figure, limit)) = figure_and_limit(&result.objective) else {
        return result.objective.clone();
    };
    let unit = label::unit(&result.objective);
    let of_limit = split(&result.objective).and_then(|(_, _, limit)| number_and_unit(limit));
    let of_limit = of_limit.and_then(|(number, _)| number.parse().ok());
    let text = |value| number::beside(value, of_limit);
    let interval = result.interval.map_or_else(String::new, |ends| {
        let [low, high] = ends.map(text);
        format!(" ({low} to {high})")
    });
    match result.measured.map(text) {
        Some(value) => {
            let value = number::with_unit(&value, unit);
            format!("{figure} = {}{interval}, {limit}", value.trim_end())
        }
        None => format!("{figure} has no value, {limit}"),
    }
}

/// The result of a condition of a gate: the difference, its interval if it has one, and the limit. A text that is not a
/// condition is returned unchanged.
pub fn condition(result: &GateResult) -> String {
    let Some((figure, limit)) = figure_and_limit(&result.condition) else {
        return result.condition.clone();
    };
    if result.difference_pct.is_none() {
        return format!("{figure} has no value, {limit}");
    }
    let difference = gate_table::difference(result);
    match gate_table::interval(result) {
        ends if ends == number::MISSING => format!("{figure} {difference}, {limit}"),
        ends => format!("{figure} {difference} ({ends}), {limit}"),
    }
}

/// The worst of these results, which all belong to the objective or condition `text`: the largest figure if `text`
/// states an upper limit, otherwise the smallest. `value` returns the figure of a result. Results without a figure are
/// left out. `None` if no result is left, or if `text` states no limit.
pub fn worst<'a, T>(
    text: &str,
    results: impl Iterator<Item = &'a T>,
    value: impl Fn(&T) -> Option<f64>,
) -> Option<&'a T> {
    let is_upper = match split(text)?.1 {
        Comparison::Below | Comparison::AtMost => true,
        Comparison::Above | Comparison::AtLeast => false,
    };
    let found = results.filter_map(|result| Some((result, value(result)?)));
    let badness = |value: f64| if is_upper { value } else { -value };
    found.max_by(|a, b| badness(a.1).total_cmp(&badness(b.1))).map(|(result, _)| result)
}

/// The sentence if all `count` results are met. `closest` has, for each objective or condition, the result that is
/// closest to its limit.
pub fn met(closest: &[String], count: usize) -> String {
    let which = if closest.len() < count { "closest to the limit; " } else { "" };
    format!("met: {} ({which}{count} of {count} results)", joined(closest))
}

/// Joins sentences about single results. Only the first three are named, so that the line stays short; the others are
/// counted.
pub fn joined<S: AsRef<str>>(sentences: &[S]) -> String {
    let named: Vec<&str> = sentences.iter().take(MOST_NAMED).map(AsRef::as_ref).collect();
    match sentences.len().saturating_sub(MOST_NAMED) {
        0 => named.join("; "),
        others => format!("{}; and {others} more", named.join("; ")),
    }
}

/// The figure and the limit of an objective or a condition: `ttft_p99` and `limit < 500 ms`.
fn figure_and_limit(text: &str) -> Option<(&str, String)> {
    let (figure, comparison, limit) = split(text)?;
    let sign = comparison.sign();
    let (number, unit) = number_and_unit(limit)?;
    Some((figure, format!("limit {sign} {number} {unit}").trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_analysis::verdict::Met;

    #[test]
    fn a_result_states_its_value_its_interval_and_the_limit() {
        for (objective_text, measured, interval, expected) in [
            (
                "ttft_p99<500ms",
                Some(612.0),
                Some([590.0, 640.0]),
                "ttft_p99 = 612 ms (590 to 640), limit < 500 ms",
            ),
            ("ttft_p99 <= 0.5 s", Some(0.25), None, "ttft_p99 = 0.25 s, limit <= 0.5 s"),
            // Rounded to four digits, the figure would be 500 ms, which does not meet the limit.
            (
                "ttft_p99<500ms",
                Some(499.97),
                Some([480.02, 499.998]),
                "ttft_p99 = 499.97 ms (480 to 499.998), limit < 500 ms",
            ),
            ("ttft_p99<500ms", Some(500.0), None, "ttft_p99 = 500 ms, limit < 500 ms"),
            (
                "output_tokens_per_s>12346",
                Some(12_346.2),
                None,
                "output_tokens_per_s = 12,346.2, limit > 12346",
            ),
            (
                "ttft_p99<0.5s",
                Some(0.499_999_999_999_9),
                None,
                "ttft_p99 = 0.4999999999999 s, limit < 0.5 s",
            ),
            ("requests_per_s>3", Some(2.5), None, "requests_per_s = 2.5, limit > 3"),
            ("failures<1%", None, None, "failures has no value, limit < 1 %"),
        ] {
            let objective_text = objective_text.to_owned();
            let result =
                SloResult { objective: objective_text, measured, interval, ..SloResult::default() };
            assert_eq!(objective(&result), expected);
        }
        let gate = |difference_pct, interval_pct| GateResult {
            condition: "output_tokens_per_s>-3%".to_owned(),
            figure: "output_tokens_per_s".to_owned(),
            place: "512 x 128".to_owned(),
            difference_pct,
            interval_pct,
            why: None,
            measured_in_turn: true,
            met: Met::No,
        };
        for (result, expected) in [
            (
                gate(Some(-5.2), Some([Some(-6.1), Some(-4.3)])),
                "output_tokens_per_s -5.20 % (-6.10 to -4.30 %), limit > -3 %",
            ),
            (gate(Some(-2.999), None), "output_tokens_per_s -2.999 %, limit > -3 %"),
            (
                gate(Some(-1.0), Some([Some(-3.0004), Some(1.0)])),
                "output_tokens_per_s -1.0000 % (-3.0004 to +1.0000 %), limit > -3 %",
            ),
            (gate(Some(-5.2), None), "output_tokens_per_s -5.20 %, limit > -3 %"),
            (gate(None, None), "output_tokens_per_s has no value, limit > -3 %"),
        ] {
            assert_eq!(condition(&result), expected);
        }
    }

    #[test]
    fn the_worst_result_is_the_largest_for_an_upper_limit_and_the_smallest_for_a_lower_limit() {
        let values = [2.0, 5.0, 3.0];
        for (text, expected) in [("a<1ms", 5.0), ("a>=1", 2.0)] {
            let found = worst(text, values.iter(), |value| Some(*value));
            assert_eq!(found, Some(&expected), "{text}");
        }
    }

    #[test]
    fn one_line_names_a_few_results_and_counts_the_others() {
        assert_eq!(joined(&["a", "b"]), "a; b");
        assert_eq!(joined(&["a", "b", "c", "d", "e"]), "a; b; c; and 2 more");
    }
}
