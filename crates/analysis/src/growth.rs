//! Detects whether requests keep arriving faster than they end. It estimates the slope of the number in flight over the
//! later half of the arrivals, with a confidence interval. A server that keeps up has a slope of zero in the long run.
//!
//! The values of this series depend on each other: a queue that is long now is still long a moment later. So the error
//! of the slope is estimated from the slow fluctuations of the same series: its projections on a few cosines that are
//! orthogonal to a trend (Y. Sun, "Robust trend inference with series variance estimator and testing-optimal smoothing
//! parameter", Journal of Econometrics 164, 2011). The interval uses a quantile of Student's t, because the number of
//! cosines is small.

use std::time::Duration;

use inferometer_model::{Nanos, stats::student_above};
use serde::{Deserialize, Serialize};

use crate::startup::median_latency_s;
use crate::stay::{Stay, served};

/// The number of parts of equal duration over which the number in flight is averaged.
const PARTS: usize = 64;
/// The number of cosines from which the error of the slope is estimated.
const COSINES: usize = 4;
/// Start-up has ended if half of the time span of the arrivals is at least this many median latencies. Until then, the
/// number in flight rises under every load.
const SETTLED_LATENCIES: f64 = 3.0;
/// If less than this share of the arriving requests ends, a queue forms from the start.
const FAR_BEYOND: f64 = 0.8;
/// The number of latencies that applies instead of [`SETTLED_LATENCIES`] if a queue forms from the start. The median
/// latency of the earliest requests is used. Most of these requests have then ended, whatever their length.
const LATENCIES_FAR_BEYOND: f64 = 2.0;
/// The fewest requests that must have been due for an estimate.
const FEWEST: usize = 64;
/// A growth below this share of the arrival rate does not matter.
const LEAST_SHARE: f64 = 0.05;
/// The number of arrivals must exceed the number of ends by this many standard deviations of a difference of two
/// Poisson counts.
const DEVIATIONS: f64 = 2.0;

/// The smallest standard error of the rate at which a server serves requests, as a share of this rate. No server is
/// more regular.
const LEAST_ERROR: f64 = 0.001;

/// How fast the number in flight grows, over the later half of the arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// The increase of the number of requests in flight, per second.
    pub per_s: f64,
    /// The lower end of the confidence interval of `per_s`.
    pub low: f64,
    /// The upper end of the confidence interval of `per_s`.
    pub high: f64,
    /// Requests that were due per second.
    pub arrived_per_s: f64,
    /// Requests that ended per second, whatever their outcome.
    pub ended_per_s: f64,
    /// Requests that ended per second without completing.
    #[serde(default)]
    pub failed_per_s: f64,
    /// The duration of the later half of the arrivals, in seconds.
    pub span_s: f64,
    /// The mean number of requests in flight in the first sixteenth of `span_s`.
    pub before: f64,
    /// The mean number of requests in flight in the last sixteenth of `span_s`.
    pub after: f64,
    /// Requests that the server served per second: the estimate, and the lower and the upper end of its confidence
    /// interval. If requests arrive faster than this, the rate is the limit of the server. Absent if requests were cut
    /// off or are still in flight, because their number of tokens is then unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_per_s: Option<[f64; 3]>,
}

impl Growth {
    /// Whether requests arrive faster than the server completes them. All of these conditions must hold:
    ///
    /// - The interval lies above zero.
    /// - The growth is at least a twentieth of the arrival rate.
    /// - More requests arrived than chance alone explains.
    pub fn is_shown(&self) -> bool {
        let (arrived, ended) = (self.arrived_per_s * self.span_s, self.ended_per_s * self.span_s);
        self.low > 0.0
            && self.per_s >= LEAST_SHARE * self.arrived_per_s
            && arrived - ended > DEVIATIONS * (arrived + ended).sqrt()
    }
}

/// Estimates the growth of the number in flight. Only arrivals, first tokens and ends up to `until` count. `stays` must
/// be in the order of their due times.
///
/// `None` if fewer than 64 requests were due, if all of them were due at the instant `until`, or if no request has
/// completed: requests that are refused immediately do not show how long an answer takes. Also `None` during start-up,
/// because the number in flight then rises under every load. Start-up lasts six latencies. It ends earlier if a queue
/// forms from the start, or if more and more requests wait for their first token.
pub(crate) fn growth(stays: &[Stay], until: Nanos, confidence: f64) -> Option<Growth> {
    let stays = &stays[..stays.partition_point(|stay| stay.due <= until)];
    let half_s = until.seconds_after(stays.first()?.due) / 2.0;
    let has_completed = stays.iter().any(|stay| stay.complete && stay.ended <= until);
    if stays.len() < FEWEST || half_s <= 0.0 || !has_completed {
        return None;
    }
    let found = slope(stays, until, half_s, confidence);
    let waits = || {
        let waiting: Vec<Stay> = stays.iter().map(Stay::waiting).collect();
        let waits = slope(&waiting, until, half_s, confidence);
        waits.is_shown() && is_past_startup(&waiting, until, &waits)
    };
    (is_past_startup(stays, until, &found) || waits()).then_some(found)
}

