//! Statistics as other tools compute them: mean, population standard deviation and percentiles as in NumPy, and
//! weighted statistics with nearest-rank percentiles as in GuideLLM.

/// Values in ascending order. All statistics are 0 if there are no values.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(Vec<f64>);

impl Numbers {
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Converts values from seconds to milliseconds.
    pub fn of_seconds_in_ms(values: impl IntoIterator<Item = f64>) -> Self {
        Self::new(values.into_iter().map(|seconds| seconds * 1e3))
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The sum. The sum of no values is -0.0, so 0 is added.
    pub fn sum(&self) -> f64 {
        self.0.iter().sum::<f64>() + 0.0
    }

    /// The mean; 0 if there are no values, as vLLM and SGLang print it.
    pub fn mean(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.sum() / self.0.len() as f64 }
    }

    /// The population standard deviation.
    pub fn std(&self) -> f64 {
        let mean = self.mean();
        let squares = Self(self.0.iter().map(|value| (value - mean).powi(2)).collect());
        squares.mean().sqrt()
    }

    pub fn min(&self) -> f64 {
        self.0.first().copied().unwrap_or(0.0)
    }

    pub fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    /// The percentile with linear interpolation between ranks; `percent` is from 0 to 100.
    pub fn percentile(&self, percent: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else { return 0.0 };
        let rank = percent / 100.0 * last as f64;
        let (low, high) = (rank.floor() as usize, rank.ceil() as usize);
        self.0[low] + (self.0[high] - self.0[low]) * (rank - low as f64)
    }
}

/// Values with weights, as GuideLLM summarises them: in ascending order, with equal values merged and without
/// values of zero weight.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    /// Each value with its share of the total weight, from 0 to 1.
    shares: Vec<(f64, f64)>,
}

impl Weighted {
    /// Values of equal weight.
    pub fn even(values: impl IntoIterator<Item = f64>) -> Self {
        Self::new(values.into_iter().map(|value| (value, 1.0)))
    }

    /// Values with their weights.
    pub fn new(values: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut values: Vec<(f64, f64)> =
            values.into_iter().filter(|(_, weight)| *weight > 0.0).collect();
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        values.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
        let total: f64 = values.iter().map(|(_, weight)| weight).sum();
        values.iter_mut().for_each(|(_, weight)| *weight /= total);
        Self { shares: values }
    }

    /// The mean; 0 if there are no values, as the tool prints it.
    pub fn mean(&self) -> f64 {
        self.shares.iter().map(|(value, share)| value * share).sum::<f64>() + 0.0
    }

    /// The population standard deviation.
    pub fn std(&self) -> f64 {
        let mean = self.mean();
        let squares = self.shares.iter().map(|(value, share)| (value - mean).powi(2) * share);
        (squares.sum::<f64>() + 0.0).sqrt()
    }

    pub fn min(&self) -> f64 {
        self.shares.first().map_or(0.0, |(value, _)| *value)
    }

    pub fn max(&self) -> f64 {
        self.shares.last().map_or(0.0, |(value, _)| *value)
    }

    /// The nearest-rank percentile: the smallest value for which the values up to and including it have at
    /// least `percent` percent of the total weight. `percent` is from 0 to 100.
    pub fn nearest_rank(&self, percent: f64) -> f64 {
        let mut up_to = 0.0;
        let reached = self.shares.iter().find(|(_, share)| {
            up_to += share;
            up_to >= percent / 100.0
        });
        reached.map_or(self.max(), |(value, _)| *value)
    }
}
