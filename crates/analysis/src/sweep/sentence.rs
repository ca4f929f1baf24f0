//! Writes the answer of a sweep in a few sentences, with their intervals.

use inferometer_model::digits::{Decimals, percent, with_ends, with_unit};
use inferometer_plan::search::Over;

use super::document::{
    FigureInterval, KneeAnswer, LevelAnswer, LoadValue, SaturationAnswer, SweepAnswer, WithinAnswer,
};
use super::{outcome::SweepEnding, saturation::LEAST_RATIO};
use crate::search::load_text as text;

/// If a larger share than this of the requests of a load failed, the sentence states this share.
const FAILURES_TOLD: f64 = 0.01;

/// The answer in a few sentences.
pub fn sentence(answer: &SweepAnswer) -> String {
    if let Some(why) = &answer.refusal {
        return format!("The server refused every request ({why}), so no load was measured.");
    }
    let sentence = match &answer.saturation {
        _ if answer.outcome == SweepEnding::RateLimited => rate_limited(answer),
        Some(saturation) => saturated(answer, saturation),
        None => not_saturated(answer),
    };
    let sentence = match answer.outcome {
        SweepEnding::Unfinished => format!("So far, {}", lower(&sentence)),
        _ => sentence,
    };
    let sentence = match answer.model {
        Some(model) => {
            let expected = model.words(Over::Rate.unit());
            format!("{expected} at saturation; in the simulation, {}", lower(&sentence))
        }
        None => sentence,
    };
    let alone = alone(answer).into_iter();
    let within = answer.within.iter().map(|one| within(answer.by, one));
    alone.chain([sentence]).chain(within).collect::<Vec<_>>().join(" ")
}

/// The speed for one user alone; `None` if it was not measured.
fn alone(answer: &SweepAnswer) -> Option<String> {
    let is_alone = |level: &&LevelAnswer| level.by == Over::Concurrency && level.load == 1.0;
    let alone = answer.levels.iter().find(is_alone)?;
    let figure = |found: FigureInterval| (found.value, Some([found.low, found.high]));
    Some(one_user(figure(alone.ttft_ms?), alone.tokens_per_s_per_user.map(figure)))
}

/// A figure with its interval, if it has one.
type Figure = (f64, Option<[f64; 2]>);

/// The speed for one user in words: `One user: first token after 52 ms (50 to 55), then 73 tokens/s (71 to 75).` It gets
/// the TTFT in milliseconds and the tokens per second after the first token.
pub fn one_user(ttft_ms: Figure, then: Option<Figure>) -> String {
    let (scale, unit) = if ttft_ms.0 < 1e3 { (1.0, "ms") } else { (1e3, "s") };
    let first =
        with_ends(ttft_ms.0 / scale, ttft_ms.1.map(|ends| ends.map(|end| end / scale)), unit);
    let then = then.map_or_else(String::new, |(speed, ends)| {
        format!(", then {}", with_ends(speed, ends, "tokens/s"))
    });
    format!("One user: first token after {first}{then}.")
}

/// Up to which load an objective is met: `ttft_p95<1s is met up to 8 in flight (0.41 s), and missed at 16 in flight
/// (1.3 s).`
fn within(by: Over, answer: &WithinAnswer) -> String {
    let WithinAnswer { objective, unit, met, missed, is_uncertain } = answer;
    let at = |found: &LoadValue| {
        format!("{} ({})", load(by, found.load), with_unit(&text(found.value), unit))
    };
    let few = if *is_uncertain { " (not certain)" } else { "" };
    let words = match (met, missed) {
        (Some(met), Some(missed)) => format!("met up to {}, and missed at {}", at(met), at(missed)),
        (Some(met), None) => format!("met at every load up to {}", at(met)),
        (None, Some(missed)) => format!("missed at the lowest load, {}", at(missed)),
        (None, None) => return format!("{objective} was not measured."),
    };
    format!("{objective} is {words}{few}.")
}

fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A throughput with its unit and its interval: `37.3 requests/s (95 % interval: 36.9 to 39.5)`.
fn requests_per_s(answer: &SweepAnswer, found: &FigureInterval) -> String {
    let FigureInterval { value, low, high } = *found;
    let digits = Decimals::of(&[value, low, high]);
    let rate = with_unit(&digits.text(value), Over::Rate.unit());
    let sure = percent(answer.confidence);
    format!("{rate} ({sure} % interval: {})", digits.interval([low, high]))
}

fn saturated(answer: &SweepAnswer, saturation: &SaturationAnswer) -> String {
    let most = requests_per_s(answer, &saturation.requests_per_s);
    let tokens = saturation
        .output_tokens_per_s
        .map_or_else(String::new, |tokens| format!(", {} output tokens/s", text(tokens.value)));
    let falls = saturation.falls_at.map_or_else(String::new, |at| {
        format!("; at {} the throughput is clearly lower", load(answer.by, at))
    });
    let at = format!(" with {}", load(answer.by, saturation.load));
    let is_highest = answer.levels.last().is_some_and(|last| last.load == saturation.load);
    let most_at = match answer.by {
        Over::Concurrency if is_highest => {
            format!("{at}{}", gained(answer, saturation.load, &saturation.requests_per_s))
        }
        Over::Concurrency => at,
        _ => String::new(),
    };
    let failed = failed(answer);
    let knee = answer.knee.as_ref().map_or_else(String::new, |knee| the_knee(answer, knee));
    format!("The server saturates at {most}{tokens}{most_at}{knee}{falls}{failed}.")
}

