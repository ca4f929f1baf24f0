//! The answer of a sweep for people: a table with a row for each load, and its explanation. The verdicts come
//! from the analysis.

use inferometer_analysis::SweepAnswer;
use inferometer_analysis::sweep::{FigureInterval, LevelAnswer};

use inferometer_model::digits::Decimals;

use crate::{MISSING, Table, left, number::with_unit, right, significant};

/// How to read the table.
pub(crate) fn explanation(answer: &SweepAnswer) -> String {
    format!(
        "For each load: values over the counted requests (without start-up and drain of a trial), \
            and in brackets the {} % interval. Requests/s in a closed loop: requests in flight x \
            completed requests / sum of the times from due time to end. Requests/s at a rate: \
            completed requests per second, where each request counts as a fraction that grows \
            evenly from 0 at its first token to 1 at its end. TTFT, TPOT and latency are means, and \
            absent if requests arrive faster than the server completes them. Latency: time from the \
            due time of a request to its end. Tokens/s per user: 1000 / TPOT. On the front: no \
            other load has both more output tokens/s and more output tokens/s per user. A tie with \
            the front: no other load is better in one of them by more than both intervals, and at \
            least as good in the other. The \
            interval of the saturated throughput in the answer also covers errors that all trials \
            share, so it can be wider than the interval in the table row of the same load.",
        significant(answer.confidence * 100.0)
    )
}

/// One row for each load: its requests, throughput and latencies. With `all`, also what follows from these, and all
/// remarks, for example that the load is saturated or on the front.
pub(crate) fn table(answer: &SweepAnswer, all: bool) -> Table {
    let are_settled = answer.levels.iter().all(|level| level.is_settled);
    Table::of(answer.levels.iter().map(|level| {
        let mut row = vec![
            right("Load", with_unit(&significant(level.load), level.by.unit())),
            right("Requests", level.requests.to_string()),
            right("Completed", level.completed.to_string()),
            right("Requests/s", with_ends(level.requests_per_s)),
            right("Output tokens/s", with_ends(level.output_tokens_per_s)),
            right("TTFT (ms)", value(level.ttft_ms)),
            right("TPOT (ms)", value(level.tpot_ms)),
        ];
        if all {
            row.push(right("Latency (ms)", with_ends(level.latency_ms)));
            row.push(right("Tokens/s per user", value(level.tokens_per_s_per_user)));
        } else {
            row.push(right("Latency (ms)", value(level.latency_ms)));
        }
        if answer.gpus.is_some() {
            row.push(right("Tokens/s per GPU", value(level.tokens_per_s_per_gpu)));
        }
        if all {
            row.push(left("Remarks", words(answer, level)));
        } else if !are_settled {
            let why = if level.is_settled { "" } else { "too short for a steady state" };
            row.push(left("Remarks", why));
        }
        row
    }))
}

fn value(found: Option<FigureInterval>) -> String {
    found.map_or(MISSING.to_owned(), |found| significant(found.value))
}

fn with_ends(found: Option<FigureInterval>) -> String {
    found.map_or(MISSING.to_owned(), |FigureInterval { value, low, high }| {
        let digits = Decimals::of(&[value, low, high]);
        format!("{} ({})", digits.text(value), digits.interval([low, high]))
    })
}

fn words(answer: &SweepAnswer, level: &LevelAnswer) -> String {
    let is_at = |load: f64| level.by == answer.by && level.load == load;
    let saturation = answer.saturation.as_ref();
    let mut words = Vec::new();
    if level.is_overloaded {
        words.push("requests arrive faster than the server completes them");
    } else if !level.is_settled {
        words.push("too short");
    }
    if saturation.is_some_and(|saturation| is_at(saturation.load)) {
        words.push("saturated");
    }
    if saturation.and_then(|saturation| saturation.falls_at).is_some_and(is_at) {
        words.push("clearly lower than at saturation");
    }
    let within = |low: Option<f64>, high: f64| {
        level.by == answer.by && low.is_none_or(|low| level.load >= low) && level.load <= high
    };
    if answer.knee.as_ref().is_some_and(|knee| within(knee.low, knee.high)) {
        words.push("inside the knee's interval");
    }
    if level.is_on_front {
        words.push("on the front");
    }
    if level.ties_front {
        words.push("a tie with the front");
    }
    words.join("; ")
}
