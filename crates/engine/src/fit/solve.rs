//! Least squares by the method of Levenberg (1944) and Marquardt (1963), with a numerical Jacobian.

/// The maximum number of rounds of the search.
const ROUNDS: u32 = 40;
/// The search ends when a round lowers the sum of squares by less than this share.
const SETTLED: f64 = 1e-6;
/// The step of the numerical Jacobian. It is not very small, because residuals jump a little when the number of
/// KV blocks changes.
const PROBE: f64 = 0.02;
/// The search ends when the damping reaches this value, because then no step lowers the sum of squares.
const STIFF: f64 = 1e8;

/// Returns a point with a small sum of squared residuals. The search begins at `start`. `residuals` returns `None`
/// at a point at which the residuals are not defined. If they are not defined at `start`, the result is `start`.
pub(super) fn least_squares(
    start: &[f64],
    residuals: impl FnMut(&[f64]) -> Option<Vec<f64>>,
) -> Vec<f64> {
    least_squares_until(SETTLED, start, residuals)
}

/// Like [`least_squares`], but ends when a round lowers the sum of squares by less than the share `settled`.
pub(super) fn least_squares_until(
    settled: f64,
    start: &[f64],
    mut residuals: impl FnMut(&[f64]) -> Option<Vec<f64>>,
) -> Vec<f64> {
    let mut point = start.to_vec();
    let Some(mut here) = residuals(&point) else { return point };
    let mut damping = 1e-3;
    for _ in 0..ROUNDS {
        let (normal, gradient) = linearise(&point, &here, &mut residuals);
        let before = squares(&here);
        let mut moved = false;
        while !moved && damping < STIFF {
            let step = solve(damped(&normal, damping), gradient.clone());
            let next: Vec<f64> = point.iter().zip(&step).map(|(x, s)| x - s).collect();
            match residuals(&next) {
                Some(there) if squares(&there) < before => {
                    (point, here, moved) = (next, there, true);
                    damping = (damping / 5.0).max(1e-9);
                }
                _ => damping *= 4.0,
            }
        }
        if !moved || squares(&here) > before * (1.0 - settled) {
            break;
        }
    }
    point
}

/// Returns the diagonal of the inverse of `J^T J` at a point: the variance of each coordinate if the residuals have
/// variance 1. The variance is 1e12 for a coordinate that no residual depends on, and infinite if the residuals are
/// not defined at the point.
pub(super) fn inverse_diagonal(
    point: &[f64],
    mut residuals: impl FnMut(&[f64]) -> Option<Vec<f64>>,
) -> Vec<f64> {
    let Some(here) = residuals(point) else { return vec![f64::INFINITY; point.len()] };
    let (normal, _) = linearise(point, &here, &mut residuals);
    let unit = |axis: usize| (0..point.len()).map(|at| f64::from(u8::from(at == axis))).collect();
    (0..point.len()).map(|axis| solve(damped(&normal, 0.0), unit(axis))[axis]).collect()
}

fn squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|r| r * r).sum()
}

type Matrix = Vec<Vec<f64>>;

/// Returns `J^T J` and `J^T r`, where J is the Jacobian of the residuals r.
fn linearise(
    point: &[f64],
    here: &[f64],
    residuals: &mut impl FnMut(&[f64]) -> Option<Vec<f64>>,
) -> (Matrix, Vec<f64>) {
    let columns: Matrix = (0..point.len())
        .map(|axis| {
            let mut at = |by: f64| {
                let mut moved = point.to_vec();
                moved[axis] += by;
                residuals(&moved)
            };
            match (at(PROBE), at(-PROBE)) {
                (Some(up), Some(down)) => {
                    up.iter().zip(&down).map(|(u, d)| (u - d) / (2.0 * PROBE)).collect()
                }
                // At an edge of the domain, the residuals cannot be differentiated, so the search does not move this
                // coordinate.
                _ => vec![0.0; here.len()],
            }
        })
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let normal = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
    (normal, columns.iter().map(|column| dot(column, here)).collect())
}

/// Applies Marquardt's damping: multiplies the diagonal by `1 + damping`. Adds a small number, so that the matrix is
/// never singular.
fn damped(normal: &Matrix, damping: f64) -> Matrix {
    let mut matrix = normal.clone();
    for (axis, row) in matrix.iter_mut().enumerate() {
        row[axis] = row[axis] * (1.0 + damping) + 1e-12;
    }
    matrix
}

/// Solves a symmetric, positive definite system of equations by Gaussian elimination.
fn solve(mut matrix: Matrix, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for pivot in 0..size {
        let (above, below) = matrix.split_at_mut(pivot + 1);
        let pivot_row = &above[pivot];
        for (row, values) in (pivot + 1..).zip(below) {
            let factor = values[pivot] / pivot_row[pivot];
            for (value, above) in values.iter_mut().zip(pivot_row) {
                *value -= factor * above;
            }
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_finds_the_minimum_of_the_rosenbrock_function() {
        let rosenbrock = |p: &[f64]| Some(vec![1.0 - p[0], 10.0 * (p[1] - p[0] * p[0])]);
        let found = least_squares(&[-1.2, 1.0], rosenbrock);
        assert!((found[0] - 1.0).abs() < 1e-3 && (found[1] - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn the_variance_of_a_coordinate_is_one_over_the_sum_of_its_squared_slopes() {
        // Two residuals depend on the first coordinate, with slopes 3 and 4; one on the second, with slope 2.
        let found =
            inverse_diagonal(&[0.0, 0.0], |p| Some(vec![3.0 * p[0], 4.0 * p[0], 2.0 * p[1]]));
        assert!(
            (found[0] - 1.0 / 25.0).abs() < 1e-9 && (found[1] - 0.25).abs() < 1e-9,
            "{found:?}"
        );
    }

    #[test]
    fn a_coordinate_without_effect_on_the_residuals_does_not_change() {
        let found = least_squares(&[5.0, 7.0], |p| Some(vec![p[0] - 1.0]));
        assert!((found[0] - 1.0).abs() < 1e-6);
        assert_eq!(found[1], 7.0);
    }

    #[test]
    fn least_squares_stays_where_the_residuals_can_be_computed() {
        let found = least_squares(&[4.0], |p| (p[0] > 1.0).then(|| vec![p[0]]));
        assert!(found[0] > 1.0 && found[0] < 1.5, "{found:?}");
    }
}
