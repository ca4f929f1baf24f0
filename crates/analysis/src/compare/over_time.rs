//! Tests whether the repeats of one run drift, and whether neighbours are correlated. If one run is measured after the
//! other, both effects look like a difference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use inferometer_model::stats::seed;

/// The fewest repeats for a test. Fewer repeats have too few possible orders.
pub const FEWEST: usize = 5;
/// The number of orders that are tried, including the measured one.
const SHUFFLES: u32 = 1_000;

/// The trend and the correlation of a figure over the repeats of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// The change from one repeat to the next in percent, from a line that is fitted to the repeats.
    pub trend_pct: f64,
    /// The probability of a trend at least as steep, if the order of the repeats has no effect.
    pub trend_p: f64,
    /// The correlation of neighbouring repeats.
    pub autocorrelation: f64,
    /// The probability of a correlation at least as large, if the order of the repeats has no effect.
    pub autocorrelation_p: f64,
}

/// The shuffled orders in which repeats are tried. All figures with the same number of repeats have the same orders.
pub(super) struct Shuffles {
    seed: u64,
    /// By the number of repeats. An order is a list of indices.
    orders: BTreeMap<usize, Vec<Vec<usize>>>,
}

impl Shuffles {
    pub fn new(seed: u64) -> Self {
        Self { seed, orders: BTreeMap::new() }
    }

    fn of(&mut self, repeats: usize) -> &[Vec<usize>] {
        self.orders.entry(repeats).or_insert_with(|| {
            let mut rng = seed::rng(self.seed, &["over time"]);
            let mut order: Vec<usize> = (0..repeats).collect();
            let shuffled = |_| {
                for last in (1..repeats).rev() {
                    order.swap(last, seed::below(&mut rng, last as u64 + 1) as usize);
                }
                order.clone()
            };
            (1..SHUFFLES).map(shuffled).collect()
        })
    }
}

/// Tests repeats, which must be in the order of time; `None` with fewer than five. The probabilities come from shuffled
/// orders, so they assume no distribution of the noise.
pub(super) fn over_time(values: &[f64], shuffles: &mut Shuffles) -> Option<OverTime> {
    if values.len() < FEWEST {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let middle = super::mean(&logs);
    let given: Vec<f64> = logs.iter().map(|log| log - middle).collect();
    let squares: f64 = given.iter().map(|one| one * one).sum();
    let (trend, alike) = (slope(&given), neighbours(&given));
    let (mut steeper, mut closer, mut shuffled) = (1_u32, 1_u32, given.clone());
    for order in shuffles.of(given.len()) {
        order.iter().zip(&mut shuffled).for_each(|(&from, to)| *to = given[from]);
        steeper += u32::from(slope(&shuffled).abs() >= trend.abs() * (1.0 - 1e-9));
        closer += u32::from(neighbours(&shuffled) >= alike - 1e-9 * squares);
    }
    let share = |count: u32| f64::from(count) / f64::from(SHUFFLES);
    Some(OverTime {
        trend_pct: 100.0 * trend.exp_m1(),
        trend_p: share(steeper),
        autocorrelation: if squares > 1e-24 { alike / squares } else { 0.0 },
        autocorrelation_p: share(closer),
    })
}

/// The slope of a line through equidistant values whose mean is zero.
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let places = || (0..values.len()).map(|at| at as f64 - middle);
    places().zip(values).map(|(at, one)| at * one).sum::<f64>()
        / places().map(|at| at * at).sum::<f64>()
}

fn neighbours(values: &[f64]) -> f64 {
    values.windows(2).map(|pair| pair[0] * pair[1]).sum()
}

/// The largest plausible correlation of neighbouring values. It is the estimate, plus the bias of such estimates for
/// this number of values (Marriott and Pope, Biometrika 41, 1954), plus 1.645 standard errors. It is computed around
/// the mean and around a line over time; the larger result is returned.
pub(super) fn alike_at_most(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let middle = super::mean(&logs);
    let around: Vec<f64> = logs.iter().map(|log| log - middle).collect();
    let line = slope(&around);
    let place = |at: usize| at as f64 - (n - 1.0) / 2.0;
    let beside_line = around.iter().enumerate().map(|(at, one)| one - line * place(at)).collect();
    let most = |values: Vec<f64>, taken: f64| {
        let squares: f64 = values.iter().map(|one| one * one).sum();
        let found = neighbours(&values) / squares.max(1e-300);
        let unbiased = (found + (taken + (taken + 2.0) * found.max(0.0)) / n).min(0.99);
        unbiased + 1.645 * ((1.0 - unbiased * unbiased) / n).sqrt()
    };
    most(around, 1.0).max(most(beside_line, 2.0)).clamp(0.0, 0.99)
}

/// The smallest of several probabilities, corrected for their number; `None` if there are none.
pub fn smallest(chances: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = chances.collect();
    let least = all.iter().copied().reduce(f64::min)?;
    Some(1.0 - (1.0 - least).powi(all.len() as i32))
}
