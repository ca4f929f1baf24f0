//! A confidence sequence: an interval of a mean that is valid at all times at once, so that it may
//! be checked after every pair.
//!
//! Of independent normal differences the Bayes factor of Student's t with a normal prior on the effect, in
//! standard deviations, is a test martingale whatever the deviation is, so it exceeds `1 / rate` at any time
//! with a chance of at most `rate`. The means at which it does not are the interval (Wang and Ramdas,
//! "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", 2024;
//! Pérez-Ortiz, Lardy, de Heide and Grünwald, "E-statistics, group invariance and anytime-valid testing",
//! Annals of Statistics, 2024). Differences that follow from the one before widen it.

/// The chance that an interval holds the truth at all times, for the figure that decides.
pub const LEVEL: f64 = 0.95;
/// The fewest pairs that decide: of fewer nothing is known of what they scatter by.
pub const FEWEST_PAIRS: usize = inferometer_plan::ab::FEWEST_PAIRS as usize;
/// The fewest pairs that say that there is no difference: fewer may all miss what happens in a few blocks
/// alone, such as a stall.
pub const FEWEST_PAIRS_WITHOUT_DIFFERENCE: usize = 20;
/// The variance of the prior on the effect in deviations of a pair. It decides for which effects the interval is
/// narrowest, and never how often it holds.
const PRIOR: f64 = 0.3;
/// Neighbours with a higher correlation than this are not told from a drift without end.
const MOST_CORRELATION: f64 = 0.97;

/// What is known of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of what was measured.
    pub mean: f64,
    /// Half the width of the interval; absent where it has no ends yet.
    pub half: Option<f64>,
    /// The correlation that neighbours are taken to have, from 0.
    pub autocorrelation: f64,
}

impl Estimate {
    /// The ends of the interval.
    pub fn ends(&self) -> Option<[f64; 2]> {
        self.half.map(|half| [self.mean - half, self.mean + half])
    }
}

/// The mean of differences in the order of time, with its interval at a rate of error over all times; none
/// without differences.
pub fn estimate(differences: &[f64], rate: f64) -> Option<Estimate> {
    let n = differences.len();
    if n == 0 {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let around: Vec<f64> = differences.iter().map(|one| one - mean).collect();
    let squares: f64 = around.iter().map(|one| one * one).sum();
    let autocorrelation = autocorrelation(&around, squares);
    let half = (n > 1).then(|| limit(n as f64, rate)).flatten().map(|limit| {
        // The variance of a sum whose parts follow each other in a first-order autoregression.
        let widening = (1.0 + autocorrelation) / (1.0 - autocorrelation);
        (limit * squares * widening / n as f64).sqrt()
    });
    Some(Estimate { mean, half, autocorrelation })
}

/// The largest square of Student's t, per degree of freedom, at which the Bayes factor stays below
/// `1 / rate`; none while it does so for every t.
fn limit(n: f64, rate: f64) -> Option<f64> {
    let weight = 1.0 + n * PRIOR;
    let root = (weight.sqrt() / rate).powf(2.0 / n);
    (root < weight).then(|| (root - 1.0) / (1.0 - root / weight))
}

/// The correlation of neighbours, on the safe side: few differences show too little of it (Marriott and
/// Pope, "Bias in the estimation of autocorrelations", 1954), and what they show is uncertain.
fn autocorrelation(around: &[f64], squares: f64) -> f64 {
    let n = around.len() as f64;
    if squares <= 0.0 {
        return 0.0;
    }
    let shown = around.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    let unbiased = shown + (1.0 + 3.0 * shown.max(0.0)) / n;
    (unbiased.max(0.0) * (1.0 + 2.0 / n.sqrt())).min(MOST_CORRELATION)
}
