//! Values that occur many times per request, such as the gaps between tokens. Up to a limit, the values are stored
//! exactly; with more values, they are counted in a sketch.

use super::curve::{Of, Ordered};
use super::quantile::{Ranked, even_weight, place, weighted_percentile};
use super::{order::Selected, parts::Sums, sketch::Sketch};
use crate::stats::{Distribution, Weighted};

/// The number of samples that a pool stores exactly by default. They need 32 MiB.
pub const SAMPLES_KEPT: usize = 1 << 21;

/// The number of samples for which memory is reserved at first, so that few samples are copied when it grows.
const RESERVED: usize = 1 << 15;

/// Pooled values in bounded memory. If there are more samples than the pool stores exactly, percentiles are within
/// [`super::RELATIVE_ERROR`] of the exact ones, and [`Distribution::exact`] is false.
#[derive(Clone, Debug)]
pub struct Pool {
    kept: usize,
    samples: Vec<Weighted>,
    /// The sketch of all samples; `None` until there are too many samples to store.
    beyond: Option<Box<Sketch>>,
    /// The sums over the samples of all requests.
    sums: Sums,
}

/// The samples that a request added to a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Added {
    /// The number of samples.
    pub samples: usize,
    /// The sum of the samples' values, each multiplied by its weight.
    pub total: f64,
    /// The sum of the samples' weights.
    pub weight: f64,
    /// The largest value; `None` without samples.
    pub largest: Option<f64>,
}

impl Default for Pool {
    fn default() -> Self {
        Self::keeping(SAMPLES_KEPT)
    }
}

impl Pool {
    /// A pool that stores up to this many samples exactly.
    pub fn keeping(kept: usize) -> Self {
        Self { kept, samples: Vec::new(), beyond: None, sums: Sums::default() }
    }

    /// Adds the values of one request: `append` must append them to the list. Returns the number and the sums
    /// of the added values.
    pub fn add_request(&mut self, append: impl FnOnce(&mut Vec<Weighted>)) -> Added {
        let before = self.samples.len();
        if self.samples.capacity() == 0 {
            self.samples.reserve(self.kept.min(RESERVED));
        }
        append(&mut self.samples);
        let brought = &self.samples[before..];
        let (mut total, mut weight, mut largest) = (0.0, 0.0, f64::NEG_INFINITY);
        for sample in brought {
            total += sample.value * sample.weight;
            weight += sample.weight;
            // `f64::max` takes three times as long, and this code runs for each token.
            largest = if sample.value > largest { sample.value } else { largest };
        }
        let samples = brought.len();
        let added = Added { samples, total, weight, largest: (samples > 0).then_some(largest) };
        if added.samples > 0 {
            self.sums.add(added.total, added.weight);
        }
        if self.beyond.is_some() || self.samples.len() > self.kept {
            let sketch = self.beyond.get_or_insert_default();
            self.samples.drain(..).for_each(|sample| sketch.add(sample.value, sample.weight));
            // The next request needs some capacity, but not as much as all samples that were stored before.
            self.samples.shrink_to(self.kept.min(1 << 16));
        }
        added
    }

    /// How many samples are stored now.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.samples.len()
    }

    /// The samples, in the order in which they were added; `None` if there were too many to store.
    pub fn samples(&self) -> Option<&[Weighted]> {
        self.beyond.is_none().then_some(&self.samples)
    }

    /// The values by rank.
    pub fn ordered(&self) -> Ordered<'_> {
        Ordered(match &self.beyond {
            None => Of::Weighted(Ranked::new(&self.samples)),
            Some(sketch) => Of::Sketch(sketch),
        })
    }

    /// The distribution of the pooled values; `None` without values. `n` is the sum of the weights, rounded.
    pub fn distribution(&self) -> Option<Distribution> {
        let weight = even_weight(&self.samples).filter(|_| self.beyond.is_none());
        let Some(weight) = weight else { return self.distribution_of(&self.ordered()) };
        let values = self.samples.iter().map(|sample| sample.value);
        let max = values.clone().max_by(f64::total_cmp)?;
        let mut selected = Selected::new(values);
        let (count, total) = (selected.len(), selected.len() as f64 * weight);
        let mut value_at = |rank| selected.value(place(rank, weight, count));
        let percentile = |q| weighted_percentile(total, q, &mut value_at);
        Some(self.with_percentiles(max, PERCENTILES.map(percentile)))
    }

    /// Like [`Pool::distribution`], with the values of [`Pool::ordered`].
    pub fn distribution_of(&self, ordered: &Ordered<'_>) -> Option<Distribution> {
        let max = ordered.max()?;
        Some(self.with_percentiles(max, PERCENTILES.map(|q| ordered.percentile(q))))
    }

    fn with_percentiles(&self, max: f64, percentiles: [f64; 5]) -> Distribution {
        let [p50, p90, p95, p99, p999] = percentiles;
        Distribution {
            mean: self.sums.mean(),
            p50,
            p90,
            p95: Some(p95),
            p99,
            p999: Some(p999),
            max,
            n: self.sums.weight().round() as u64,
            exact: self.beyond.is_none(),
            ..Distribution::default()
        }
    }
}

/// The percentiles of a distribution, in ascending order.
const PERCENTILES: [f64; 5] = [0.50, 0.90, 0.95, 0.99, 0.999];
