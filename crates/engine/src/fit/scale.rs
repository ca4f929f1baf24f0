//! Calibration by few rows: fits three multipliers over the constants of a given profile, since two
//! rows cannot determine eight constants.

use super::solve::least_squares;
use super::{MeasuredTable, fit, residuals};
use crate::error::EngineError;
use crate::profile::Profile;

/// Weight of the ridge at factors of one: small, so that rows decide wherever they can.
const TETHER: f64 = 0.003;
/// The largest factor, either way.
const MOST: f64 = 4.0;
/// The greatest share of a data sheet's speed that any product reaches.
const SHARE_MOST: f64 = 0.98;

/// Names of the multipliers, in order: the host's time, the memory's bandwidth, the products.
pub const SCALES: [&str; 3] = ["host", "bandwidth", "products"];

/// Fits one multiplier each for the host's constants, bandwidths and products; all else stays as it
/// is.
///
/// # Errors
/// When a row's configuration is one that the engine would refuse to start with.
pub fn fit_scales(
    start: &Profile,
    tables: &[MeasuredTable],
) -> Result<(Profile, [f64; 3]), EngineError> {
    for table in tables {
        super::errors(start, table)?;
    }
    let point = least_squares(&[0.0; 3], |point| {
        let tether = point.iter().map(|x| TETHER * x).collect();
        residuals(&scaled(start, factors(point)), tables, tether)
    });
    let found = factors(&point);
    Ok((scaled(start, found), found))
}

/// Fits the named constants of another card than the profile's: multipliers first, then the
/// constants, starting at what the multipliers make of them.
///
/// # Errors
/// As [`fit`].
pub fn fit_scaled(
    start: &Profile,
    tables: &[MeasuredTable],
    names: &[&str],
) -> Result<Profile, EngineError> {
    let (scaled, _) = fit_scales(start, tables)?;
    fit(&scaled, tables, names)
}

fn factors(point: &[f64]) -> [f64; 3] {
    // Smooth, and within the largest factor either way.
    std::array::from_fn(|at| MOST.powf((point[at] / MOST.ln()).tanh()))
}

fn scaled(start: &Profile, [host, bandwidth, products]: [f64; 3]) -> Profile {
    let mut profile = start.clone();
    let share = |value: &mut f64, factor: f64| *value = (*value * factor).min(SHARE_MOST);
    let c = &mut profile.constants;
    for time in [
        &mut c.step_us,
        &mut c.layer_floor_us,
        &mut c.sequence_layer_head_ns,
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
    fn no_factor_leaves_the_bounds() {
        assert_eq!(factors(&[0.0; 3]), [1.0; 3]);
        let [low, high, _] = factors(&[-100.0, 100.0, 0.0]);
        assert!((low - 0.25).abs() < 1e-9 && (high - 4.0).abs() < 1e-9);
        let profile = scaled(&crate::profile::profiles()[0], [4.0; 3]);
        assert!(profile.constants.bandwidth_efficiency <= SHARE_MOST);
    }
}
