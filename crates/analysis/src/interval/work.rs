//! What one more token of an answer costs a closed loop whose answers have random lengths.
//!
//! The time of an answer is proportional to its length. But a longer answer also keeps its place in flight for longer, so
//! that fewer prompts are processed in the meantime, and all answers get faster. So if the answers of a pass are longer
//! by a share, the sum of all stays grows by less: by the share of its time that the server spends on tokens and not
//! on prompts. One pass is often too short to show this as a slow fluctuation. It shows in short windows: the more
//! prompts a window has, the fewer tokens arrive in it.

use inferometer_model::{
    Nanos,
    metrics::{EVENTS_KEPT, TokenCurve, TokenEvent},
    record::EventKind,
    stats::{
        seed,
        serial::{self, FEWEST_COSINES, LastControl},
    },
};
use rand_chacha::ChaCha8Rng;

use super::contribution::{ALMOST_ALL, COSINES, VARIED, sum_of_variances, variance};
use super::sent::SentRequest;

/// The number of windows in the mean stay of a request. A window must be longer than the wait for a prompt, and short
/// enough that the number of its prompts varies.
const WINDOWS_OF_STAY: f64 = 8.0;
/// With fewer windows, the cost of a prompt is not known.
const FEWEST_WINDOWS: usize = 16;
/// The smoothing of a sample of n lengths, relative to [`of_longest`] x n^(-1/5): 1.06 standard deviations of logarithms
/// that are normal.
const SMOOTHING: f64 = 1.77;
/// The number of windows until the text of running answers no longer grows: 20 stays.
const WINDOWS_OF_GROWTH: usize = 160;
/// The number of windows in the time while the last answers run.
const WINDOWS_OF_DRAIN: usize = 16;

/// The work of a pass.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// For each rank: the number of tokens, relative to the mean.
    pub lengths: Vec<f64>,
    /// The mean stay, and the time of the tokens of an answer of mean length in the steady state, in seconds.
    mean_s: f64,
    mean_at_pace_s: f64,
    /// The share by which the stays are shorter if the answers are longer by a share of 1; from 0 to 1.
    pub spared: f64,
    /// The variance of the sum of all stays for given lengths, relative to the square of the sum.
    pub noise: f64,
    pub degrees: usize,
    /// The bounds of the windows.
    bounds: Vec<Nanos>,
    /// The standard deviation of the logarithm of a factor for lengths that are drawn.
    smoothing: f64,
    /// The time of a token of one answer while the last answers run, relative to the steady state.
    pub pace_of_drain: f64,
}

impl Work {
    /// The work of a closed loop, from its requests in the order of sending. `None` if the stays vary too little, or if
    /// some answers more than a few were not streamed or complete.
    pub(super) fn of(sent: &[SentRequest], edge: usize, tokens: &TokenCurve) -> Option<Self> {
        let stays: Vec<f64> = sent.iter().map(SentRequest::stay_s).collect();
        let n = sent.len() as f64;
        let mean_s = stays.iter().sum::<f64>() / n;
        let middle = stays.get(edge..stays.len() - edge)?;
        if edge < 2 || variance(middle).sqrt() < VARIED * mean_s {
            return None;
        }
        // A request that failed, or was not streamed, has a prompt and a length like the others.
        let known: Vec<f64> = sent
            .iter()
            .filter(|it| it.first.is_some())
            .filter_map(|it| it.tokens.map(f64::from))
            .collect();
        if (known.len() as f64) < ALMOST_ALL * n {
            return None;
        }
        let mean_length = mean(&known);
        let lengths: Vec<f64> =
            sent.iter().map(|it| it.tokens.map_or(mean_length, f64::from)).collect();
        let firsts: Vec<Nanos> = sent.iter().map(|it| it.first.unwrap_or(it.ended)).collect();
        let (begin, end) = (*firsts[..edge].iter().max()?, sent.last()?.send);
        let span_s = if end > begin { end.seconds_after(begin) } else { 0.0 };
        let count = (span_s / mean_s * WINDOWS_OF_STAY) as usize;
        if count < FEWEST_WINDOWS {
            return None;
        }
        let bounds = bounds(begin, end, count);
        let come = tokens.between_each(&bounds);
        let begun = prompts(sent, &firsts).between_each(&bounds);
        let (mean_come, mean_begun) = (mean(&come), mean(&begun));
        if mean_come <= 0.0 || mean_length <= 0.0 {
            return None;
        }
        let both: f64 =
            come.iter().zip(&begun).map(|(t, p)| (t - mean_come) * (p - mean_begun)).sum();
        let lost = (-both / variance(&begun) / (count - 1) as f64).max(0.0);
        let spared = lost * mean_begun / (mean_come + lost * mean_begun);
        // The tokens of windows without prompts.
        let rest: Vec<f64> = come.iter().zip(&begun).map(|(t, p)| t + lost * p).collect();
        let long = serial::long_run(&rest, None, FEWEST_COSINES, 0.0)?;
        let windows = count as f64 * mean_s * n / (span_s * edge as f64);
        let pace_s = span_s * edge as f64 / (mean_come * count as f64);
        let drain_s = pace_of_drain(sent, end, tokens)?;
        Some(Self {
            lengths: lengths.iter().map(|length| length / mean_length).collect(),
            mean_s,
            mean_at_pace_s: mean_length * pace_s,
            smoothing: SMOOTHING * of_longest(&lengths) * n.powf(-0.2),
            spared,
            noise: long.variance / (mean(&rest).powi(2) * windows),
            degrees: long.degrees,
            bounds,
            pace_of_drain: (drain_s / pace_s).min(1.0),
        })
    }

