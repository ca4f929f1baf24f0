//! The values of one metric as a series, and the intervals of its statistics.

use inferometer_stats::serial::{self, FEWEST_COSINES, LongRun};
use inferometer_stats::student_975;

use super::course::Layout;

/// The most cosines of a mean or a median, and of a percentile above it: what lies far out comes in
/// shorter groups.
const COSINES: usize = 6;
const COSINES_OF_TAIL: usize = 12;
/// Effective requests that a percentile needs beyond it: without 16 of the 90th, and 4 of the 99th,
/// its own error is not known well enough to be stated.
const BEYOND_P90: f64 = 16.0;
const BEYOND_P99: f64 = 4.0;
/// With fewer steps the first wave of a closed loop says nothing of how its steps vary.
const FEWEST_STEPS: usize = 8;

/// What a request brings: the sum of its values by weight, and the sum of the weights; of a metric
/// with one value per request `(value, 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    /// Where the request is in the course of its pass.
    pub at: u32,
    pub total: f64,
    pub weight: f64,
}

/// The parts of a metric in the order in which their requests were sent.
pub(crate) struct Series<'a> {
    layout: &'a Layout,
    /// The place of each of `parts` among those that were given.
    order: Vec<u32>,
    /// With ranks in place of `at`.
    parts: Vec<Part>,
    /// The first wave of a closed loop, where it was served in order.
    wave: Option<Wave>,
}

/// An interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OfMean {
    pub interval: [f64; 2],
    /// How many independent requests would tell the mean as well.
    pub effective: f64,
}

/// Requests that met an empty server all at once and were served in steps: each waits for the sum
/// of the steps before it, so that the steps are what varies, not the values.
struct Wave {
    requests: usize,
    /// The time of each step, and how many requests of the wave came out of steps before it.
    steps: Vec<(f64, usize)>,
    /// Variance of a step, and the degrees of freedom of that.
    variance: f64,
    degrees: usize,
    least: f64,
    largest: f64,
}

/// The number of cosines for a series of this length: those whose waves are longer than the stay of
/// a request.
pub(super) fn cosines(layout: &Layout, middle: usize) -> usize {
    (middle / layout.in_flight).clamp(FEWEST_COSINES, COSINES)
}

impl<'a> Series<'a> {
    /// The parts of a pass, in any order. None where there are too few.
    pub(crate) fn new(layout: &'a Layout, given: &[Part]) -> Option<Self> {
        let rank = |at: &u32| layout.ranks[given[*at as usize].at as usize];
        let mut order: Vec<u32> = (0..given.len() as u32).collect();
        order.sort_by_key(rank);
        let part = |at: &u32| Part { at: rank(at), ..given[*at as usize] };
        let parts = order.iter().map(part).collect();
        let mut series = Self { layout, order, parts, wave: None };
        let (_, middle, _) = series.cut();
        if middle.len() < super::course::FEWEST {
            return None;
        }
        series.wave = Wave::of(&series);
        Some(series)
    }

    /// The requests that met a filling server, those between, those that met an emptying one.
    fn cut(&self) -> (&[Part], &[Part], &[Part]) {
        let n = self.layout.sent.len();
        let first = self.parts.partition_point(|part| (part.at as usize) < self.layout.edge);
        let last = self.parts.partition_point(|part| (part.at as usize) < n - self.layout.edge);
        (&self.parts[..first], &self.parts[first..last], &self.parts[last..])
    }

    fn weight(&self) -> f64 {
        self.parts.iter().map(|part| part.weight).sum()
    }

    /// What the middle says of the variance of a sum; `of` gives what a part adds to it.
    fn long_run(&self, of: impl Fn(usize, &Part) -> f64, cosines: usize) -> Option<LongRun> {
        let (first, middle, _) = self.cut();
        let values: Vec<f64> =
            middle.iter().enumerate().map(|(at, part)| of(first.len() + at, part)).collect();
        let control = self.layout.control.as_ref().map(|control| {
            middle.iter().map(|part| control[part.at as usize]).collect::<Vec<f64>>()
        });
        serial::long_run(&values, control.as_deref(), cosines)
    }

    /// The interval of the mean.
    pub(crate) fn mean(&self) -> Option<OfMean> {
        let (n, weight) = (self.parts.len() as f64, self.weight());
        let mean = self.parts.iter().map(|part| part.total).sum::<f64>() / weight;
        let of = |part: &Part| part.total - mean * part.weight;
        let (first, middle, _) = self.cut();
        let long = self.long_run(|_, part| of(part), cosines(self.layout, middle.len()))?;
        let (variance, degrees) = match &self.wave {
            None => (long.variance * n, long.degrees),
            Some(wave) => {
                let rest = long.variance * (n - first.len() as f64);
                let both = rest + wave.variance_of_sum();
                // Welch and Satterthwaite.
                let parts = [(rest, long.degrees), (both - rest, wave.degrees)];
                let spread: f64 = parts.iter().map(|(v, d)| v * v / *d as f64).sum();
                (both, if spread > 0.0 { (both * both / spread) as usize } else { long.degrees })
            }
        };
        let half = student_975(degrees.max(1)) * variance.sqrt() / weight;
        let squares: f64 = self.parts.iter().map(|part| of(part).powi(2)).sum();
        let effective = if variance > 0.0 { (squares * n / variance).min(n) } else { n };
        Some(OfMean { interval: [mean - half, mean + half], effective })
    }

