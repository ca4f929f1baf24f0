//! The error of a sum over a series of dependent values, such as requests that share a queue and a batch.
//!
//! For a stationary series, the variance of a sum, per value, is the spectral density at frequency zero. The
//! estimate is the mean square of the series' projections on the first few cosines. Each projection is an
//! independent estimate, from fluctuations of a different length (Müller, "HAC Corrections for Strongly
//! Autocorrelated Time Series", 2014; Lazarus, Lewis, Stock and Watson, "HAR Inference", 2018). There are few
//! degrees of freedom, so intervals need the quantile of Student's t.

use std::cell::RefCell;

/// An estimate of the variance of a series' sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongRun {
    /// The variance of the sum, per value.
    pub variance: f64,
    /// The degrees of freedom of the estimate.
    pub degrees: usize,
}

/// The control that was used last, and its projections: nearly all metrics of a pass have the same control.
#[derive(Clone, Debug, Default)]
pub struct LastControl(RefCell<(Vec<f64>, Vec<f64>)>);

impl LastControl {
    fn projections(&self, control: &[f64], count: usize) -> Vec<f64> {
        let mut last = self.0.borrow_mut();
        if last.0 != control || last.1.len() < count {
            *last = (control.to_vec(), projections(control, count));
        }
        last.1[..count].to_vec()
    }
}

/// The maximum number of cosines if slow fluctuations are strong. A control (see [`long_run`]) is only used with at
/// least this many cosines.
pub const FEWEST_COSINES: usize = 4;
/// Slow fluctuations are checked for if at most this number of cosines was requested.
const MOST_COSINES_OF_SLOW: usize = 6;
/// Slow fluctuations are strong if the mean of the first three squares is more than this many times the mean of the
/// next six.
const SLOW_RATIO: f64 = 2.5;
/// The number of steps from 0 to 1 in which the best share of decaying fluctuations is searched.
const SHARES: u32 = 20;
/// Longer series are summed in blocks, at least this number of them. With 50 cosines, the variance then differs by less than
/// 0.1 %.
const FEWEST_BLOCKS: usize = 4_096;
/// The number of cosines that are computed together.
const TOGETHER: usize = 4;

/// Estimates the variance of the sum of a series, per value, with this many cosines, or with fewer if slow
/// fluctuations are strong. `control` is another series whose sum is always the same. The part of `values`
/// that is proportional to `control` is removed (a control variate). `None` for fewer than three values.
///
/// `memory` is the number of values over which a fluctuation lasts, such as the number of requests that are in the
/// server together; 0 if fluctuations are known to be short. This number corrects the estimate for cosines whose period
/// is not much longer than the fluctuations (see `density`).
pub fn long_run(
    values: &[f64],
    control: Option<(&[f64], &LastControl)>,
    cosines: usize,
    memory: f64,
) -> Option<LongRun> {
    let most = values.len().checked_sub(1).filter(|&most| most >= 2)?;
    let cosines = cosines.min(most);
    let wanted = if cosines <= MOST_COSINES_OF_SLOW { cosines.max(most.min(9)) } else { cosines };
    let wanted = if memory > 0.0 { wanted.max(most.min(4 * cosines)) } else { wanted };
    let of_values = projections(values, wanted);
    let of_control = control.map(|(control, last)| last.projections(control, wanted));
    let squares = |count: usize| {
        residual_squares(&of_values[..count], of_control.as_ref().map(|of| &of[..count]))
    };
    let mean = |squares: &[f64]| squares.iter().sum::<f64>() / squares.len() as f64;
    let (all, _) = squares(wanted);
    let relative = density(&all, std::f64::consts::PI * memory / values.len() as f64);
    let at_zero = |squares: &[f64]| -> f64 {
        squares.iter().zip(&relative).map(|(square, density)| square / density).sum()
    };
    let is_slow = cosines <= MOST_COSINES_OF_SLOW
        && wanted >= 9
        && mean(&all[..3]) > SLOW_RATIO * mean(&all[3..9]);
    let count = if is_slow { cosines.min(FEWEST_COSINES) } else { cosines };
    let (squares, degrees) = squares(count);
    Some(LongRun { variance: at_zero(&squares) / degrees as f64, degrees })
}

