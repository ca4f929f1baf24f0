//! The values of one metric as a series over the requests of a pass, and the confidence intervals of its statistics.

use inferometer_model::stats::serial::{self, FEWEST_COSINES, LongRun};
use inferometer_model::stats::student_975;

use super::contribution::{COSINES, COSINES_OF_PLACES, Contribution, sum_of_variances, variance};
use super::{course::Layout, first_wave::Wave};

/// The largest numbers of cosines for a higher percentile of a short series, and of a long series. Extreme values occur
/// in short groups. With more cosines, the number of groups is known better.
const COSINES_OF_TAIL: usize = 12;
const COSINES_OF_LONG_TAIL: usize = 24;
/// The number of cosines of a long series is the number of times that all requests in flight are replaced, divided by
/// this.
const STAYS_OF_LONG_TAIL: usize = 4;
/// With fewer effective requests, the mean has no interval.
const FEWEST_EFFECTIVE: f64 = 2.0;
/// The range of n independent values contains their median with a probability of 1 - 2^(1 - n): 94 % for 5, 97 % for 6.
/// The number of effective requests is an estimate, so the difference between 94 and 95 % does not matter.
const FEWEST_FOR_RANGE: f64 = 5.0;
/// If requests arrive at a rate, extreme values come in groups of about as many requests as are in flight together. The
/// steady state must have this many times as many requests as are in flight. With fewer, the number of groups is not
/// known well enough.
const FEWEST_GROUPS: f64 = 20.0;
/// The fewest effective requests above a percentile: 16 for the 90th and 5 for the 99th. With fewer, the error of
/// the percentile is not known well enough to be stated.
pub(super) const BEYOND_P90: f64 = 16.0;
const BEYOND_P99: f64 = 5.0;
/// The same in a closed loop with random lengths, where extreme values come in larger groups. Long gaps between tokens
/// come with prompts, and few passes show enough groups of them: the percentiles of gaps have no interval there.
const BEYOND_P90_OF_RANDOM: f64 = 48.0;
const BEYOND_P99_OF_RANDOM: f64 = 25.0;
/// If there are only just enough effective requests above a percentile, the estimate of their number is often too large
/// by chance. So the interval is made this many times as wide. With m times as many effective requests, the additional
/// width is divided by the third power of m. With random lengths, m is at least 3. Source:
/// conformance/coverage/coverage.py, at loads where few passes have an interval.
const WIDER_P90: f64 = 1.7;
const WIDER_P99: f64 = 1.3;
/// The first wave is above a value if this share of its values is, in a closed loop with random lengths.
const MOST_OF_WAVE: f64 = 0.75;
/// If the variance of neighbouring values at an edge is more than this many times the variance in the middle, the
/// variance at the edge is estimated from the edge itself.
const FAR_MORE: f64 = 4.0;
/// An answer of the first wave that ends early is followed by a prompt that delays all others. All values of the wave
/// share this delay, so neighbours do not show it: the variance of the sum is this many times that of independent
/// values; with random lengths, `SHARED_OF_RANDOM` times the square root of the number in flight. Source:
/// conformance/coverage/coverage.py, closed loops of 16 and 64 with random lengths (1.7 and 1.9, 3.5 and 4.7 times).
const SHARED_BY_FIRST: f64 = 4.0;
const SHARED_OF_RANDOM: f64 = 0.5;

/// The contributions to a metric, in the order in which their requests were sent.
pub(crate) struct Series<'a> {
    pub(super) layout: &'a Layout,
    /// For each of `parts`, its index in the slice that [`Series::new`] got.
    order: Vec<u32>,
    /// The contributions, where `at` is the rank of the request.
    pub(super) parts: Vec<Contribution>,
    /// The first wave of a closed loop; absent if the server did not process its prompts in order.
    wave: Option<Wave>,
    /// The number of requests that were sent after the first wave and waited behind it.
    behind: usize,
}

/// The confidence interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanInterval {
    pub interval: [f64; 2],
    /// The number of independent requests that would give a mean with the same error.
    pub effective: f64,
    /// The variance of a sum of neighbouring values in the steady state, divided by that of independent values; at
    /// least 1.
    pub inflation: f64,
}

/// The confidence interval of a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    /// The ends of the interval are the quantiles of all values at these shares. A share below 0 or above 1 means that
    /// this end is unknown. `None` if there are too few effective requests.
    pub ends: Option<[f64; 2]>,
    /// The number of independent requests that would give a percentile with the same error.
    pub effective: f64,
}

impl Shares {
    /// Whether a 99th percentile can have an interval; `self` must belong to the 90th percentile. Extreme values come
    /// in groups. Ten times as many values are above the 90th percentile, so they show the groups better.
    pub(crate) fn carries_p99(&self) -> bool {
        self.effective * 0.01 >= BEYOND_P99
    }
}

