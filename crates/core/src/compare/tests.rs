//! Comparisons of drawn repeats: how often they see what is not there, and what is.

use rand_chacha::ChaCha8Rng;

use super::*;
use crate::seed;

/// Noise of repeats that is assumed, not measured, as the standard deviation of logarithms: small
/// for throughput and medians, larger for tails.
const NOISE: [(&str, bool, f64); 6] = [
    ("output_tokens_per_s", true, 0.02),
    ("requests_per_s", true, 0.02),
    ("tpot_p50", false, 0.015),
    ("e2e_p50", false, 0.02),
    ("ttft_p50", false, 0.03),
    ("ttft_p99", false, 0.08),
];
const CELLS: [(u32, u32); 4] = [(128, 32), (128, 128), (512, 32), (512, 128)];

/// A run of so many repeats; every latency `slower` times as long. What a repeat went through
/// shows in half of the variance of all of its figures.
fn run(name: &str, rng: &mut ChaCha8Rng, repeats: usize, slower: f64) -> Subject {
    let shared: Vec<f64> = (0..repeats).map(|_| seed::normal(rng)).collect();
    let mut series = Vec::new();
    for (input_length, output_length) in CELLS {
        for (figure, higher_is_better, noise) in NOISE {
            let sign = if higher_is_better { -1.0 } else { 1.0 };
            let values = shared.iter().map(|shared| {
                let own = seed::normal(rng);
                let deviation = noise * (sign * shared + own) / 2.0_f64.sqrt();
                100.0 * (deviation + sign * slower.ln()).exp()
            });
            series.push(Series {
                cell: Some(CellPlan { input_length, output_length }),
                load: "saturated".to_owned(),
                figure: figure.to_owned(),
                higher_is_better,
                values: values.collect(),
            });
        }
    }
    let (conditions, facts) = Default::default();
    Subject { name: name.to_owned(), series, conditions, facts }
}

/// For each row, whether the contender is seen to be worse, or better. Without intervals, which
/// change no verdict of these.
fn seen(repeats: usize, slower: f64, trial: u64) -> Vec<Option<RowVerdict>> {
    let mut rng = seed::rng(trial, &["compare", &repeats.to_string()]);
    let (a, b) = (run("a", &mut rng, repeats, 1.0), run("b", &mut rng, repeats, slower));
    let mut pairs: Vec<(Series, Series)> = a.series.into_iter().zip(b.series).collect();
    pairs.extend(subject::overall(&pairs));
    let p = permutation::corrected(&pairs, trial);
    pairs.iter().zip(p).map(|((a, b), p)| beyond_chance(a, b, p)).collect()
}

fn verdicts(repeats: usize, slower: f64, trial: u64) -> Vec<RowVerdict> {
    let mut rng = seed::rng(trial, &["compare", &repeats.to_string()]);
    let (a, b) = (run("a", &mut rng, repeats, 1.0), run("b", &mut rng, repeats, slower));
    let compared = compare(&a, &b, Options::default()).expect("figures in common");
    compared.rows.iter().map(|row| row.verdict).collect()
}

fn differs(verdict: &RowVerdict) -> bool {
    matches!(verdict, RowVerdict::Better | RowVerdict::Worse)
}

#[test]
fn a_server_compared_with_itself_differs_in_at_most_one_of_twenty_comparisons() {
    for (repeats, trials) in [(4, 200), (5, 200), (8, 60)] {
        let alarms = (0..trials)
            .filter(|&trial| seen(repeats, 1.0, trial).iter().any(Option::is_some))
            .count();
        // Two and a quarter standard deviations above 5 %.
        let most = 0.05 * trials as f64 + 2.25 * (0.05 * 0.95 * trials as f64).sqrt();
        assert!(alarms as f64 <= most, "{repeats} repeats: {alarms} of {trials}");
    }
}

#[test]
fn a_slowdown_of_5_percent_is_found_with_5_repeats_in_four_of_five_comparisons() {
    let trials = 100;
    let mut found = 0;
    for trial in 0..trials {
        let seen = seen(5, 1.05, trial);
        found += u32::from(seen.contains(&Some(RowVerdict::Worse)));
        assert!(!seen.contains(&Some(RowVerdict::Better)), "trial {trial}");
    }
    assert!(found >= 80, "{found} of {trials}");
}

#[test]
fn too_few_repeats_say_how_many_would_do() {
    for verdict in verdicts(1, 1.5, 1).into_iter().chain(verdicts(3, 1.5, 1)) {
        assert!(matches!(verdict, RowVerdict::NotEnoughData { needed } if needed >= 4));
    }
    // 2 (2.8)^2 (0.08)^2 / (0.05)^2 = 40 repeats where the noise is 8 %.
    let series = |values: [f64; 2]| Series {
        cell: None,
        load: String::new(),
        figure: String::new(),
        higher_is_better: false,
        values: values.to_vec(),
    };
    let noisy = series([100.0 - 5.656_854, 100.0 + 5.656_854]);
    assert_eq!(needed(&noisy, &noisy, 0.05), 41);
}

#[test]
fn what_does_not_vary_differs_by_any_amount_or_not_at_all() {
    let fixed = |name: &str, value: f64| {
        let mut run = run(name, &mut seed::rng(1, &[]), 5, 1.0);
        run.series.iter_mut().for_each(|series| series.values = vec![value; 5]);
        run
    };
    let same = compare(&fixed("a", 10.0), &fixed("b", 10.0), Options::default()).unwrap();
    assert!(same.rows.iter().all(|row| row.verdict == RowVerdict::NoDifference));
    let other = compare(&fixed("a", 10.0), &fixed("b", 10.1), Options::default()).unwrap();
    assert!(other.rows.iter().all(|row| differs(&row.verdict) && row.difference_pct > 0.99));
}

#[test]
fn a_gate_is_met_missed_or_undecided_by_the_interval() {
    let row = |difference_pct, interval_pct| Row {
        cell: None,
        load: "table".to_owned(),
        figure: "ttft_p99".to_owned(),
        higher_is_better: false,
        baseline: 1.0,
        contender: 1.0,
        repeats: [5, 5],
        difference_pct,
        interval_pct,
        p: None,
        verdict: RowVerdict::NoDifference,
    };
    let comparison = |row: Row| Comparison {
        baseline: "a".to_owned(),
        contender: "b".to_owned(),
        options: Options::default(),
        warnings: Vec::new(),
        differing: Vec::new(),
        rows: vec![row],
        unmatched: Vec::new(),
    };
    let conditions = parse_gate("ttft_p99 < +5%").unwrap();
    for (row, met) in [
        (row(1.0, Some([-1.0, 3.0])), Met::Yes),
        (row(4.0, Some([-1.0, 9.0])), Met::Undecided),
        (row(9.0, Some([6.0, 12.0])), Met::No),
        (row(9.0, None), Met::No),
        (row(4.9, None), Met::Yes),
    ] {
        assert_eq!(judge(&conditions, &comparison(row)).unwrap()[0].met, met);
    }
    let unknown = parse_gate("ttft_p9<5%").unwrap();
    let told = judge(&unknown, &comparison(row(0.0, None))).unwrap_err().to_string();
    assert!(told.contains("did you mean `ttft_p99`?"), "{told}");
    assert_eq!(parse_gate("ttft_p99<5,<5%,x>-1%").unwrap_err().len(), 2);
}
