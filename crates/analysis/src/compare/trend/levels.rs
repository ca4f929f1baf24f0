//! The levels of a figure over runs, and the changes between them.
//!
//! The logarithms of a figure are a level and noise. At each run, the means of the last 3 to 30 runs are compared with the
//! level before them, by Student's t. A change is found if one of them exceeds its limit. The limit is for one test out of
//! all tests of a year of daily runs, over all figures together (Bonferroni), so it holds however the figures depend on
//! each other. Most of the false alarms of a year are spent while few runs are known, where they find most. What a run shows
//! depends on no later run. A value counts as at most [`CLIP`] standard deviations off, and [`AGREEING`] runs must agree, so
//! one or two outlying runs are never a change.
//!
//! The machine drifts: a night resembles the night before. So the error of each mean is that of first-order autocorrelated
//! noise, as in [`mod@super::super::model`]. The correlation is that of the figure so far, but at least the largest
//! plausible one of the machine, which follows from all figures so far. A slow drift that all figures share cannot be told
//! from steps while few runs are known.

use std::collections::BTreeMap;

use inferometer_model::stats::{median, student_above};

/// The numbers of last runs whose mean is compared with the level before.
const WINDOWS: [usize; 8] = [3, 4, 5, 7, 10, 14, 20, 30];
/// As many tests as this of each run are independent of each other and of those of the runs before: the windows overlap, and
/// the correlation is not underestimated. The tests simulate it.
const TESTS_PER_RUN: f64 = 0.8;
/// The share of a run in the false alarms is proportional to this power of the number of runs so far: with few runs, the noise
/// is little known, and a smaller share would hide steps.
const SHARE: f64 = -1.5;
/// The sum of these powers over the first year of daily runs that can show a change. Later years have a much smaller sum.
const SHARES: f64 = 0.45;
/// The fewest runs from which the first level is known, and the fewest for a later level, whose noise is known already.
pub const FEWEST_RUNS: usize = 10;
const FEWEST_LATER: usize = 5;
/// The fewest runs of a figure that can show a change.
pub const FEWEST_FOR_CHANGE: usize = FEWEST_RUNS + WINDOWS[0];
/// The fewest later runs that agree in a change.
const AGREEING: usize = 3;
/// The largest deviation of a single run that counts, in standard deviations.
const CLIP: f64 = 4.0;
/// The highest correlation of neighbouring runs that is assumed.
const MOST_ALIKE: f64 = 0.95;
/// How many runs apart the runs are whose correlation shows a slow drift below the noise of single runs.
const FAR: usize = 4;
/// The errors of the correlations of the machine, in standard errors of one figure: of neighbours, and of runs far apart.
const ERRORS: [f64; 2] = [1.3, 2.0];
/// The smallest standard deviation: figures of a simulation without noise are equal.
const LEAST_DEVIATION: f64 = 1e-6;

/// The limits of the test statistic.
pub(super) struct Limits {
    /// The probability of a false alarm in one test on one side, divided by the share of the run.
    probability: f64,
    /// By the number of runs so far and the degrees of freedom.
    known: BTreeMap<(usize, usize), f64>,
}

impl Limits {
    pub(super) fn new(false_alarms: f64, figures: usize) -> Self {
        let tests = figures as f64 * TESTS_PER_RUN * 2.0;
        Self { probability: false_alarms / tests / SHARES, known: BTreeMap::new() }
    }

    fn of(&mut self, runs: usize, degrees: f64) -> f64 {
        let degrees = degrees.max(1.0) as usize;
        let probability = self.probability * (runs as f64).powf(SHARE);
        let limit = || student_above(probability, degrees as f64);
        *self.known.entry((runs, degrees)).or_insert_with(limit)
    }
}

/// The noise of a figure around its levels, as sums over all its levels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noise {
    squares: f64,
    /// The sums of the products of neighbours, and of runs that are [`FAR`] apart.
    products: [f64; 2],
    /// The degrees of freedom of earlier levels.
    earlier: f64,
    /// The number of runs of the present level.
    runs: f64,
    /// The least correlation of neighbours, which the machine causes, as far as it is known.
    machine: f64,
}

impl Noise {
    fn and(self, own: Self) -> Self {
        Self {
            squares: self.squares + own.squares,
            products: [0, 1].map(|lag| self.products[lag] + own.products[lag]),
            earlier: self.degrees(),
            ..own
        }
    }

    /// The degrees of freedom. Neighbours that are alike are also close to their mean.
    fn degrees(self) -> f64 {
        self.earlier + self.runs - self.runs * of_mean(self.runs, self.machine)
    }

    fn deviation(self) -> f64 {
        (self.squares / self.degrees().max(1.0)).sqrt().max(LEAST_DEVIATION)
    }

