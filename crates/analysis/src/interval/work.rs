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
        serial::{self, FEWEST_COSINES},
        student_975,
    },
};
use rand_chacha::ChaCha8Rng;

use super::contribution::{Contribution, degrees_of_variance, sum_of_variances, variance};
use super::drain::VARIED;
use super::sent::SentRequest;
use super::series::{BEYOND_P90, Series, Shares};

/// The number of windows in the mean stay of a request. A window must be longer than the wait for a prompt, and short
/// enough that the number of its prompts varies.
const WINDOWS_OF_STAY: f64 = 8.0;
/// With fewer windows, the cost of a prompt is not known.
const FEWEST_WINDOWS: usize = 16;
/// The smoothing of a sample of n lengths, relative to [`of_longest`] x n^(-1/5): 1.06 standard deviations of logarithms
/// that are normal.
const SMOOTHING: f64 = 1.77;
/// Values are stays if they are known of this share of the requests, and their variance beside the stays is less than
/// this share of their variance.
const ALMOST_ALL: f64 = 0.95;
const APART: f64 = 0.1;
/// The density of values at a percentile is that of the values within this factor of it.
const NEAR: f64 = 1.2;
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
    /// The standard deviation of the logarithm of a factor for lengths that are drawn.
    smoothing: f64,
    /// The time of a token of one answer while the last answers run, relative to the steady state.
    pub pace_of_drain: f64,
}

impl Work {
    /// The work of a closed loop, from its requests in the order of sending. `None` if the stays vary too little, or if
    /// the answers were not all streamed and complete.
    pub(super) fn of(sent: &[SentRequest], edge: usize, tokens: &TokenCurve) -> Option<Self> {
        let stays: Vec<f64> = sent.iter().map(SentRequest::stay_s).collect();
        let n = sent.len() as f64;
        let mean_s = stays.iter().sum::<f64>() / n;
        let middle = stays.get(edge..stays.len() - edge)?;
        if edge < 2 || variance(middle).sqrt() < VARIED * mean_s {
            return None;
        }
        let firsts: Vec<Nanos> = sent.iter().map(|it| it.first).collect::<Option<_>>()?;
        let lengths: Vec<f64> =
            sent.iter().map(|it| it.tokens.map(f64::from)).collect::<Option<_>>()?;
        let (begin, end) = (*firsts[..edge].iter().max()?, sent.last()?.send);
        let span_s = if end > begin { end.seconds_after(begin) } else { 0.0 };
        let count = (span_s / mean_s * WINDOWS_OF_STAY) as usize;
        if count < FEWEST_WINDOWS {
            return None;
        }
        let bounds = bounds(begin, end, count);
        let come = tokens.between_each(&bounds);
        let begun = prompts(sent, &firsts).between_each(&bounds);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (mean_come, mean_begun) = (mean(&come), mean(&begun));
        let both: f64 =
            come.iter().zip(&begun).map(|(t, p)| (t - mean_come) * (p - mean_begun)).sum();
        let lost = (-both / variance(&begun) / (count - 1) as f64).max(0.0);
        let spared = lost * mean_begun / (mean_come + lost * mean_begun);
        let rest: Vec<f64> = come.iter().zip(&begun).map(|(t, p)| t + lost * p).collect();
        let long = serial::long_run(&rest, None, FEWEST_COSINES, 0.0)?;
        let windows = count as f64 * mean_s * n / (span_s * edge as f64);
        let mean_length = mean(&lengths);
        let pace_s = span_s * edge as f64 / (mean_come * count as f64);
        let drain_s = pace_of_drain(sent, end, tokens)?;
        Some(Self {
            lengths: lengths.iter().map(|length| length / mean_length).collect(),
            mean_s,
            mean_at_pace_s: mean_length * pace_s,
            smoothing: SMOOTHING * of_longest(&lengths) * n.powf(-0.2),
            spared,
            noise: long.variance / (mean_come.powi(2) * windows),
            degrees: long.degrees,
            pace_of_drain: (drain_s / pace_s).min(1.0),
        })
    }

