//! The errors of figures that are about the stays of requests, in a closed loop whose answers have random lengths.

use inferometer_model::stats::student_975;

use super::contribution::{
    ALMOST_ALL, Contribution, degrees_of_variance, sum_of_variances, variance,
};
use super::series::{BEYOND_P90, Series, Shares};

/// Values are stays if they are known of almost all requests, and their variance beside the stays is less than this share
/// of their variance.
const APART: f64 = 0.1;
/// The density of values at a percentile is that of the values within this factor of it.
const NEAR: f64 = 1.2;

impl Series<'_> {
    /// If the values are about the stays of the requests, in any unit (like the time of an answer, and the times between
    /// its tokens): the sum of the values, divided by that of the stays.
    pub(super) fn share_of_stays(&self) -> Option<f64> {
        let sent = &self.layout.sent;
        let is_known = self.parts.len() >= (ALMOST_ALL * sent.len() as f64) as usize;
        self.layout.work.as_ref().filter(|_| is_known)?;
        let pairs = || self.parts.iter().map(|part| (part.total, sent[part.at as usize].stay_s()));
        let sum: f64 = pairs().map(|(value, _)| value).sum();
        let share = sum / pairs().map(|(_, stay)| stay).sum::<f64>();
        let apart: Vec<f64> = pairs().map(|(value, stay)| value - share * stay).collect();
        let values: Vec<f64> = pairs().map(|(value, _)| value).collect();
        (variance(&apart) < APART * variance(&values)).then_some(share)
    }

    /// The variance of the sum of `value - mean x weight`, and its degrees of freedom. `None` if the values are no stays.
    pub(super) fn variance_by_work(&self, mean: f64) -> Option<(f64, usize)> {
        let (work, share) = self.layout.work.as_ref().zip(self.share_of_stays())?;
        let of = |part: &Contribution| share * work.stay_s(part.at as usize) - mean * part.weight;
        let values: Vec<f64> = self.parts.iter().map(of).collect();
        let sum: f64 = self.parts.iter().map(|part| part.total).sum();
        let sampled = (variance(&values) * values.len() as f64, degrees_of_variance(&values));
        Some(sum_of_variances(&[sampled, (work.noise * sum * sum, work.degrees)]))
    }

    /// The interval of a percentile; `None` if the values are no stays. Longer answers make all answers faster, so the
    /// number of values below the percentile varies less than that of independent values.
    pub(super) fn shares_by_work(&self, share: f64, value: f64) -> Option<Shares> {
        let (work, _) = self.layout.work.as_ref().zip(self.share_of_stays())?;
        let n = self.parts.len() as f64;
        let near = value / NEAR..value * NEAR;
        let density = self.parts.iter().filter(|part| near.contains(&part.total)).count() as f64
            / (2.0 * NEAR.ln() * n);
        let of = |part: &Contribution| {
            let below = f64::from(u8::from(part.total <= value)) - share;
            below + density * work.spared * (work.lengths[part.at as usize] - 1.0)
        };
        let values: Vec<f64> = self.parts.iter().map(of).collect();
        let sampled = (variance(&values) * n, degrees_of_variance(&values));
        let (sum, degrees) =
            sum_of_variances(&[sampled, (work.noise * (density * n).powi(2), work.degrees)]);
        let effective = (share * (1.0 - share) * n * n / sum).min(n);
        let is_known = share <= 0.5 || effective * (1.0 - share) >= BEYOND_P90;
        let half = student_975(degrees.max(1)) * sum.sqrt() / n;
        Some(Shares { ends: is_known.then_some([share - half, share + half]), effective })
    }
}
