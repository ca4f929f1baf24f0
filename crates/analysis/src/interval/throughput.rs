//! Computes the confidence interval of a rate over a whole pass, for a load with a constant number of requests in
//! flight.

use inferometer_model::stats::{serial, student_975, wilson};

use super::contribution::{Contribution, degrees_of_variance, sum_of_variances, variance};
use super::series::{Series, cosines};
use super::{course::Layout, drain::variance_of_drain, sent::SentRequest};

/// The 97.5 % quantile of the normal distribution.
const NORMAL_975: f64 = 1.96;

/// The 95 % interval of `total / duration_s`. `of` returns the contribution of a request to the total. `None` in an
/// open loop, where the arrivals determine the rate. In an open loop, the duration varies only because the last answers
/// end earlier or later, and a single pass does not show this variation.
///
/// With c requests in flight, the durations of all requests add up to c times the duration of the pass, except for the
/// idle time at the end. So the error of the total has two parts. One is the error of the sum, over all requests, of
/// `of(request) - rate x stay / c`, where `stay` is the duration of the request. The other is the error of the time at
/// which the last requests end.
pub(crate) fn throughput(
    layout: &Layout,
    duration_s: f64,
    of: impl Fn(&SentRequest) -> f64,
) -> Option<[f64; 2]> {
    if !layout.begins_at_once {
        return None;
    }
    let rate = layout.sent.iter().map(&of).sum::<f64>() / duration_s;
    let of_place = rate / layout.in_flight as f64;
    let n = layout.sent.len();
    let share = |rank: usize| {
        let sent = &layout.sent[rank];
        let stay_s = layout.work.as_ref().map_or_else(|| sent.stay_s(), |work| work.stay_s(rank));
        of(sent) - of_place * stay_s
    };
    let (of_sum, of_degrees) = match &layout.work {
        Some(work) => {
            let shares: Vec<f64> = (0..n).map(share).collect();
            let stays_s: f64 = (0..n).map(|rank| work.stay_s(rank)).sum();
            let sampled = (variance(&shares) * n as f64, degrees_of_variance(&shares));
            sum_of_variances(&[sampled, (work.noise * (of_place * stays_s).powi(2), work.degrees)])
        }
        None => {
            let series: Vec<f64> = (layout.edge..n - layout.edge).map(share).collect();
            let long = serial::long_run(&series, None, cosines(layout, series.len()), 0.0)?;
            (long.variance * n as f64, long.degrees)
        }
    };
    let (mut error, mut degrees) = ([of_sum; 2], of_degrees);
    if let Some((of_drain, above)) = variance_of_drain(layout, duration_s, of_place, share) {
        error = [above, 1.0 - above].map(|part| of_sum + 2.0 * part * of_drain);
        let error = of_sum + of_drain;
        // Degrees of freedom by Welch and Satterthwaite. Those of the simulated part are many.
        let times = if of_sum > 0.0 { (error / of_sum).powi(2) } else { f64::MAX };
        degrees = (of_degrees as f64 * times).min(1e6) as usize;
    } else if layout.edge > 1 {
        let last = &layout.sent[n - layout.edge..];
        let ends: Vec<f64> =
            last.iter().map(|sent| sent.ended.seconds_after(layout.sent[0].send)).collect();
        let of_drain = rate * rate * variance(&ends) / ends.len() as f64;
        error = error.map(|of_sum| of_sum + of_drain);
    }
    // A sum that is far below the mean says that the true one is far above it.
    let [below, above] = error.map(|error| student_975(degrees.max(1)) * error.sqrt() / duration_s);
    (below <= rate).then_some([rate - below, rate + above])
}

/// The 95 % intervals of the rates of a pass, and of its attainment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateIntervals {
    pub requests_per_s: Option<[f64; 2]>,
    pub output_tokens_per_s: Option<[f64; 2]>,
    pub total_tokens_per_s: Option<[f64; 2]>,
    pub goodput_per_s: Option<[f64; 2]>,
    pub tokens_within_per_s: Option<[f64; 2]>,
    pub attainment: Option<[f64; 2]>,
}

impl RateIntervals {
    /// The intervals of a pass with this number of planned requests.
    pub(crate) fn of(layout: &Layout, planned: u64, duration_s: f64) -> Self {
        let rate = |of: fn(&SentRequest) -> f64| throughput(layout, duration_s, of);
        let are_all_sent = layout.sent.len() as u64 == planned;
        let attainment = are_all_sent.then(|| attainment(layout, |_| true)).flatten();
        let per_s = planned as f64 / duration_s;
        let tokens_within =
            |sent: &SentRequest| if sent.met { f64::from(sent.all_tokens) } else { 0.0 };
        Self {
            requests_per_s: rate(|sent| f64::from(u8::from(sent.tokens.is_some()))),
            output_tokens_per_s: rate(|sent| sent.tokens.map_or(0.0, f64::from)),
            total_tokens_per_s: rate(|sent| f64::from(sent.all_tokens)),
            tokens_within_per_s: match layout.begins_at_once {
                true => rate(tokens_within),
                false if are_all_sent => {
                    mean(layout, tokens_within).map(|ends| ends.map(|end| end * per_s))
                }
                false => None,
            },
            goodput_per_s: match layout.begins_at_once {
                true => rate(|sent| f64::from(u8::from(sent.met))),
                // In an open loop, the arrivals determine how many requests there are per second.
                false => {
                    let judged = layout.sent.iter().filter(|sent| !sent.is_left).count() as f64;
                    attainment.map(|ends| ends.map(|end| end * judged / duration_s))
                }
            },
            attainment,
        }
    }
}

/// The 95 % interval of the mean of a value over all requests.
fn mean(layout: &Layout, of: fn(&SentRequest) -> f64) -> Option<[f64; 2]> {
    let part = |(&rank, at): (&u32, u32)| {
        let total = of(&layout.sent[rank as usize]);
        Contribution { at, total, weight: 1.0 }
    };
    let parts: Vec<Contribution> = layout.ranks.iter().zip(0..).map(part).collect();
    Some(Series::new(layout, &parts)?.mean()?.interval)
}

/// The 95 % interval of the share of requests that met all objectives, of those that `counts` names and whose clients
/// stayed: Wilson's interval of as many independent requests as would give the same error.
pub(crate) fn attainment(
    layout: &Layout,
    counts: impl Fn(&SentRequest) -> bool,
) -> Option<[f64; 2]> {
    let judged = || layout.sent.iter().filter(|sent| !sent.is_left && counts(sent));
    let n = judged().count() as f64;
    let met = judged().filter(|sent| sent.met).count() as f64;
    // The error is that of the more frequent answer: an error larger than the value would be unknown.
    let more_frequent = 2.0 * met >= n;
    let part = |(&rank, at): (&u32, u32)| {
        let sent = &layout.sent[rank as usize];
        let total = f64::from(u8::from(sent.met == more_frequent));
        (!sent.is_left && counts(sent)).then_some(Contribution { at, total, weight: 1.0 })
    };
    let parts: Vec<Contribution> = layout.ranks.iter().zip(0..).filter_map(part).collect();
    let [low, high] = Series::new(layout, &parts)?.mean()?.interval;
    let (share, error) = (met / n, (high - low) / 2.0 / NORMAL_975);
    let trials = if error > 0.0 { (share * (1.0 - share) / error.powi(2)).min(n) } else { n };
    Some(wilson(share * trials, trials, NORMAL_975))
}
