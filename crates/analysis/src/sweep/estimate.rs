//! Estimates a figure and its error from a series whose values depend on each other, and pools several estimates.

use inferometer_model::{stats::serial::long_run, stats::student_above};

/// The number of cosines from which the error of a series is estimated.
const COSINES: usize = 4;
/// The fewest values of a series for an estimate.
pub(super) const FEWEST: usize = 5;
/// The smallest standard error as a share of the figure, because the start-up always has some remaining effect.
const LEAST_ERROR: f64 = 0.001;

/// The fewest trials from whose differences the error of their mean is estimated. Fewer trials may differ too little by
/// chance.
pub(super) const FEWEST_TRIALS: u32 = 6;

/// A figure with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureEstimate {
    /// The value of the figure.
    pub value: f64,
    /// The square of its standard error.
    pub variance: f64,
    /// The degrees of freedom of the standard error.
    pub degrees: f64,
}

impl FigureEstimate {
    /// The mean of a series, which must be in the order of time. `None` with fewer than five values.
    pub(super) fn mean(values: &[f64]) -> Option<Self> {
        let ones = vec![1.0; values.len()];
        Self::ratio(values, &ones)
    }

    /// The sum of one series divided by the sum of another one. `None` with fewer than five values, or if the sum of
    /// `below` is not positive.
    pub(super) fn ratio(above: &[f64], below: &[f64]) -> Option<Self> {
        let (sum, of) = (above.iter().sum::<f64>(), below.iter().sum::<f64>());
        if above.len() < FEWEST || of <= 0.0 {
            return None;
        }
        let value = sum / of;
        let rest: Vec<f64> = above.iter().zip(below).map(|(a, b)| a - value * b).collect();
        let found = long_run(&rest, None, COSINES, 0.0)?;
        let variance = found.variance * above.len() as f64 / (of * of);
        let variance = variance.max((LEAST_ERROR * value).powi(2));
        Some(Self { value, variance, degrees: found.degrees as f64 })
    }

    /// Pools several estimates of one figure, each with its weight. If the estimates differ by more than their errors
    /// explain, the pooled error is increased. `None` if the sum of the weights is 0.
    pub(super) fn pooled(all: &[(Self, f64)]) -> Option<Self> {
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 {
            return None;
        }
        let value = all.iter().map(|(one, weight)| one.value * weight).sum::<f64>() / total;
        let parts: Vec<f64> =
            all.iter().map(|(one, weight)| one.variance * (weight / total).powi(2)).collect();
        let variance: f64 = parts.iter().sum();
        let apart = |one: &Self| (one.value - value).powi(2) / one.variance.max(f64::MIN_POSITIVE);
        let scatter: f64 = all.iter().map(|(one, _)| apart(one)).sum();
        let scatter = if all.len() > 1 { scatter / (all.len() - 1) as f64 } else { 1.0 };
        let squares = all.iter().zip(&parts).map(|((one, _), part)| part * part / one.degrees);
        let degrees = variance * variance / squares.sum::<f64>().max(f64::MIN_POSITIVE);
        Some(Self { value, variance: variance * scatter.max(1.0), degrees: degrees.max(1.0) })
    }

    /// The mean of independent trials. The error is estimated only from the differences between the trials, so an error
    /// that all trials share is not included. All trials have the same weight, because a longer trial is not more
    /// accurate if a server keeps one of several speeds for a whole trial. `None` with fewer than [`FEWEST_TRIALS`]
    /// trials.
    pub(super) fn of_trials(all: &[Self]) -> Option<Self> {
        if all.len() < FEWEST_TRIALS as usize {
            return None;
        }
        let count = all.len() as f64;
        let value = all.iter().map(|one| one.value).sum::<f64>() / count;
        let squares: f64 = all.iter().map(|one| (one.value - value).powi(2)).sum();
        let degrees = count - 1.0;
        let variance = (squares / degrees / count).max((LEAST_ERROR * value).powi(2));
        Some(Self { value, variance, degrees })
    }

    /// The standard error as a share of the figure.
    pub(super) fn relative(&self) -> f64 {
        self.variance.sqrt() / self.value.abs().max(f64::MIN_POSITIVE)
    }

    /// This figure divided by another one that was measured independently.
    pub(super) fn over(&self, other: &Self) -> Self {
        let value = self.value / other.value;
        let parts =
            [(self.relative().powi(2), self.degrees), (other.relative().powi(2), other.degrees)];
        let sum: f64 = parts.iter().map(|(part, _)| part).sum();
        let squares: f64 = parts.iter().map(|(part, degrees)| part * part / degrees).sum();
        let degrees = sum * sum / squares.max(f64::MIN_POSITIVE);
        Self { value, variance: value * value * sum, degrees: degrees.max(1.0) }
    }

    /// Both ends of the confidence interval.
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let reach = student_above((1.0 - confidence) / 2.0, self.degrees) * self.variance.sqrt();
        [self.value - reach, self.value + reach]
    }
}