    /// The shares of the values, of a percentile `share`, between whose quantiles it lies in 95 of 100
    /// passes: `below[i]` is how much of the weight of the i-th of the parts that were given is not
    /// above `value`, the percentile of this pass. Shares beyond 0 and 1 are possible: then there is no interval. `effective` is
    /// that of the mean.
    pub(crate) fn shares(
        &self,
        share: f64,
        value: f64,
        below: &[f64],
        effective: f64,
    ) -> Option<[f64; 2]> {
        let is_tail = share > 0.5;
        let beyond = if share < 0.95 { BEYOND_P90 } else { BEYOND_P99 };
        if is_tail && effective * (1.0 - share) < beyond {
            return None;
        }
        if below.len() != self.parts.len() {
            return None;
        }
        let of = |at: usize, part: &Part| below[self.order[at] as usize] - share * part.weight;
        let (first, middle, last) = self.cut();
        let cosines = cosines(self.layout, middle.len());
        let of_tail = (middle.len() / self.layout.in_flight).clamp(cosines, COSINES_OF_TAIL);
        let long = self.long_run(of, if is_tail { of_tail } else { cosines })?;
        let all: Vec<f64> = self.parts.iter().enumerate().map(|(at, part)| of(at, part)).collect();
        let (of_first, rest) = all.split_at(first.len());
        let (of_middle, of_last) = rest.split_at(middle.len());
        let alone = variance(of_middle);
        // What is near in time is alike at the edges as it is in between.
        let alike = if alone > 0.0 { long.variance / alone } else { 1.0 };
        let mut sum =
            long.variance * middle.len() as f64 + last.len() as f64 * variance(of_last) * alike;
        sum += match &self.wave {
            Some(wave) => wave.variance_of_count(value)?,
            None => first.len() as f64 * variance(of_first) * alike,
        };
        let weight = self.weight();
        let binomial = share * (1.0 - share) * weight * weight;
        // A rank is a whole number: half of one is the least that can be known.
        sum = sum.max(0.25 * weight / self.parts.len() as f64);
        let has_one_each = self.parts.iter().all(|part| part.weight == 1.0);
        if is_tail && has_one_each {
            let own = binomial / sum;
            if own.min(effective) * (1.0 - share) < beyond {
                return None;
            }
            sum = binomial / own.min(effective);
        }
        let half = student_975(long.degrees) * sum.sqrt() / weight;
        Some([share - half, share + half])
    }

    /// About how many requests of a pass like this one would give the 99th percentile an interval:
    /// twice as many effective ones as independent requests need (t^2 99, t of some ten degrees).
    pub(crate) fn needs_for_p99(&self, effective: f64) -> u64 {
        let wanted = 1_000.0 * self.parts.len() as f64 / effective.max(1.0);
        let digits = 10_f64.powf(wanted.log10().floor() - 1.0);
        ((wanted / digits).ceil() * digits) as u64
    }

    /// The largest share at which the quantile is one of the values that are not of the first wave,
    /// where all of these are above `value`: beyond it nothing is known.
    pub(crate) fn largest_share(&self, value: f64) -> f64 {
        match &self.wave {
            Some(wave) if wave.least > value => {
                1.0 - wave.requests as f64 / self.parts.len() as f64
            }
            _ => 1.0,
        }
    }
}

impl Wave {
    /// The wave of a series, where there is one: values that never fall, each of one request.
    fn of(series: &Series<'_>) -> Option<Self> {
        let (first, middle, _) = series.cut();
        let values: Vec<f64> = first.iter().map(|part| part.total).collect();
        let rising = values.windows(2).filter(|pair| pair[1] >= pair[0]).count();
        let is_served_in_order = values.len() > 3
            && series.layout.control.is_none()
            && first.iter().all(|part| part.weight == 1.0)
            && rising as f64 > 0.9 * (values.len() - 1) as f64;
        if !is_served_in_order {
            return None;
        }
        let mut steps: Vec<(f64, usize)> = Vec::new();
        let mut before = 0.0;
        for (at, &value) in values.iter().enumerate() {
            // What came within a hundredth came out of the same step.
            if value > before * 1.01 {
                steps.push((value - before, at));
                before = value;
            }
        }
        let times: Vec<f64> = steps.iter().map(|step| step.0).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let (variance, degrees) = if steps.len() >= FEWEST_STEPS {
            let long = serial::long_run(&times, None, FEWEST_COSINES)?;
            (long.variance.max(variance(&times)), long.degrees)
        } else {
            // A step serves several prompts, each of which varies as those do that came alone.
            let alone: Vec<f64> = middle.iter().map(|part| part.total).collect();
            let of_alone = alone.iter().sum::<f64>() / alone.len() as f64;
            let relative = variance(&alone) / (of_alone * of_alone);
            let prompts = values.len() as f64 / steps.len() as f64;
            (mean * mean * relative / prompts, COSINES)
        };
        Some(Self {
            requests: values.len(),
            steps,
            variance,
            degrees,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            largest: values.iter().copied().fold(0.0, f64::max),
        })
    }

    /// The variance of the sum of its values: a step counts for each request that waits for it.
    fn variance_of_sum(&self) -> f64 {
        let waiting = self.steps.iter().map(|step| (self.requests - step.1) as f64);
        self.variance * waiting.map(|count| count * count).sum::<f64>()
    }

    /// The variance of how many of its values are not above this one (renewal theory: Cox, Renewal
    /// Theory, 1962); none where it lies among too few steps.
    fn variance_of_count(&self, value: f64) -> Option<f64> {
        if !(self.least..=self.largest).contains(&value) {
            return Some(0.0);
        }
        if self.steps.len() < FEWEST_STEPS {
            return None;
        }
        let mean = self.steps.iter().map(|step| step.0).sum::<f64>() / self.steps.len() as f64;
        let per_step = self.requests as f64 / self.steps.len() as f64;
        let before = value / mean;
        Some(before * self.variance / (mean * mean) * per_step * per_step)
    }
}

/// The variance of values; 0 below two.
fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}
