//! Intervals of requests in [lockstep](super::lockstep), whose sample are the phases of a wave.

use inferometer_model::stats::serial;
use inferometer_model::stats::student_975;

use super::contribution::{COSINES_OF_PLACES, Contribution, variance};
use super::lockstep::{ALIKE, Lockstep, correlation};
use super::series::{MeanInterval, Series};

/// The standard error of the median of normal values, relative to that of their mean: the square root of half of pi.
const OF_MEDIAN: f64 = 1.2533;
/// In a pattern with longer waits, the stays are longer, too. So the rest of a stay differs less from pass to pass than the
/// places of one pass show. Source: conformance/coverage/coverage.py and loads like its limited one (0.3 to 0.9).
const OF_REST: f64 = 0.6;
/// The standard error of the median of such a rest, relative to that of its mean. Source: the same loads (1.0 to 1.65).
const OF_MEDIAN_OF_REST: f64 = 1.65;
/// 1.96 standard errors of a stay, in steps. Source: the same loads (1.96 x 0.2 to 1.3, in the mean square 0.83).
const OF_STAY: f64 = 1.96 * 0.9;

impl Series<'_> {
    /// The interval of the mean of requests in lockstep; `None` if the error of the mean is as large as the mean.
    ///
    /// All places have the same stay, which is a whole number of the server's steps. So their values do not show how it
    /// depends on the pattern. It is taken to have a standard error of nearly one step.
    ///
    /// The error is proportional to the true mean: requests that meet wait for each other, and make both larger. So the
    /// interval is [mean (1 - r), mean / (1 - r)], where r is the relative error.
    pub(super) fn mean_in_lockstep(&self, mean: f64, lockstep: &Lockstep) -> Option<MeanInterval> {
        let weight = self.weight();
        let of = |_: usize, part: &Contribution| part.total - mean * part.weight;
        let t = student_975(COSINES_OF_PLACES);
        let of_places = t * self.variance_in_lockstep(of)?.sqrt() / weight;
        let of_stay = OF_STAY * lockstep.token;
        let half = match self.is_rest_of_wait() {
            // The waits take part of what is uncertain about the stay.
            true => (OF_REST * of_places).max(of_stay * mean / 2.0),
            false => of_places.max(of_stay * mean),
        };
        let error = half * weight / t;
        let (n, parts) = (self.parts.len() as f64, self.parts.iter());
        let squares: f64 = parts.enumerate().map(|(at, part)| of(at, part).powi(2)).sum();
        let effective = if error > 0.0 { (squares * n / error.powi(2)).min(n) } else { n };
        let interval = around(mean, half)?;
        Some(MeanInterval { interval, effective, inflation: 1.0 })
    }

    /// The interval of the median of a metric with one value per request, if the requests run in lockstep. `None` if
    /// they do not; `Some(None)` if the error is too large.
    pub(crate) fn median_in_lockstep(
        &self,
        median: f64,
        mean: &MeanInterval,
    ) -> Option<Option<[f64; 2]>> {
        let has_one_value_each = self.parts.iter().all(|part| part.weight == 1.0);
        self.layout.lockstep.filter(|_| has_one_value_each).map(|lockstep| {
            let [low, high] = mean.interval;
            let relative = if high > 0.0 { 1.0 - (low / high).sqrt() } else { 0.0 };
            // If all places have the same value, their median is their mean.
            let is_rest = self.is_rest_of_wait();
            let least = OF_STAY * lockstep.token * if is_rest { 0.5 } else { 1.0 };
            let is_alike = relative <= least * (1.0 + 1e-9);
            let times = match is_rest {
                _ if is_alike => 1.0,
                true => OF_MEDIAN_OF_REST,
                false => OF_MEDIAN,
            };
            around(median, times * relative * median)
        })
    }

    /// Whether the values are what the wait for the first token leaves of a stay, such as the times between tokens.
    fn is_rest_of_wait(&self) -> bool {
        let of = |part: &Contribution| {
            let sent = &self.layout.sent[part.at as usize];
            Some((part.total / part.weight, sent.first?.seconds_after(sent.send)))
        };
        let (_, middle, _) = self.cut();
        let (values, waits): (Vec<f64>, Vec<f64>) = middle.iter().filter_map(of).unzip();
        correlation(&values, &waits) < -ALIKE
    }

    /// The variance of a sum over the requests: between the places of a wave, and between waves. The last wave, which runs
    /// while the server empties, is left out. `of` returns the summand of a request.
    pub(super) fn variance_in_lockstep(
        &self,
        of: impl Fn(usize, &Contribution) -> f64,
    ) -> Option<f64> {
        let in_flight = self.layout.in_flight;
        let count = self.layout.sent.len() / in_flight - 1;
        let (mut places, mut waves) = (vec![0.0; in_flight], vec![0.0; count]);
        let counted = self.parts.partition_point(|part| (part.at as usize) < count * in_flight);
        for (at, part) in self.parts[..counted].iter().enumerate() {
            let (rank, value) = (part.at as usize, of(at, part));
            places[rank % in_flight] += value;
            waves[rank / in_flight] += value;
        }
        let of_places = serial::long_run(&places, None, COSINES_OF_PLACES, 0.0)?.variance;
        let sum = of_places * in_flight as f64 + variance(&waves) * count as f64;
        Some(sum * (self.parts.len() as f64 / counted as f64).powi(2))
    }
}

/// The interval around a positive value whose error, `half`, is proportional to the true value. `None` if the error is
/// as large as the value.
fn around(value: f64, half: f64) -> Option<[f64; 2]> {
    let rest = if half > 0.0 { 1.0 - half / value } else { 1.0 };
    (rest > 0.0).then(|| [value * rest, value / rest])
}
