//! Computes a confidence sequence: an interval of a mean that stays valid when it is checked after every pair.
//!
//! The differences are assumed to be independent and normal. The method uses the Bayes factor of Student's t, with a
//! normal prior on the effect in standard deviations. This factor is a test martingale for every standard deviation. So
//! the probability that the factor ever exceeds `1 / rate` is at most `rate`. The interval contains all means for which
//! the factor does not exceed `1 / rate`. Sources: Wang and Ramdas, "Anytime-valid t-tests and confidence sequences for
//! Gaussian means with unknown variance", 2024; Pérez-Ortiz, Lardy, de Heide and Grünwald, "E-statistics, group
//! invariance and anytime-valid testing", Annals of Statistics, 2024. Autocorrelation of the differences widens the
//! interval.

/// The probability that the interval of the figure that decides covers the true value after every pair.
pub const LEVEL: f64 = 0.95;
/// The fewest pairs for a decision: with fewer, the spread of the pairs is unknown.
pub const FEWEST_PAIRS: usize = inferometer_plan::ab::FEWEST_PAIRS as usize;
/// The fewest pairs for the decision that there is no difference. Fewer pairs may all miss a rare event, such as a
/// stall in only a few blocks.
pub const FEWEST_PAIRS_WITHOUT_DIFFERENCE: usize = 20;
/// The variance of the prior on the effect, in units of the squared standard deviation of one pair. It determines for
/// which effects the interval is narrowest. It does not change the probability that the interval covers the true value.
const PRIOR: f64 = 0.3;
/// The highest assumed correlation of neighbouring pairs. A higher correlation cannot be distinguished from a drift
/// that never ends.
const MOST_CORRELATION: f64 = 0.97;

/// The estimate of a mean, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanEstimate {
    /// The mean of the measured values.
    pub mean: f64,
    /// Half the width of the interval; absent if the interval is unbounded.
    pub half: Option<f64>,
    /// The assumed correlation of neighbouring values, 0 or more.
    pub autocorrelation: f64,
}

impl MeanEstimate {
    /// Both ends of the interval; `None` if the interval is unbounded.
    pub fn ends(&self) -> Option<[f64; 2]> {
        self.half.map(|half| [self.mean - half, self.mean + half])
    }
}

/// Estimates the mean of `differences`, which are in the order of time. `rate` is the probability that the interval
/// ever misses the true mean. `None` without differences.
pub fn estimate(differences: &[f64], rate: f64) -> Option<MeanEstimate> {
    let n = differences.len();
    if n == 0 {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let around: Vec<f64> = differences.iter().map(|one| one - mean).collect();
    let squares: f64 = around.iter().map(|one| one * one).sum();
    let autocorrelation = autocorrelation(&around, squares);
    let half = (n > 1).then(|| limit(n as f64, rate)).flatten().map(|limit| {
        // The variance of a sum whose terms form a first-order autoregression.
        let widening = (1.0 + autocorrelation) / (1.0 - autocorrelation);
        (limit * squares * widening / n as f64).sqrt()
    });
    Some(MeanEstimate { mean, half, autocorrelation })
}

/// The largest square of Student's t, per degree of freedom, at which the Bayes factor stays below `1 / rate`. `None`
/// if the factor stays below for every t.
fn limit(n: f64, rate: f64) -> Option<f64> {
    let weight = 1.0 + n * PRIOR;
    let root = (weight.sqrt() / rate).powf(2.0 / n);
    (root < weight).then(|| (root - 1.0) / (1.0 - root / weight))
}

/// A cautious estimate of the correlation of neighbouring values. It is raised for two reasons: an estimate from few
/// values is too low on average (Marriott and Pope, "Bias in the estimation of autocorrelations", 1954), and the
/// estimate is uncertain.
fn autocorrelation(around: &[f64], squares: f64) -> f64 {
    let n = around.len() as f64;
    if squares <= 0.0 {
        return 0.0;
    }
    let shown = around.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    let unbiased = shown + (1.0 + 3.0 * shown.max(0.0)) / n;
    (unbiased.max(0.0) * (1.0 + 2.0 / n.sqrt())).min(MOST_CORRELATION)
}
