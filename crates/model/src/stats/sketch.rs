//! A sketch of many weighted values. It gives percentiles within a stated relative error, in bounded memory.
//! The sketch is deterministic and does not depend on the order of values.
//!
//! The bucket of a value is given by the exponent of the value and the first [`MANTISSA_BITS`] bits of its
//! mantissa. So each octave has buckets of equal width, and no logarithm is computed. The middle of a bucket
//! is within [`RELATIVE_ERROR`] of every value in the bucket.

/// The largest relative difference between a percentile and the exact one, for percentiles whose magnitude is 0
/// or from 1e-6 to 1e12.
pub const RELATIVE_ERROR: f64 = 0.001;

/// The number of mantissa bits that choose a bucket. With 9 bits, half a bucket is at most 1/1024 of its
/// lower bound.
const MANTISSA_BITS: u32 = 9;
/// The number of the remaining, lower mantissa bits.
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA_BITS;

/// Values closer to zero than this number count as zero. Times are whole nanoseconds, so no time in milliseconds,
/// except 0, is so small. For times in microseconds, the difference does not matter.
const SMALLEST: f64 = 1e-6;
/// Larger magnitudes count as this number: in milliseconds, about thirty years.
const LARGEST: f64 = 1e12;
/// Weights are counted in whole multiples of 1 / `UNIT`.
const UNIT: f64 = 1_048_576.0;

/// The weights of values, by magnitude and sign.
#[derive(Clone, Debug, Default)]
pub(super) struct Sketch {
    /// Weights by bucket, in multiples of 1 / `UNIT`, for values below zero and above zero. Each list is empty until it
    /// has a value.
    negative: Vec<u64>,
    positive: Vec<u64>,
    zero: u64,
    total: u64,
    max: Option<f64>,
    min: Option<f64>,
}

impl Sketch {
    pub fn add(&mut self, value: f64, weight: f64) {
        let weight = (weight * UNIT + 0.5) as u64;
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.total += weight;
        if value.abs() < SMALLEST {
            self.zero += weight;
            return;
        }
        let side = if value > 0.0 { &mut self.positive } else { &mut self.negative };
        let at = bucket(value.abs());
        if side.len() <= at {
            side.resize(at + 1, 0);
        }
        side[at] += weight;
    }

    /// The largest value, exact; `None` without values.
    pub fn max(&self) -> Option<f64> {
        self.max
    }

    /// The value at the quantile `q` in [0, 1], interpolated between the same two ranks as the exact
    /// percentile.
    ///
    /// # Panics
    /// If there are no values.
    pub fn quantile(&self, q: f64) -> f64 {
        let rank = (self.total as f64 / UNIT - 1.0).max(0.0) * q + 1.0;
        let (low, high) = (self.ranked(rank as u64), self.ranked(rank as u64 + 1));
        low + (high - low) * rank.fract()
    }

    /// The number of values: the sum of their weights, rounded.
    pub fn n(&self) -> u64 {
        (self.total as f64 / UNIT).round() as u64
    }

    /// The value at a rank, counted from 1. Each value has as many ranks as its weight.
    pub fn ranked(&self, rank: u64) -> f64 {
        self.at_rank(rank * UNIT as u64)
    }

    fn at_rank(&self, rank: u64) -> f64 {
        let (min, max) = (self.min, self.max);
        let (min, max) = min.zip(max).expect("invariant: a sketch is made of values");
        let negative = self.negative.iter().enumerate().rev().map(|(at, &w)| (-middle(at), w));
        let positive = self.positive.iter().enumerate().map(|(at, &w)| (middle(at), w));
        let mut below = 0;
        for (value, weight) in negative.chain([(0.0, self.zero)]).chain(positive) {
            below += weight;
            if weight > 0 && below >= rank {
                return value.clamp(min, max);
            }
        }
        max
    }
}

/// The bucket of a magnitude of at least [`SMALLEST`].
fn bucket(magnitude: f64) -> usize {
    (magnitude.min(LARGEST).to_bits() >> SHIFT) as usize - first()
}

/// The value in the middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let bound = |bucket: usize| f64::from_bits(((bucket + first()) as u64) << SHIFT);
    f64::midpoint(bound(bucket), bound(bucket + 1))
}

/// The number of buckets for values below [`SMALLEST`], which are not stored.
const fn first() -> usize {
    (SMALLEST.to_bits() >> SHIFT) as usize
}
