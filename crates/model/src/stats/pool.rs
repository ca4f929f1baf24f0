//! Values that occur many times per request, such as the gaps between tokens. Up to a limit, the values are stored
//! exactly; with more values, they are counted in a sketch.

use super::curve::{Curve, Ordered};
use super::parts::Sums;
use super::quantile::Ranked;
use super::sketch::Sketch;
use crate::stats::{Distribution, Weighted};

/// The number of samples that a pool stores exactly by default. They need 32 MiB.
pub const SAMPLES_KEPT: usize = 1 << 21;

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
        append(&mut self.samples);
        let brought = &self.samples[before..];
        let added = Added {
            samples: brought.len(),
            total: brought.iter().map(|sample| sample.value * sample.weight).sum(),
            weight: brought.iter().map(|sample| sample.weight).sum(),
        };
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

    /// The values in a form that can be plotted, with about this many points and at most this many columns; `None`
    /// without values.
    pub fn curve(mut self, points: usize, bins: usize) -> Option<Curve> {
        match &self.beyond {
            None => {
                sort(&mut self.samples);
                Ordered::Weighted(Ranked::new(&self.samples)).curve(points, bins)
            }
            Some(sketch) => Ordered::Sketch(sketch).curve(points, bins),
        }
    }

    /// The samples, in the order in which they were added, or sorted after a call of [`Pool::distribution`].
    /// `None` if there were too many to store.
    pub fn samples(&self) -> Option<&[Weighted]> {
        self.beyond.is_none().then_some(&self.samples)
    }

    /// The distribution of the pooled values; `None` without values. Sorts the stored samples. `n` is the sum
    /// of the weights, rounded.
    pub fn distribution(&mut self) -> Option<Distribution> {
        sort(&mut self.samples);
        let max = match &self.beyond {
            None => self.samples.last()?.value,
            Some(sketch) => sketch.max()?,
        };
        let ranked = Ranked::new(&self.samples);
        let percentile = |q: f64| match &self.beyond {
            None => ranked.percentile(q),
            Some(sketch) => sketch.quantile(q),
        };
        Some(Distribution {
            mean: self.sums.mean(),
            p50: percentile(0.50),
            p90: percentile(0.90),
            p95: Some(percentile(0.95)),
            p99: percentile(0.99),
            p999: Some(percentile(0.999)),
            max,
            n: self.sums.weight().round() as u64,
            exact: self.beyond.is_none(),
            ..Distribution::default()
        })
    }
}

/// Sorts samples by value and weight, so that records in any order give the same figures to the last bit.
fn sort(samples: &mut [Weighted]) {
    let weight = samples.first().map_or(0, |first| first.weight.to_bits());
    if samples.iter().any(|sample| sample.weight.to_bits() != weight) {
        let order = |a: &Weighted, b: &Weighted| {
            a.value.total_cmp(&b.value).then(a.weight.total_cmp(&b.weight))
        };
        return samples.sort_unstable_by(order);
    }
    // If each event has one token, all weights are equal, so only the values are sorted. Sorting them as whole numbers
    // takes half of the time.
    let mut keys: Vec<i64> =
        samples.iter().map(|sample| order_key(sample.value.to_bits())).collect();
    keys.sort_unstable();
    for (sample, key) in samples.iter_mut().zip(keys) {
        sample.value = f64::from_bits(order_key(key as u64) as u64);
    }
}

/// Converts the bits of a float into a whole number, such that the whole numbers have the order of [`f64::total_cmp`].
/// If the float is negative, all bits except the sign are inverted. The function is its own inverse.
fn order_key(bits: u64) -> i64 {
    let bits = bits as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}
