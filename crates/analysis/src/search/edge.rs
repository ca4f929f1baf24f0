//! Estimates from all trials together at which load the objectives stop to hold (the edge). The
//! estimate has no confidence and is never an answer: it only decides where the next trial helps
//! most.

/// What the trials at a load showed: for each criterion a ratio to what is allowed, and its weight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observed {
    pub load: f64,
    /// For each criterion the measured value as a multiple of what is allowed (above 1 the criterion
    /// fails), and the weight of this ratio: the number of independent requests.
    pub ratios: Vec<(f64, f64)>,
}

/// Where the highest of the ratios passes 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Edge {
    /// Above every load that was tried.
    Above,
    /// Below every load that was tried.
    Below,
    /// Between two neighbouring loads; `guess` is the estimate between them.
    Between { holds: f64, fails: f64, guess: f64 },
}

/// Estimates the edge. A ratio is assumed not to fall as the load rises, so neighbouring loads whose
/// ratios fall are pooled (pool adjacent violators; M. Ayer et al., "An empirical distribution
/// function for sampling with incomplete information", 1955). `observed` is in ascending order of
/// loads and not empty.
pub(super) fn edge(observed: &[Observed]) -> Edge {
    let criteria = observed.first().map_or(0, |first| first.ratios.len());
    let mut worst = vec![0.0_f64; observed.len()];
    for criterion in 0..criteria {
        let values: Vec<(f64, f64)> = observed.iter().map(|at| at.ratios[criterion]).collect();
        for (worst, fitted) in worst.iter_mut().zip(isotonic(&values)) {
            *worst = worst.max(fitted);
        }
    }
    match worst.iter().position(|&ratio| ratio > 1.0) {
        None => Edge::Above,
        Some(0) => Edge::Below,
        Some(at) => {
            let (holds, fails) = (observed[at - 1].load, observed[at].load);
            // Interpolates on log scales. Not close to an end: few misses decide the ratio of each end.
            let [before, after] = [worst[at - 1], worst[at]].map(|ratio| ratio.max(1e-3).ln());
            let fraction = (-before / (after - before)).clamp(0.2, 0.8);
            Edge::Between { holds, fails, guess: holds * (fails / holds).powf(fraction) }
        }
    }
}

/// How many requests at a load missed a criterion. Both counts are in independent requests: correlated
/// requests count less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MissCount {
    pub load: f64,
    pub requests: f64,
    pub misses: f64,
}

/// A fit takes loads up to this distance from its first guess, in natural logarithms of the load.
const WINDOW: f64 = 0.5;
/// The prior of a curve's slope, a normal distribution: near the edge, misses grow about with this power
/// of the load.
const SLOPE_MEAN: f64 = 12.0;
const SLOPE_DEVIATION: f64 = 8.0;

/// A logistic curve of the share of misses over the natural logarithm of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    /// The logarithm of the load around which the curve was fitted.
    centre: f64,
    /// The log-odds of a miss at the centre.
    intercept: f64,
    /// The change of the log-odds for each unit of the logarithm.
    slope: f64,
}

impl Curve {
    /// The share of misses at a load, from 0 to 1.
    pub fn miss_share(self, load: f64) -> f64 {
        1.0 / (1.0 + (-(self.intercept + self.slope * (load.ln() - self.centre))).exp())
    }

    /// The load at which the share of misses rises above `allowed`. `None` if the curve is too flat, or
    /// the load too far from the centre.
    pub fn load_at(self, allowed: f64) -> Option<f64> {
        let log_odds = (allowed / (1.0 - allowed)).ln();
        let distance = (log_odds - self.intercept) / self.slope;
        (self.slope > 1.0 && distance.abs() <= WINDOW).then(|| (self.centre + distance).exp())
    }
}

