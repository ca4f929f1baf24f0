//! Computes the verdict of a run: whether the client's own error is small enough for the main figures, and whether the
//! server worked for this client alone. [`crate::trust`] judges single figures.
//!
//! This module does not judge the server: a run on a slow server is as valid as a run on a fast one.

use crate::verdict::{SloResult, Validity};
use crate::{Cell, PassSummary, cell, prediction::Columns, range::Trust, trust};
use inferometer_model::{PassKind, metrics::send_delay};
use inferometer_plan::search::Over;

/// The largest allowed 99th percentile of send_delay, as a share of the mean gap between arrivals.
const LARGEST_SHARE_OF_GAP: f64 = 0.05;
/// The largest allowed 99th percentile of send_delay, whatever the gap, in milliseconds.
const LARGEST_SEND_DELAY_MS: f64 = 10.0;

/// If the server generated more output tokens than this many times those of the client, others used it.
const MOST_OF_SERVER: f64 = 1.1;

/// Judges all passes and objectives of a run. A rule that is broken in several places gives one reason: a sentence
/// about the worst place, with the number of other places. Exceptions: each undecided objective gives a separate
/// reason, and so does each of the four figures of the cells.
///
/// A run is valid if all of these rules hold:
///
/// - At least one request of each pass completed. Passes that were cut off or interrupted are not judged by this rule.
/// - The four figures of each cell are trusted or bounded.
/// - No objective is undecided ([`SloResult::undecided`]). Too few values do not break this rule.
/// - In open loops, the 99th percentile of send_delay is at most 5 % of the mean gap between arrivals, and at most 10
///   ms.
/// - No request was dropped.
/// - The server did not generate clearly more output tokens than this client received.
///
/// A rule is not broken if its figure is absent. Other unreliable figures are only marked.
pub fn judge(cells: &[Cell], objectives: &[SloResult]) -> (Validity, Vec<String>) {
    let rules: [fn(&PassSummary) -> Option<Breach>; 3] = [send_delay, dropped, shared];
    let columns = Columns::NAMES.into_iter();
    let open = objectives.iter().filter_map(|objective| {
        let why = objective.undecided.as_ref()?;
        Some(format!("{}: {} is undecided: {why}.", objective.place, objective.objective))
    });
    let reasons: Vec<String> = worst(cells, nothing)
        .into_iter()
        .chain(columns.filter_map(|name| not_vouched_for(cells, name)))
        .chain(open)
        .chain(rules.into_iter().filter_map(|rule| worst(cells, rule)))
        .collect();
    let validity = if reasons.is_empty() { Validity::Valid } else { Validity::Suspect };
    (validity, reasons)
}

/// The first reason why the passes of a cell at one load are suspect; `None` if they are valid.
pub(crate) fn suspect_at(cell: &Cell, over: Over, load: f64) -> Option<String> {
    let is_of_load = |pass: &&PassSummary| pass.is_at(over, load);
    let passes: Vec<PassSummary> = cell.passes.iter().filter(is_of_load).cloned().collect();
    let (_, reasons) = judge(&[cell::cell(cell.input_length, cell.output_length, passes)], &[]);
    reasons.into_iter().next()
}

/// A broken rule, with a sentence. `times_allowed` orders the breaches of one rule: the largest value is the worst.
struct Breach {
    times_allowed: f64,
    sentence: String,
}

/// The sentence on the worst breach of a rule that applies to single passes.
fn worst(cells: &[Cell], rule: impl Fn(&PassSummary) -> Option<Breach>) -> Option<String> {
    let passes = cells.iter().flat_map(|cell| cell.passes.iter().map(move |pass| (cell, pass)));
    let breaches = passes.filter_map(|(cell, pass)| Some((cell.place(pass), rule(pass)?)));
    told(breaches.collect(), "pass")
}

