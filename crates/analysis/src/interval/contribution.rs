//! What each request contributes to a figure, and how much such contributions vary.

/// The largest number of cosines for a mean or a median: the degrees of freedom of its error.
pub(super) const COSINES: usize = 6;

/// The contribution of a request to a mean: the weighted sum of its values, and the sum of the weights. It is `(value,
/// 1)` for a metric with one value per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Contribution {
    /// The index that `Course::add` returned for the request.
    pub at: u32,
    pub total: f64,
    pub weight: f64,
}

/// The variance of the values; 0 for fewer than two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}
