//! Functions of real numbers that give the same bits on every machine, for random numbers: arrivals, lengths,
//! think times, the noise of the embedded engine. The functions of the standard library come from the
//! platform and may differ in the last digit. The functions here are compiled from one source. Most
//! statistics of measured values use the standard library, because a difference in the last digit does not
//! matter there. Square roots and the four basic operations do not need such functions: IEEE 754 determines
//! every bit of their results.

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// `ln(1 + x)`, also accurate for a small `x`.
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// The exponential function.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// The cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// `x` to the power of `y`.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha256::sha256_hex;
    use crate::stats::seed;

    /// A function of a number from 0 to 1.
    type OfUnit = fn(f64) -> f64;

    const FUNCTIONS: [(&str, OfUnit); 5] = [
        ("ln", |u| ln(1.0 - u)),
        ("ln_1p", |u| ln_1p(4.0 * u)),
        ("exp", |u| exp(20.0 * u - 10.0)),
        ("cos", |u| cos(std::f64::consts::TAU * u)),
        ("pow", |u| pow(u, 3.0 - 6.0 * u)),
    ];

    #[test]
    fn portable_functions_return_the_same_bits_on_every_machine() {
        let hash = |(name, function): (&str, OfUnit)| {
            let mut rng = seed::rng(1, &["portable", name]);
            let bits = (0..1_000).flat_map(|_| function(seed::unit(&mut rng)).to_le_bytes());
            sha256_hex(&bits.collect::<Vec<u8>>())[..16].to_owned()
        };
        assert_eq!(
            FUNCTIONS.map(hash),
            [
                "28dd62fa2c386c9e", "abda5afdc4bb0a46", "9370ac05f576c366", "b73eec6581cfc4e2",
                "e60661b949ec0580"
            ]
        );
    }

    #[test]
    fn portable_functions_agree_with_the_standard_library_within_rounding() {
        let mut rng = seed::rng(2, &["portable"]);
        for _ in 0..10_000 {
            let u = seed::unit(&mut rng);
            for (ours, other) in [
                (ln(u), u.ln()),
                (ln_1p(u), u.ln_1p()),
                (exp(u), u.exp()),
                (cos(u), u.cos()),
                (pow(u, 0.7), u.powf(0.7)),
            ] {
                assert!((ours - other).abs() <= 4.0 * f64::EPSILON * other.abs().max(1.0), "{u}");
            }
        }
    }
}
