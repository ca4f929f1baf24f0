//! Sums of fractions. The result does not depend on the order of the terms, because they are added as whole numbers.

/// Sums of values and of weights, in whole multiples of 1 / `UNIT`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    total: i128,
    weight: i128,
}

/// The number of units in 1: 2^32.
const UNIT: f64 = 4_294_967_296.0;

impl Sums {
    pub fn add(&mut self, total: f64, weight: f64) {
        let units = |value: f64| (value * UNIT).round() as i128;
        self.total += units(total);
        self.weight += units(weight);
    }

    /// The weighted mean.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.weight as f64
    }

    /// The sum of weights.
    pub fn weight(&self) -> f64 {
        self.weight as f64 / UNIT
    }
}
