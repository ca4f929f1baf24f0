//! A confidence sequence: an interval of a mean that is valid at all times, so that it can be checked
//! after every pair.
//!
//! The differences are taken as independent and normal. The Bayes factor of Student's t, with a normal
//! prior on the effect in standard deviations, is then a test martingale for every deviation. So it
//! exceeds `1 / rate` at any time with a probability of at most `rate`. The interval has all means for
//! which it does not (Wang and Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means
//! with unknown variance", 2024; Pérez-Ortiz, Lardy, de Heide and Grünwald, "E-statistics, group
//! invariance and anytime-valid testing", Annals of Statistics, 2024). Autocorrelated differences make it
//! wider.

/// The probability that an interval covers the truth at all times, for the figure that decides.
pub const LEVEL: f64 = 0.95;
/// The fewest pairs for a decision: with fewer, their spread is unknown.
pub const FEWEST_PAIRS: usize = inferometer_plan::ab::FEWEST_PAIRS as usize;
/// The fewest pairs for the decision that there is no difference: fewer pairs may all miss an event that
/// happens in only a few blocks, such as a stall.
pub const FEWEST_PAIRS_WITHOUT_DIFFERENCE: usize = 20;
/// The variance of the prior on the effect, in squared deviations of a pair. It determines for which
/// effects the interval is narrowest. It does not change the probability that the interval covers the
/// truth.
const PRIOR: f64 = 0.3;
/// Neighbours with a higher correlation than this cannot be distinguished from an endless drift.
const MOST_CORRELATION: f64 = 0.97;

/// What is known about a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanEstimate {
    /// The mean of the measured values.
    pub mean: f64,
    /// Half the width of the interval; absent while the interval has no ends.
    pub half: Option<f64>,
    /// The assumed correlation of neighbours, 0 or more.
    pub autocorrelation: f64,
}

impl MeanEstimate {
    /// The ends of the interval.
    pub fn ends(&self) -> Option<[f64; 2]> {
        self.half.map(|half| [self.mean - half, self.mean + half])
    }
}

/// The mean of differences in the order of time, with its interval at an error rate over all times;
/// absent without differences.
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

/// The largest square of Student's t, per degree of freedom, at which the Bayes factor stays below
/// `1 / rate`; absent if it does so for every t.
fn limit(n: f64, rate: f64) -> Option<f64> {
    let weight = 1.0 + n * PRIOR;
    let root = (weight.sqrt() / rate).powf(2.0 / n);
    (root < weight).then(|| (root - 1.0) / (1.0 - root / weight))
}

/// A cautious estimate of the correlation of neighbours: few differences underestimate it (Marriott and
/// Pope, "Bias in the estimation of autocorrelations", 1954), and the estimate is uncertain.
fn autocorrelation(around: &[f64], squares: f64) -> f64 {
    let n = around.len() as f64;
    if squares <= 0.0 {
        return 0.0;
    }
    let shown = around.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    let unbiased = shown + (1.0 + 3.0 * shown.max(0.0)) / n;
    (unbiased.max(0.0) * (1.0 + 2.0 / n.sqrt())).min(MOST_CORRELATION)
}
