//! Writes the answer of a search in one sentence.

use inferometer_model::digits::{Decimals, percent, significant, with_unit};

use super::document::SearchAnswer;
use super::outcome::SearchEnding;

/// Writes the answer in one sentence, with its interval.
pub fn sentence(answer: &SearchAnswer) -> String {
    let tier = answer.tier.as_ref().map_or_else(String::new, |tier| format!("{tier}: "));
    if let Some(why) = &answer.refusal {
        return format!("{tier}The server refused every request ({why}), so no load was measured.");
    }
    let so_far = if answer.outcome == SearchEnding::Unfinished { "so far, " } else { "" };
    let text = match answer.best() {
        _ if answer.is_missed() => missed(answer),
        Some(estimate) => sustained(answer, estimate),
        None => unknown(answer),
    };
    let open = match answer.best() {
        Some(_) => why_open(answer),
        None => too_little(answer).map(|why| format!("undecided, because {why}")),
    };
    let open = open.map_or_else(String::new, |open| format!("; {open}"));
    let by_client = match answer.is_limited_by_client {
        true => "; the limit may be that of the client, not of the server",
        false => "",
    };
    let expected = answer.model.map_or_else(String::new, |model| {
        format!("{}; in the simulation, ", model.words(answer.over.unit()))
    });
    let text = format!("{so_far}{expected}{text}{by_client}{open}.");
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    tier + &first.into_iter().chain(letters).collect::<String>()
}

/// The objectives, such as `ttft_p99<1s and failures<1%`.
fn objectives(answer: &SearchAnswer) -> String {
    let texts: Vec<&str> = answer.objectives.iter().map(|it| it.text.as_str()).collect();
    texts.join(" and ")
}

fn them(answer: &SearchAnswer) -> &'static str {
    if answer.objectives.len() > 1 { "them" } else { "it" }
}

fn load(answer: &SearchAnswer, load: f64) -> String {
    with_unit(&load_text(load), answer.over.unit())
}

fn sure(answer: &SearchAnswer) -> String {
    format!("{} % interval", percent(answer.confidence))
}

/// The interval in words, such as `95 % interval: 26.8 to 29.1`.
fn interval(answer: &SearchAnswer, digits: Decimals) -> String {
    let sure = sure(answer);
    match (answer.low, answer.high) {
        (Some(low), Some(high)) => format!("{sure}: {}", digits.interval([low, high])),
        (Some(low), None) => format!("{sure}: {} or more", load_text(low)),
        (None, Some(high)) => format!("{sure}: {} or less", load_text(high)),
        (None, None) => "no confidence interval yet".to_owned(),
    }
}

fn missed(answer: &SearchAnswer) -> String {
    let objectives = objectives(answer);
    if answer.is_missed_alone {
        let (them, counted) = (them(answer), answer.over.counted());
        return format!(
            "no load meets {objectives}: {counted} that were alone on the server missed {them}"
        );
    }
    let lowest = answer.loads.first().map(|known| known.load).or(answer.high);
    let lowest = load(answer, lowest.unwrap_or_default());
    format!("the server does not sustain even {lowest} with {objectives}")
}

/// The answer if a load meets the objectives. If the interval is wider than requested, the sentence begins with the
/// interval. The estimate by itself would look too precise.
fn sustained(answer: &SearchAnswer, estimate: f64) -> String {
    let objectives = objectives(answer);
    let known = [Some(estimate), answer.low, answer.high];
    let digits = Decimals::of(&known.into_iter().flatten().collect::<Vec<_>>());
    let unit = answer.over.unit();
    let estimate = digits.text(estimate);
    if let SearchEnding::Found | SearchEnding::MetAtHighest = answer.outcome {
        let interval = interval(answer, digits);
        let rest = match answer.outcome {
            SearchEnding::MetAtHighest => "; this is the limit set by --to".to_owned(),
            _ => limited(answer),
        };
        let estimate = with_unit(&estimate, unit);
        return format!("the server sustains {estimate} with {objectives} ({interval}){rest}");
    }
    let amount = match (answer.low, answer.high) {
        (Some(low), Some(high)) => with_unit(&digits.interval([low, high]), unit),
        (Some(low), None) => format!("at least {}", load(answer, low)),
        (None, Some(high)) => format!("at most {}", load(answer, high)),
        (None, None) => format!("about {}", with_unit(&estimate, unit)),
    };
    let sure = match (answer.low, answer.high) {
        (None, None) => "no confidence interval yet".to_owned(),
        _ => format!("{}; best estimate: {estimate}", sure(answer)),
    };
    let (more, rest) = match answer.is_one_sided {
        true => (" or more", ": no trial of sufficient length missed them".to_owned()),
        false => ("", limited(answer)),
    };
    // Without an interval, the amount itself is the estimate.
    let [of_amount, of_estimate] = match (answer.low, answer.high) {
        (None, None) => [more, ""],
        _ => ["", more],
    };
    format!("the server sustains {amount}{of_amount} with {objectives} ({sure}{of_estimate}){rest}")
}