/// What the highest load added, compared with a load well below it: ` (0.8 % more than with 128 in flight)`. The
/// sentence states it because no higher load was measured. Empty if there is no such lower load.
fn gained(answer: &SweepAnswer, highest: f64, most: &FigureInterval) -> String {
    let below = answer.levels.iter().filter(|level| level.load * LEAST_RATIO <= highest);
    let mut known = below.filter_map(|level| Some((level.load, level.requests_per_s?.value)));
    let Some((below, throughput)) = known.next_back() else { return String::new() };
    let gain = 100.0 * (most.value / throughput - 1.0);
    let than = load(answer.by, below);
    match format!("{:.1}", gain.abs()).as_str() {
        "0.0" => format!(" (as much as with {than})"),
        size if gain > 0.0 => format!(" ({size} % more than with {than})"),
        size => format!(" ({size} % less than with {than})"),
    }
}

fn the_knee(answer: &SweepAnswer, knee: &KneeAnswer) -> String {
    let digits = Decimals::of(&[knee.load, knee.low.unwrap_or(knee.high), knee.high]);
    let interval = match knee.low {
        Some(low) => digits.interval([low, knee.high]),
        None => format!("{} or less", digits.text(knee.high)),
    };
    let share = text(knee.share * 100.0);
    // In a sweep by rate, the latency is compared with that of the trial with one request in flight.
    let is_base =
        |level: &&LevelAnswer| level.by == Over::Concurrency && level.load == knee.latency_of;
    let base = answer.levels.iter().find(is_base).and_then(|level| level.latency_ms);
    let latency = knee.latency_ratio.zip(base).map_or_else(String::new, |(ratio, base)| {
        let [at_knee, base] = [ratio * base.value, base.value].map(duration);
        let of = match answer.by {
            // The same load has the same latency.
            Over::Concurrency if knee.load == knee.latency_of => String::new(),
            Over::Concurrency => {
                format!(" ({base} with {})", load(Over::Concurrency, knee.latency_of))
            }
            _ => format!(" ({base} alone)"),
        };
        format!(", and a request takes {at_knee}{of}")
    });
    format!(
        "; the knee is at {} ({interval}), where throughput is {share} % of that at saturation{latency}",
        with_unit(&digits.text(knee.load), answer.by.unit())
    )
}

/// The answer if the server refused requests because the client sends too many.
fn rate_limited(answer: &SweepAnswer) -> String {
    let limit = answer.rate_limit.as_deref().unwrap_or("HTTP status 429");
    let is_limited = |level: &&LevelAnswer| level.rate_limited > 0;
    let at = answer.levels.iter().find(is_limited).map_or_else(String::new, |level| {
        let share = text(100.0 * level.rate_limited as f64 / level.requests.max(1) as f64);
        format!(" {share} % of the requests with {}", load(level.by, level.load))
    });
    let below = answer.levels.iter().take_while(|level| !is_limited(level));
    let below = below.filter_map(|level| Some((level, level.requests_per_s?))).last();
    let below = below.map_or_else(String::new, |(level, rate)| {
        let rate = requests_per_s(answer, &rate);
        format!("; without refusals: {rate} with {}", load(level.by, level.load))
    });
    format!("The server limits its clients, and refused{at} ({limit}){below}.")
}

fn not_saturated(answer: &SweepAnswer) -> String {
    let mut known = answer.levels.iter().filter_map(|level| Some((level, level.requests_per_s?)));
    let Some((top, most)) = known.next_back() else {
        let why = match answer.outcome {
            SweepEnding::TimeSpent => {
                "the time limit was reached before enough requests had completed; \
                    raise the limit, or ask for shorter outputs"
            }
            _ => "no trial has enough completed requests",
        };
        return format!("Nothing was measured: {why}.");
    };
    let why = match answer.outcome {
        SweepEnding::NotSaturated => ", the highest load tried",
        SweepEnding::RequestsSpent => ", where the limit on requests was reached",
        SweepEnding::TrialsSpent => ", where the limit on trials was reached",
        SweepEnding::TimeSpent => ", where the time limit left too little for another trial",
        SweepEnding::NothingCompleted => ", where no further request completed",
        SweepEnding::Unfinished | SweepEnding::Found | SweepEnding::RateLimited => "",
    };
    let failed = failed(answer);
    let gained = match answer.by {
        Over::Concurrency => gained(answer, top.load, &most),
        _ => String::new(),
    };
    let short = if top.is_settled { "" } else { ", in a trial too short for a steady state" };
    let settled = answer.levels.iter().rev().find(|level| level.is_settled);
    let least = settled.and_then(|level| Some(level.requests_per_s?.low));
    let knee = answer.knee_above.zip(least).map_or_else(String::new, |(above, least)| {
        let least = with_unit(&text(least), Over::Rate.unit());
        format!(
            "; so the knee lies above {}, and the throughput at saturation is at least {least}",
            load(answer.by, above)
        )
    });
    format!(
        "No saturation is shown up to {}{why}: throughput is {} at this load{short}{gained}{knee}{failed}.",
        load(top.by, top.load),
        requests_per_s(answer, &most)
    )
}

/// The text on failed requests, for the lowest load at which too many failed.
fn failed(answer: &SweepAnswer) -> String {
    let ended = |level: &LevelAnswer| level.requests.saturating_sub(level.cancelled).max(1);
    let share = |level: &LevelAnswer| 1.0 - level.completed as f64 / ended(level) as f64;
    let level = answer.levels.iter().find(|level| share(level) > FAILURES_TOLD);
    level.map_or_else(String::new, |level| {
        let share = text(share(level) * 100.0);
        format!("; at {} {share} % of the requests failed", load(level.by, level.load))
    })
}

/// A latency in milliseconds, or in seconds if it is at least one second.
fn duration(ms: f64) -> String {
    if ms < 1e3 { format!("{} ms", text(ms)) } else { format!("{} s", text(ms / 1e3)) }
}

fn load(by: Over, load: f64) -> String {
    with_unit(&text(load), by.unit())
}