/// The number of cosines for a series of this length: those whose period is at least as long as the stay of a request.
/// The period of the k-th cosine is `2 / k` times the length of the series. With random lengths, fluctuations are over after
/// a few stays: a long series shows them with more cosines.
pub(super) fn cosines(layout: &Layout, middle: usize) -> usize {
    let most = match layout.work {
        Some(_) => (middle / layout.in_flight / STAYS_OF_LONG_TAIL).clamp(COSINES, COSINES_OF_TAIL),
        None => COSINES,
    };
    (2 * middle / layout.in_flight).clamp(FEWEST_COSINES, most)
}

/// The same for a mean. If the requests of a wave run in few groups, there are about as many independent values as waves,
/// and so one cosine fewer.
fn cosines_of_mean(layout: &Layout, middle: usize) -> usize {
    match layout.is_in_groups {
        true => (middle / layout.in_flight).saturating_sub(1).clamp(1, COSINES),
        false => cosines(layout, middle),
    }
}

impl<'a> Series<'a> {
    /// Builds the series of a pass from contributions in any order. `None` if too few requests are in the steady state.
    pub(crate) fn new(layout: &'a Layout, given: &[Contribution]) -> Option<Self> {
        let rank = |at: &u32| layout.ranks[given[*at as usize].at as usize];
        let mut order: Vec<u32> = (0..given.len() as u32).collect();
        order.sort_by_key(rank);
        let part = |at: &u32| Contribution { at: rank(at), ..given[*at as usize] };
        let parts = order.iter().map(part).collect();
        let mut series = Self { layout, order, parts, wave: None, behind: 0 };
        let (_, middle, _) = series.cut();
        if middle.len() < super::course::FEWEST {
            return None;
        }
        series.wave = Wave::of(&series.cut(), layout);
        series.behind = series.wave.as_ref().map_or(0, |wave| wave.behind(layout));
        Some(series)
    }

    /// The requests that ran while the server filled up, those in the steady state, and those that ran while the server
    /// emptied.
    pub(super) fn cut(&self) -> (&[Contribution], &[Contribution], &[Contribution]) {
        let n = self.layout.sent.len();
        let filled = self.layout.edge + self.behind;
        let first = self.parts.partition_point(|part| (part.at as usize) < filled);
        let last = self.parts.partition_point(|part| (part.at as usize) < n - self.layout.edge);
        (&self.parts[..first], &self.parts[first..last], &self.parts[last..])
    }

    pub(super) fn weight(&self) -> f64 {
        self.parts.iter().map(|part| part.weight).sum()
    }

    /// The variance of a sum, estimated from the middle. `of` returns the summand of a request.
    fn long_run(
        &self,
        of: impl Fn(usize, &Contribution) -> f64,
        cosines: usize,
    ) -> Option<LongRun> {
        let (first, middle, _) = self.cut();
        let values: Vec<f64> =
            middle.iter().enumerate().map(|(at, part)| of(first.len() + at, part)).collect();
        let control = self.layout.control.as_ref().map(|control| {
            middle.iter().map(|part| control[part.at as usize]).collect::<Vec<f64>>()
        });
        let control = control.as_deref().map(|control| (control, &self.layout.last_control));
        serial::long_run(&values, control, cosines, self.layout.memory)
    }

    /// The 95 % interval of the mean; `None` if the error of the mean is unknown.
    pub(crate) fn mean(&self) -> Option<MeanInterval> {
        let (n, weight) = (self.parts.len() as f64, self.weight());
        let mean = self.parts.iter().map(|part| part.total).sum::<f64>() / weight;
        if let Some(lockstep) = &self.layout.lockstep {
            return self.mean_in_lockstep(mean, lockstep);
        }
        let of = |part: &Contribution| part.total - mean * part.weight;
        let (first, middle, last) = self.cut();
        let long = self.long_run(|_, part| of(part), cosines_of_mean(self.layout, middle.len()))?;
        let values = |parts: &[Contribution]| parts.iter().map(of).collect::<Vec<f64>>();
        let alone = variance(&values(middle));
        let edge = |parts: &[Contribution], shared: f64| {
            parts.len() as f64 * of_edge(&values(parts), alone, long.variance, shared)
        };
        let between = long.variance * middle.len() as f64 + edge(last, 1.0);
        let shared = match self.layout.begins_at_once {
            true if self.layout.work.is_some() => {
                (SHARED_OF_RANDOM * (self.layout.in_flight as f64).sqrt()).max(1.0)
            }
            true => SHARED_BY_FIRST,
            false => 1.0,
        };
        let by_wave = || match &self.wave {
            None => (between + edge(first, shared), long.degrees),
            Some(wave) => {
                let behind = self.variance_behind(first, middle, of);
                // The squares of the few distances behind the wave have about half as many degrees of freedom.
                sum_of_variances(&[
                    (between, long.degrees),
                    (wave.variance_of_sum(), wave.degrees),
                    (behind, self.behind / 2),
                ])
            }
        };
        let (variance, degrees) = self.variance_by_work(mean).unwrap_or_else(by_wave);
        let half = student_975(degrees.max(1)) * variance.sqrt() / weight;
        let squares: f64 = self.parts.iter().map(|part| of(part).powi(2)).sum();
        let effective = if variance > 0.0 { (squares * n / variance).min(n) } else { n };
        // With too few effective requests, the error is unknown. One example is a value that only grows, such as the
        // delay of an overloaded client. No value here can be negative, so a negative lower end also means that the
        // error is unknown.
        let is_known = half <= mean && effective >= FEWEST_EFFECTIVE;
        let inflation = if alone > 0.0 { (long.variance / alone).max(1.0) } else { 1.0 };
        is_known.then_some(MeanInterval {
            interval: [mean - half, mean + half],
            effective,
            inflation,
        })
    }

