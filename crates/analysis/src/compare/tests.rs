//! Comparisons of runs whose noise is that of ten repeats of real engines: how often they see what
//! is not there, and what is.

use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::*;
use inferometer_stats::seed;

/// A real engine, measured ten times over.
const LLAMA_CPP: &str = include_str!("../../fixtures/repeats/llama-cpp.json");
/// One whose repeats scatter by a tenth and more, at which no five repeats show 5 %.
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

/// How repeats that were never measured are made of those that were.
#[derive(Clone, Copy, Debug)]
enum Draw {
    /// Each is one of the ten, with all its figures; cells apart, as they were measured apart.
    OneOfTen,
    /// Each is a sum of the ten with normal weights, of their own covariance over all figures.
    Normal,
}

/// A run of so many repeats of the engine; every latency `slower` times as long.
fn run_of(measured: &Repeats, draw: Draw, rng: &mut ChaCha8Rng, n: usize, slower: f64) -> Subject {
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
        }
    });
    let series = series.collect();
    let (conditions, facts, identity, reservations) = Default::default();
    Subject {
        name: String::new(),
        series,
        conditions,
        facts,
        identity,
        reservations,
        kind_of_prompts: None,
    }
}

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

/// The share of comparisons in which any figure is seen to be better, and to be worse. Without
/// intervals, which change no verdict of these.
fn seen(engine: &str, draw: Draw, repeats: usize, slower: f64, trials: u64) -> [f64; 2] {
    let measured: Repeats = serde_json::from_str(engine).expect("repeats");
    let mut found = [0.0, 0.0];
    for trial in 0..trials {
        let mut rng = seed::rng(trial, &["compare", &repeats.to_string()]);
        let mut one = |slower| run_of(&measured, draw, &mut rng, repeats, slower).series;
        let mut pairs: Vec<(Series, Series)> = one(1.0).into_iter().zip(one(slower)).collect();
        pairs.extend(subject::overall(&pairs));
        let p = permutation::corrected(&pairs, trial);
        let verdicts: Vec<_> =
            pairs.iter().zip(p).map(|((a, b), p)| beyond_chance(a, b, p)).collect();
        for (found, verdict) in found.iter_mut().zip([RowVerdict::Better, RowVerdict::Worse]) {
            *found += f64::from(u8::from(verdicts.contains(&Some(verdict)))) / trials as f64;
        }
    }
    found
}

/// A run of llama.cpp.
fn run(name: &str, rng: &mut ChaCha8Rng, repeats: usize, slower: f64) -> Subject {
    let measured: Repeats = serde_json::from_str(LLAMA_CPP).expect("repeats");
    let run = run_of(&measured, Draw::Normal, rng, repeats, slower);
    Subject { name: name.to_owned(), ..run }
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
    for (engine, draw, repeats, trials) in [
        (LLAMA_CPP, Draw::Normal, 5, 1000),
        (LLAMA_CPP, Draw::OneOfTen, 5, 1000),
        (LLAMA_CPP, Draw::Normal, 4, 200),
        (VLLM, Draw::Normal, 5, 1000),
        (VLLM, Draw::OneOfTen, 5, 1000),
    ] {
        let alarms: f64 = seen(engine, draw, repeats, 1.0, trials).iter().sum();
        println!("{draw:?}, {repeats} repeats: {alarms:.3} of comparisons with itself");
        // Two and a quarter standard deviations above 5 %.
        let most = 0.05 + 2.25 * (0.05 * 0.95 / trials as f64).sqrt();
        assert!(alarms <= most, "{draw:?}, {repeats} repeats: {alarms}");
    }
}

#[test]
fn a_slowdown_of_5_percent_is_found_with_5_repeats_in_four_of_five_comparisons() {
    for draw in [Draw::Normal, Draw::OneOfTen] {
        let [better, worse] = seen(LLAMA_CPP, draw, 5, 1.05, 200);
        println!("{draw:?}: found in {worse:.3}, taken for the contrary in {better:.3}");
        assert!(worse >= 0.8, "{draw:?}: {worse}");
        assert!(better <= 0.05, "{draw:?}: {better}");
    }
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
    // Among many rows an interval lies beyond a limit by chance; not beyond what a gain must be.
    let by_chance = || Row { p: Some(0.3), ..row(9.0, Some([6.0, 12.0])) };
    assert_eq!(judge(&conditions, &comparison(by_chance())).unwrap()[0].met, Met::Undecided);
    let gain = parse_gate("ttft_p99 < -5%").unwrap();
    assert_eq!(judge(&gain, &comparison(by_chance())).unwrap()[0].met, Met::No);
    let unknown = parse_gate("ttft_p9<5%").unwrap();
    let told = judge(&unknown, &comparison(row(0.0, None))).unwrap_err().to_string();
    assert!(told.contains("did you mean `ttft_p99`?"), "{told}");
    assert!(told.contains("compared are ttft_p99"), "{told}");
    // A figure that there is, and that a table has not, is no slip of the pen.
    let absent = parse_gate("tpot_p99<5%").unwrap();
    let mut other = comparison(row(0.0, None));
    let told = judge(&absent, &other).unwrap_err().to_string();
    assert!(told.contains("tpot_p99 is not compared: neither"), "{told}");
    other.unmatched = vec![Unmatched {
        figures: vec!["tpot_p50".to_owned(), "tpot_p99".to_owned()],
        load: "all at once".to_owned(),
        cells: Vec::new(),
        only_in: "b".to_owned(),
    }];
    let told = judge(&absent, &other).unwrap_err().to_string();
    assert!(told.contains("only b has it there") && !told.contains("mean"), "{told}");
    // Nor is one that only a source states, and this program makes of no run.
    other.unmatched[0].figures.push("ttft_stated".to_owned());
    let stated = parse_gate("ttft_stated<5%").unwrap();
    let told = judge(&stated, &other).unwrap_err().to_string();
    assert!(told.contains("ttft_stated is not compared: only b has it there"), "{told}");
    assert_eq!(parse_gate("ttft_p99<5,<5%,x>-1%").unwrap_err().len(), 2);
}