    /// The time of an answer in the steady state that is about as long as that of a request, in seconds: others would have
    /// answers of lengths between those of this pass, and beyond (Silverman, Young, "The Bootstrap: To Smooth or Not to
    /// Smooth?", 1987).
    pub(super) fn drawn_s(&self, rank: usize, rng: &mut ChaCha8Rng) -> f64 {
        self.mean_at_pace_s
            * self.lengths[rank]
            * (self.smoothing * (seed::normal(rng) - self.smoothing / 2.0)).exp()
    }

    /// The variance of the sum of values at known times, which are alike for all requests in flight, and its degrees of
    /// freedom. Each item of `requests` yields the values of one request.
    ///
    /// The first answers begin together, so that the text in the server grows until some have ended and others are in
    /// their midst: by the same curve in each pass, which counts as no fluctuation. After the last window, the answers
    /// only end. How long each of them still runs is a matter of chance, so what each adds there is independent.
    pub(crate) fn variance_by_time<T: Iterator<Item = (Nanos, f64)>>(
        &self,
        requests: impl Iterator<Item = T>,
    ) -> Option<(f64, usize)> {
        let [begin, .., end] = self.bounds[..] else { return None };
        let mut sums = vec![0.0; self.bounds.len() - 1];
        let width_ns = end.since(begin).as_nanos() as f64 / sums.len() as f64;
        let mut after = Vec::new();
        for values in requests {
            let mut own_after = None;
            for (at, value) in values.filter(|(at, _)| *at > begin) {
                let window = (at.since(begin).as_nanos() as f64 / width_ns) as usize;
                match sums.get_mut(window) {
                    Some(sum) => *sum += value,
                    None => *own_after.get_or_insert(0.0) += value,
                }
            }
            after.extend(own_after);
        }
        let text = self.mean_text(sums.len());
        let control = Some((&text[..], &LastControl::default()));
        let long = serial::long_run(&sums, control, COSINES, 0.0)?;
        let parts = [
            (long.variance * sums.len() as f64, long.degrees),
            (variance(&after) * after.len() as f64, after.len().saturating_sub(1)),
        ];
        Some(sum_of_variances(&parts))
    }

    /// The mean text of a running answer in each of the windows, if all begin together and a next one follows each: the
    /// expected age of a renewal process (Cox, Renewal Theory, 1962) whose stays have the lengths of this pass.
    fn mean_text(&self, windows: usize) -> Vec<f64> {
        let grown = windows.min(WINDOWS_OF_GROWTH);
        let mut ending = vec![0.0; grown];
        for length in &self.lengths {
            let window = (length * WINDOWS_OF_STAY) as usize;
            if let Some(share) = ending.get_mut(window) {
                *share += 1.0 / self.lengths.len() as f64;
            }
        }
        let (mut text, mut running): (Vec<f64>, f64) = (Vec::new(), 1.0);
        for at in 0..grown {
            running -= ending[at];
            let renewed: f64 = (0..at).map(|before| ending[before] * text[at - before - 1]).sum();
            text.push(running * (at as f64 + 0.5) + renewed);
        }
        text.resize(windows, text.last().copied().unwrap_or(0.0));
        text
    }

    /// What a request adds to the sum of all stays, in seconds.
    pub(super) fn stay_s(&self, rank: usize) -> f64 {
        self.mean_s * (1.0 + (1.0 - self.spared) * (self.lengths[rank] - 1.0))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// How much the lengths above the upper quartile vary: the mean logarithm of length / quartile (Hill, "A Simple General
/// Approach to Inference About the Tail of a Distribution", 1975).
fn of_longest(lengths: &[f64]) -> f64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_by(f64::total_cmp);
    let longest = &sorted[sorted.len() - sorted.len() / 4 - 1..];
    let logarithms = longest.iter().map(|length| (length.max(1.0) / longest[0].max(1.0)).ln());
    logarithms.sum::<f64>() / longest.len() as f64
}

/// The prompts by time. A prompt is spread evenly over the wait for its first token.
fn prompts(sent: &[SentRequest], firsts: &[Nanos]) -> TokenCurve {
    let event =
        |arrival, tokens| TokenEvent { arrival, kind: EventKind::Text, tokens, width_ms: 0.0 };
    let mut curve = TokenCurve::keeping(EVENTS_KEPT);
    for (it, first) in sent.iter().zip(firsts) {
        curve.add(&[event(it.send, 0.0), event(*first, 1.0)]);
    }
    curve
}

/// The bounds of this many equal windows.
fn bounds(begin: Nanos, end: Nanos, count: usize) -> Vec<Nanos> {
    let width = end.since(begin).as_nanos() as f64 / count as f64;
    (0..=count).map(|at| Nanos(begin.0 + (width * at as f64) as u64)).collect()
}

/// The mean time of a token of one answer after the last request was sent, in seconds. Each instant counts equally,
/// because the last answers decide how long the others are idle.
fn pace_of_drain(sent: &[SentRequest], begin: Nanos, tokens: &TokenCurve) -> Option<f64> {
    let running: Vec<Nanos> = sent.iter().map(|it| it.ended).filter(|&end| end > begin).collect();
    let bounds = bounds(begin, *running.iter().max()?, WINDOWS_OF_DRAIN);
    let come = tokens.between_each(&bounds);
    let busy_s = |pair: &[Nanos]| -> f64 {
        running.iter().map(|end| (*end).clamp(pair[0], pair[1]).seconds_after(pair[0])).sum()
    };
    let speeds = bounds.windows(2).zip(&come).map(|(pair, come)| come / busy_s(pair));
    Some(WINDOWS_OF_DRAIN as f64 / speeds.sum::<f64>()).filter(|pace_s| pace_s.is_finite())
}