    /// The correlations of neighbours, and of runs far apart, without the bias of their estimates (Marriott and Pope,
    /// Biometrika 41, 1954).
    fn found(self) -> [f64; 2] {
        let squares = self.squares.max(LEAST_DEVIATION * LEAST_DEVIATION);
        self.products.map(|products| {
            let found = products / squares;
            found + (1.0 + 3.0 * found.max(0.0)) / (self.degrees() + 1.0).max(2.0)
        })
    }

    /// The correlation of neighbours: that of the machine, unless that of this figure is higher by a standard error.
    pub(super) fn alike(self) -> f64 {
        let found = self.found()[0].clamp(0.0, MOST_ALIKE);
        (found - error_of(found, self.degrees() + 1.0)).clamp(self.machine, MOST_ALIKE)
    }
}

/// The standard error of a correlation of neighbours among this many runs.
fn error_of(alike: f64, runs: f64) -> f64 {
    ((1.0 - alike * alike) / runs.max(1.0)).sqrt()
}

/// The variance of the mean of `n` neighbouring runs, divided by that of one run.
fn of_mean(n: f64, alike: f64) -> f64 {
    if n < 1.0 {
        return 0.0;
    }
    let far = (1.0 - alike.powf(n)) / (1.0 - alike);
    (1.0 + 2.0 * alike / (1.0 - alike) * (1.0 - far / n)) / n
}

/// For each of `runs` runs, the largest plausible correlation of neighbours that the machine causes, as known then. It follows
/// from the medians over the figures and the error of one figure, because figures depend on each other. A slow drift below
/// the noise of single runs shows in runs far apart: their correlation is that of neighbours to the power of [`FAR`]. The
/// series have the index of each run, and its value.
pub(super) fn machine(runs: usize, series: &[Vec<(usize, f64)>], limits: &mut Limits) -> Vec<f64> {
    let mut found: Vec<Vec<[f64; 2]>> = vec![Vec::new(); runs];
    let mut most = vec![0; runs];
    for values in series {
        let known = levels(values, &vec![0.0; runs], limits).found;
        for (at, one) in known.into_iter().enumerate().skip(FEWEST_RUNS - 1) {
            // A run without the figure leaves what is known.
            let next = values.get(at + 1).map_or(runs, |(run, _)| *run);
            for run in values[at].0..next {
                found[run].push(one);
                most[run] = most[run].max(at + 1);
            }
        }
    }
    let known = found.into_iter().zip(most).map(|(of_figures, most)| {
        let [near, far] = [0, 1].map(|lag| {
            let middle = median(of_figures.iter().map(|one| one[lag])).unwrap_or_default();
            let middle = middle.clamp(0.0, MOST_ALIKE);
            (middle, ERRORS[lag] * error_of(middle, most as f64))
        });
        let slow = (far.0 - far.1).max(0.0).powf(1.0 / FAR as f64);
        (near.0 + near.1).max(slow).min(MOST_ALIKE)
    });
    known.collect()
}

/// A level, as sums over its runs so far. A run counts with its clipped value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    runs: f64,
    pub(super) mean: f64,
    own: Noise,
    /// The noise of this level and of all levels before it.
    pub(super) noise: Noise,
    /// The first and the last clipped values, relative to `origin`; the last one first.
    first: [f64; FAR],
    last: [f64; FAR],
    /// The sums of the products of [`Noise::products`], but of the values relative to `origin`.
    products: [f64; 2],
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
        let mut level = Self { runs, mean, ..self };
        if let Some(first) = level.first.get_mut(self.runs as usize) {
            *first = x;
        }
        level.last.rotate_right(1);
        level.last[0] = x;
        let m = mean - self.origin;
        let mut products = [0.0; 2];
        for (place, lag) in [1, FAR].into_iter().enumerate() {
            let apart = lag as f64;
            if self.runs >= apart {
                level.products[place] += self.last[lag - 1] * x;
                // The sum of (x - m)(y - m), where each run but those at the ends occurs in two products.
                let ends: f64 = level.first[..lag].iter().chain(&level.last[..lag]).sum();
                products[place] =
                    level.products[place] - m * (2.0 * runs * m - ends) + (runs - apart) * m * m;
            }
        }
        level.own = Noise { squares, products, earlier: 0.0, runs, machine: before.machine };
        level.noise = before.and(level.own);
        level
    }

    /// The level with what is known of the machine at a later run.
    fn under(mut self, machine: f64) -> Self {
        self.noise.machine = machine;
        self
    }

    /// The degrees of freedom of the deviation. Neighbours that are alike show less of it.
    fn degrees(&self, alike: f64) -> f64 {
        self.noise.degrees() * (1.0 - alike * alike) / (1.0 + alike * alike)
    }

    /// The difference from an earlier level, and half the width of its 95 % interval, in the logarithm of the figure.
    pub(super) fn against(&self, before: &Self) -> (f64, f64) {
        let alike = self.noise.alike();
        let variance = of_mean(self.runs, alike) + of_mean(before.runs, alike);
        let reach = student_above(0.025, self.degrees(alike).max(1.0));
        (self.mean - before.mean, reach * self.deviation() * variance.sqrt())
    }

    /// The test statistic of later runs: how many standard errors their mean is off the level; and its degrees of freedom. The
    /// statistic is 0 if fewer than [`AGREEING`] runs are a standard deviation off in this direction. A run counts with at most
    /// as much as that many runs are off, or [`CLIP`] deviations.
    fn test(&self, later: &[f64]) -> (f64, f64) {
        let (n, deviation) = (later.len() as f64, self.deviation());
        let most = CLIP * deviation;
        let off = || later.iter().map(|log| log - self.mean);
        let sign = off().map(|off| off.clamp(-most, most)).sum::<f64>().signum();
        let mut largest = [f64::NEG_INFINITY; AGREEING];
        for off in off().map(|off| off * sign) {
            if off > largest[AGREEING - 1] {
                largest[AGREEING - 1] = off;
                largest.sort_by(|one, other| other.total_cmp(one));
            }
        }
        let agreed = largest[AGREEING - 1];
        let alike = self.noise.alike();
        if agreed <= deviation {
            return (0.0, self.degrees(alike));
        }
        let mean = off().map(|off| (off * sign).clamp(-most, most.max(agreed))).sum::<f64>() / n;
        let variance = of_mean(n, alike) + of_mean(self.runs, alike);
        (sign * mean / (deviation * variance.sqrt()), self.degrees(alike))
    }
}