    /// The 95 % interval of a percentile, as two shares. `None` if the error of the percentile cannot be estimated.
    ///
    /// `share` is that of the percentile (0.9 for p90), and `value` is the percentile of this pass. `below[i]` is the
    /// weight of the values of request `i` that are not above `value`. `mean` is the interval of the mean.
    pub(crate) fn shares(
        &self,
        share: f64,
        value: f64,
        below: &[f64],
        mean: &MeanInterval,
    ) -> Option<Shares> {
        let effective = mean.effective;
        let is_tail = share > 0.5;
        let is_random = self.layout.work.is_some();
        let (just_enough, of_random, wider) = match share < 0.95 {
            true => (BEYOND_P90, BEYOND_P90_OF_RANDOM, WIDER_P90),
            false => (BEYOND_P99, BEYOND_P99_OF_RANDOM, WIDER_P99),
        };
        let beyond = if is_random { of_random } else { just_enough };
        let has_one_value_each = self.parts.iter().all(|part| part.weight == 1.0);
        let by_work = || self.shares_by_work(share, value);
        if let Some(shares) = has_one_value_each.then(by_work).flatten() {
            return Some(shares);
        }
        if is_tail && (effective * (1.0 - share) < beyond || is_random && !has_one_value_each) {
            return Some(Shares { ends: None, effective });
        }
        let (first, middle, _) = self.cut();
        let is_in_lockstep = self.layout.lockstep.is_some();
        let fewest = FEWEST_GROUPS * self.layout.memory;
        if is_tail && (is_in_lockstep || (middle.len() as f64) < fewest) {
            return None;
        }
        if below.len() != self.parts.len() {
            return None;
        }
        let of =
            |at: usize, part: &Contribution| below[self.order[at] as usize] - share * part.weight;
        if is_in_lockstep {
            let error = self.variance_in_lockstep(of)?.sqrt() / self.weight();
            let half = student_975(COSINES_OF_PLACES) * error;
            return Some(Shares { ends: Some([share - half, share + half]), effective });
        }
        let cosines = cosines(self.layout, middle.len());
        let stays = middle.len() / self.layout.in_flight;
        let of_tail = stays.min(COSINES_OF_TAIL).max(stays / STAYS_OF_LONG_TAIL);
        let of_tail = of_tail.clamp(cosines, COSINES_OF_LONG_TAIL);
        let long = self.long_run(of, if is_tail { of_tail } else { cosines })?;
        let all: Vec<f64> = self.parts.iter().enumerate().map(|(at, part)| of(at, part)).collect();
        let (of_first, rest) = all.split_at(first.len());
        let (of_middle, of_last) = rest.split_at(middle.len());
        let alone = variance(of_middle);
        // Requests that are near in time are correlated at the edges as they are in the middle.
        let alike = if alone > 0.0 { long.variance / alone } else { 1.0 };
        let at_edge = |values: &[f64]| {
            let own = variance(values);
            let is_added = is_random && own > alone;
            let of_each = if is_added { own - alone + long.variance } else { own * alike };
            of_each * values.len() as f64
        };
        let mut sum = long.variance * middle.len() as f64 + at_edge(of_last);
        sum += match &self.wave {
            Some(wave) => {
                let of = |part: &Contribution| f64::from(u8::from(part.total <= value)) - share;
                wave.variance_of_count(value)? + self.variance_behind(first, middle, of)
            }
            None => at_edge(of_first),
        };
        let weight = self.weight();
        // A rank is a whole number, so the error is at least half a rank.
        sum = sum.max(0.25 * weight / self.parts.len() as f64);
        let independent = variance(&all) * (all.len() as f64).powi(2);
        let mut own = independent / sum;
        if is_tail {
            // A percentile cannot be more certain than the mean: a few groups of extreme values do not show how many
            // independent values there are. This does not apply to the first wave, whose values are high by design.
            // Equal values show nothing about groups of other values.
            let is_constant = all.windows(2).all(|pair| pair[0] == pair[1]);
            sum = sum.max(match &self.wave {
                Some(_) => variance(rest) * rest.len() as f64 * mean.inflation,
                None => independent / effective,
            });
            own = if is_constant { effective } else { (independent / sum).min(all.len() as f64) };
            if is_constant || own * (1.0 - share) < beyond {
                return Some(Shares { ends: None, effective: own });
            }
            let times_fewest = own * (1.0 - share) / just_enough;
            let wider = 1.0 + (wider - 1.0) / times_fewest.powi(3);
            sum *= wider.powi(2);
        }
        let half = student_975(long.degrees) * sum.sqrt() / weight;
        let (low, high) = (share - half, share + half);
        if !is_tail && has_one_value_each && own >= FEWEST_FOR_RANGE {
            // The range from the smallest to the largest value is then an interval, too.
            let rank = 0.5 / self.parts.len() as f64;
            let ends = Some([low.max(rank), high.min(1.0 - rank)]);
            return Some(Shares { ends, effective: own });
        }
        Some(Shares { ends: Some([low, high]), effective: own })
    }

