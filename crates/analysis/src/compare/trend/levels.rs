//! The levels of a figure over runs, and the changes between them.
//!
//! The logarithms of a figure are a level and noise. At each run, the means of the last 3 to 30 runs are compared with the
//! level before them, by Student's t. A change is found if one of them exceeds its limit. The limit is for one test out of
//! all tests of a year of daily runs, over all figures together (Bonferroni), so it holds however the figures depend on
//! each other. A value counts as at most [`CLIP`] standard deviations off, so one or two outlying runs are never a change.
//!
//! The machine drifts: a night resembles the night before. So the error of each mean is that of first-order autocorrelated
//! noise, as in [`mod@super::super::model`]. The correlation is that of the figure so far, but at least the largest
//! plausible one of the machine, which follows from all figures and all runs. A slow drift has a high correlation, and is
//! not taken for a step.

use inferometer_model::stats::{median, student_above};

/// The numbers of last runs whose mean is compared with the level before.
const WINDOWS: [usize; 8] = [3, 4, 5, 7, 10, 14, 20, 30];
/// The number of runs in a year of daily runs.
const RUNS_PER_YEAR: f64 = 365.0;
/// The fewest runs from which the first level is known, and the fewest for a later level, whose noise is known already.
pub const FEWEST_RUNS: usize = 10;
const FEWEST_LATER: usize = 5;
/// The largest deviation of a single run that counts, in standard deviations.
const CLIP: f64 = 4.0;
/// The highest correlation of neighbouring runs that is assumed.
const MOST_ALIKE: f64 = 0.95;
/// The smallest standard deviation: figures of a simulation without noise are equal.
const LEAST_DEVIATION: f64 = 1e-6;

/// The limits of the test statistic, by degrees of freedom.
pub(super) struct Limits {
    /// The probability of a false alarm in one test, on one side.
    probability: f64,
    known: Vec<Option<f64>>,
}

impl Limits {
    pub(super) fn new(false_alarms: f64, figures: usize) -> Self {
        let tests = RUNS_PER_YEAR * figures as f64 * WINDOWS.len() as f64;
        Self { probability: false_alarms / tests / 2.0, known: Vec::new() }
    }

    fn of(&mut self, degrees: f64) -> f64 {
        let degrees = degrees.max(1.0) as usize;
        if self.known.len() <= degrees {
            self.known.resize(degrees + 1, None);
        }
        let probability = self.probability;
        *self.known[degrees].get_or_insert_with(|| student_above(probability, degrees as f64))
    }
}

/// The noise of a figure around its levels, as sums over all its levels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noise {
    squares: f64,
    degrees: f64,
    /// The sum of the products of neighbours.
    products: f64,
    /// The least correlation of neighbours, which the machine causes.
    machine: f64,
}

impl Noise {
    fn and(self, other: Self) -> Self {
        Self {
            squares: self.squares + other.squares,
            degrees: self.degrees + other.degrees,
            products: self.products + other.products,
            machine: self.machine,
        }
    }

    fn deviation(self) -> f64 {
        (self.squares / self.degrees.max(1.0)).sqrt().max(LEAST_DEVIATION)
    }

    /// The correlation of neighbours without the bias of its estimate (Marriott and Pope, Biometrika 41, 1954), but at least
    /// that of the machine.
    pub(super) fn alike(self) -> f64 {
        let found = self.products / self.squares.max(LEAST_DEVIATION * LEAST_DEVIATION);
        let unbiased = found + (1.0 + 3.0 * found.max(0.0)) / (self.degrees + 1.0).max(2.0);
        unbiased.clamp(self.machine, MOST_ALIKE)
    }
}

/// The largest plausible correlation of neighbouring runs that the machine causes: the median of those of the figures, and
/// one standard error of one figure, because figures depend on each other.
pub(super) fn machine(series: &[Vec<f64>], limits: &mut Limits) -> f64 {
    let long = || series.iter().filter(|logs| logs.len() >= FEWEST_RUNS);
    let alike = |logs: &Vec<f64>| Some(levels(logs, 0.0, limits).1.last()?.noise.alike());
    let alike = median(long().filter_map(alike)).unwrap_or_default();
    let most = long().map(Vec::len).max().unwrap_or(1) as f64;
    (alike + ((1.0 - alike * alike) / most).sqrt()).min(MOST_ALIKE)
}

/// A level, as sums over its runs so far. A run counts with its clipped value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    runs: f64,
    pub(super) mean: f64,
    own: Noise,
    /// The noise of this level and of all levels before it.
    pub(super) noise: Noise,
    /// The last clipped value.
    last: f64,
    /// The sum of the products of neighbours, of the values themselves, relative to `origin`.
    products: f64,
    ends: f64,
    origin: f64,
}

impl Level {
    /// A level without runs, after levels with this noise. `origin`: a value near the level.
    fn after(noise: Noise, origin: f64) -> Self {
        Self { noise, origin, ..Self::default() }
    }

    pub(super) fn deviation(&self) -> f64 {
        self.noise.deviation()
    }

    /// The value of a run, at most [`CLIP`] deviations off the level.
    fn clipped(&self, log: f64) -> f64 {
        let most = CLIP * self.deviation();
        log.clamp(self.mean - most, self.mean + most)
    }

