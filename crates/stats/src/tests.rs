//! Statistics against hand-computed values, against statrs, and against their own promises.

use proptest::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::*;
use crate::{Weighted, seed};

#[test]
fn percentiles_interpolate_between_the_nearest_ranks() {
    let values = [10.0, 20.0, 30.0, 40.0];
    for (q, expected) in [(0.0, 10.0), (0.5, 25.0), (0.9, 37.0), (0.99, 39.7), (1.0, 40.0)] {
        assert!((percentile(&values, q) - expected).abs() < 1e-12, "{q}");
    }
    assert_eq!(percentile(&[7.0], 0.99), 7.0);
}

#[test]
fn a_distribution_says_what_numpy_says() {
    // numpy.percentile([3, 1, 4, 1, 5, 9, 2, 6], [50, 90, 99]) and mean.
    let mut values = vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
    let got = distribution(&mut values, 1).expect("values");
    assert_eq!((got.mean, got.max, got.n), (3.875, 9.0, 8));
    assert!((got.p50 - 3.5).abs() < 1e-12);
    assert!((got.p90 - 6.9).abs() < 1e-12);
    assert!((got.p99 - 8.79).abs() < 1e-12);
    // binomial(8, 1/2): P(B < 1) = 0.4 %, P(B < 2) = 3.5 %, so ranks 1 and 8.
    assert_eq!(got.p50_ci, Some([1.0, 9.0]));
    assert_eq!(got.p99_ci, None);
}

#[test]
fn no_values_have_no_distribution() {
    assert_eq!(distribution(&mut [], 1), None);
    assert_eq!(Pool::default().distribution(1), None);
}

#[test]
fn one_value_has_no_interval() {
    let got = distribution(&mut [5.0], 1).expect("a value");
    assert_eq!((got.mean, got.p50, got.p99, got.max), (5.0, 5.0, 5.0, 5.0));
    assert_eq!((got.mean_ci, got.p50_ci, got.p99_ci), (None, None, None));
}

#[test]
fn ranks_are_the_tightest_that_the_binomial_distribution_allows() {
    for n in [1, 2, 5, 6, 10, 32, 100, 366, 367, 399, 400, 5_000, 300_000] {
        for q in [0.1, 0.5, 0.9, 0.99] {
            let binomial = Binomial::new(q, n).expect("valid");
            // P(B < k)
            let below = |k: u64| if k == 0 { 0.0 } else { binomial.cdf(k - 1) };
            match quantile_ranks(n, q, CONFIDENCE) {
                Some((low, high)) => {
                    assert!(1 <= low && low < high && high <= n, "{n} {q}");
                    assert!(below(low) <= 0.025 && below(low + 1) > 0.025, "{n} {q} {low}");
                    assert!(below(high) >= 0.975 && below(high - 1) < 0.975, "{n} {q} {high}");
                }
                None => assert!(below(1) > 0.025 || below(n) < 0.975, "{n} {q}"),
            }
        }
    }
}

#[test]
fn the_known_sample_sizes_at_which_intervals_begin_are_found() {
    // 2 x 0.5^n <= 5 % from n = 6 on; 0.99^n <= 2.5 % from n = 368 on.
    let first = |q: f64| (1..500).find(|&n| quantile_ranks(n, q, CONFIDENCE).is_some());
    assert_eq!(first(0.5), Some(6));
    assert_eq!(first(0.99), Some(368));
}

#[test]
fn a_mean_interval_is_the_same_for_the_same_seed_and_as_wide_as_the_normal_one() {
    let mut rng = seed::rng(7, &["test"]);
    let parts: Vec<(f64, f64)> = (0..2_000).map(|_| (seed::unit(&mut rng), 1.0)).collect();
    let bootstrap = mean_interval(&parts, 1).expect("enough");
    assert_eq!(Some(bootstrap), mean_interval(&parts, 1));
    assert_ne!(Some(bootstrap), mean_interval(&parts, 2));
    // Uniform on [0, 1): s = 1 / sqrt(12), half width 1.96 s / sqrt(2000) = 0.012652.
    let half = (bootstrap[1] - bootstrap[0]) / 2.0;
    assert!((half - 0.012652).abs() < 0.0013, "{half}");
    // One more value, and the normal interval is taken: it must not be another one.
    let more: Vec<(f64, f64)> = parts.iter().copied().chain([(0.5, 1.0)]).collect();
    let normal = mean_interval(&more, 1).expect("enough");
    assert!((normal[0] - bootstrap[0]).abs() < 0.0015 && (normal[1] - bootstrap[1]).abs() < 0.0015);
}

