//! Plays the procedure with planted figures.

use std::time::Duration;

use inferometer_model::metrics::slo::quantity;
use inferometer_model::stats::seed;
use inferometer_plan::ab::AbFigure;

use super::*;

/// The candidates of these names, the figure that decides, and the rounds of the final.
fn tune(names: &[&str], figure: &str, budget_s: Option<u64>) -> Tune {
    let (metric, statistic) = quantity(figure, figure).unwrap();
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let objectives = vec!["ttft_p99<1s".to_owned()];
    let budget = budget_s.map(Duration::from_secs);
    Tune::new(names, AbFigure { metric, statistic }, objectives, (6, budget))
}

/// Measures rounds of 10 s a run until the end. Returns the members of each round.
fn play(
    tune: &mut Tune,
    measure: &mut dyn FnMut(usize) -> Result<TuneReading, String>,
) -> Vec<Vec<usize>> {
    let (mut rounds, mut spent_s) = (Vec::new(), 0);
    loop {
        let members = tune.next(Duration::from_secs(spent_s));
        if members.is_empty() {
            return rounds;
        }
        for &at in &members {
            tune.add(at, measure(at), Some(10.0));
            spent_s += 10;
        }
        rounds.push(members);
    }
}

fn reading(value: f64, meets: bool) -> Result<TuneReading, String> {
    Ok(TuneReading { value, meets })
}

/// Values whose logarithms vary by this standard deviation.
fn noisy(
    values: &[f64],
    deviation: f64,
    seed: u64,
) -> impl FnMut(usize) -> Result<TuneReading, String> {
    let mut rng = seed::rng(seed, &["tune"]);
    move |at| reading(values[at] * (deviation * seed::normal(&mut rng)).exp(), true)
}

#[test]
fn the_better_half_stays_after_each_stage_and_all_pairs_of_the_final_are_compared() {
    let mut eight = tune(&["a", "b", "c", "d", "e", "f", "g"], "requests_per_s", None);
    let values = [10.0, 1.0, 9.0, 12.0, 5.0, 11.9, 12.0, 2.0];
    assert_eq!(eight.most_runs(), 2 * 8 + 2 * 5 + 6 * 3);
    let rounds = play(&mut eight, &mut noisy(&values, 0.001, 1));
    let members: Vec<usize> = rounds.iter().map(Vec::len).collect();
    assert_eq!(members, [8, 8, 5, 5, 3, 3, 3, 3, 3, 3]);
    let answer = eight.answer();
    let status: Vec<TuneStatus> = answer.candidates.iter().map(|one| one.status).collect();
    use TuneStatus::{Best, LeftOut, Tie, Worse};
    assert_eq!(status[..3], [Worse, LeftOut, LeftOut]);
    assert!(matches!([status[3], status[6]], [Best, Tie] | [Tie, Best]), "{answer:?}");
    assert_eq!([status[4], status[5], status[7]], [LeftOut; 3]);
    let best = answer.candidates.iter().find(|one| one.status == Best).unwrap();
    let [low, high] = best.ratio_ci.unwrap();
    assert!(low > 1.19 && high < 1.21 && answer.is_better, "{answer:?}");
    assert!(
        answer.sentence.contains("requests_per_s is 20.1 % higher (+19."),
        "{}",
        answer.sentence
    );
    assert!(
        answer.sentence.contains("is a tie with it. ttft_p99<1s met by"),
        "{}",
        answer.sentence
    );
    let why = answer.candidates[1].why.as_deref().unwrap();
    assert!(
        why.starts_with("after round 2: requests_per_s 91.") && why.contains(" % lower than "),
        "{why}"
    );
}

#[test]
fn a_planted_tie_is_seldom_broken_and_a_planted_best_is_found() {
    let trials = 400;
    let (mut broken, mut found) = (0, 0);
    for seed in 0..trials {
        let names = ["a", "b", "c", "d", "e"];
        let mut equal = tune(&names, "e2e_p50", None);
        play(&mut equal, &mut noisy(&[100.0; 6], 0.05, seed));
        let answer = equal.answer();
        let is_worse = |one: &TunedCandidate| one.status == TuneStatus::Worse;
        broken += usize::from(answer.is_better || answer.candidates.iter().any(is_worse));
        let mut one = tune(&names, "e2e_p50", None);
        play(&mut one, &mut noisy(&[100.0, 110.0, 100.0, 82.0, 97.0, 130.0], 0.05, seed));
        let answer = one.answer();
        found += usize::from(answer.best.as_deref() == Some("c") && answer.is_better);
    }
    // 5 % of the ties may be broken: 20 of 400; more than 31 are a chance of 1 %.
    assert!(broken <= 31, "{broken} of {trials}");
    assert!(found >= 380, "{found} of {trials}");
}

