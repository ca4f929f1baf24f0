//! The precision of a figure at which a cell is no longer repeated. `ttft_p50±2%` is reached when, at each
//! load of the cell, half the width of the 95 % confidence interval over the repeats is at most 2 % of their
//! mean. This module only parses precisions.

use serde::{Deserialize, Serialize};

use inferometer_model::Statistic;
use inferometer_model::metrics::slo::{JudgedMetric, SloError, quantity};

/// The precision that a figure must reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// The text as the user wrote it.
    pub text: String,
    /// The metric.
    pub metric: JudgedMetric,
    /// The statistic over requests; `None` for metrics without a value per request, such as a rate.
    pub statistic: Option<Statistic>,
    /// The largest accepted half width of the 95 % confidence interval over the repeats, as a share of
    /// their mean.
    pub relative: f64,
}

/// Why a text is not a list of precisions.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrecisionError {
    /// The text between two commas has no sign `±`, `+-` or `+/-`, or no percentage above 0 after the sign.
    #[error("`{0}` is not a precision; write it like `ttft_p50±2%` (or +-)")]
    NoShare(String),
    /// The text does not name a figure.
    #[error("{0}")]
    Quantity(#[from] SloError),
}

/// Parses precisions separated by commas, such as `ttft_p50±2%,requests_per_s+-1%`.
///
/// # Errors
/// One error for each precision that is invalid.
pub fn parse(text: &str) -> Result<Vec<Precision>, Vec<PrecisionError>> {
    let (mut precisions, mut errors) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        match precision(part.trim()) {
            Ok(precision) => precisions.push(precision),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(precisions) } else { Err(errors) }
}

fn precision(text: &str) -> Result<Precision, PrecisionError> {
    let no_share = || PrecisionError::NoShare(text.to_owned());
    let (name, share) = ["±", "+-", "+/-"]
        .into_iter()
        .find_map(|sign| text.split_once(sign))
        .ok_or_else(no_share)?;
    let percent = share.trim().strip_suffix('%').ok_or_else(no_share)?;
    let percent: f64 = percent.trim().parse().map_err(|_| no_share())?;
    if !(percent > 0.0 && percent.is_finite()) {
        return Err(no_share());
    }
    let (metric, statistic) = quantity(text, name.trim())?;
    Ok(Precision { text: text.to_owned(), metric, statistic, relative: percent / 100.0 })
}
