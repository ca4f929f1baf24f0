//! The constants that can be fitted, by name, each with physically plausible bounds.

use crate::{EngineError, Profile};

/// A constant of a profile that can be fitted.
pub struct Parameter {
    /// The key in the profile.
    pub name: &'static str,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// Returns the value; the lower bound if the profile does not have the kernel.
    pub get: fn(&Profile) -> f64,
    /// Sets the value; does nothing if the profile does not have the kernel.
    pub set: fn(&mut Profile, f64),
}

macro_rules! constant {
    ($name:ident, $low:expr, $high:expr) => {
        Parameter {
            name: stringify!($name),
            low: $low,
            high: $high,
            get: |profile| profile.constants.$name,
            set: |profile, value| profile.constants.$name = value,
        }
    };
}

macro_rules! kernel {
    ($kernel:ident, $name:ident) => {
        Parameter {
            name: concat!(stringify!($kernel), ".", stringify!($name)),
            low: 0.01,
            high: 0.95,
            get: |profile| profile.kernels.$kernel.as_ref().map_or(0.01, |kernel| kernel.$name),
            set: |profile, value| {
                if let Some(kernel) = &mut profile.kernels.$kernel {
                    kernel.$name = value;
                }
            },
        }
    };
}

/// All constants that can be fitted.
pub static PARAMETERS: [Parameter; 17] = [
    constant!(step_us, 10.0, 20_000.0),
    constant!(layer_floor_us, 1.0, 1_000.0),
    constant!(batch_root_us, 1.0, 50_000.0),
    constant!(link_efficiency, 0.02, 0.95),
    constant!(sequence_layer_head_ns, 1.0, 1_000.0),
    constant!(output_token_ns, 1.0, 1_000.0),
    constant!(bandwidth_efficiency, 0.3, 0.95),
    constant!(dense_efficiency, 0.1, 0.95),
    constant!(kv_reread_efficiency, 0.1, 10.0),
    constant!(chain_token_ns, 1.0, 1_000.0),
    constant!(activation_fixed_bytes, 5e7, 4e9),
    constant!(activation_bytes_per_token_hidden, 4.0, 400.0),
    kernel!(gptq, bandwidth_efficiency),
    kernel!(gptq, dense_efficiency),
    kernel!(gptq, dequantise_efficiency),
    kernel!(awq, bandwidth_efficiency),
    kernel!(awq, dense_efficiency),
];

/// Returns the parameter with this name.
///
/// # Errors
/// If there is no such parameter.
pub fn parameter(name: &str) -> Result<&'static Parameter, EngineError> {
    PARAMETERS.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
        let known: Vec<_> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        EngineError::Invalid {
            flag: "constant",
            found: name.to_owned(),
            expected: format!("must be one of {}", known.join(", ")),
        }
    })
}

impl Parameter {
    /// Returns the value at a point on the unbounded axis of the search. The logarithm of the value is a
    /// logistic function of the point, between the bounds.
    pub(super) fn value_at(&self, x: f64) -> f64 {
        let share = 1.0 / (1.0 + (-x).exp());
        self.low * (self.high / self.low).powf(share)
    }

    /// Returns the point of a value on the axis of the search. A value near a bound is first moved away from the bound,
    /// because the derivative there is almost 0 and the search would not move.
    pub(super) fn axis_of(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        let share = share.clamp(0.02, 0.98);
        (share / (1.0 - share)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_value_is_unchanged_after_conversion_to_its_axis_and_back() {
        for parameter in &PARAMETERS {
            let value = (parameter.low * parameter.high).sqrt();
            let back = parameter.value_at(parameter.axis_of(value));
            assert!((back / value - 1.0).abs() < 1e-12, "{}", parameter.name);
        }
    }
}