#[test]
fn what_fails_or_misses_the_objectives_is_a_result_and_stands_behind() {
    let mut some = tune(&["fast", "none", "good"], "requests_per_s", None);
    let rounds = play(&mut some, &mut |at| match at {
        0 => reading(10.0, true),
        1 => reading(20.0, false),
        2 => Err("no memory".to_owned()),
        _ => reading(12.0, true),
    });
    assert_eq!(rounds[..2], [vec![0, 1, 2, 3], vec![0, 1, 3]]);
    assert_eq!(rounds[2..], vec![vec![0, 3]; 6]);
    let answer = some.answer();
    assert_eq!((answer.best.as_deref(), answer.is_better), (Some("good"), true));
    assert_eq!(
        answer.candidates[1].why.as_deref(),
        Some("after round 2: it missed the objectives")
    );
    assert_eq!(answer.candidates[2].why.as_deref(), Some("no memory"));
    assert!(
        answer.sentence.contains("`good` in 6 of 6 rounds, by the default in 6 of 6"),
        "{}",
        answer.sentence
    );

    let mut none = tune(&["a"], "requests_per_s", None);
    play(&mut none, &mut |at| if at == 0 { reading(1.0, true) } else { Err("no".to_owned()) });
    let answer = none.answer();
    assert!(answer.best.is_none() && answer.sentence.starts_with("No answer"), "{answer:?}");

    // If the default fails in the final, what is left is not compared with it.
    let mut late = tune(&["a", "b"], "requests_per_s", None);
    let mut runs = 0;
    play(&mut late, &mut |at| {
        runs += 1;
        if at == 0 && runs > 12 { Err("no".to_owned()) } else { reading(10.0 + at as f64, true) }
    });
    let answer = late.answer();
    assert!(answer.sentence.starts_with("`b` is best, without a default"), "{answer:?}");
    assert!(answer.candidates.iter().all(|one| one.ratio.is_none()), "{answer:?}");

    // Without a default that starts, the others are compared with each other.
    let mut rest = tune(&["a", "b"], "requests_per_s", None);
    play(&mut rest, &mut |at| {
        if at == 0 { Err("no".to_owned()) } else { reading(at as f64, true) }
    });
    let answer = rest.answer();
    assert!(!answer.is_better && answer.sentence.starts_with("`b` is best, without"), "{answer:?}");
}

#[test]
fn objectives_tell_equal_candidates_apart_only_if_they_differ_in_all_rounds() {
    let mut apart = 0;
    for seed in 0..200 {
        let mut rng = seed::rng(seed, &["met"]);
        let mut equal = tune(&["a"], "requests_per_s", None);
        play(&mut equal, &mut |_| {
            reading((0.05 * seed::normal(&mut rng)).exp(), seed::unit(&mut rng) < 0.5)
        });
        let answer = equal.answer();
        apart += usize::from(answer.is_better || answer.ties.is_empty());
    }
    // 5 % of 200 are 10; more than 17 are a chance of 1 %.
    assert!(apart <= 17, "{apart}");
    let mut slow = tune(&["a"], "requests_per_s", None);
    play(&mut slow, &mut |at| reading(2.0 - at as f64, at == 1));
    let answer = slow.answer();
    assert_eq!((answer.best.as_deref(), answer.is_better), (Some("a"), true), "{answer:?}");
}

#[test]
fn the_budget_shortens_the_stages_first_and_then_the_final() {
    let names = ["a", "b", "c", "d", "e"];
    let values = [10.0, 11.0, 12.0, 14.2, 14.6, 15.0];
    for (budget_s, members) in [
        (1000, vec![6, 6, 4, 4, 4, 4, 4, 4]),
        (310, vec![6, 6, 4, 4, 4, 4]),
        // After one round of 60 s, another one and three rounds of the final would need 240 s.
        (239, vec![6, 4, 4, 4, 4]),
        (130, vec![6, 4]),
        (10, vec![6]),
    ] {
        let mut five = tune(&names, "requests_per_s", Some(budget_s));
        let rounds = play(&mut five, &mut noisy(&values, 0.001, 2));
        assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), members, "{budget_s}");
        let sentence = five.answer().sentence;
        assert_eq!(sentence.contains("(--budget)"), budget_s < 1000, "{sentence}");
        assert_eq!(sentence.starts_with("No answer"), budget_s < 200, "{sentence}");
    }
}

#[test]
fn much_worse_predictions_are_not_measured_but_half_of_them_and_what_is_unknown_are() {
    let of = |value| Some(TuneReading { value, meets: true });
    let missing = Some(TuneReading { value: 99.0, meets: false });
    for (predicted, measured) in [
        (vec![of(10.0), of(5.0), of(9.9), of(1.0), None], vec![0, 1, 3, 5]),
        (vec![of(10.0), of(9.5), of(9.9), of(9.8), None], vec![0, 1, 2, 3, 4, 5]),
        (vec![of(10.0), missing, of(9.9), of(9.8), None], vec![0, 1, 3, 4, 5]),
        (vec![None; 5], vec![0, 1, 2, 3, 4, 5]),
        (vec![of(1.0), of(9.0), None], vec![0, 1, 2, 3]),
    ] {
        let names = &["a", "b", "c", "d", "e"][..predicted.len()];
        let mut some = tune(names, "requests_per_s", None);
        some.leave_out_predicted(&predicted);
        assert_eq!(some.next(Duration::ZERO), measured, "{predicted:?}");
    }
}
