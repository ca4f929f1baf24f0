//! Writes the answer of a comparison in one sentence.

use inferometer_model::Change;

use super::answer::{AbAnswer, AbFigureAnswer};
use super::decision::{AbDecision, AbEnding};
use super::{order::Side, sequence::FEWEST_PAIRS};

/// The answer in one sentence, and a second sentence if some requests did not complete.
pub(super) fn sentence(answer: &AbAnswer) -> String {
    let of = Side::ALL.map(|side| answer.completed(side));
    let found = found(answer);
    if of.iter().all(|[complete, planned]| complete == planned) {
        return found;
    }
    let [a, b] = short_names(answer);
    let [[of_a, all_a], [of_b, all_b]] = of;
    format!(
        "{found} Not all requests completed: {of_a} of {all_a} for {a}, {of_b} of {all_b} for {b}."
    )
}

/// The names without the text in brackets, such as `B` for `B (speed=0.95)`. If the shortened names are equal: the full
/// names.
fn short_names(answer: &AbAnswer) -> [&str; 2] {
    let names = answer.sides.each_ref().map(|side| side.name.as_str());
    let short = names.map(|name| name.split(" (").next().unwrap_or(name));
    if short[0] == short[1] { names } else { short }
}

fn found(answer: &AbAnswer) -> String {
    let [full_a, full_b] = answer.sides.each_ref().map(|side| side.name.as_str());
    let [a, b] = short_names(answer);
    let pairs = match answer.pairs {
        1 => "1 pair of blocks".to_owned(),
        pairs => format!("{pairs} pairs of blocks"),
    };
    let spent = format!("{pairs}, {} requests", answer.requests);
    let Some((figure, ratio)) = answer.deciding().and_then(|it| Some((it, it.ratio?))) else {
        if answer.pairs == 0 && answer.ended_by == AbEnding::MaxTime {
            return "No answer: the time limit of --max-time was reached before a pair of blocks had ended. \
                Raise the limit; the warm-up counts too."
                .to_owned();
        }
        let name = answer.deciding().map_or("a figure", |it| it.figure.as_str());
        return format!("No answer: no pair of blocks has {name} on both sides ({spent}).");
    };
    let found = difference(figure, ratio, answer.without_noise);
    let than = Change(ratio).than();
    let smallest = percent(answer.minimal_effect);
    match answer.decision {
        AbDecision::NoDifference => {
            let equal = match answer.one_server {
                true => "The server does not differ from itself".to_owned(),
                false => format!("{a} and {b} do not differ"),
            };
            format!(
                "{equal} by {smallest} % or more: for {full_b}, {found} {than} for {full_a}, over {spent}."
            )
        }
        AbDecision::Undecided => {
            let why = match answer.ended_by {
                AbEnding::MaxRequests => "the limit --max-requests was reached",
                AbEnding::MaxTime => "the limit --max-time was reached",
                AbEnding::NoFigure => "the last pairs of blocks lack the metric that decides",
                AbEnding::Known | AbEnding::Interrupted => {
                    "the comparison was interrupted or failed"
                }
            };
            let more = match answer.needs_pairs {
                _ if answer.pairs < FEWEST_PAIRS as u32 => {
                    format!("; a decision needs at least {FEWEST_PAIRS} pairs")
                }
                Some(pairs) if figure.told_ci().is_some() => {
                    let requests = 2 * pairs * answer.block_requests;
                    format!("; about {pairs} pairs ({requests} requests) are needed")
                }
                _ => "; more pairs are needed".to_owned(),
            };
            format!(
                "Undecided, because {why}: for {full_b}, {found} {than} for {full_a}, over \
                    {spent}{more}."
            )
        }
        decision => {
            let (faster, slower) =
                if decision == AbDecision::BFaster { (full_b, full_a) } else { (full_a, full_b) };
            let small = match figure.ratio_ci {
                Some(ends) if is_within(ends, answer.minimal_effect) => {
                    format!(", less than the relevant {smallest} %")
                }
                _ => String::new(),
            };
            let doubt = match answer.one_server {
                true => " (both sides are the same server, so this is noise or drift)",
                false => "",
            };
            format!(
                "{faster} is faster than {slower}: for {b}, {found} {than} for {a}{small}, over {spent}{doubt}."
            )
        }
    }
}

/// The difference as text: `output_tokens_per_s is 5.2 % higher (95 % interval +3.1 to +7.3 %)`.
/// For predictions without noise, the text states instead that there is no sampling interval.
fn difference(figure: &AbFigureAnswer, ratio: f64, without_noise: bool) -> String {
    let AbFigureAnswer { figure: name, ratio_ci, level, .. } = figure;
    let level = percent(*level);
    let interval = match figure.told_ci() {
        None if ratio_ci.is_some() => "the pairs differ too much for an interval".to_owned(),
        None => "no interval yet".to_owned(),
        Some(_) if without_noise => {
            "a difference of two predictions without noise: no sampling interval".to_owned()
        }
        Some(ends) => format!("{level} % interval {}", Change(ratio).interval(ends, 1)),
    };
    format!("{name} is {} ({interval})", Change(ratio).words())
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn is_within([low, high]: [f64; 2], minimal_effect: f64) -> bool {
    let limit = 1.0 + minimal_effect;
    low > 1.0 / limit && high < limit
}
