//! The interval of one difference, by resampling repeats.

use super::mean;
use inferometer_stats::{percentile, seed, student_975};

/// Resamples: the tails that few repeats need are far out.
const RESAMPLES: usize = 4_000;
/// Fewer repeats have no interval worth the name.
const FEWEST: usize = 3;

/// The 95 % interval of the ratio of two means, less one: the percentile bootstrap, with tails
/// widened so that it covers what it says for few repeats (Hesterberg, What Teachers Should Know
/// About the Bootstrap, 2015, section 5.3: the normal tail at the t quantile times
/// sqrt(n / (n - 1))).
pub(super) fn of_ratio(a: &[f64], b: &[f64], seed: u64) -> Option<[f64; 2]> {
    let fewest = a.len().min(b.len());
    if fewest < FEWEST {
        return None;
    }
    let mut rng = seed::rng(seed, &["ratio"]);
    let mut resampled = |values: &[f64]| {
        let draw = |_| values[seed::below(&mut rng, values.len() as u64) as usize];
        mean(&(0..values.len()).map(draw).collect::<Vec<_>>())
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| resampled(b) / resampled(a) - 1.0).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let n = fewest as f64;
    let reach = student_975(a.len() + b.len() - 2) * (n / (n - 1.0)).sqrt();
    let tail = normal_tail(reach);
    Some([percentile(&ratios, tail), percentile(&ratios, 1.0 - tail)])
}

/// The probability that a normal number exceeds `x`, for `x` above 0; off by less than 1e-7
/// (Abramowitz and Stegun, 26.2.17).
fn normal_tail(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let terms = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum: f64 = (1..).zip(terms).map(|(power, term)| term * t.powi(power)).sum();
    (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn the_tail_is_that_of_the_normal_law() {
        let law = Normal::standard();
        for x in [0.1, 1.0, 1.96, 2.578, 3.1, 4.0, 6.0] {
            assert!((normal_tail(x) - law.sf(x)).abs() < 1e-7, "{x}");
        }
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        for repeats in [3, 5, 10] {
            let mut held = 0;
            for trial in 0..400 {
                let mut rng = seed::rng(trial, &["trial", &repeats.to_string()]);
                let mut draw = |mean: f64| -> Vec<f64> {
                    (0..repeats).map(|_| mean * (1.0 + 0.03 * seed::normal(&mut rng))).collect()
                };
                let (a, b) = (draw(100.0), draw(110.0));
                let [low, high] = of_ratio(&a, &b, trial).unwrap();
                held += u32::from(low <= 0.1 && 0.1 <= high);
            }
            // 95 % of 400 is 380; with three repeats no resampling can know enough.
            let least = if repeats == 3 { 330 } else { 365 };
            assert!(held >= least, "{repeats} repeats: {held} of 400");
        }
    }

    #[test]
    fn fewer_than_three_repeats_have_none() {
        assert_eq!(of_ratio(&[1.0, 2.0], &[1.0, 2.0, 3.0], 1), None);
    }
}