/// The answer without an estimate, if it is not certain that all allowed loads miss the objectives.
fn unknown(answer: &SearchAnswer) -> String {
    let objectives = objectives(answer);
    let known: Vec<f64> = [answer.low, answer.high].into_iter().flatten().collect();
    let interval = interval(answer, Decimals::of(&known));
    match answer.loads.first() {
        _ if answer.outcome == SearchEnding::NotMeasurable => {
            format!("no load can be judged by {objectives}: tokens arrived in bundles")
        }
        Some(lowest) if answer.is_missed_at_lowest_tried() => format!(
            "no tried load meets {objectives}: {}, the lowest of them, misses {} ({interval})",
            load(answer, lowest.load),
            them(answer)
        ),
        Some(_) => format!("no tried load is shown to meet {objectives} ({interval})"),
        None => format!("no load could be measured for {objectives}"),
    }
}

/// Why the answer is not as exact as requested, as a part of a sentence. `None` if it is as exact as requested, or if
/// the search is not finished.
fn why_open(answer: &SearchAnswer) -> Option<String> {
    let spent = match answer.outcome {
        SearchEnding::RequestsSpent => {
            let counted = answer.over.counted();
            format!("the limit of {} {counted} (--max-requests)", answer.requests)
        }
        SearchEnding::TrialsSpent => {
            format!("the limit of {} trials (--max-trials)", answer.trials)
        }
        SearchEnding::TimeSpent => "the limit --max-time".to_owned(),
        SearchEnding::NotMeasurable => {
            return Some("undecided, because tokens arrived in bundles".to_owned());
        }
        SearchEnding::Unfinished
        | SearchEnding::Found
        | SearchEnding::NotMetAtLowest
        | SearchEnding::MetAtHighest => return None,
    };
    let precision = percent(answer.precision);
    Some(format!("the interval is wider than {precision} % (--precision): {spent} was reached"))
}

/// Why no load is shown to meet the objectives, and what to do, as a part of a sentence. `None` if the objectives are
/// missed, or if the search ended for another reason.
fn too_little(answer: &SearchAnswer) -> Option<String> {
    match answer.outcome {
        SearchEnding::RequestsSpent => {
            let (count, counted) = (answer.requests, answer.over.counted());
            Some(format!("{count} {counted} are too few: raise --max-requests"))
        }
        SearchEnding::TrialsSpent => {
            Some(format!("--max-trials {} is too low: raise it", answer.trials))
        }
        SearchEnding::TimeSpent => Some("--max-time is too short: raise it".to_owned()),
        SearchEnding::NotMeasurable
        | SearchEnding::Unfinished
        | SearchEnding::Found
        | SearchEnding::NotMetAtLowest
        | SearchEnding::MetAtHighest => None,
    }
}

/// The text on the objective that fails first; empty if there is only one objective, or if none fails.
fn limited(answer: &SearchAnswer) -> String {
    match (answer.limited_by.as_slice(), answer.objectives.len()) {
        ([], _) | (_, 1) => String::new(),
        (by, _) => format!("; {} fails first", by.join(" and ")),
    }
}

/// Formats a load with three significant digits. All digits before the decimal point are written.
pub fn load_text(load: f64) -> String {
    significant(load, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_shown_with_three_significant_digits_and_all_digits_before_the_point() {
        for (load, text) in [
            (1600.0, "1600"),
            (1131.37, "1131"),
            (27.94, "27.9"),
            (2.828, "2.83"),
            (0.001, "0.001"),
        ] {
            assert_eq!(load_text(load), text);
        }
    }
}
