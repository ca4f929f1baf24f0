//! The confidence interval of a proportion, and the normal quantile that it needs. The formula is for
//! independent trials. For correlated trials, the caller passes their effective number.

use crate::stats::portable;

/// Wilson's score interval of a proportion: `successes` of `trials`, with `z` standard errors on each side.
/// The two numbers need not be whole.
///
/// With p = successes / trials and n = trials:
/// (p + z² / 2n ± z sqrt(p (1 - p) / n + z² / 4n²)) / (1 + z² / n)
/// (E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
/// Statistical Association 22, 1927). The interval is always between 0 and 1. Even if all trials succeed or all fail,
/// its width is not 0. Without trials, it is 0 to 1.
pub fn wilson(successes: f64, trials: f64, z: f64) -> [f64; 2] {
    if trials <= 0.0 {
        return [0.0, 1.0];
    }
    let p = successes / trials;
    let square = z * z / trials;
    let middle = (p + square / 2.0) / (1.0 + square);
    let half =
        z * (p * (1.0 - p) / trials + square / (4.0 * trials)).max(0.0).sqrt() / (1.0 + square);
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// The number that a standard normal variable exceeds with this probability. A probability outside of 1e-12
/// to 0.5 is replaced by the nearest limit. The relative error is below 1e-8 (P. J. Acklam's rational
/// approximations, 2003).
pub fn normal_quantile_above(probability: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76, 220.946_098_424_520_5, -275.928_510_446_968_7, 138.357_751_867_269,
        -30.664_798_066_147_16, 2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -54.476_098_798_224_06, 161.585_836_858_040_9, -155.698_979_859_886_6,
        66.801_311_887_719_72, -13.280_681_552_885_72, 1.0,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293, -0.322_396_458_041_136_5, -2.400_758_277_161_838,
        -2.549_732_539_343_734, 4.374_664_141_464_968, 2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        0.007_784_695_709_041_462, 0.322_467_129_070_039_8, 2.445_134_137_142_996,
        3.754_408_661_907_416, 1.0,
    ];
    /// Below this probability, another approximation is used for the tail.
    const TAIL: f64 = 0.024_25;
    let p = probability.clamp(1e-12, 0.5);
    let polynomial = |of: &[f64], x: f64| of.iter().fold(0.0, |sum, term| sum * x + term);
    if p < TAIL {
        let q = (-2.0 * portable::ln(p)).sqrt();
        -polynomial(&C, q) / polynomial(&D, q)
    } else {
        let q = 0.5 - p;
        let r = q * q;
        polynomial(&A, r) * q / polynomial(&B, r)
    }
}

/// The probability that a standard normal variable is at most `z`.
pub fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn normal_quantiles_agree_with_those_of_another_library() {
        let law = Normal::standard();
        for p in [0.5, 0.3, 0.025, 0.024, 0.005, 1e-3, 1e-6, 1e-9] {
            let got = normal_quantile_above(p);
            assert!((law.sf(got) / p - 1.0).abs() < 1e-6, "{p}: {got}");
        }
    }

    #[test]
    fn wilson_intervals_agree_with_prop_test_of_r() {
        // From R, prop.test(x, n, correct = FALSE): 95 %.
        let z = normal_quantile_above(0.025);
        for (successes, trials, expected) in [
            (10.0, 10.0, [0.722_467, 1.0]),
            (81.0, 263.0, [0.255_280, 0.366_213]),
            (0.0, 20.0, [0.0, 0.161_125]),
        ] {
            let got = wilson(successes, trials, z);
            for (got, expected) in got.iter().zip(expected) {
                assert!((got - expected).abs() < 1e-5, "{successes}/{trials}: {got}");
            }
        }
        assert_eq!(wilson(0.0, 0.0, z), [0.0, 1.0]);
    }

    #[test]
    fn wilson_intervals_cover_the_true_proportion_at_about_their_nominal_rate() {
        let (p, n, z) = (0.97, 300_u32, normal_quantile_above(0.025));
        let mut rng = crate::stats::seed::rng(5, &["wilson"]);
        let held = (0..2_000)
            .filter(|_| {
                let hits = (0..n).filter(|_| crate::stats::seed::unit(&mut rng) < p).count();
                let [low, high] = wilson(hits as f64, f64::from(n), z);
                (low..=high).contains(&p)
            })
            .count();
        assert!((1_840..=1_970).contains(&held), "{held} of 2000");
    }
}
