//! Values of a pass, usually one per request. Up to a limit, the values are stored exactly; with more values,
//! they are counted in a sketch.

use super::curve::{Of, Ordered};
use super::{distribution, parts::Sums, sketch::Sketch};
use crate::stats::Distribution;

/// The number of values that a sample stores exactly by default. They need 2 MiB.
pub const VALUES_KEPT: usize = 1 << 18;

/// Values with weight 1, in bounded memory. If there are more values than the sample stores exactly, percentiles are
/// within [`super::RELATIVE_ERROR`] of the exact ones, and [`Distribution::exact`] is false.
#[derive(Clone, Debug)]
pub struct Sample {
    kept: usize,
    exact: Vec<f64>,
    beyond: Option<Box<Beyond>>,
}

/// The sketch and the sums of values that are too many to store exactly.
#[derive(Clone, Debug, Default)]
struct Beyond {
    sketch: Sketch,
    sums: Sums,
    n: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self::keeping(VALUES_KEPT)
    }
}

impl Sample {
    /// A sample that stores up to this many values exactly.
    pub fn keeping(kept: usize) -> Self {
        Self { kept, exact: Vec::new(), beyond: None }
    }

    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        if let Some(beyond) = &mut self.beyond {
            beyond.add(value);
        } else if self.exact.len() < self.kept {
            self.exact.push(value);
        } else {
            let mut beyond = Box::<Beyond>::default();
            std::mem::take(&mut self.exact).into_iter().for_each(|value| beyond.add(value));
            beyond.add(value);
            self.beyond = Some(beyond);
        }
    }

    /// The values by rank. Sorts the stored values.
    pub fn ordered(&mut self) -> Ordered<'_> {
        Ordered(match &self.beyond {
            None => {
                self.exact.sort_unstable_by(f64::total_cmp);
                Of::Plain(&self.exact)
            }
            Some(beyond) => Of::Sketch(&beyond.sketch),
        })
    }

    /// The values, in the order in which they were added, or sorted after a call of [`Sample::distribution`].
    /// `None` if there were too many to store.
    pub fn values(&self) -> Option<&[f64]> {
        self.beyond.is_none().then_some(&self.exact)
    }

    /// The distribution of the values; `None` without values. Sorts the stored values.
    pub fn distribution(&mut self) -> Option<Distribution> {
        match &self.beyond {
            None => distribution(&mut self.exact),
            Some(beyond) => beyond.distribution(),
        }
    }
}

impl Extend<f64> for Sample {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl Beyond {
    fn add(&mut self, value: f64) {
        self.sketch.add(value, 1.0);
        self.sums.add(value, 1.0);
        self.n += 1;
    }

    fn distribution(&self) -> Option<Distribution> {
        Some(Distribution {
            mean: self.sums.mean(),
            p50: self.sketch.quantile(0.50),
            p90: self.sketch.quantile(0.90),
            p95: Some(self.sketch.quantile(0.95)),
            p99: self.sketch.quantile(0.99),
            p999: Some(self.sketch.quantile(0.999)),
            max: self.sketch.max()?,
            n: self.n,
            exact: false,
            ..Distribution::default()
        })
    }
}