/// Whether start-up has ended. During start-up, the number in flight rises because the server was idle at first.
fn is_past_startup(stays: &[Stay], until: Nanos, growth: &Growth) -> bool {
    let (first, half_s) = (stays[0].due, growth.span_s);
    // The latency of a request in flight is at least the time that it has already taken.
    let has_failed = |stay: &Stay| !stay.complete && stay.ended <= until;
    let known = |stay: &Stay| Stay { ended: stay.ended.min(until), complete: true, ..*stay };
    let half = first + Duration::from_secs_f64(half_s);
    let early = stays.iter().take_while(|stay| stay.due < half);
    let early: Vec<Stay> = early.filter(|stay| !has_failed(stay)).map(known).collect();
    let sixteenth = first + Duration::from_secs_f64(half_s / 8.0);
    // If a queue forms from the start, latencies grow with it. Only the first latencies show the latency without a
    // queue.
    let earliest = &early[..early.partition_point(|stay| stay.due < sixteenth)];
    half_s >= SETTLED_LATENCIES * median_latency_s(&early)
        || growth.ended_per_s < FAR_BEYOND * growth.arrived_per_s
            && half_s >= LATENCIES_FAR_BEYOND * median_latency_s(earliest)
}

/// The slope of the number in flight over the last `half_s` seconds before `until`.
fn slope(stays: &[Stay], until: Nanos, half_s: f64, confidence: f64) -> Growth {
    let half = stays[0].due + Duration::from_secs_f64(half_s);
    let part_s = half_s / PARTS as f64;
    let in_flight = in_flight(stays, half, part_s);
    let trend = trend();
    let along = dot(&in_flight, &trend);
    let error = error_beside(&in_flight, &trend);
    // The trend is a vector of length 1. This factor converts a multiple of the trend to requests per second.
    let per_s = (trend[1] - trend[0]) / part_s;
    let t = student_above((1.0 - confidence) / 2.0, COSINES as f64);
    let within = |at: Nanos| at >= half && at <= until;
    let count =
        |of: &dyn Fn(&Stay) -> bool| stays.iter().filter(|stay| of(stay)).count() as f64 / half_s;
    let end = PARTS / 16;
    let mean = |parts: &[f64]| parts.iter().sum::<f64>() / parts.len() as f64;
    Growth {
        per_s: along * per_s,
        low: (along - t * error) * per_s,
        high: (along + t * error) * per_s,
        arrived_per_s: count(&|stay| within(stay.due)),
        ended_per_s: count(&|stay| within(stay.ended)),
        failed_per_s: count(&|stay| within(stay.ended) && !stay.complete),
        span_s: half_s,
        before: mean(&in_flight[..end]),
        after: mean(&in_flight[PARTS - end..]),
        served_per_s: served_per_s(stays, half, part_s, t),
    }
}

/// Requests that are served per second after `from`, with the lower and the upper end of the interval. `None` if
/// requests were cut off or are still in flight.
fn served_per_s(stays: &[Stay], from: Nanos, part_s: f64, t: f64) -> Option<[f64; 3]> {
    if stays.iter().any(|stay| stay.ended == Nanos::MAX) {
        return None;
    }
    let parts: [f64; PARTS] = served(stays.iter().map(|stay| (*stay, 1.0)), from, part_s);
    let mean = parts.iter().sum::<f64>() / PARTS as f64;
    let level = [1.0 / (PARTS as f64).sqrt(); PARTS];
    let error = error_beside(&parts, &level) / (PARTS as f64).sqrt();
    let reach = t * error.max(LEAST_ERROR * mean);
    Some([mean, mean - reach, mean + reach].map(|served| served / part_s))
}

/// The standard error of the component of a series along the vector `along`, which has length 1. It is estimated from
/// slow fluctuations that are orthogonal to this vector.
fn error_beside(series: &[f64; PARTS], along: &[f64; PARTS]) -> f64 {
    let squares = (2..2 + COSINES).map(|k| dot(series, &beside(k, along)).powi(2));
    (squares.sum::<f64>() / COSINES as f64).sqrt()
}

/// The number of requests in flight, averaged over each part.
fn in_flight(stays: &[Stay], from: Nanos, part_s: f64) -> [f64; PARTS] {
    let mut sums = [0.0; PARTS];
    let last = PARTS as f64;
    for stay in stays {
        let [begins, ends] =
            [stay.due, stay.ended].map(|at| (at.seconds_after(from) / part_s).clamp(0.0, last));
        let parts = begins as usize..(ends.ceil() as usize).min(PARTS);
        for part in parts {
            let at = part as f64;
            sums[part] += (ends.min(at + 1.0) - begins.max(at)).max(0.0);
        }
    }
    sums
}

/// A straight line over the parts, with sum 0 and length 1.
fn trend() -> [f64; PARTS] {
    let middle = (PARTS as f64 - 1.0) / 2.0;
    unit(std::array::from_fn(|part| part as f64 - middle))
}