/// Fits a curve to the loads around `first_guess`, a guess of the load at which the share of misses
/// rises above `allowed`.
pub(super) fn fit_curve(counts: &[MissCount], allowed: f64, first_guess: f64) -> Curve {
    let centre = first_guess.ln();
    let near = |count: &&MissCount| (count.load.ln() - centre).abs() <= WINDOW;
    let log_odds = (allowed / (1.0 - allowed)).ln();
    let (mut intercept, mut slope) = (log_odds, SLOPE_MEAN);
    // Newton's method on the posterior density. Its logarithm is concave, so the steps converge.
    for _ in 0..30 {
        let mut gradient = [0.0, (SLOPE_MEAN - slope) / SLOPE_DEVIATION.powi(2)];
        let mut curvature = [1e-3, 0.0, 1.0 / SLOPE_DEVIATION.powi(2)];
        for count in counts.iter().filter(near) {
            let x = count.load.ln() - centre;
            let share = 1.0 / (1.0 + (-(intercept + slope * x)).exp());
            let residual = count.misses - count.requests * share;
            let weight = count.requests * share * (1.0 - share);
            gradient = [gradient[0] + residual, gradient[1] + residual * x];
            let [a, b, c] = curvature;
            curvature = [a + weight, b + weight * x, c + weight * x * x];
        }
        let [a, b, c] = curvature;
        let determinant = a * c - b * b;
        let step = [
            (c * gradient[0] - b * gradient[1]) / determinant,
            (a * gradient[1] - b * gradient[0]) / determinant,
        ];
        intercept += step[0].clamp(-1.0, 1.0);
        slope += step[1].clamp(-4.0, 4.0);
    }
    Curve { centre, intercept, slope }
}

/// Weighted isotonic regression: the non-decreasing sequence with the least squared distance from
/// pairs of a value and its weight.
fn isotonic(values: &[(f64, f64)]) -> Vec<f64> {
    // Pooled blocks: the mean, the weight and the number of their values.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for &(value, weight) in values {
        let mut block = (value, weight, 1);
        while let Some(&(before, its_weight, members)) = blocks.last() {
            if before <= block.0 {
                break;
            }
            blocks.pop();
            let total = its_weight + block.1;
            block.0 = (before * its_weight + block.0 * block.1) / total;
            block = (block.0, total, members + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, members)| vec![value; members]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_contradict_each_other_are_pooled_by_their_weights() {
        assert_eq!(
            isotonic(&[(1.0, 1.0), (3.0, 1.0), (0.0, 2.0), (4.0, 1.0)]),
            [1.0, 1.0, 1.0, 4.0]
        );
        assert_eq!(isotonic(&[(0.0, 1.0), (2.0, 3.0), (1.0, 1.0)]), [0.0, 1.75, 1.75]);
    }

    #[test]
    fn a_fit_finds_the_edge_between_and_beyond_what_was_tried() {
        let curve = |load: f64| 0.01 * (load / 10.0).powi(9);
        let at = |load: f64| MissCount { load, requests: 1e4, misses: 1e4 * curve(load) };
        for loads in [[8.0, 9.0, 11.0], [8.5, 9.0, 9.5], [10.2, 10.5, 11.0]] {
            let got = fit_curve(&loads.map(at), 0.01, loads[1]).load_at(0.01).unwrap();
            assert!((got / 10.0 - 1.0).abs() < 0.01, "{loads:?}: {got}");
        }
        let never = MissCount { load: 9.0, requests: 1e7, misses: 0.0 };
        assert_eq!(fit_curve(&[never], 0.01, 8.0).load_at(0.01), None);
    }

    #[test]
    fn the_edge_is_where_the_worst_criterion_passes_what_is_allowed() {
        let at = |load: f64, one: f64, other: f64| Observed {
            load,
            ratios: vec![(one, 1.0), (other, 1.0)],
        };
        let all = [at(1.0, 0.1, 0.1), at(2.0, 0.5, 0.2), at(4.0, 0.8, 2.0), at(8.0, 9.0, 5.0)];
        let Edge::Between { holds, fails, guess } = edge(&all) else { panic!("between") };
        assert_eq!((holds, fails), (2.0, 4.0));
        assert!(guess > 2.0 && guess < 4.0);
        assert_eq!((edge(&all[..2]), edge(&all[3..])), (Edge::Above, Edge::Below));
    }
}
