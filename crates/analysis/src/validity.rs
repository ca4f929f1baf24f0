//! Whether the instrument vouches for a run: its own error, held against the figures.
//!
//! Never here: a figure of the server's. A run on a slow server is as valid as on a fast one.

use crate::cell::Cell;
use crate::pass::PassSummary;
use crate::verdict::Validity;
use inferometer_load::PassKind;
use inferometer_metrics::{Definition, registry, send_delay};

/// The largest error bound of a median, as a share of it.
const LARGEST_SHARE_OF_P50: f64 = 0.01;
/// The largest error bound of a 99th percentile, as a share of it.
const LARGEST_SHARE_OF_P99: f64 = 0.05;
/// The largest 99th percentile of send_delay, as a share of the mean gap between arrivals.
const LARGEST_SHARE_OF_GAP: f64 = 0.05;
/// The largest 99th percentile of send_delay in any case, in milliseconds.
const LARGEST_SEND_DELAY_MS: f64 = 10.0;

/// The largest share of a pass that the event loop may have been stopped, and the time of stalls
/// below which nothing is said.
const LARGEST_SHARE_STALLED: f64 = 0.05;
const SMALLEST_STALLS_US: u64 = 100_000;
/// The largest share of a pass that the event loop may have been at work, and the length of a
/// pass below which nothing is said.
const LARGEST_SHARE_BUSY: f64 = 0.95;
const SHORTEST_PASS_US: u64 = 500_000;

/// Judges every pass of a run. One reason for each rule that was broken, however often: a
/// sentence with the pass that broke it most and the number of passes that broke it.
///
/// The rules: the error bounds of metrics stay within 1 % of the median and 5 % of the
/// 99th percentile (a figure of zero has no share to hold them against: tokens came together, which
/// a finding says); in open loops the 99th percentile of send_delay stays within 5 % of the mean gap
/// between arrivals and within 10 ms; nothing was dropped; something completed. A rule whose figure is absent is not
/// broken.
pub fn judge(cells: &[Cell]) -> (Validity, Vec<String>) {
    let rules: [fn(&PassSummary) -> Option<Breach>; 4] = [send_delay, dropped, stalled, busy];
    let reasons: Vec<String> = worst(cells, nothing)
        .into_iter()
        .chain(registry::bounded().filter_map(|(of, _)| worst(cells, |pass| bounded(pass, of))))
        .chain(rules.into_iter().filter_map(|rule| worst(cells, rule)))
        .collect();
    let validity = if reasons.is_empty() { Validity::Valid } else { Validity::Suspect };
    (validity, reasons)
}

/// A rule that a pass broke: by how much of what is allowed, and a sentence.
struct Breach {
    times_allowed: f64,
    sentence: String,
}

/// The sentence of the worst breach of one rule.
fn worst(cells: &[Cell], rule: impl Fn(&PassSummary) -> Option<Breach>) -> Option<String> {
    let passes = cells.iter().flat_map(|cell| cell.passes.iter().map(move |pass| (cell, pass)));
    let breaches: Vec<(String, Breach)> =
        passes.filter_map(|(cell, pass)| Some((cell.place(pass), rule(pass)?))).collect();
    let others = match breaches.len() {
        0 | 1 => String::new(),
        2 => " The same rule is broken in 1 other pass.".to_owned(),
        n => format!(" The same rule is broken in {} other passes.", n - 1),
    };
    let (place, breach) =
        breaches.into_iter().max_by(|a, b| a.1.times_allowed.total_cmp(&b.1.times_allowed))?;
    Some(format!("{place}: {}{others}", breach.sentence))
}

fn nothing(pass: &PassSummary) -> Option<Breach> {
    (pass.outcomes.complete == 0 && !pass.is_cut_off()).then(|| Breach {
        times_allowed: f64::INFINITY,
        sentence: "no request completed: there is no figure to vouch for.".to_owned(),
    })
}

