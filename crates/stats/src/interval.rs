//! Confidence intervals. Never one that the sample is too small to have.

use crate::seed;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 1_000;

/// The largest sample that is resampled. Beyond it the mean is normal for every practical
/// purpose, and the normal interval costs one pass.
pub(super) const LARGEST_BOOTSTRAP: usize = 2_000;

/// The fewest independent parts that an interval is computed from.
const FEWEST_PARTS: usize = 5;

/// The 97.5 % quantile of the normal distribution: 95 % lie within it on both sides.
pub(super) const NORMAL_975: f64 = 1.959_963_984_540_054;

/// The 95 % interval of a mean: total of values / total of weights over independent `parts`,
/// each `(sum of values, sum of weights)`; a plain value is `(value, 1)`. None below five parts: an
/// interval of so few would hold the truth far less often than it says.
///
/// Up to 2,000 parts it is the percentile bootstrap with 1,000 seeded resamples (Efron and
/// Tibshirani, 1993, chapter 13); above, the normal interval of the ratio (Cochran, Sampling
/// Techniques, 1977, chapter 6), which for plain values is mean +- 1.96 s / sqrt(n). A handful
/// of parts makes either of them too narrow: no more can be known from so few.
pub fn mean_interval(parts: &[(f64, f64)], seed: u64) -> Option<[f64; 2]> {
    if parts.len() < FEWEST_PARTS {
        return None;
    }
    if parts.len() > LARGEST_BOOTSTRAP {
        return Some(normal_interval(parts));
    }
    let mut rng = seed::rng(seed, &["bootstrap"]);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn =
                (0..parts.len()).map(|_| parts[seed::below(&mut rng, parts.len() as u64) as usize]);
            mean(drawn)
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - super::CONFIDENCE) / 2.0;
    Some([super::percentile(&means, tail), super::percentile(&means, 1.0 - tail)])
}

fn mean(parts: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (total, weight) = parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    total / weight
}

fn normal_interval(parts: &[(f64, f64)]) -> [f64; 2] {
    let n = parts.len() as f64;
    let mean = mean(parts.iter().copied());
    let mean_weight = parts.iter().map(|part| part.1).sum::<f64>() / n;
    let squares: f64 = parts.iter().map(|part| (part.0 - mean * part.1).powi(2)).sum();
    normal(mean, mean_weight, squares, n)
}

/// The normal interval of a mean per weight over n parts, from the mean weight of a part and the
/// sum of squares of t - mean w over parts (t, w).
pub(super) fn normal(mean: f64, mean_weight: f64, squares: f64, n: f64) -> [f64; 2] {
    let error = (squares / (n - 1.0) / n).sqrt() / mean_weight;
    [mean - NORMAL_975 * error, mean + NORMAL_975 * error]
}

/// The ranks (from 1) of the two order statistics that enclose the quantile `q` of the
/// distribution with at least this confidence, whatever the distribution; none where the sample
/// is too small to have them.
///
/// The number of values below the quantile is binomial(n, q), so the interval from rank l to
/// rank u covers it with probability P(l <= B < u); each tail gets half of what may be missed
/// (David and Nagaraja, Order Statistics, 2003, section 7.1).
pub fn quantile_ranks(n: u64, q: f64, confidence: f64) -> Option<(u64, u64)> {
    let tail = (1.0 - confidence) / 2.0;
    let (first, probabilities) = binomial(n, q);
    let mut below = 0.0;
    let (mut low, mut high) = (None, None);
    // `below` is P(B < k).
    for (k, probability) in (first..).zip(&probabilities) {
        if below <= tail {
            low = Some(k);
        }
        if high.is_none() && below >= 1.0 - tail {
            high = Some(k);
        }
        below += probability;
    }
    // Only when B = n itself is rarer than the tail is there a rank above the quantile.
    let low = low.filter(|&k| k >= 1)?;
    let high = high.filter(|&k| k <= n)?;
    Some((low, high))
}

/// Probabilities of binomial(n, q) from the first value that is not negligible, in order.
///
/// Each follows from its neighbour by a ratio, so it is built from the mode outwards until
/// terms vanish, and scaled to 1: no logarithm, and about sqrt(n) steps.
fn binomial(n: u64, q: f64) -> (u64, Vec<f64>) {
    const NEGLIGIBLE: f64 = 1e-18;
    let odds = q / (1.0 - q);
    let mode = (((n + 1) as f64) * q).floor().min(n as f64) as u64;
    let mut down = Vec::new();
    let mut term = 1.0;
    let mut k = mode;
    while k > 0 && term > NEGLIGIBLE {
        term *= k as f64 / ((n - k + 1) as f64 * odds);
        k -= 1;
        down.push(term);
    }
    let first = k;
    let mut terms: Vec<f64> = down.into_iter().rev().collect();
    term = 1.0;
    terms.push(term);
    k = mode;
    while k < n && term > NEGLIGIBLE {
        term *= (n - k) as f64 * odds / (k + 1) as f64;
        k += 1;
        terms.push(term);
    }
    let total: f64 = terms.iter().sum();
    terms.iter_mut().for_each(|term| *term /= total);
    (first, terms)
}
