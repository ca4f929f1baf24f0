//! The confidence interval of one difference, by the model of the design.

use super::model::FigureContrasts;
use inferometer_model::stats::student_975;

/// The 95 % interval of contender / baseline - 1, by Student's t over the contrasts of the logarithms. `freedom` is the
/// degrees of freedom of the noise.
pub(super) fn of(measured: &FigureContrasts, freedom: usize) -> [f64; 2] {
    let half = student_975(freedom) * measured.error;
    [measured.difference - half, measured.difference + half].map(f64::exp_m1)
}