/// The spectral density at the frequency of each cosine, relative to the density at frequency zero. The variance has
/// two parts. The first part comes from fluctuations that decay over `memory` values. At the angular frequency w, their
/// density is 1 / (1 + (w memory)^2). The second part comes from independent values, and its density is the same at all
/// frequencies. The share of the first part is the one with the largest likelihood (Whittle, "Estimation and
/// information in stationary time series", 1953). `per_cosine` is w x memory of the first cosine.
fn density(squares: &[f64], per_cosine: f64) -> Vec<f64> {
    if per_cosine == 0.0 {
        return vec![1.0; squares.len()];
    }
    let with_share = |share: f64| -> Vec<f64> {
        let decaying = |k: usize| 1.0 / (1.0 + (k as f64 * per_cosine).powi(2));
        (1..=squares.len()).map(|k| 1.0 - share + share * decaying(k)).collect()
    };
    let cost = |density: &[f64]| {
        let at_zero: f64 =
            squares.iter().zip(density).map(|(square, density)| square / density).sum();
        let logarithms: f64 = density.iter().map(|density| density.ln()).sum();
        logarithms + squares.len() as f64 * at_zero.ln()
    };
    let shares = (0..=SHARES).map(|part| with_share(f64::from(part) / f64::from(SHARES)));
    shares.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or_default()
}

/// Removes the part that is proportional to the control from the projections. Returns the squares of the rest, and
/// their degrees of freedom.
fn residual_squares(of_values: &[f64], of_control: Option<&[f64]>) -> (Vec<f64>, usize) {
    let count = of_values.len();
    let controlled = of_control.filter(|_| count >= FEWEST_COSINES).and_then(|of_control| {
        let square: f64 = of_control.iter().map(|c| c * c).sum();
        let both: f64 = of_values.iter().zip(of_control).map(|(v, c)| v * c).sum();
        (square > 0.0).then_some((of_control, both / square))
    });
    match controlled {
        None => (of_values.iter().map(|v| v * v).collect(), count),
        Some((of_control, slope)) => {
            let residual = |(v, c): (&f64, &f64)| (v - slope * c).powi(2);
            (of_values.iter().zip(of_control).map(residual).collect(), count - 1)
        }
    }
}

/// Projections of a series, minus its mean, on the first cosines of type II. These cosines are normalised to
/// length 1.
fn projections(values: &[f64], count: usize) -> Vec<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    // The cosines hardly change within a block.
    let width = (values.len() / FEWEST_BLOCKS).max(1);
    let blocks: Vec<f64> =
        values.chunks(width).map(|block| block.iter().map(|value| value - mean).sum()).collect();
    let length = n / width as f64;
    let sums = (1..=count).step_by(TOGETHER).flat_map(|first| sums(&blocks, length, first));
    sums.take(count).map(|sum| sum * (2.0 / n).sqrt()).collect()
}