    /// The time of an answer in the steady state that is about as long as that of a request, in seconds: others would have
    /// answers of lengths between those of this pass, and beyond (Silverman, Young, "The Bootstrap: To Smooth or Not to
    /// Smooth?", 1987).
    pub(super) fn drawn_s(&self, rank: usize, rng: &mut ChaCha8Rng) -> f64 {
        self.mean_at_pace_s * self.lengths[rank] * (self.smoothing * seed::normal(rng)).exp()
    }

    /// What a request adds to the sum of all stays, in seconds.
    pub(super) fn stay_s(&self, rank: usize) -> f64 {
        self.mean_s * (1.0 + (1.0 - self.spared) * (self.lengths[rank] - 1.0))
    }
}

impl Series<'_> {
    /// If the values are about the stays of the requests, in any unit (like the time of an answer, and the times between
    /// its tokens): the sum of the values, divided by that of the stays.
    pub(super) fn share_of_stays(&self) -> Option<f64> {
        let stays_s: Vec<f64> = self.layout.sent.iter().map(SentRequest::stay_s).collect();
        if self.layout.work.is_none()
            || self.parts.len() < (ALMOST_ALL * stays_s.len() as f64) as usize
        {
            return None;
        }
        let pairs = || self.parts.iter().map(|part| (part.total, stays_s[part.at as usize]));
        let sum: f64 = pairs().map(|(value, _)| value).sum();
        let share = sum / pairs().map(|(_, stay)| stay).sum::<f64>();
        let apart: Vec<f64> = pairs().map(|(value, stay)| value - share * stay).collect();
        let values: Vec<f64> = pairs().map(|(value, _)| value).collect();
        (variance(&apart) < APART * variance(&values)).then_some(share)
    }

    /// The variance of the sum of `value - mean x weight`, and its degrees of freedom, if the values are stays.
    pub(super) fn variance_by_work(&self, mean: f64) -> (f64, usize) {
        let (Some(work), Some(share)) = (&self.layout.work, self.share_of_stays()) else {
            return (0.0, 1);
        };
        let of = |part: &Contribution| share * work.stay_s(part.at as usize) - mean * part.weight;
        let values: Vec<f64> = self.parts.iter().map(of).collect();
        let sum: f64 = self.parts.iter().map(|part| part.total).sum();
        let sampled = (variance(&values) * values.len() as f64, degrees_of_variance(&values));
        sum_of_variances(&[sampled, (work.noise * sum * sum, work.degrees)])
    }

    /// The interval of a percentile of stays. Longer answers make all answers faster, so the number of values below the
    /// percentile varies less than that of independent values.
    pub(super) fn shares_by_work(&self, work: &Work, share: f64, value: f64) -> Shares {
        let n = self.parts.len() as f64;
        let near = value / NEAR..value * NEAR;
        let density = self.parts.iter().filter(|part| near.contains(&part.total)).count() as f64
            / (2.0 * NEAR.ln() * n);
        let of = |part: &Contribution| {
            let below = f64::from(u8::from(part.total <= value)) - share;
            below + density * work.spared * (work.lengths[part.at as usize] - 1.0)
        };
        let values: Vec<f64> = self.parts.iter().map(of).collect();
        let sampled = (variance(&values) * n, degrees_of_variance(&values));
        let (sum, degrees) =
            sum_of_variances(&[sampled, (work.noise * (density * n).powi(2), work.degrees)]);
        let effective = (share * (1.0 - share) * n * n / sum).min(n);
        let is_known = share <= 0.5 || effective * (1.0 - share) >= BEYOND_P90;
        let half = student_975(degrees.max(1)) * sum.sqrt() / n;
        Shares { ends: is_known.then_some([share - half, share + half]), effective }
    }
}

/// How much the lengths above the upper quartile vary: the mean logarithm of length / quartile (Hill, "A Simple General
/// Approach to Inference About the Tail of a Distribution", 1975).
fn of_longest(lengths: &[f64]) -> f64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_by(f64::total_cmp);
    let longest = &sorted[sorted.len() - sorted.len() / 4 - 1..];
    let logarithms = longest.iter().map(|length| (length / longest[0].max(1.0)).ln());
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
    Some(WINDOWS_OF_DRAIN as f64 / speeds.sum::<f64>())
}
