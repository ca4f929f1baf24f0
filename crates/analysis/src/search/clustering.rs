//! How much less a series of requests knows than as many independent ones. Never assumes that
//! requests which follow one another are independent: a server's queue makes misses come together.

/// Blocks that a variance is estimated from at least.
pub(super) const FEWEST_BLOCKS: usize = 12;

/// By how much the variance of the mean of a series, in the order of time, exceeds that of the mean
/// of as many independent values; at least 1. So many values are worth one independent one.
///
/// By blocking (H. Flyvbjerg and H. G. Petersen, "Error estimates on averages of correlated data",
/// Journal of Chemical Physics 91, 1989): neighbours are joined in pairs again and again, and where
/// blocks have become longer than what ties their values together, the variance of their means
/// stops to grow. The largest over all block lengths is taken, for each is an estimate.
pub fn clustering(series: &[f64]) -> f64 {
    let mut blocks = series.to_vec();
    let Some(single) = variance(&blocks).filter(|variance| *variance > 0.0) else { return 1.0 };
    let (mut length, mut largest) = (1.0_f64, 1.0_f64);
    while blocks.len() / 2 >= FEWEST_BLOCKS {
        blocks = blocks.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        length *= 2.0;
        let ratio = variance(&blocks).map_or(1.0, |variance| variance * length / single);
        largest = largest.max(ratio);
    }
    largest
}

fn variance(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    Some(values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_stats::seed::{normal, rng};

    /// x' = a x + noise: the sum of its correlations is (1 + a) / (1 - a).
    fn series(a: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut rng = rng(seed, &["clustering"]);
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                x = a * x + normal(&mut rng);
                x
            })
            .collect()
    }

    #[test]
    fn correlated_values_are_worth_as_few_as_theory_says_and_independent_ones_themselves() {
        for (a, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)] {
            let mean = (0..20).map(|seed| clustering(&series(a, 8_192, seed))).sum::<f64>() / 20.0;
            // The largest of several estimates lies above the truth.
            assert!((0.9..1.7).contains(&(mean / expected)), "{a}: {mean} for {expected}");
        }
    }

    #[test]
    fn a_constant_series_and_a_short_one_are_taken_as_independent() {
        assert_eq!(
            (clustering(&[1.0; 100]), clustering(&[1.0, 2.0]), clustering(&[])),
            (1.0, 1.0, 1.0)
        );
    }
}
