//! Reduces many points to fewer points that show the same shape. The caller states the reduction in the
//! notes of the chart.

/// Selects the points that show the shape of a line best, and returns their indices. If there are more than
/// `most` points, it selects `most`, but at least three. The line is divided into parts. In each part, the
/// function selects the point that forms the largest triangle with two other points: the point selected
/// before, and the mean of the next part (LTTB: S. Steinarsson, "Downsampling Time Series for Visual
/// Representation", 2013). The first and the last point are always included.
///
/// # Panics
/// If `x` and `y` differ in length.
pub fn largest_triangles(x: &[f64], y: &[f64], most: usize) -> Vec<usize> {
    assert_eq!(x.len(), y.len(), "invariant: a point has a position and a value");
    let n = x.len();
    if n <= most.max(3) {
        return (0..n).collect();
    }
    let parts = most.max(3) - 2;
    let edge = |part: usize| 1 + part * (n - 2) / parts;
    let mut kept = vec![0];
    for part in 0..parts {
        let (from, to) = (edge(part), edge(part + 1));
        let after = to..if part + 1 < parts { edge(part + 2) } else { n };
        let mean = |of: &[f64]| of[after.clone()].iter().sum::<f64>() / after.len() as f64;
        let (next_x, next_y) = (mean(x), mean(y));
        let before = kept[kept.len() - 1];
        let area = |at: usize| {
            let area = (x[before] - next_x) * (y[at] - y[before])
                - (x[before] - x[at]) * (next_y - y[before]);
            area.abs()
        };
        kept.push((from..to).max_by(|&a, &b| area(a).total_cmp(&area(b))).unwrap_or(from));
    }
    kept.push(n - 1);
    kept
}

/// Quantiles of many points, in bins along the horizontal axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bands {
    /// The middle of each bin that contains points. Empty bins are left out.
    pub x: Vec<f64>,
    /// The 5th percentile of the values of each bin.
    pub p5: Vec<f64>,
    /// The median of the values of each bin.
    pub p50: Vec<f64>,
    /// The 95th percentile of the values of each bin.
    pub p95: Vec<f64>,
    /// The number of points in each bin.
    pub n: Vec<u64>,
}

/// Divides the range of the first coordinate into `bins` equal bins, and returns quantiles of the second
/// coordinate in each bin.
pub fn bands(points: &[(f64, f64)], bins: usize) -> Bands {
    let [from, to] = super::ends(points.iter().map(|(x, _)| *x));
    let width = ((to - from) / bins as f64).max(f64::MIN_POSITIVE);
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); bins];
    for &(x, y) in points {
        values[(((x - from) / width) as usize).min(bins - 1)].push(y);
    }
    let mut out = Bands::default();
    for (bin, mut values) in values.into_iter().enumerate().filter(|(_, v)| !v.is_empty()) {
        values.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| inferometer_model::stats::percentile(&values, q);
        out.x.push(from + (bin as f64 + 0.5) * width);
        out.p5.push(at(0.05));
        out.p50.push(at(0.5));
        out.p95.push(at(0.95));
        out.n.push(values.len() as u64);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_unchanged_and_a_thinned_line_keeps_its_ends_and_its_peak() {
        let x: Vec<f64> = (0..10_000).map(f64::from).collect();
        let mut y: Vec<f64> = x.iter().map(|x| (x / 700.0).sin()).collect();
        y[4_321] = 40.0;
        assert_eq!(largest_triangles(&x[..7], &y[..7], 100), [0, 1, 2, 3, 4, 5, 6]);
        let kept = largest_triangles(&x, &y, 200);
        assert_eq!((kept.len(), kept[0], kept[199]), (200, 0, 9_999));
        assert!(kept.contains(&4_321));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn bands_have_the_counts_and_percentiles_of_their_points() {
        let points: Vec<(f64, f64)> =
            (0..1_000).map(|i| (f64::from(i), f64::from(i % 100))).collect();
        let bands = bands(&points, 10);
        assert_eq!(bands.n, [100; 10]);
        assert_eq!(bands.p50, [49.5; 10]);
        assert!(bands.p5.iter().zip(&bands.p95).all(|(low, high)| *low < 5.0 && *high > 94.0));
        assert_eq!(super::bands(&[(1.0, 2.0)], 4).n, [1]);
        assert_eq!(super::bands(&[], 4), Bands::default());
    }
}
