//! Which requests of a trial count: those that meet the state which the load holds, by when they were due and
//! never by what became of them.

use inferometer_model::time::Nanos;

/// How long a request was there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub due: Nanos,
    /// Not before it was due.
    pub ended: Nanos,
    pub complete: bool,
}

impl Stay {
    pub(crate) fn seconds(&self) -> f64 {
        self.ended.seconds_after(self.due)
    }
}

/// What has a stay.
pub(crate) trait HasStay {
    fn stay(&self) -> Stay;
}

impl HasStay for Stay {
    fn stay(&self) -> Stay {
        *self
    }
}

/// The part of a trial that counts, by the places of its requests in the order of their dues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// The first one that counts.
    pub startup: usize,
    /// The first one of the drain.
    pub end: usize,
    /// The median time from due to end, in seconds.
    pub latency_s: f64,
    /// Whether the trial was long enough for requests to meet what the load holds.
    pub is_settled: bool,
}

/// A trial begins with an idle server: in so many latencies it comes to hold what it does under the load,
/// at the earliest.
const STARTUP_LATENCIES: f64 = 3.0;
/// After the last arrival the number in flight falls. Requests that were due less than so many
/// latencies before the last arrival run beside fewer others than the load holds.
const DRAIN_LATENCIES: f64 = 1.0;
/// At most this part of a trial is start-up.
const MOST_STARTUP: usize = 2;
/// Latencies that are larger by this factor than those of a quarter of the trial before still grow.
const GROWS: f64 = 1.1;
/// At least this part of a trial that settled counts.
const SETTLED_PART: usize = 4;

/// Which requests of a trial count. They stand in the order of their dues.
pub(crate) fn counted<R: HasStay>(rows: &[R]) -> Counted {
    let latency_s = median_latency_s(rows);
    let due = |row: Option<&R>| row.map_or(Nanos::ZERO, |row| row.stay().due);
    let [first, last] = [due(rows.first()), due(rows.last())];
    let until = last.seconds_after(first) - DRAIN_LATENCIES * latency_s;
    let at = |row: &R| row.stay().due.seconds_after(first);
    let filled = rows.partition_point(|row| at(row) < STARTUP_LATENCIES * latency_s);
    let startup = filled.max(settled_after(rows)).min(rows.len() / MOST_STARTUP);
    let end = rows.partition_point(|row| at(row) <= until);
    // Where latencies exceed the time over which requests came, its later half stands for it.
    let steady = end.saturating_sub(startup);
    Counted {
        startup,
        end: if steady > 0 { end } else { rows.len() },
        latency_s,
        is_settled: SETTLED_PART * steady >= rows.len().max(1)
            && !(startup >= rows.len() / MOST_STARTUP && grows(rows)),
    }
}

/// Whether latencies still grow at the end: those of the last quarter beside those of the one before.
fn grows<R: HasStay>(rows: &[R]) -> bool {
    let quarter = rows.len() / 4;
    let sum = |rows: &[R]| rows.iter().map(|row| row.stay().seconds()).sum::<f64>();
    let last = rows.len() - quarter;
    sum(&rows[last..]) > GROWS * sum(&rows[last - quarter..last])
}

/// After how many requests latencies are those of the rest: where the mean of what follows is known
/// best (K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
/// Simulation 69, 1997, by means over five).
fn settled_after<R: HasStay>(rows: &[R]) -> usize {
    const TOGETHER: usize = 5;
    let means: Vec<f64> = rows
        .chunks_exact(TOGETHER)
        .map(|rows| rows.iter().map(|row| row.stay().seconds()).sum::<f64>())
        .collect();
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (at, mean) in means.iter().enumerate().rev() {
        (sum, squares, count) = (sum + mean, squares + mean * mean, count + 1.0);
        let error = (squares - sum * sum / count) / (count * count);
        if at <= means.len() / MOST_STARTUP && error <= best.0 {
            best = (error, at);
        }
    }
    // An idle server is quick: what is slower than the rest is an excursion, and counts.
    let (before, after) = means.split_at(best.1);
    let mean = |means: &[f64]| means.iter().sum::<f64>() / means.len().max(1) as f64;
    if mean(before) < mean(after) { best.1 * TOGETHER } else { 0 }
}

/// The median time from due to end, in seconds; of those that completed, where any did: what is refused
/// at once says nothing of how long an answer takes.
pub(crate) fn median_latency_s<R: HasStay>(rows: &[R]) -> f64 {
    let any_complete = rows.iter().any(|row| row.stay().complete);
    let taken = rows.iter().map(HasStay::stay).filter(|stay| stay.complete || !any_complete);
    let mut spans: Vec<f64> = taken.map(|stay| stay.seconds()).collect();
    spans.sort_unstable_by(f64::total_cmp);
    spans.get(spans.len() / 2).copied().unwrap_or(0.0)
}
