//! Compares simulated runs with the noise of ten repeats of real engines. The tests show how often a comparison reports
//! a difference that does not exist, and how often it finds a difference that exists.

use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::*;
use crate::verdict::Met;
use inferometer_model::stats::seed;

mod subjects;

/// Ten repeats of a real engine.
const LLAMA_CPP: &str = include_str!("../../fixtures/repeats/llama-cpp.json");
/// Ten repeats of an engine that vary by 10 % and more: with five repeats, no difference of 5 % can be found.
const VLLM: &str = include_str!("../../fixtures/repeats/vllm.json");

#[derive(Deserialize)]
struct Repeats {
    series: Vec<Measured>,
}

#[derive(Deserialize)]
struct Measured {
    #[serde(flatten)]
    cell: CellPlan,
    load: String,
    figure: String,
    higher_is_better: bool,
    values: Vec<f64>,
}

/// How simulated repeats are sampled from the ten measured ones.
#[derive(Clone, Copy, Debug)]
enum Draw {
    /// Each repeat is one of the ten, with all its figures. Each cell is sampled separately, because the cells were
    /// measured separately.
    OneOfTen,
    /// Each repeat is a sum of the ten with normal weights, so it has their covariance over all figures.
    Normal,
}

/// A run of `n` repeats of the engine, in which every figure is worse by the factor `slower`. The first repeat is at
/// `from_s` seconds; later ones follow every ten seconds.
fn run_of(
    measured: &Repeats,
    draw: Draw,
    rng: &mut ChaCha8Rng,
    n: usize,
    (slower, from_s): (f64, f64),
) -> Subject {
    let mut weights: Vec<(Option<CellPlan>, Vec<[f64; 10]>)> = Vec::new();
    let series = measured.series.iter().map(|one| {
        let of = matches!(draw, Draw::OneOfTen).then_some(one.cell);
        if !weights.iter().any(|(cell, _)| *cell == of) {
            weights.push((of, (0..n).map(|_| weights_of_one(draw, rng)).collect()));
        }
        let (_, weights) = weights.iter().find(|(cell, _)| *cell == of).expect("drawn above");
        let logs: Vec<f64> = one.values.iter().map(|value| value.ln()).collect();
        let middle = mean(&logs);
        let sign = if one.higher_is_better { -1.0 } else { 1.0 };
        let value = |weights: &[f64; 10]| {
            let off: f64 = weights.iter().zip(&logs).map(|(w, log)| w * (log - middle)).sum();
            (middle + off + sign * slower.ln()).exp()
        };
        Series {
            cell: Some(one.cell),
            load: one.load.clone(),
            figure: one.figure.clone(),
            higher_is_better: one.higher_is_better,
            values: weights.iter().map(value).collect(),
            times_s: (0..n).map(|at| from_s + 10.0 * at as f64).collect(),
        }
    });
    Subject::of_series("", series.collect())
}

/// The start of the second run, in seconds. With `IN_TURN`, its repeats alternate with those of a first run that starts
/// at 0. With `AFTER`, it starts after the first run has ended.
const IN_TURN: f64 = 5.0;
const AFTER: f64 = 1e4;

fn weights_of_one(draw: Draw, rng: &mut ChaCha8Rng) -> [f64; 10] {
    match draw {
        Draw::OneOfTen => {
            let mut weights = [0.0; 10];
            weights[seed::below(rng, 10) as usize] = 1.0;
            weights
        }
        Draw::Normal => std::array::from_fn(|_| seed::normal(rng) / 3.0),
    }
}

/// The share of comparisons that report a better figure, and the share that report a worse one.
fn seen(engine: &str, draw: Draw, repeats: usize, slower: f64, trials: u64) -> [f64; 2] {
    let measured: Repeats = serde_json::from_str(engine).expect("repeats");
    let mut found = [0.0, 0.0];
    for trial in 0..trials {
        let mut rng = seed::rng(trial, &["compare", &repeats.to_string()]);
        let mut one = |how| run_of(&measured, draw, &mut rng, repeats, how);
        let (a, b) = (one((1.0, 0.0)), one((slower, IN_TURN)));
        let options = Options { seed: trial, ..Options::default() };
        let rows = compare(&a, &b, options).expect("figures in common").rows;
        for (found, verdict) in found.iter_mut().zip([RowVerdict::Better, RowVerdict::Worse]) {
            let is_seen = rows.iter().any(|row| row.verdict == verdict);
            *found += f64::from(u8::from(is_seen)) / trials as f64;
        }
    }
    found
}

/// A simulated run of llama.cpp.
fn run(name: &str, rng: &mut ChaCha8Rng, repeats: usize, how: (f64, f64)) -> Subject {
    let measured: Repeats = serde_json::from_str(LLAMA_CPP).expect("repeats");
    let run = run_of(&measured, Draw::Normal, rng, repeats, how);
    Subject { name: name.to_owned(), ..run }
}

