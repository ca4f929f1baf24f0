//! The spread of a figure over repeats: few values, each from a whole pass. It is not for values of single
//! requests.

use crate::stats::Spread;

/// The mean of a figure over repeats, with the 95 % interval of Student's t and the coefficient of variation;
/// `None` without values. A single value has no interval.
pub fn spread(values: &[f64]) -> Option<Spread> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.len() > 1).then(|| {
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (n - 1.0)).sqrt()
    });
    Some(Spread {
        mean,
        ci: deviation.map(|deviation| {
            let half = student_975(values.len() - 1) * deviation / n.sqrt();
            [mean - half, mean + half]
        }),
        cv: deviation.filter(|_| mean != 0.0).map(|deviation| deviation / mean.abs()),
        n: values.len() as u64,
    })
}

/// The 97.5 % quantile of the normal distribution: 95 % of all values are between the negative of this number
/// and the number itself.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// The 97.5 % quantile of Student's t. Up to ten degrees of freedom, it comes from a table. For more degrees, it is
/// computed with the expansion around the normal quantile (Abramowitz and Stegun, 26.7.5), which is then accurate to
/// five digits.
pub fn student_975(degrees: usize) -> f64 {
    const FEW: [f64; 10] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
        2.262_157, 2.228_139,
    ];
    if let Some(&quantile) = degrees.checked_sub(1).and_then(|at| FEW.get(at)) {
        return quantile;
    }
    let (x, v) = (NORMAL_975, degrees as f64);
    let terms = [
        (x.powi(3) + x) / 4.0,
        (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0,
        (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0,
        (79.0 * x.powi(9) + 776.0 * x.powi(7) + 1482.0 * x.powi(5)
            - 1920.0 * x.powi(3)
            - 945.0 * x)
            / 92_160.0,
    ];
    x + (1..).zip(terms).map(|(power, term)| term / v.powi(power)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    #[test]
    fn student_975_agrees_with_the_distribution_of_another_library() {
        for degrees in 1..200 {
            let law = StudentsT::new(0.0, 1.0, degrees as f64).unwrap();
            let got = law.cdf(student_975(degrees));
            assert!((got - 0.975).abs() < 2e-6, "{degrees}: {got}");
        }
    }

    #[test]
    fn a_spread_has_the_mean_variation_and_interval_computed_by_hand() {
        let got = spread(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!((got.mean, got.n, got.cv), (10.0, 3, Some(0.1)));
        let [low, high] = got.ci.unwrap();
        assert!((low - 7.515_862).abs() < 1e-5 && (high - 12.484_138).abs() < 1e-5);
        let one = spread(&[4.0]).unwrap();
        assert_eq!((one.mean, one.ci, one.cv, one.n), (4.0, None, None, 1));
        assert_eq!(spread(&[]), None);
    }
}