/// The sentence on the worst breach, and the number of other places at which the rule is broken.
fn told(breaches: Vec<(String, Breach)>, kind: &str) -> Option<String> {
    let others = match (breaches.len(), kind) {
        (0 | 1, _) => String::new(),
        (2, _) => format!(" The same holds for 1 other {kind}."),
        (n, "pass") => format!(" The same holds for {} other passes.", n - 1),
        (n, _) => format!(" The same holds for {} other {kind}s.", n - 1),
    };
    let (place, breach) =
        breaches.into_iter().max_by(|a, b| a.1.times_allowed.total_cmp(&b.1.times_allowed))?;
    Some(format!("{place}: {}{others}", breach.sentence))
}

fn nothing(pass: &PassSummary) -> Option<Breach> {
    (pass.outcomes.complete == 0 && !pass.is_cut_off() && !pass.is_interrupted()).then(|| Breach {
        times_allowed: f64::INFINITY,
        sentence: "no request completed, so there are no figures.".to_owned(),
    })
}

/// The sentence on the worst unreliable value of one figure of the main table.
fn not_vouched_for(cells: &[Cell], name: &str) -> Option<String> {
    let breaches = cells.iter().filter_map(|cell| {
        let figure = trust::columns(cell).into_iter().find(|figure| figure.name == name)?;
        let (value, range) = figure.value.zip(figure.range)?;
        (range.trust == Trust::Unreliable).then(|| {
            let ends = match range.low == range.high {
                true => String::new(),
                false => {
                    format!(", the true value is between {:.3} and {:.3}", range.low, range.high)
                }
            };
            let why = trust::why_of_column(cell, name);
            let sentence = format!("{name} is {value:.3}{ends}: {why}.");
            (cell.plan().to_string(), Breach { times_allowed: range.off(value) / value, sentence })
        })
    });
    told(breaches.collect(), "cell")
}

fn send_delay(pass: &PassSummary) -> Option<Breach> {
    // Only an open loop has a schedule. In other loads, a request is due when another one ends, or at the start.
    // The waits at a limit before the first token are part of the load.
    if pass.kind != PassKind::Open || pass.limits_prefill {
        return None;
    }
    let delay_ms = pass.latency(&send_delay::DEFINITION)?.p99;
    // Without a planned rate, the rate is the number of requests divided by the duration of the pass. Requests that are
    // all due at the same time have no gaps, so only the limit in milliseconds applies.
    let replayed = || pass.duration_s.map(|seconds| pass.planned as f64 / seconds);
    let rate = pass.rate.or_else(replayed).filter(|rate| rate.is_finite());
    let gap_ms = rate.map_or(f64::INFINITY, |rate| 1e3 / rate);
    let allowed_ms = (LARGEST_SHARE_OF_GAP * gap_ms).min(LARGEST_SEND_DELAY_MS);
    (delay_ms > allowed_ms).then(|| Breach {
        times_allowed: delay_ms / allowed_ms,
        sentence: format!(
            "the 99th percentile of send_delay is {delay_ms:.3} ms, above the limit of \
                {allowed_ms:.3} ms (5 % of the mean gap of {gap_ms:.3} ms between arrivals, at \
                most 10 ms): the load was not as planned."
        ),
    })
}

fn dropped(pass: &PassSummary) -> Option<Breach> {
    let dropped = pass.outcomes.dropped;
    (dropped > 0).then(|| Breach {
        times_allowed: dropped as f64,
        sentence: format!("{dropped} of {} planned requests were dropped.", pass.planned),
    })
}

fn shared(pass: &PassSummary) -> Option<Breach> {
    let (counted, ours) = pass.counts_of_output()?;
    (counted > MOST_OF_SERVER * ours).then(|| Breach {
        times_allowed: counted / ours,
        sentence: format!(
            "the server generated {counted:.0} output tokens, of which this client received {ours:.0}: others may have \
                used it, so the figures are not those of this load alone."
        ),
    })
}

#[cfg(test)]
mod tests;