/// The levels of a series.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    /// The places in the series of the first run of each change, and of the run at which it was found.
    pub(super) changes: Vec<(usize, usize)>,
    /// One more than changes.
    pub(super) levels: Vec<Level>,
    /// For each run, the correlation of neighbours that this figure has as known then, and of runs far apart.
    found: Vec<[f64; 2]>,
}

/// The levels of a series, which has the index of each run, and its value. `machine`: the least correlation of neighbours as
/// known at each run. What is found at a run depends only on the runs up to it: a job of each night finds the same.
pub(super) fn levels(values: &[(usize, f64)], machine: &[f64], limits: &mut Limits) -> Levels {
    let logs: Vec<f64> = values.iter().map(|(_, log)| *log).collect();
    let mut of = Levels::default();
    let (mut begin, mut before) = (0, Noise::default());
    // The level after each run since `begin`.
    let mut so_far = begun(&logs, begin, before);
    of.found = so_far.iter().map(|level| level.noise.found()).collect();
    let mut next = so_far.len();
    while next < logs.len() {
        let known = machine[values[next].0];
        before.machine = known;
        let level = so_far.last().expect("invariant: a level has runs").under(known);
        so_far.push(level.with(level.clipped(logs[next]), before));
        next += 1;
        let fewest = if of.changes.is_empty() { FEWEST_RUNS } else { FEWEST_LATER };
        let test = |n: usize| {
            let runs = next - begin;
            // A step of all figures looks like a drift of the machine, so the tested runs do not count for that.
            let level = || so_far[runs - n - 1].under(machine[values[next - n - 1].0]);
            let level = (runs >= n + fewest).then(level)?;
            Some(level.test(&logs[next - n..next]))
        };
        let mut is_found = false;
        for (t, degrees) in WINDOWS.into_iter().filter_map(test) {
            is_found |= t.abs() > limits.of(next, degrees);
        }
        if is_found {
            let [least, most] = [WINDOWS[0], WINDOWS[WINDOWS.len() - 1]];
            let of_window = |n: &usize| test(*n).map_or(0.0, |(t, _)| t.abs());
            let by_size = |one: &usize, other: &usize| of_window(one).total_cmp(&of_window(other));
            let later = (least..=most).max_by(by_size).unwrap_or(least);
            let level = so_far[next - begin - later - 1].under(machine[values[next - later - 1].0]);
            of.levels.push(level);
            of.changes.push((next - later, next - 1));
            (begin, before) = (next - later, level.noise);
            so_far = begun(&logs[..next], begin, before);
        }
        of.found.extend(so_far.last().map(|level| level.noise.found()));
    }
    of.levels.extend(so_far.last());
    of
}

/// The level after each of the first runs from `begin` on. If no noise is known yet, they are [`FEWEST_RUNS`] runs, clipped
/// by their median deviation from their median. Otherwise, they are all runs of `logs`, clipped as they come.
fn begun(logs: &[f64], begin: usize, before: Noise) -> Vec<Level> {
    let mut level = Level::after(before, logs[begin]);
    let is_known = before.runs > 0.0;
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
