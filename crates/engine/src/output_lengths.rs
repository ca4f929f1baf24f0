//! Lengths of outputs that the model ends, computed from their mean. No random numbers are used.

/// Returns `count` output lengths with this mean, of at most `most` tokens. They are quantiles of a geometric
/// distribution (the text ends after each token with the same probability), limited to `most`. Their order has no
/// trend.
pub fn output_lengths(mean: f64, most: u32, count: u32) -> Vec<u32> {
    let quantile = |scale: f64, at: u32| {
        let share = (f64::from(at) + 0.5) / f64::from(count);
        let length = -scale * (1.0 - share).ln();
        (length.ceil().max(1.0) as u32).min(most)
    };
    let mean_of = |scale: f64| {
        (0..count).map(|at| f64::from(quantile(scale, at))).sum::<f64>() / f64::from(count)
    };
    // The mean increases with the scale, from 1 to `most`.
    let (mut low, mut high) = (0.0, 1e6 * f64::from(most));
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if mean_of(middle) < mean { low = middle } else { high = middle }
    }
    // The step is about 0.618 times the count, and has no common divisor with the count. So all quantiles occur, and
    // neighbouring quantiles are far apart in the order.
    let mut step = (f64::from(count) * 0.618).round() as u32 | 1;
    while common_divisor(step, count) != 1 {
        step += 1;
    }
    // The product may exceed 32 bits.
    let shuffled = |at: u32| (u64::from(at) * u64::from(step) % u64::from(count)) as u32;
    (0..count).map(|at| quantile(high, shuffled(at))).collect()
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_lengths_have_the_given_mean_and_never_exceed_the_maximum() {
        for (mean, most, count) in
            [(102.0, 128, 399), (286.5, 512, 399), (753.0, 2048, 10), (100.0, 800, 100_000)]
        {
            let lengths = output_lengths(mean, most, count);
            assert_eq!(lengths.len() as u32, count);
            let found = lengths.iter().map(|&l| f64::from(l)).sum::<f64>() / f64::from(count);
            assert!((found / mean - 1.0).abs() < 0.01, "{found} for {mean}");
            assert!(lengths.iter().all(|&length| (1..=most).contains(&length)));
            let half = lengths.len() / 2;
            let first = lengths[..half].iter().sum::<u32>() as f64 / half as f64;
            assert!((first / mean - 1.0).abs() < 0.25, "a trend: {first} before the middle");
        }
    }

    #[test]
    fn all_output_lengths_are_maximal_if_the_mean_equals_the_maximum() {
        assert_eq!(output_lengths(64.0, 64, 3), [64, 64, 64]);
    }
}