/// The sums of the values times the cosines of type II from number `first` on. `length` is the number of values; the last
/// one may be the sum of fewer others, so that it is not a whole number.
///
/// Each angle is rotated from one value to the next, because computing a cosine for each value would take longer than
/// everything else here. Several angles are rotated together: they do not wait for each other, and one instruction
/// computes two of them.
fn sums(values: &[f64], length: f64, first: usize) -> [f64; TOGETHER] {
    let steps: [f64; TOGETHER] =
        std::array::from_fn(|at| std::f64::consts::PI * (first + at) as f64 / length);
    let (sin, cos) = (steps.map(f64::sin), steps.map(f64::cos));
    let mut x = steps.map(|step| (step / 2.0).cos());
    let mut y = steps.map(|step| (step / 2.0).sin());
    let mut sums = [0.0; TOGETHER];
    for value in values {
        for at in 0..TOGETHER {
            sums[at] += value * x[at];
            (x[at], y[at]) = (x[at] * cos[at] - y[at] * sin[at], x[at] * sin[at] + y[at] * cos[at]);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::seed;

    #[test]
    fn squared_projections_on_all_cosines_add_up_to_the_variance_of_a_series() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        let mean = 3.875;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 7.0;
        let squares: f64 = projections(&values, 7).iter().map(|p| p * p).sum();
        assert!((squares / 7.0 - variance).abs() < 1e-12);
        assert_eq!(long_run(&values[..2], None, 6, 0.0), None);
    }

    #[test]
    fn a_long_series_has_nearly_the_same_projections_in_blocks() {
        let mut rng = seed::rng(1, &["blocks"]);
        let mut last = 0.0;
        let values: Vec<f64> = (0..50_003)
            .map(|_| {
                last = 0.99 * last + seed::normal(&mut rng);
                last
            })
            .collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let exact = [1, 5, 9, 45].map(|first| sums(&centred, n, first)[0] * (2.0 / n).sqrt());
        let in_blocks = projections(&values, 45);
        for (exact, found) in exact.into_iter().zip([1, 5, 9, 45].map(|at| in_blocks[at - 1])) {
            assert!((found / exact - 1.0).abs() < 2e-3, "{found} {exact}");
        }
    }

    /// The estimated variance divided by the true one, averaged over many series of `n` values.
    fn ratio(n: usize, memory: f64, correlation: f64, truth: f64) -> f64 {
        let series = (0..200).map(|round| {
            let mut rng = seed::rng(round, &["serial"]);
            let mut last = 0.0;
            let values: Vec<f64> = (0..n)
                .map(|_| {
                    last = correlation * last + seed::normal(&mut rng);
                    last
                })
                .collect();
            long_run(&values, None, 6, memory).unwrap().variance
        });
        series.sum::<f64>() / 200.0 / truth
    }

    #[test]
    fn the_long_run_variance_of_autoregressive_series_agrees_with_theory() {
        // For a first-order autoregression, the variance is 1 / (1 - correlation)^2.
        for (correlation, truth) in [(0.0, 1.0), (0.9, 100.0), (-0.5, 4.0 / 9.0)] {
            let ratio = ratio(2_000, 0.0, correlation, truth);
            assert!((0.9..1.12).contains(&ratio), "{correlation}: {ratio}");
        }
    }

    #[test]
    fn a_given_memory_corrects_the_variance_of_a_short_correlated_series() {
        // A first-order autoregression decays over 1 / (1 - correlation) values.
        let [plain, corrected] = [0.0, 50.0].map(|memory| ratio(250, memory, 0.98, 2_500.0));
        assert!(plain < 0.5 && (0.7..1.3).contains(&corrected), "{plain} {corrected}");
        // The variance of independent values is overestimated, because a few cosines cannot show whether fluctuations
        // decay.
        let independent = ratio(250, 50.0, 0.0, 1.0);
        assert!((0.9..2.2).contains(&independent), "{independent}");
    }

    #[test]
    fn a_control_variate_removes_the_variance_that_is_proportional_to_it() {
        let mut rng = seed::rng(3, &["control"]);
        let control: Vec<f64> = (0..1_000).map(|_| seed::normal(&mut rng)).collect();
        let values: Vec<f64> =
            control.iter().map(|c| 5.0 * c + 0.1 * seed::normal(&mut rng)).collect();
        let last = LastControl::default();
        let controlled =
            |control: &[f64], cosines| long_run(&values, Some((control, &last)), cosines, 0.0);
        let (plain, with) = (long_run(&values, None, 6, 0.0), controlled(&control, 6));
        assert!(plain.unwrap().variance > 1.0 && with.unwrap().variance < 0.1);
        assert_eq!(with.unwrap().degrees, 5);
        // Neither the last control nor its number of cosines changes the result.
        assert_eq!(controlled(&[1.0; 1_000], 6), plain);
        let again = [12, 6].map(|cosines| controlled(&control, cosines));
        assert_eq!((again[1], again[0].unwrap().degrees), (with, 11));
    }
}