#[test]
fn a_mean_interval_covers_the_truth_about_as_often_as_it_says() {
    let mut covered = 0;
    for round in 0..300 {
        let mut rng = seed::rng(round, &["coverage"]);
        let mut values: Vec<f64> = (0..60).map(|_| -seed::unit(&mut rng).ln_1p()).collect();
        let truth = 1.0 - 2.0 * std::f64::consts::LN_2;
        let [low, high] = distribution(&mut values, round).and_then(|d| d.mean_ci).expect("60");
        covered += usize::from((low..=high).contains(&truth));
    }
    assert!((275..=295).contains(&covered), "{covered} of 300");
}

#[test]
fn requests_and_not_tokens_are_resampled_for_a_pool() {
    // Six requests of 1,000 equal gaps each: 6,000 tokens, but only six independent parts.
    let mut pool = Pool::default();
    for gap in [10.0, 20.0, 10.0, 20.0, 10.0, 20.0] {
        pool.add_request(|gaps| gaps.extend([Weighted { value: gap, weight: 100.0 }; 10]));
    }
    pool.add_request(|_| {});
    let got = pool.distribution(1).expect("values");
    assert_eq!((got.mean, got.n, got.max), (15.0, 6_000, 20.0));
    let [low, high] = got.mean_ci.expect("six parts");
    assert!(low < 12.5 && high > 17.5, "{low} to {high}: as of six values, not of 6,000");
    assert_eq!((got.p50_ci, got.p99_ci), (None, None));
}

#[test]
fn fewer_than_five_requests_have_no_interval() {
    let interval = |n: usize| distribution(&mut vec![1.0; n], 1).and_then(|d| d.mean_ci);
    assert_eq!((interval(4), interval(5)), (None, Some([1.0, 1.0])));
}

#[test]
fn fractions_of_tokens_weigh_as_fractions() {
    // 3.5 tokens at 10 and 1.5 at 40: ranks up to 3.5 are 10, so the median rank 3 is 10.
    let samples = [Weighted { value: 10.0, weight: 3.5 }, Weighted { value: 40.0, weight: 1.5 }];
    assert_eq!([0.5, 1.0].map(|q| weighted_percentile(&samples, q)), [10.0, 40.0]);
    // Ten tenths are one, although their sum in binary fractions is a little less.
    let mut tenths = vec![Weighted { value: 1.0, weight: 0.1 }; 10];
    tenths.push(Weighted { value: 2.0, weight: 1.0 });
    assert_eq!([0.0, 0.5, 1.0].map(|q| weighted_percentile(&tenths, q).round()), [1.0, 2.0, 2.0]);
}

#[test]
fn values_beyond_what_is_kept_are_sketched_within_the_stated_error_in_any_order() {
    let mut rng = seed::rng(5, &["sketch"]);
    // Over seven orders of magnitude, some negative, some zero.
    let values: Vec<f64> = (0..20_000)
        .map(|i| match i % 50 {
            0 => 0.0,
            1 => -seed::unit(&mut rng) * 3.0,
            _ => (seed::unit(&mut rng) * 16.0 - 6.0).exp(),
        })
        .collect();
    let exact = distribution(&mut values.clone(), 1).expect("values");
    let mut sample = Sample::keeping(1_000);
    sample.extend(values.iter().copied());
    let got = sample.distribution(1).expect("values");
    assert!(exact.exact && !got.exact);
    assert_eq!((got.n, got.max), (exact.n, exact.max));
    let near = |got: f64, exact: f64| {
        assert!((got / exact - 1.0).abs() < 1.000_001 * RELATIVE_ERROR, "{got} {exact}");
    };
    near(got.mean, exact.mean);
    for (got, exact) in [
        (got.p50, exact.p50),
        (got.p90, exact.p90),
        (got.p95.unwrap(), exact.p95.unwrap()),
        (got.p99, exact.p99),
        (got.p999.unwrap(), exact.p999.unwrap()),
    ] {
        near(got, exact);
    }
    for (got, exact) in
        [(got.mean_ci, exact.mean_ci), (got.p50_ci, exact.p50_ci), (got.p99_ci, exact.p99_ci)]
    {
        let (got, exact) = (got.expect("20,000"), exact.expect("20,000"));
        near(got[0], exact[0]);
        near(got[1], exact[1]);
    }
    let mut backwards = Sample::keeping(7);
    backwards.extend(values.into_iter().rev());
    assert_eq!(backwards.distribution(1), Some(got));
}

