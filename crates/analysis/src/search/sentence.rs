//! The answer of a search in one sentence. Decides nothing.

use super::answer::SearchAnswer;
use super::settings::Outcome;

/// The answer in one sentence, with its interval.
pub fn sentence(answer: &SearchAnswer) -> String {
    let unit = answer.over.unit();
    let texts: Vec<&str> = answer.objectives.iter().map(|it| it.text.as_str()).collect();
    let objectives = texts.join(" and ");
    let load = |load: f64| format!("{} {unit}", load_text(load));
    let sure = format!("{} %", trimmed(answer.confidence * 100.0));
    let tier = answer.tier.as_ref().map_or_else(String::new, |tier| format!("{tier}: "));
    let so_far = if answer.outcome == Outcome::Unfinished { "so far, " } else { "" };
    let ends = match (answer.low, answer.high) {
        (Some(low), Some(high)) => {
            format!("{sure}: {} to {}", load_text(low), load_text(high))
        }
        (Some(low), None) => format!("{sure}: {} or more", load_text(low)),
        (None, Some(high)) => format!("{sure}: {} or less", load_text(high)),
        (None, None) => "how sure that is cannot be said yet".to_owned(),
    };
    let lowest = answer.loads.first().map(|known| known.load);
    let text = match (answer.outcome, answer.estimate) {
        (Outcome::NotMetAtLowest, _) => format!(
            "it does not bear even {} with {objectives} ({ends})",
            load(lowest.or(answer.high).unwrap_or_default())
        ),
        (Outcome::MetAtHighest, Some(estimate)) => format!(
            "it bears {} with {objectives} ({ends}); this is the highest load that was asked for",
            load(estimate)
        ),
        (_, Some(estimate)) if answer.is_one_sided => format!(
            "it bears at least {} with {objectives} ({ends}): each load that was tried for long enough \
             met it",
            load(estimate)
        ),
        (_, Some(estimate)) => {
            format!("it bears {} with {objectives} ({ends}){}", load(estimate), limited(answer))
        }
        (Outcome::NotMeasurable, None) => {
            format!("{objectives} cannot be judged: tokens arrived in bundles")
        }
        (_, None) => match lowest {
            Some(lowest) => format!(
                "no load was found that it bears with {objectives}: not {}, the lowest that was tried \
                 ({ends})",
                load(lowest)
            ),
            None => format!("nothing was measured of {objectives}"),
        },
    };
    let text = format!("{so_far}{text}.");
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    tier + &first.into_iter().chain(letters).collect::<String>()
}

/// What gives way first, where that is no other than all that was asked for.
fn limited(answer: &SearchAnswer) -> String {
    match (answer.limited_by.as_slice(), answer.objectives.len()) {
        ([], _) | (_, 1) => String::new(),
        (by, _) => format!("; {} gives way first", by.join(" and ")),
    }
}

/// A load with three significant digits; whole ones are never cut.
pub fn load_text(load: f64) -> String {
    let before = if load > 0.0 { load.log10().floor() } else { 0.0 };
    let decimals = (2.0 - before).clamp(0.0, 9.0) as usize;
    let text = format!("{load:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn trimmed(percent: f64) -> String {
    let text = format!("{percent:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_have_three_digits_and_whole_ones_all_of_theirs() {
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