/// A run with these figures of these cells.
fn with(name: &str, identity: &str, figures: &[(u32, &str, &str, &[f64])]) -> Subject {
    let series = figures.iter().map(|&(length, load, figure, values)| Series {
        cell: Some(CellPlan { input_length: length, output_length: 8 }),
        load: load.to_owned(),
        figure: figure.to_owned(),
        higher_is_better: true,
        values: values.to_vec(),
    });
    let (conditions, facts) = Default::default();
    let (identity, reservations) = (Some(identity.to_owned()), vec!["is suspect".to_owned()]);
    Subject {
        name: name.to_owned(),
        series: series.collect(),
        conditions,
        facts,
        identity,
        reservations,
        kind_of_prompts: None,
    }
}

#[test]
fn prompts_of_another_salt_are_not_taken_for_another_workload() {
    let figures = [(1, TABLE_LOAD, "requests_per_s", &[1.0][..])];
    let run = |name: &str, plan: &str, kind: Option<&str>| {
        let mut run = with(name, name, &figures);
        run.reservations.clear();
        run.conditions.insert("workload", format!("{name}{}", "0".repeat(64)));
        run.facts = [("salt", name), ("plan", plan)].map(|(k, v)| (k.into(), v.into())).into();
        run.kind_of_prompts = kind.map(str::to_owned);
        run
    };
    let a = run("a", "plan", Some("random"));
    for (b, is_other) in [
        (run("b", "plan", None), false),
        (run("b", "other plan", Some("random")), false),
        (run("b", "other plan", Some("sharegpt")), true),
        (run("b", "other plan", None), true),
    ] {
        let found = compare(&a, &b, Options::default()).unwrap();
        let told = format!("{:?}", found.differing);
        assert_eq!(found.warnings.len(), usize::from(is_other), "{:?}", found.warnings);
        assert_eq!(told.contains("other prompts of the same kind (salt)"), !is_other, "{told}");
        assert!(!told.contains(&"0".repeat(13)), "{told}");
    }
    // One salt, and still other prompts: that is another workload.
    let mut b = run("b", "plan", Some("random"));
    b.facts.insert("salt".to_owned(), "a".to_owned());
    let found = compare(&a, &b, Options::default()).unwrap();
    assert!(found.warnings[0].starts_with("workload differs"), "{:?}", found.warnings);
}

#[test]
fn what_one_of_the_two_has_alone_is_told_by_place_and_not_by_figure() {
    let both = (1, TABLE_LOAD, "requests_per_s", &[1.0][..]);
    let a: Vec<_> = [2, 3, 4, 5, 6]
        .iter()
        .flat_map(|&cell| {
            ["ttft_p50", "ttft_p99"].map(|name| (cell, "one by one", name, &[1.0][..]))
        })
        .chain([both])
        .collect();
    let b = [both, (1, "all at once", "e2e_p50", &[1.0][..])];
    let found = compare(&with("a", "a", &a), &with("b", "b", &b), Options::default()).unwrap();
    let told: Vec<String> = found.unmatched.iter().map(Unmatched::to_string).collect();
    assert_eq!(
        told,
        [
            "5 cells, one by one: only a has ttft_p50, ttft_p99",
            "1 x 8, all at once: only b has e2e_p50"
        ]
    );
}

#[test]
fn a_run_against_itself_gets_one_warning_of_it_and_its_reservations_once() {
    let figures = [(1, TABLE_LOAD, "requests_per_s", &[1.0][..])];
    let warnings =
        |one: &Subject, other: &Subject| compare(one, other, Options::default()).unwrap().warnings;
    let told = warnings(&with("a", "run", &figures), &with("latest", "run", &figures));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("against itself"), "{told:?}");
    let told = warnings(&with("a", "run", &figures), &with("b", "other", &figures));
    assert!(told.len() == 2 && !told[0].contains("itself"), "{told:?}");
}
