//! Writes the answer in words.

use inferometer_model::Change;

use super::answer::{FEWEST_ROUNDS, TuneAnswer, TunedCandidate};
use super::procedure::DEFAULT;

/// The answer in one sentence or two.
pub(super) fn sentence(answer: &TuneAnswer, out_of_time: bool, is_simulated: bool) -> String {
    let TuneAnswer { rounds, objectives, ties, candidates, .. } = answer;
    let why = if out_of_time { " (--budget)" } else { "" };
    let [default, ..] = candidates.as_slice() else { return String::new() };
    let Some(best) = answer.best() else {
        return match rounds {
            0 => format!("No answer: no two sets of arguments were measured in the final{why}."),
            rounds => format!(
                "No answer: {rounds} rounds of the final are too few{why}; an interval needs {FEWEST_ROUNDS}."
            ),
        };
    };
    // If the default is a tie, the answer says so before the other ties.
    let others = ties.iter().filter(|name| *name != DEFAULT);
    let alike: Vec<String> = others.map(|name| named(name)).collect();
    let ties_of = |what: &str| match alike.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} is a tie with {what}"),
        all => format!("; these are ties with {what}: {}", all.join(", ")),
    };
    let it = named(&best.name);
    let found = match (answer.is_better, difference(answer, best)) {
        (true, Some(difference)) => format!("{it}: {difference}{}", ties_of("it")),
        _ if best.name == DEFAULT => {
            format!("Nothing is better than the default{}", ties_of("it"))
        }
        (false, Some(difference)) => format!(
            "Nothing is better than the default beyond chance: for {it}, {difference}{}",
            ties_of(&it)
        ),
        (_, None) => format!("{it} is best, without a default to compare it with{}", ties_of("it")),
    };
    let within = match objectives.as_slice() {
        [] => String::new(),
        all => {
            let met = |one: &TunedCandidate| {
                format!("{} in {} of {} rounds", named(&one.name), one.met[0], one.met[1])
            };
            let beside = Some(default).filter(|it| it.name != best.name && it.met[1] > 0);
            let who: Vec<String> = [Some(best), beside].into_iter().flatten().map(met).collect();
            format!(" {} met by {}.", all.join(","), who.join(", by "))
        }
    };
    let error = match is_simulated {
        true => "simulated: the rounds do not show the error of the model",
        false => "all intervals hold together with a probability of 95 %",
    };
    format!("{found}.{within} {rounds} rounds{why}; {error}.")
}

/// The difference from the default; `None` if the default was not measured.
fn difference(answer: &TuneAnswer, best: &TunedCandidate) -> Option<String> {
    let change = Change(best.ratio?);
    let interval = best.ratio_ci.map(|ends| format!(" ({})", change.interval(ends, 1)));
    let (words, than) = (change.words(), change.than());
    let interval = interval.unwrap_or_default();
    Some(format!("{} is {words}{interval} {than} with the default", answer.figure))
}

fn named(name: &str) -> String {
    if name == DEFAULT { "the default".to_owned() } else { format!("`{name}`") }
}