fn verdicts(repeats: usize, slower: f64, trial: u64) -> Vec<RowVerdict> {
    let mut rng = seed::rng(trial, &["compare", &repeats.to_string()]);
    let mut one = |name, how| run(name, &mut rng, repeats, how);
    let (a, b) = (one("a", (1.0, 0.0)), one("b", (slower, IN_TURN)));
    let compared = compare(&a, &b, Options::default()).expect("figures in common");
    compared.rows.iter().map(|row| row.verdict).collect()
}

/// The number of simulated comparisons from which each share is computed.
const TRIALS: u64 = 200;

fn differs(verdict: &RowVerdict) -> bool {
    matches!(verdict, RowVerdict::Better | RowVerdict::Worse)
}

#[test]
fn a_server_compared_with_itself_differs_in_at_most_one_of_twenty_comparisons() {
    let cases = [
        (LLAMA_CPP, Draw::Normal, 5),
        (LLAMA_CPP, Draw::OneOfTen, 5),
        (LLAMA_CPP, Draw::Normal, 4),
        (LLAMA_CPP, Draw::OneOfTen, 8),
        (VLLM, Draw::Normal, 5),
        (VLLM, Draw::OneOfTen, 5),
    ];
    // Each case runs in its own thread. `.ci/long/comparisons` runs more comparisons.
    std::thread::scope(|scope| {
        for (engine, draw, repeats) in cases {
            scope.spawn(move || {
                let alarms: f64 = seen(engine, draw, repeats, 1.0, TRIALS).iter().sum();
                println!("{draw:?}, {repeats} repeats: {alarms:.3} of comparisons with itself");
                // The limit is 2.25 standard deviations above 5 %.
                let most = 0.05 + 2.25 * (0.05 * 0.95 / TRIALS as f64).sqrt();
                assert!(alarms <= most, "{draw:?}, {repeats} repeats: {alarms}");
            });
        }
    });
}

#[test]
fn a_slowdown_of_5_percent_is_found_with_5_repeats_in_four_of_five_comparisons() {
    for draw in [Draw::Normal, Draw::OneOfTen] {
        let [better, worse] = seen(LLAMA_CPP, draw, 5, 1.05, TRIALS);
        println!("{draw:?}: found in {worse:.3}, reported as the opposite in {better:.3}");
        assert!(worse >= 0.8, "{draw:?}: {worse}");
        assert!(better <= 0.05, "{draw:?}: {better}");
    }
}

#[test]
fn with_too_few_repeats_the_verdict_says_how_many_are_needed() {
    for verdict in verdicts(1, 1.5, 1).into_iter().chain(verdicts(3, 1.5, 1)) {
        assert!(matches!(verdict, RowVerdict::NotEnoughData { needed } if needed >= 4));
    }
}

#[test]
fn runs_measured_one_after_the_other_are_better_or_worse_only_if_the_drift_is_bounded() {
    let mut rng = seed::rng(1, &[]);
    let (a, b) = (run("a", &mut rng, 5, (1.0, 0.0)), run("b", &mut rng, 5, (1.3, AFTER)));
    let compared = compare(&a, &b, Options::default()).unwrap();
    assert_eq!(compared.design, Design::BeforeAfter { drift_is_bounded: false });
    let of = |wanted: RowVerdict| compared.rows.iter().filter(|row| row.verdict == wanted).count();
    assert!(of(RowVerdict::Differs) > 20, "{}", of(RowVerdict::Differs));
    assert!(!compared.rows.iter().any(|row| differs(&row.verdict)));
    // Twenty repeats of the baseline show how much it drifts by itself. The difference is larger than this drift.
    let (a, b) = (run("a", &mut rng, 20, (1.0, 0.0)), run("b", &mut rng, 5, (1.3, AFTER)));
    let compared = compare(&a, &b, Options::default()).unwrap();
    assert_eq!(compared.design, Design::BeforeAfter { drift_is_bounded: true });
    assert!(compared.rows.iter().any(|row| row.verdict == RowVerdict::Worse));
    // Without the times of the repeats, the design is unknown.
    let mut unknown = b.clone();
    unknown.series.iter_mut().for_each(|series| series.times_s.clear());
    assert_eq!(compare(&a, &unknown, Options::default()).unwrap().design, Design::Unknown);
}

#[test]
fn runs_measured_alternately_are_merged_and_their_rounds_counted() {
    let mut rng = seed::rng(2, &[]);
    let mut many = |from_s: f64, slower: f64| {
        let runs = (0..6).map(|at| {
            let run = run("", &mut rng, 1, (slower, from_s + 100.0 * f64::from(at)));
            Subject { identity: Some(vec![at.to_string()]), ..run }
        });
        Subject::of_several("runs", runs.collect())
    };
    let (a, b) = (many(0.0, 1.0), many(50.0, 1.3));
    assert_eq!(a.runs().as_deref(), Some("0 1 2 3 4 5"));
    let compared = compare(&a, &b, Options::default()).unwrap();
    assert_eq!(compared.design, Design::Alternated { rounds: 6 });
    assert!(compared.rows.iter().any(|row| row.verdict == RowVerdict::Worse));
    assert!(compared.rows[0].over_time[0].is_some());
}

