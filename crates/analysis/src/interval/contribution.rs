//! What each request contributes to a figure, and how much such contributions vary.

/// The largest number of cosines for a mean or a median: the degrees of freedom of its error.
pub(super) const COSINES: usize = 6;
/// The number of cosines over the places of a wave. The values of places depend on their neighbours only.
pub(super) const COSINES_OF_PLACES: usize = 5;

/// The drain is simulated if the standard deviation of the stays is at least this share of their mean. With less, the
/// ends of the last requests show the error of the duration well enough.
pub(super) const VARIED: f64 = 0.5;

/// The share of the requests that is almost all of them: what some failed requests lack is not needed.
pub(super) const ALMOST_ALL: f64 = 0.95;

/// The contribution of a request to a mean: the weighted sum of its values, and the sum of the weights. It is `(value,
/// 1)` for a metric with one value per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Contribution {
    /// The index that `Course::add` returned for the request.
    pub at: u32,
    pub total: f64,
    pub weight: f64,
}

/// The degrees of freedom of the variance of independent values: fewer, the more extreme values there are.
pub(super) fn degrees_of_variance(values: &[f64]) -> usize {
    let (n, variance) = (values.len() as f64, variance(values));
    let mean = values.iter().sum::<f64>() / n;
    let fourth = values.iter().map(|value| (value - mean).powi(4)).sum::<f64>() / n;
    let kurtosis = if variance > 0.0 { fourth / variance.powi(2) } else { 3.0 };
    (2.0 * n / (kurtosis - 1.0).max(0.1)) as usize
}

/// The sum of independent variances, and its degrees of freedom by Welch and Satterthwaite.
pub(super) fn sum_of_variances(parts: &[(f64, usize)]) -> (f64, usize) {
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let spread: f64 = parts.iter().map(|(v, degrees)| v * v / (*degrees).max(1) as f64).sum();
    let most = parts.iter().map(|(_, degrees)| *degrees).max().unwrap_or(1);
    (sum, if spread > 0.0 { (sum * sum / spread) as usize } else { most })
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