/// The worse breach of the limits of a figure's median and 99th percentile.
fn bounded(pass: &PassSummary, metric: &Definition) -> Option<Breach> {
    let name = metric.title;
    let (bound_us, figure_ms) = (pass.instrument.bounds.bound(metric)?, pass.latency(metric)?);
    let statistics = [
        ("median", bound_us.p50, figure_ms.p50, LARGEST_SHARE_OF_P50),
        ("99th percentile", bound_us.p99, figure_ms.p99, LARGEST_SHARE_OF_P99),
    ];
    let breaches = statistics.into_iter().filter_map(|(statistic, bound_us, figure_ms, share)| {
        let (bound_ms, allowed_ms) = (bound_us * 1e-3, share * figure_ms);
        (allowed_ms > 0.0 && bound_ms > allowed_ms).then(|| Breach {
            times_allowed: bound_ms / allowed_ms,
            sentence: format!(
                "the {statistic} of {name} is {figure_ms:.3} ms, but the client's error bound on \
                 it is {bound_ms:.3} ms, more than {} % of it ({}).",
                share * 100.0,
                cause(pass)
            ),
        })
    });
    breaches.max_by(|a, b| a.times_allowed.total_cmp(&b.times_allowed))
}

/// Where error bounds come from.
fn cause(pass: &PassSummary) -> String {
    let instrument = &pass.instrument;
    match instrument.reads - instrument.kernel_stamped_reads {
        0 => format!("{} token events shared a read with a later one", instrument.coalesced_events),
        unstamped => {
            format!("{unstamped} of {} reads bore no stamp of the kernel's", instrument.reads)
        }
    }
}

fn send_delay(pass: &PassSummary) -> Option<Breach> {
    // In the other loops a request is due when another ends: there is no schedule to be late on.
    if pass.kind != PassKind::Open {
        return None;
    }
    let delay_ms = pass.latency(&send_delay::DEFINITION)?.p99;
    // All at once has no gaps to keep: only the delay itself is judged.
    // A replay has the rate at which its requests came due.
    let replayed = || pass.duration_s.map(|seconds| pass.planned as f64 / seconds);
    let rate = pass.rate.or_else(replayed).filter(|rate| rate.is_finite());
    let gap_ms = rate.map_or(f64::INFINITY, |rate| 1e3 / rate);
    let allowed_ms = (LARGEST_SHARE_OF_GAP * gap_ms).min(LARGEST_SEND_DELAY_MS);
    (delay_ms > allowed_ms).then(|| Breach {
        times_allowed: delay_ms / allowed_ms,
        sentence: format!(
            "the 99th percentile of send_delay is {delay_ms:.3} ms, more than the {allowed_ms:.3} \
             ms allowed (5 % of the mean gap of {gap_ms:.3} ms between arrivals, at most 10 ms): \
             the load was not what was planned."
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

fn stalled(pass: &PassSummary) -> Option<Breach> {
    let process = pass.instrument.process?;
    let share = process.stalled_us as f64 / process.wall_us as f64;
    let breach = process.stalled_us >= SMALLEST_STALLS_US && share > LARGEST_SHARE_STALLED;
    breach.then(|| Breach {
        times_allowed: share / LARGEST_SHARE_STALLED,
        sentence: format!(
            "the client stood still for {:.1} % of the pass, {:.3} s in all: in that time nothing \
             was sent or read.",
            share * 100.0,
            process.stalled_us as f64 * 1e-6
        ),
    })
}

fn busy(pass: &PassSummary) -> Option<Breach> {
    let process = pass.instrument.process?;
    let share = process.busy_us as f64 / process.wall_us as f64;
    let breach = process.wall_us >= SHORTEST_PASS_US && share > LARGEST_SHARE_BUSY;
    breach.then(|| Breach {
        times_allowed: share / LARGEST_SHARE_BUSY,
        sentence: format!(
            "the client's event loop was at work for {:.1} % of the pass: the client may have been \
             the bottleneck.",
            share * 100.0
        ),
    })
}

#[cfg(test)]
mod tests;