#[test]
fn rows_compared_with_published_figures_have_no_interval() {
    let mut rng = seed::rng(3, &[]);
    let mut one = |repeats| run("a", &mut rng, repeats, (1.0, 0.0));
    let published = Subject { is_fixed: true, ..one(1) };
    for other in [one(1), one(5)] {
        let compared = compare(&published, &other, Options::default()).unwrap();
        assert!(compared.rows.iter().all(|row| row.verdict == RowVerdict::NoInterval));
    }
}

#[test]
fn figures_without_variation_differ_significantly_unless_they_are_equal() {
    let fixed = |name: &str, value: f64| {
        let from_s = if name == "a" { 0.0 } else { IN_TURN };
        let mut run = run(name, &mut seed::rng(1, &[]), 5, (1.0, from_s));
        run.series.iter_mut().for_each(|series| series.values = vec![value; 5]);
        run
    };
    let same = compare(&fixed("a", 10.0), &fixed("b", 10.0), Options::default()).unwrap();
    assert!(same.rows.iter().all(|row| row.verdict == RowVerdict::NoDifference));
    let other = compare(&fixed("a", 10.0), &fixed("b", 10.1), Options::default()).unwrap();
    assert!(other.rows.iter().all(|row| differs(&row.verdict) && row.difference_pct > 0.99));
}

#[test]
fn the_interval_decides_if_a_gate_condition_is_met_missed_or_undecided() {
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
        design: Design::Alternated { rounds: 5 },
        over_time: [None; 2],
        verdict: RowVerdict::NoDifference,
    };
    let comparison = |row: Row| Comparison {
        baseline: "a".to_owned(),
        contender: "b".to_owned(),
        options: Options::default(),
        design: Design::Alternated { rounds: 5 },
        rows: vec![row],
        ..Comparison::default()
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
    // Too few repeats cannot show that a condition is met.
    for (difference_pct, met) in [(4.9, Met::Undecided), (9.0, Met::No)] {
        let verdict = RowVerdict::NotEnoughData { needed: 4 };
        let few = Row { verdict, repeats: [2, 2], ..row(difference_pct, None) };
        assert_eq!(judge(&conditions, &comparison(few)).unwrap()[0].met, met);
    }
    // A stored baseline is always older. The gate fails, and states that the runs were not measured in turn.
    let older = Row { design: Design::Unknown, ..row(9.0, Some([6.0, 12.0])) };
    let told = judge(&conditions, &comparison(older)).unwrap();
    assert_eq!((told[0].met, told[0].measured_in_turn), (Met::No, false));
    // Among many rows, an interval may exceed a limit by chance, so the condition is undecided. A condition that
    // requires a gain fails nevertheless.
    let by_chance = || Row { p: Some(0.3), ..row(9.0, Some([6.0, 12.0])) };
    assert_eq!(judge(&conditions, &comparison(by_chance())).unwrap()[0].met, Met::Undecided);
    let gain = parse_gate("ttft_p99 < -5%").unwrap();
    assert_eq!(judge(&gain, &comparison(by_chance())).unwrap()[0].met, Met::No);
    let unknown = parse_gate("ttft_p9<5%").unwrap();
    let told = judge(&unknown, &comparison(row(0.0, None))).unwrap_err().to_string();
    assert!(told.contains("did you mean `ttft_p99`?"), "{told}");
    assert!(told.contains("the compared metrics are ttft_p99"), "{told}");
    // A known figure that the comparison lacks is not treated as a typing error.
    let absent = parse_gate("tpot_p99<5%").unwrap();
    let mut other = comparison(row(0.0, None));
    let told = judge(&absent, &other).unwrap_err().to_string();
    assert!(told.contains("tpot_p99 is not compared: neither"), "{told}");
    other.unmatched = vec![Unmatched {
        figures: vec!["tpot_p50".to_owned(), "tpot_p99".to_owned()],
        load: "all at once".to_owned(),
        cells: Vec::new(),
        only_in: "b".to_owned(),
        no_such_load_in: None,
    }];
    let told = judge(&absent, &other).unwrap_err().to_string();
    assert!(told.contains("only b has it") && !told.contains("mean"), "{told}");
    // A figure that only an imported source states is not treated as a typing error either.
    other.unmatched[0].figures.push("ttft_stated".to_owned());
    let stated = parse_gate("ttft_stated<5%").unwrap();
    let told = judge(&stated, &other).unwrap_err().to_string();
    assert!(told.contains("ttft_stated is not compared: only b has it"), "{told}");
    assert_eq!(parse_gate("ttft_p99<5,<5%,x>-1%").unwrap_err().len(), 2);
}