/// The cosine number `k`, without its component along the trend, scaled to length 1.
fn beside(k: usize, trend: &[f64; PARTS]) -> [f64; PARTS] {
    let step = std::f64::consts::PI * k as f64 / PARTS as f64;
    let cosine: [f64; PARTS] = std::array::from_fn(|part| libm::cos(step * (part as f64 + 0.5)));
    let along = dot(&cosine, trend);
    unit(std::array::from_fn(|part| cosine[part] - along * trend[part]))
}

fn unit(values: [f64; PARTS]) -> [f64; PARTS] {
    let length = dot(&values, &values).sqrt();
    values.map(|value| value / length)
}

fn dot(a: &[f64; PARTS], b: &[f64; PARTS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests to a server that completes one request per second, in order. Arrivals are evenly spaced.
    fn stays(arrivals_per_s: f64, count: u32) -> Vec<Stay> {
        let at = |seconds: f64| Nanos::ZERO + Duration::from_secs_f64(seconds);
        let mut free = 0.0_f64;
        let stay = |index: u32| {
            let due = f64::from(index) / arrivals_per_s;
            free = free.max(due) + 1.0;
            Stay::new(at(due), None, at(free), true)
        };
        (0..count).map(stay).collect()
    }

    #[test]
    fn growth_is_the_rate_of_arrivals_minus_the_rate_of_ended_requests() {
        let overloaded = stays(1.25, 1_000);
        let until = overloaded.last().unwrap().due;
        let found = growth(&overloaded, until, 0.95).unwrap();
        assert!((found.per_s - 0.25).abs() < 0.01, "{found:?}");
        assert!((found.ended_per_s - 1.0).abs() < 0.01 && found.is_shown(), "{found:?}");
        assert!(found.low <= found.per_s && found.per_s <= found.high, "{found:?}");
        assert!(found.after > found.before + 80.0, "{found:?}");
    }

    /// Requests to a server that generates up to `places` answers at the same time. An answer takes `answer_s` seconds.
    fn batched(arrivals_per_s: f64, count: u32, places: usize, answer_s: f64) -> Vec<Stay> {
        let at = |seconds: f64| Nanos::ZERO + Duration::from_secs_f64(seconds);
        let mut free = vec![0.0_f64; places];
        let stay = |index: u32| {
            let due = f64::from(index) / arrivals_per_s;
            let place = &mut free[index as usize % places];
            let first = place.max(due);
            *place = first + answer_s;
            Stay::new(at(due), Some(at(first)), at(*place), true)
        };
        (0..count).map(stay).collect()
    }

    #[test]
    fn a_growing_queue_is_saturation_even_if_few_answers_have_ended_but_a_filling_batch_is_not() {
        // 256 places and answers of 25 s: the server completes 10.24 requests per second.
        for (arrivals_per_s, count, is_saturated) in
            [(32.0, 2_000, true), (9.0, 500, false), (200.0, 250, false)]
        {
            let stays = batched(arrivals_per_s, count, 256, 25.0);
            let until = stays.last().unwrap().due;
            let found = growth(&stays, until, 0.95);
            let is_shown = found.is_some_and(|growth| growth.is_shown());
            assert_eq!(is_shown, is_saturated, "{arrivals_per_s}/s: {found:?}");
            if let (true, Some([served, low, high])) =
                (is_saturated, found.and_then(|growth| growth.served_per_s))
            {
                assert!((served - 10.24).abs() < 0.2, "{served}");
                assert!(low <= 10.24 && 10.24 <= high && high - low < 1.0, "{low} to {high}");
            }
        }
    }

    #[test]
    fn a_server_that_keeps_up_shows_no_growth_and_a_short_pass_has_no_estimate() {
        let kept_up = stays(0.8, 1_000);
        let until = kept_up.last().unwrap().due;
        assert!(!growth(&kept_up, until, 0.95).unwrap().is_shown());
        assert_eq!(growth(&kept_up[..63], until, 0.95), None);
        // If all requests are due at the same time, the arrivals have no later half.
        let at_once: Vec<Stay> =
            kept_up.iter().map(|stay| Stay { due: Nanos::ZERO, ..*stay }).collect();
        assert_eq!(growth(&at_once, Nanos::ZERO, 0.95), None);
    }

    #[test]
    fn growth_up_to_an_instant_does_not_depend_on_later_arrivals_and_ends() {
        let overloaded = stays(1.25, 1_000);
        let until = overloaded[499].due;
        let known: Vec<Stay> = overloaded[..500]
            .iter()
            .map(|stay| {
                if stay.ended > until { Stay::new(stay.due, None, Nanos::MAX, true) } else { *stay }
            })
            .collect();
        let [known, all] = [&known, &overloaded].map(|stays| growth(stays, until, 0.95).unwrap());
        // `served_per_s` needs the ends of all requests.
        assert_eq!((known.served_per_s, all.served_per_s.is_some()), (None, true));
        assert_eq!(known, Growth { served_per_s: None, ..all });
    }
}
