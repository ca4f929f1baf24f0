//! Decides which of many differences are more than chance. The contrasts of all figures are rotated at random, all by
//! the same rotation. A real difference must exceed the largest differences that such rotations produce.
//!
//! The procedure is the step-down procedure of Westfall and Young (Resampling-Based Multiple Testing, 1993, algorithm
//! 4.1), with Student's t as the statistic. It limits the probability of any false alarm among all rows. Correlated
//! figures do not make the procedure stricter.
//!
//! A permutation test would exchange the labels of two repeats. Four rounds allow only 16 exchanges, so no result would
//! be significant at 5 %. Rotations (Langsrud, Rotation tests, 2005) have no such limit. If the noise is independent
//! and normal, every direction of the contrasts is equally likely. Then the test is exact for any number of rounds.
//!
//! Each row has its own noise: repeats of a real server may vary ten times as much in one cell as in another. If the
//! variances of the cells were pooled, differences in cells with little noise would be hidden.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;

use super::model::{FigureContrasts, Model};
use inferometer_model::stats::seed;

/// The number of rotations, including the measured data without rotation.
const ROTATIONS: usize = 5_000;

/// A figure that is tested for a difference.
pub(super) struct Test<'a> {
    pub model: &'a Model,
    pub measured: &'a FigureContrasts,
}

/// The result of all tests together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RotationResult {
    /// The corrected probability of each difference, if nothing differs.
    pub p: Vec<f64>,
    /// The limit that a statistic must reach to be significant, whatever the other statistics are.
    pub critical: f64,
}

impl Test<'_> {
    /// The square of the test statistic, for contrasts with the component `along` in a direction.
    fn squared(&self, along: f64) -> f64 {
        // A value that is zero except for rounding counts as zero.
        if along.abs() < 1e-12 {
            return 0.0;
        }
        let square = along * along;
        let noise = (self.measured.squares - square).max(0.0) / self.model.freedom() as f64;
        square / noise.max(1e-24)
    }

    fn observed(&self) -> f64 {
        let along = self.measured.difference * self.model.scale;
        self.squared(along).sqrt() / self.model.widening
    }
}

/// Judges all tests together. Differences with a probability of at most `rate` are significant.
pub(super) fn judge(tests: &[Test<'_>], rate: f64, seed: u64) -> RotationResult {
    let observed: Vec<f64> = tests.iter().map(Test::observed).collect();
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|&a, &b| observed[b].total_cmp(&observed[a]));
    // Values that are equal except for rounding count as equal.
    let beaten_by: Vec<f64> =
        order.iter().map(|&at| (observed[at] * (1.0 - 1e-9)).powi(2)).collect();
    let lengths: BTreeSet<usize> = tests.iter().map(|test| test.measured.contrasts.len()).collect();
    let longest = lengths.last().copied().unwrap_or(0);
    let mut norms = vec![1.0; longest + 1];
    let mut rng = seed::rng(seed, &["rotations"]);
    // The measured data count as one of the rotations.
    let mut beaten = vec![1_u32; tests.len()];
    let mut maxima = Vec::with_capacity(ROTATIONS);
    for _ in 1..ROTATIONS {
        let direction = direction(&mut rng, longest);
        for &length in &lengths {
            norms[length] = direction[..length].iter().map(|one| one * one).sum::<f64>().sqrt();
        }
        let mut largest = 0.0_f64;
        for rank in (0..order.len()).rev() {
            let test = &tests[order[rank]];
            let contrasts = &test.measured.contrasts;
            let along = direction.iter().zip(contrasts).map(|(a, b)| a * b).sum::<f64>();
            largest = largest.max(test.squared(along / norms[contrasts.len()]));
            beaten[rank] += u32::from(largest >= beaten_by[rank]);
        }
        maxima.push(largest.sqrt());
    }
    let mut p = vec![1.0; tests.len()];
    let mut floor = 0.0_f64;
    for (rank, &at) in order.iter().enumerate() {
        floor = floor.max(f64::from(beaten[rank]) / ROTATIONS as f64);
        p[at] = floor;
    }
    maxima.sort_unstable_by(f64::total_cmp);
    RotationResult { p, critical: inferometer_model::stats::percentile(&maxima, 1.0 - rate) }
}

/// A random direction, as normal numbers. Every direction is equally likely. This also holds if only the first of these
/// numbers are used.
fn direction(rng: &mut ChaCha8Rng, length: usize) -> Vec<f64> {
    (0..length).map(|_| seed::normal(rng)).collect()
}
