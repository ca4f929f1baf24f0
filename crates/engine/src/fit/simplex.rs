//! The downhill simplex of Nelder and Mead (1965), with their coefficients.

/// Steps after which the search ends if it has not settled.
const STEPS: u32 = 1500;
/// The spread of values at which it has.
const SETTLED: f64 = 1e-7;

/// A point with a small value, found from `start`.
pub(super) fn minimise(start: &[f64], mut value: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let size = start.len();
    let mut corners = vec![start.to_vec()];
    for axis in 0..size {
        let mut corner = start.to_vec();
        corner[axis] += 0.3;
        corners.push(corner);
    }
    let mut simplex: Vec<(f64, Vec<f64>)> =
        corners.into_iter().map(|corner| (value(&corner), corner)).collect();
    for _ in 0..STEPS {
        simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (best, worst) = (simplex[0].0, simplex[size].0);
        if worst - best <= SETTLED * best {
            break;
        }
        let centre: Vec<f64> = (0..size)
            .map(|axis| simplex[..size].iter().map(|(_, corner)| corner[axis]).sum::<f64>())
            .map(|sum| sum / size as f64)
            .collect();
        let mut towards = |factor: f64| {
            let worst = &simplex[size].1;
            let point: Vec<f64> =
                centre.iter().zip(worst).map(|(c, w)| c + factor * (w - c)).collect();
            (value(&point), point)
        };
        let reflected = towards(-1.0);
        let next = if reflected.0 < best {
            let expanded = towards(-2.0);
            if expanded.0 < reflected.0 { Some(expanded) } else { Some(reflected) }
        } else if reflected.0 < simplex[size - 1].0 {
            Some(reflected)
        } else {
            let contracted = towards(if reflected.0 < worst { -0.5 } else { 0.5 });
            (contracted.0 < worst.min(reflected.0)).then_some(contracted)
        };
        match next {
            Some(corner) => simplex[size] = corner,
            None => shrink(&mut simplex, &mut value),
        }
    }
    simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
    simplex.swap_remove(0).1
}

/// Draws every corner half way to the best.
fn shrink(simplex: &mut [(f64, Vec<f64>)], value: &mut impl FnMut(&[f64]) -> f64) {
    let (best, others) = simplex.split_first_mut().expect("invariant: a simplex has corners");
    for (at, corner) in others {
        for (x, b) in corner.iter_mut().zip(&best.1) {
            *x = b + 0.5 * (*x - b);
        }
        *at = value(corner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valley_of_rosenbrock_is_followed_to_its_end() {
        let rosenbrock =
            |p: &[f64]| 1e-12 + (1.0 - p[0]).powi(2) + 100.0 * (p[1] - p[0] * p[0]).powi(2);
        let found = minimise(&[-1.2, 1.0], rosenbrock);
        assert!((found[0] - 1.0).abs() < 1e-3 && (found[1] - 1.0).abs() < 1e-3, "{found:?}");
    }
}
