//! Compares statistics with values computed by hand or by NumPy, and checks the stated error of the sketch.

use proptest::prelude::*;

use super::quantile::Ranked;
use super::*;
use crate::stats::{Weighted, seed};

#[test]
fn percentiles_interpolate_between_the_nearest_ranks() {
    let values = [10.0, 20.0, 30.0, 40.0];
    for (q, expected) in [(0.0, 10.0), (0.5, 25.0), (0.9, 37.0), (0.99, 39.7), (1.0, 40.0)] {
        assert!((percentile(&values, q) - expected).abs() < 1e-12, "{q}");
    }
    assert_eq!(percentile(&[7.0], 0.99), 7.0);
}

#[test]
fn the_median_of_an_even_number_of_values_is_the_mean_of_the_two_middle_ones() {
    assert_eq!(median([40.0, 10.0, 20.0, 30.0]), Some(25.0));
    assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median([]), None);
}

#[test]
fn a_distribution_has_the_same_percentiles_and_mean_as_numpy() {
    // numpy.percentile([3, 1, 4, 1, 5, 9, 2, 6], [50, 90, 99]) and mean.
    let mut values = vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
    let got = distribution(&mut values).expect("values");
    assert_eq!((got.mean, got.max, got.n), (3.875, 9.0, 8));
    assert!((got.p50 - 3.5).abs() < 1e-12);
    assert!((got.p90 - 6.9).abs() < 1e-12);
    assert!((got.p99 - 8.79).abs() < 1e-12);
    assert_eq!((got.mean_ci, got.p50_ci, got.p99_ci), (None, None, None));
}

#[test]
fn an_empty_set_of_values_has_no_distribution() {
    assert_eq!(distribution(&mut []), None);
    assert_eq!(Pool::default().distribution(), None);
}

#[test]
fn a_pool_reports_the_samples_total_and_weight_that_each_request_adds() {
    let mut pool = Pool::default();
    for gap in [10.0, 20.0] {
        let added = pool.add_request(|gaps| {
            gaps.extend([Weighted { value: gap, weight: 100.0 }; 10]);
        });
        assert_eq!(
            added,
            Added { samples: 10, total: 1_000.0 * gap, weight: 1_000.0, largest: Some(gap) }
        );
    }
    assert_eq!(pool.add_request(|_| {}), Added::default());
    let got = pool.distribution().expect("values");
    assert_eq!((got.mean, got.n, got.max, got.mean_ci), (15.0, 2_000, 20.0, None));
}

#[test]
fn fractional_token_weights_count_as_fractions_in_percentiles() {
    // 3.5 tokens with value 10 and 1.5 with value 40: ranks up to 3.5 have the value 10, so the median, at
    // rank 3, is 10.
    let samples = [Weighted { value: 10.0, weight: 3.5 }, Weighted { value: 40.0, weight: 1.5 }];
    assert_eq!([0.5, 1.0].map(|q| Ranked::new(&samples).percentile(q)), [10.0, 40.0]);
    // Ten times 0.1 counts as 1, although the binary sum is slightly less.
    let mut tenths = vec![Weighted { value: 1.0, weight: 0.1 }; 10];
    tenths.push(Weighted { value: 2.0, weight: 1.0 });
    assert_eq!(
        [0.0, 0.5, 1.0].map(|q| Ranked::new(&tenths).percentile(q).round()),
        [1.0, 2.0, 2.0]
    );
}

#[test]
fn a_sample_larger_than_its_buffer_is_sketched_within_the_stated_error_in_any_order() {
    let mut rng = seed::rng(5, &["sketch"]);
    // The values cover seven orders of magnitude; some are negative, some zero.
    let values: Vec<f64> = (0..20_000)
        .map(|i| match i % 50 {
            0 => 0.0,
            1 => -seed::unit(&mut rng) * 3.0,
            _ => (seed::unit(&mut rng) * 16.0 - 6.0).exp(),
        })
        .collect();
    let exact = distribution(&mut values.clone()).expect("values");
    let mut sample = Sample::keeping(1_000);
    sample.extend(values.iter().copied());
    let got = sample.distribution().expect("values");
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
    let mut backwards = Sample::keeping(7);
    backwards.extend(values.into_iter().rev());
    assert_eq!(backwards.distribution(), Some(got));
}

#[test]
fn a_pool_larger_than_its_buffer_is_sketched_within_the_stated_error_in_any_order() {
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
        pool.distribution().expect("values")
    };
    let exact = pooled(usize::MAX, &mut requests.iter());
    let got = pooled(100, &mut requests.iter());
    assert!(exact.exact && !got.exact);
    assert_eq!((got.n, got.max, got.mean), (75_000, exact.max, exact.mean));
    for (got, exact) in [(got.p50, exact.p50), (got.p90, exact.p90), (got.p99, exact.p99)] {
        assert!((got / exact - 1.0).abs() < 1.000_001 * RELATIVE_ERROR, "{got} {exact}");
    }
    assert_eq!(pooled(100, &mut requests.iter().rev()), got);
}

proptest! {
    #[test]
    fn percentiles_lie_within_the_values_and_ascend(
        mut values in prop::collection::vec(-1e6f64..1e6, 1..200),
    ) {
        let got = distribution(&mut values).expect("not empty");
        let (min, max) = (values[0], values[values.len() - 1]);
        prop_assert!(min <= got.p50 && got.p50 <= got.p90 && got.p90 <= got.p99);
        prop_assert!(got.p99 <= max && got.max == max);
    }

    #[test]
    fn a_distribution_is_the_same_from_selected_and_from_sorted_values(
        values in prop::collection::vec(prop_oneof![-9.0f64..9.0, Just(0.0), Just(7.0)], 1..1_500),
        weight in prop_oneof![Just(1.0), Just(3.0), 0.5f64..3.0],
    ) {
        let mut pool = Pool::default();
        pool.add_request(|all| all.extend(values.iter().map(|&value| Weighted { value, weight })));
        prop_assert_eq!(pool.distribution(), pool.distribution_of(&pool.ordered()));
    }

    #[test]
    fn integer_weights_are_equivalent_to_repeated_values(
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
            let (got, expected) = (Ranked::new(&samples).percentile(q), percentile(&repeated, q));
            prop_assert!((got - expected).abs() < 1e-6, "{} {} {}", q, got, expected);
        }
    }
}