    /// The ends of the 95 % interval of the median, as shares, from the variance of the weight below it, and its degrees
    /// of freedom.
    pub(crate) fn ends_of_median(&self, (variance, degrees): (f64, usize)) -> [f64; 2] {
        let weight = self.weight();
        // A rank is a whole number, so the error is at least half a rank.
        let least = 0.25 * weight / self.parts.len() as f64;
        let half = student_975(degrees.max(1)) * variance.max(least).sqrt() / weight;
        [0.5 - half, 0.5 + half]
    }

    /// The variance of the sum over the requests behind the first wave. How many there are is a matter of chance: an
    /// early end lets one in. So this is the variance of a compound Poisson process, whose jumps are their distances
    /// from the mean of the steady state.
    fn variance_behind(
        &self,
        first: &[Contribution],
        middle: &[Contribution],
        of: impl Fn(&Contribution) -> f64,
    ) -> f64 {
        let mean = middle.iter().map(&of).sum::<f64>() / middle.len() as f64;
        let of_wave = first.partition_point(|part| (part.at as usize) < self.layout.edge);
        first[of_wave..].iter().map(|part| (of(part) - mean).powi(2)).sum()
    }

    /// About how many requests a pass like this one needs for an interval of its 99th percentile. The formula assumes
    /// that 1,000 effective requests are needed. This is twice the number for independent requests: t^2 x 99, where t
    /// is Student's t with about ten degrees of freedom. With random lengths, more are needed. If requests arrive at a
    /// rate, the pass also needs enough groups of extreme values.
    pub(crate) fn needs_for_p99(&self, effective: f64) -> u64 {
        let enough = match (&self.layout.work, self.share_of_stays()) {
            (None, _) => 1_000.0,
            (Some(_), Some(_)) => 100.0 * BEYOND_P90,
            (Some(_), None) => 100.0 * BEYOND_P99_OF_RANDOM,
        };
        let wanted = enough * self.parts.len() as f64 / effective.max(1.0);
        let of_groups = (FEWEST_GROUPS + 2.0) * self.layout.memory;
        let wanted = wanted.max(of_groups);
        let digits = 10_f64.powf(wanted.log10().floor() - 1.0);
        ((wanted / digits).ceil() * digits) as u64
    }

    /// The largest share whose quantile is known. If most values of the first wave are above `value`, the largest quantiles
    /// are values of this wave, and their errors are unknown.
    pub(crate) fn largest_share(&self, value: f64) -> f64 {
        let most = if self.layout.work.is_some() { MOST_OF_WAVE } else { 1.0 };
        let above = self.wave.as_ref().and_then(|wave| wave.most_above(value, most));
        1.0 - above.unwrap_or(0) as f64 / self.parts.len() as f64
    }
}

/// The variance of the sum of the values at an edge, per value. It equals the variance of the middle, `of_middle`, in
/// most cases. If neighbouring values differ much more than the values of the middle (variance `alone`), the variance
/// is estimated from the edge itself: `shared` times that of neighbours.
pub(super) fn of_edge(values: &[f64], alone: f64, of_middle: f64, shared: f64) -> f64 {
    let steps: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let scatter = steps / 2.0 / values.len().saturating_sub(1).max(1) as f64;
    if scatter > FAR_MORE * alone { scatter * shared } else { of_middle }
}
