//! Where the objectives stop to hold, as all trials together say: the best guess, without a
//! confidence. Never an answer: it only decides where the next trial is worth most.

/// What is seen at a load: how bad it is under each criterion, and how much that is worth.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub load: f64,
    /// For each criterion a multiple of what is allowed (above 1: it fails), and the weight of it.
    pub badness: Vec<(f64, f64)>,
}

/// Where badness passes 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Edge {
    /// Above every load that was tried.
    Above,
    /// Below every load that was tried.
    Below,
    /// Between two neighbours, and the guess between them.
    Between { holds: f64, fails: f64, guess: f64 },
}

/// The edge. What a higher load does is at least as bad as what a lower one does, so neighbours
/// that say otherwise are pooled (pool adjacent violators; M. Ayer et al., "An empirical
/// distribution function for sampling with incomplete information", 1955). `seen` is in the order
/// of loads and not empty.
pub(super) fn edge(seen: &[Seen]) -> Edge {
    let criteria = seen.first().map_or(0, |seen| seen.badness.len());
    let mut worst = vec![0.0_f64; seen.len()];
    for criterion in 0..criteria {
        let values: Vec<(f64, f64)> = seen.iter().map(|seen| seen.badness[criterion]).collect();
        for (worst, fitted) in worst.iter_mut().zip(monotone(&values)) {
            *worst = worst.max(fitted);
        }
    }
    match worst.iter().position(|&badness| badness > 1.0) {
        None => Edge::Above,
        Some(0) => Edge::Below,
        Some(at) => {
            let (holds, fails) = (seen[at - 1].load, seen[at].load);
            // On log scales, away from the ends, for each of them is known by few misses.
            let [before, after] = [worst[at - 1], worst[at]].map(|badness| badness.max(1e-3).ln());
            let share = (-before / (after - before)).clamp(0.2, 0.8);
            Edge::Between { holds, fails, guess: holds * (fails / holds).powf(share) }
        }
    }
}

/// Requests at a load, as many as they are worth independent ones, and how many of them missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Missed {
    pub load: f64,
    pub requests: f64,
    pub misses: f64,
}

/// How far from a first guess loads are taken into a fit, as a logarithm.
const WINDOW: f64 = 0.5;
/// What is held likely of a curve before anything is seen of it: near the edge misses grow with this
/// power of the load, more or less.
const POWER: (f64, f64) = (12.0, 8.0);

/// The share of misses over the logarithm of the load: a logistic curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    centre: f64,
    height: f64,
    power: f64,
}

impl Curve {
    /// The share of misses at a load.
    pub fn share(self, load: f64) -> f64 {
        1.0 / (1.0 + (-(self.height + self.power * (load.ln() - self.centre))).exp())
    }

    /// The load at which the share passes `allowed`. None where it does not rise there.
    pub fn passes(self, allowed: f64) -> Option<f64> {
        let level = (allowed / (1.0 - allowed)).ln();
        let beyond = (level - self.height) / self.power;
        (self.power > 1.0 && beyond.abs() <= WINDOW).then(|| (self.centre + beyond).exp())
    }
}

/// The curve that fits best around a first guess of the load at which the share of misses passes
/// `allowed`.
pub(super) fn fitted(seen: &[Missed], allowed: f64, first: f64) -> Curve {
    let centre = first.ln();
    let near = |missed: &&Missed| (missed.load.ln() - centre).abs() <= WINDOW;
    let level = (allowed / (1.0 - allowed)).ln();
    let (mut height, mut power) = (level, POWER.0);
    // Newton's steps on the likelihood with its prior; it is concave, so that they converge.
    for _ in 0..30 {
        let mut gradient = [0.0, (POWER.0 - power) / POWER.1.powi(2)];
        let mut curvature = [1e-3, 0.0, 1.0 / POWER.1.powi(2)];
        for missed in seen.iter().filter(near) {
            let x = missed.load.ln() - centre;
            let share = 1.0 / (1.0 + (-(height + power * x)).exp());
            let surprise = missed.misses - missed.requests * share;
            let weight = missed.requests * share * (1.0 - share);
            gradient = [gradient[0] + surprise, gradient[1] + surprise * x];
            let [a, b, c] = curvature;
            curvature = [a + weight, b + weight * x, c + weight * x * x];
        }
        let [a, b, c] = curvature;
        let scale = a * c - b * b;
        let step = [
            (c * gradient[0] - b * gradient[1]) / scale,
            (a * gradient[1] - b * gradient[0]) / scale,
        ];
        height += step[0].clamp(-1.0, 1.0);
        power += step[1].clamp(-4.0, 4.0);
    }
    Curve { centre, height, power }
}

/// The non-decreasing sequence that is nearest to weighted values.
fn monotone(values: &[(f64, f64)]) -> Vec<f64> {
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
            monotone(&[(1.0, 1.0), (3.0, 1.0), (0.0, 2.0), (4.0, 1.0)]),
            [1.0, 1.0, 1.0, 4.0]
        );
        assert_eq!(monotone(&[(0.0, 1.0), (2.0, 3.0), (1.0, 1.0)]), [0.0, 1.75, 1.75]);
    }

    #[test]
    fn a_fit_finds_the_edge_between_and_beyond_what_was_tried() {
        let curve = |load: f64| 0.01 * (load / 10.0).powi(9);
        let at = |load: f64| Missed { load, requests: 1e4, misses: 1e4 * curve(load) };
        for loads in [[8.0, 9.0, 11.0], [8.5, 9.0, 9.5], [10.2, 10.5, 11.0]] {
            let got = fitted(&loads.map(at), 0.01, loads[1]).passes(0.01).unwrap();
            assert!((got / 10.0 - 1.0).abs() < 0.01, "{loads:?}: {got}");
        }
        let never = Missed { load: 9.0, requests: 1e7, misses: 0.0 };
        assert_eq!(fitted(&[never], 0.01, 8.0).passes(0.01), None);
    }

    #[test]
    fn the_edge_is_where_the_worst_criterion_passes_what_is_allowed() {
        let at = |load: f64, one: f64, other: f64| Seen {
            load,
            badness: vec![(one, 1.0), (other, 1.0)],
        };
        let all = [at(1.0, 0.1, 0.1), at(2.0, 0.5, 0.2), at(4.0, 0.8, 2.0), at(8.0, 9.0, 5.0)];
        let Edge::Between { holds, fails, guess } = edge(&all) else { panic!("between") };
        assert_eq!((holds, fails), (2.0, 4.0));
        assert!(guess > 2.0 && guess < 4.0);
        assert_eq!((edge(&all[..2]), edge(&all[3..])), (Edge::Above, Edge::Below));
    }
}