#[test]
fn a_pool_beyond_what_is_kept_is_sketched_in_any_order() {
    let mut rng = seed::rng(6, &["sketch"]);
    let requests: Vec<Vec<Weighted>> = (0..3_000)
        .map(|_| {
            let mut gap =
                || Weighted { value: 5.0 + 40.0 * seed::unit(&mut rng).powi(4), weight: 2.5 };
            (0..10).map(|_| gap()).collect()
        })
        .collect();
    let pooled = |kept: usize, requests: &mut dyn Iterator<Item = &Vec<Weighted>>| {
        let mut pool = Pool::keeping(kept);
        requests.for_each(|request| {
            pool.add_request(|gaps| gaps.extend(request));
            assert!(pool.held() <= kept);
        });
        pool.distribution(1).expect("values")
    };
    let exact = pooled(usize::MAX, &mut requests.iter());
    let got = pooled(100, &mut requests.iter());
    assert!(exact.exact && !got.exact);
    assert_eq!((got.n, got.max, got.mean), (75_000, exact.max, exact.mean));
    assert_eq!(got.mean_ci, exact.mean_ci);
    for (got, exact) in [(got.p50, exact.p50), (got.p90, exact.p90), (got.p99, exact.p99)] {
        assert!((got / exact - 1.0).abs() < 1.000_001 * RELATIVE_ERROR, "{got} {exact}");
    }
    assert_eq!(pooled(100, &mut requests.iter().rev()), got);
}

#[test]
fn the_interval_of_many_parts_from_their_sums_is_that_of_the_parts() {
    let mut rng = seed::rng(8, &["parts"]);
    let parts: Vec<(f64, f64)> = (0..5_000)
        .map(|_| (1e4 + seed::unit(&mut rng), 1.0 + (seed::unit(&mut rng) * 8.0).floor()))
        .map(|(value, weight)| (value * weight, weight))
        .collect();
    let mut sums = parts::Parts::default();
    parts.iter().for_each(|&(total, weight)| sums.add(total, weight));
    let [low, high] = mean_interval(&parts, 1).expect("5,000");
    let [got_low, got_high] = sums.interval(1).expect("5,000");
    // The half width is some 0.008 in 10,000: the sums must not lose it.
    assert!((got_low - low).abs() < 1e-4 && (got_high - high).abs() < 1e-4);
}

proptest! {
    #[test]
    fn percentiles_lie_within_the_values_and_ascend(
        mut values in prop::collection::vec(-1e6f64..1e6, 1..200),
    ) {
        let got = distribution(&mut values, 3).expect("not empty");
        let (min, max) = (values[0], values[values.len() - 1]);
        prop_assert!(min <= got.p50 && got.p50 <= got.p90 && got.p90 <= got.p99);
        prop_assert!(got.p99 <= max && got.max == max);
        if let Some([low, high]) = got.p50_ci {
            prop_assert!(low <= got.p50 && got.p50 <= high);
        }
        if let Some([low, high]) = got.mean_ci {
            prop_assert!(min - 1e-9 <= low && low <= high && high <= max + 1e-9);
        }
    }

    #[test]
    fn whole_weights_are_repeated_values(
        mut pairs in prop::collection::vec((0u32..50, 1u32..6), 1..60),
    ) {
        pairs.sort_unstable();
        let samples: Vec<Weighted> = pairs
            .iter()
            .map(|&(value, weight)| Weighted { value: value.into(), weight: weight.into() })
            .collect();
        let repeated: Vec<f64> = pairs
            .iter()
            .flat_map(|&(value, weight)| std::iter::repeat_n(f64::from(value), weight as usize))
            .collect();
        for q in [0.0, 0.5, 0.9, 0.99, 1.0] {
            let (got, expected) = (weighted_percentile(&samples, q), percentile(&repeated, q));
            prop_assert!((got - expected).abs() < 1e-6, "{} {} {}", q, got, expected);
        }
    }
}
