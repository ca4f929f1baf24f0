//! Calibration on few rows: fits three multipliers instead of single constants, because a few rows cannot determine
//! each constant of a profile. The multipliers are for the host's times (except `batch_root_us`), the memory bandwidths
//! and the speeds of matrix products.

use super::{MeasuredTable, fit, residuals, solve::least_squares};
use crate::{EngineError, Profile};

/// The weight of the ridge term that keeps the multipliers near 1. The weight is small, so that a multiplier stays
/// near 1 only if the rows do not determine it.
const RIDGE_WEIGHT: f64 = 0.003;
/// The largest multiplier; the smallest is 1 / `MOST`.
const MOST: f64 = 4.0;
/// The maximum efficiency: the share of the data sheet's speed or bandwidth that a kernel can reach. It does not apply
/// to `kv_reread_efficiency`, which is above 1 if the cache serves the reads.
const SHARE_MOST: f64 = 0.98;

/// The names of the multipliers, in order: the host's times, the memory bandwidths, the speeds of matrix products.
pub const SCALES: [&str; 3] = ["host", "bandwidth", "products"];

/// Fits the multipliers [`SCALES`] of a profile to the rows of tables. Returns the scaled profile, and the multipliers
/// in the order of [`SCALES`].
///
/// # Errors
/// If the engine cannot start with the configuration of a row.
pub fn fit_scales(
    start: &Profile,
    tables: &[MeasuredTable],
) -> Result<(Profile, [f64; 3]), EngineError> {
    for table in tables {
        super::errors(start, table)?;
    }
    let point = least_squares(&[0.0; 3], |point| {
        let ridge = point.iter().map(|x| RIDGE_WEIGHT * x).collect();
        residuals(&scaled(start, factors(point)), tables, ridge)
    });
    let found = factors(&point);
    Ok((scaled(start, found), found))
}

/// Fits the named constants on a card other than the card of `start`. First fits the multipliers ([`fit_scales`]). The
/// search for the constants then starts at their scaled values.
///
/// # Errors
/// See [`fit`].
pub fn fit_scaled(
    start: &Profile,
    tables: &[MeasuredTable],
    names: &[&str],
) -> Result<Profile, EngineError> {
    let (scaled, _) = fit_scales(start, tables)?;
    fit(&scaled, tables, names)
}

fn factors(point: &[f64]) -> [f64; 3] {
    // A smooth function of the point, from 1 / `MOST` to `MOST`.
    std::array::from_fn(|at| MOST.powf((point[at] / MOST.ln()).tanh()))
}

fn scaled(start: &Profile, [host, bandwidth, products]: [f64; 3]) -> Profile {
    let mut profile = start.clone();
    let share = |value: &mut f64, factor: f64| *value = (*value * factor).min(SHARE_MOST);
    let c = &mut profile.constants;
    for time in [
        &mut c.step_us, &mut c.layer_floor_us, &mut c.sequence_layer_head_ns,
        &mut c.output_token_ns,
    ] {
        *time *= host;
    }
    share(&mut c.bandwidth_efficiency, bandwidth);
    c.kv_reread_efficiency *= bandwidth;
    share(&mut c.dense_efficiency, products);
    if let Some(gptq) = &mut profile.kernels.gptq {
        share(&mut gptq.bandwidth_efficiency, bandwidth);
        share(&mut gptq.dequantise_efficiency, bandwidth);
        share(&mut gptq.dense_efficiency, products);
    }
    if let Some(awq) = &mut profile.kernels.awq {
        share(&mut awq.bandwidth_efficiency, bandwidth);
        share(&mut awq.dense_efficiency, products);
    }
    profile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_and_a_scaled_efficiency_stay_within_their_bounds() {
        assert_eq!(factors(&[0.0; 3]), [1.0; 3]);
        let [low, high, _] = factors(&[-100.0, 100.0, 0.0]);
        assert!((low - 0.25).abs() < 1e-9 && (high - 4.0).abs() < 1e-9);
        let profile = scaled(&crate::profile::profiles()[0], [4.0; 3]);
        assert!(profile.constants.bandwidth_efficiency <= SHARE_MOST);
    }
}