    /// The level with one more run, whose value is already clipped. `before`: the noise of earlier levels.
    fn with(self, log: f64, before: Noise) -> Self {
        let x = log - self.origin;
        let runs = self.runs + 1.0;
        let mean = self.mean + (log - self.mean) / runs;
        let squares = self.own.squares + (log - self.mean) * (log - mean);
        let is_first = self.runs == 0.0;
        let products = if is_first { 0.0 } else { self.products + self.last * x };
        let ends = if is_first { x } else { self.ends };
        // The sum over neighbours of (x - m)(y - m), where each run but the ends occurs in two products.
        let m = mean - self.origin;
        let of_neighbours = products - m * (2.0 * runs * m - ends - x) + (runs - 1.0) * m * m;
        // Neighbours that are alike are also close to their mean.
        let degrees = runs * (1.0 - Self::of_mean(runs, before.machine));
        let own = Noise { squares, degrees, products: of_neighbours, machine: before.machine };
        Self {
            runs,
            mean,
            own,
            noise: before.and(own),
            last: x,
            products,
            ends,
            origin: self.origin,
        }
    }

    /// The variance of the mean of `n` neighbouring runs, divided by that of one run.
    fn of_mean(n: f64, alike: f64) -> f64 {
        let far = (1.0 - alike.powf(n)) / (1.0 - alike);
        (1.0 + 2.0 * alike / (1.0 - alike) * (1.0 - far / n)) / n
    }

    /// The degrees of freedom of the deviation. Neighbours that are alike show less of it.
    fn degrees(&self, alike: f64) -> f64 {
        self.noise.degrees * (1.0 - alike * alike) / (1.0 + alike * alike)
    }

    /// The difference from an earlier level, and half the width of its 95 % interval, in the logarithm of the figure.
    pub(super) fn against(&self, before: &Self) -> (f64, f64) {
        let alike = self.noise.alike();
        let variance = Self::of_mean(self.runs, alike) + Self::of_mean(before.runs, alike);
        let reach = student_above(0.025, self.degrees(alike).max(1.0));
        (self.mean - before.mean, reach * self.deviation() * variance.sqrt())
    }

    /// The test statistic of later runs: how many standard errors their mean is off the level; and its degrees of freedom.
    fn test(&self, later: &[f64]) -> (f64, f64) {
        let n = later.len() as f64;
        let mean = later.iter().map(|log| self.clipped(*log)).sum::<f64>() / n;
        let alike = self.noise.alike();
        let variance = Self::of_mean(n, alike) + Self::of_mean(self.runs, alike);
        ((mean - self.mean) / (self.deviation() * variance.sqrt()), self.degrees(alike))
    }
}

/// The levels of a series: for each change, its first run and the run at which it was found; and the levels, one more than
/// changes. `machine`: the least correlation of neighbouring runs.
pub(super) fn levels(
    logs: &[f64],
    machine: f64,
    limits: &mut Limits,
) -> (Vec<(usize, usize)>, Vec<Level>) {
    let (mut changes, mut done) = (Vec::new(), Vec::new());
    let mut begin = 0;
    let mut before = Noise { machine, ..Noise::default() };
    // The level after each run since `begin`.
    let mut so_far = begun(logs, begin, before);
    let mut next = begin + so_far.len();
    while next < logs.len() {
        let level = so_far.last().expect("invariant: a level has runs");
        so_far.push(level.with(level.clipped(logs[next]), before));
        next += 1;
        let fewest = if changes.is_empty() { FEWEST_RUNS } else { FEWEST_LATER };
        let test = |n: usize| {
            let runs = next - begin;
            let known = (runs >= n + fewest).then(|| &so_far[runs - n - 1])?;
            Some(known.test(&logs[next - n..next]))
        };
        let mut is_found = false;
        for (t, degrees) in WINDOWS.into_iter().filter_map(test) {
            is_found |= t.abs() > limits.of(degrees);
        }
        if !is_found {
            continue;
        }
        let [least, most] = [WINDOWS[0], WINDOWS[WINDOWS.len() - 1]];
        let of = |n: &usize| test(*n).map_or(0.0, |(t, _)| t.abs());
        let later =
            (least..=most).max_by(|one, other| of(one).total_cmp(&of(other))).unwrap_or(least);
        let level = so_far[next - begin - later - 1];
        done.push(level);
        changes.push((next - later, next - 1));
        (begin, before) = (next - later, level.noise);
        so_far = begun(&logs[..next], begin, before);
    }
    done.extend(so_far.last());
    (changes, done)
}

/// The level after each of the first runs from `begin` on. If no noise is known yet, they are [`FEWEST_RUNS`] runs, clipped
/// by their median deviation from their median. Otherwise, they are all runs of `logs`, clipped as they come.
fn begun(logs: &[f64], begin: usize, before: Noise) -> Vec<Level> {
    let mut level = Level::after(before, logs[begin]);
    let is_known = before.degrees > 0.0;
    let first = &logs[begin..if is_known { logs.len() } else { FEWEST_RUNS.min(logs.len()) }];
    let middle = median(first.iter().copied()).unwrap_or_default();
    let off = median(first.iter().map(|log| (log - middle).abs())).filter(|off| *off > 0.0);
    // The median deviation of normal noise is 0.6745 standard deviations.
    let deviation = off.map_or(f64::INFINITY, |off| off / 0.6745);
    let most = CLIP * if is_known { before.deviation() } else { deviation };
    let add = |log: &f64| {
        level = level.with(log.clamp(middle - most, middle + most), before);
        level
    };
    first.iter().map(add).collect()
}
