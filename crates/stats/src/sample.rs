//! Independent values of a pass, one per request or read: exact as long as they are few enough to
//! be kept, a sketch beyond.

use super::curve::{Curve, Dependence, Ordered};
use super::parts::Parts;
use super::sketch::Sketch;
use super::{CONFIDENCE, distribution, quantile_ranks};
use crate::Distribution;

/// How many values are kept as they are: 2 MiB of them.
pub const VALUES_KEPT: usize = 1 << 18;

/// Independent values. Memory is bounded: beyond [`VALUES_KEPT`] values their percentiles are
/// within [`super::RELATIVE_ERROR`] of the exact ones, and the distribution says so.
#[derive(Clone, Debug)]
pub struct Sample {
    kept: usize,
    exact: Vec<f64>,
    beyond: Option<Box<Beyond>>,
}

/// What is left of values that are too many to be kept.
#[derive(Clone, Debug, Default)]
struct Beyond {
    sketch: Sketch,
    parts: Parts,
    n: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self::keeping(VALUES_KEPT)
    }
}

impl Sample {
    /// A sample that keeps this many values as they are.
    pub fn keeping(kept: usize) -> Self {
        Self { kept, exact: Vec::new(), beyond: None }
    }

    /// Takes in a value.
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

    /// The values as they can be drawn, at most about so many points and columns; nothing of no
    /// values.
    pub fn curve(mut self, points: usize, bins: usize) -> Option<Curve> {
        match &self.beyond {
            None => {
                self.exact.sort_unstable_by(f64::total_cmp);
                Ordered::Plain(&self.exact).curve(points, bins, Dependence::Independent)
            }
            Some(beyond) => {
                Ordered::Sketch(&beyond.sketch).curve(points, bins, Dependence::Independent)
            }
        }
    }

    /// The distribution of the values, or none of no values.
    pub fn distribution(mut self, seed: u64) -> Option<Distribution> {
        match self.beyond {
            None => distribution(&mut self.exact, seed),
            Some(beyond) => beyond.distribution(seed),
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
        self.parts.add(value, 1.0);
        self.n += 1;
    }

    fn distribution(&self, seed: u64) -> Option<Distribution> {
        let interval = |q: f64| {
            let (low, high) = quantile_ranks(self.n, q, CONFIDENCE)?;
            Some([self.sketch.ranked(low), self.sketch.ranked(high)])
        };
        Some(Distribution {
            mean: self.parts.mean(),
            mean_ci: self.parts.interval(seed),
            p50: self.sketch.quantile(0.50),
            p50_ci: interval(0.50),
            p90: self.sketch.quantile(0.90),
            p95: Some(self.sketch.quantile(0.95)),
            p99: self.sketch.quantile(0.99),
            p99_ci: interval(0.99),
            p999: Some(self.sketch.quantile(0.999)),
            max: self.sketch.max()?,
            n: self.n,
            exact: false,
        })
    }
}
