//! Runs comparisons on simulated blocks with a known difference: tests how often a comparison is wrong, what it finds,
//! and what ends it.

use inferometer_analysis::ab::{
    Ab, AbAnswer, AbDecision, AbEnding, AbSide, Block, BlockFold, FEWEST_PAIRS, NextStep, Side,
    Sides, estimate, order,
};
use inferometer_analysis::compare::{RowVerdict, parse_gate};
use inferometer_analysis::verdict::Met;
use inferometer_model::cell::CellPlan;
use inferometer_model::fixture::steady;
use inferometer_model::load::{Bound, PassPlan};
use inferometer_model::metrics::Timeline;
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::stats::seed;
use inferometer_model::time::Nanos;
use inferometer_plan::ab::{AbFigure, AbPlan};

mod blocks;

const CELL: CellPlan = CellPlan { input_length: 64, output_length: 4 };

fn figures(names: &[&str]) -> Vec<AbFigure> {
    let named = |name: &&str| {
        let (metric, statistic) =
            inferometer_model::metrics::slo::quantity(name, name).expect("a figure");
        AbFigure { metric, statistic }
    };
    names.iter().map(named).collect()
}

fn plan(names: &[&str]) -> AbPlan {
    AbPlan {
        figures: figures(names),
        minimal_effect: 0.05,
        uncounted: 8,
        max_requests: 32 * 2 * 100,
        max_time: None,
    }
}

fn block(pair: u32, at_s: f64, values: Vec<Option<f64>>) -> Block {
    let started = Nanos((at_s * 1e9) as u64);
    let ended = Nanos(started.0 + 1_000_000_000);
    Block { pair, started, ended, requests: 32, complete: 32, values }
}

/// Simulates how the speeds of two servers vary from block to block. Part of the variation is common to both servers
/// (the machine); the rest is separate for each server.
struct World {
    rng: rand_chacha::ChaCha8Rng,
    /// The correlation of consecutive blocks: of the machine's state, and of each server's state.
    alike: [f64; 2],
    deviations: [f64; 2],
    machine: f64,
    servers: [f64; 2],
}

impl World {
    fn new(trial: u64, alike: [f64; 2], deviations: [f64; 2]) -> Self {
        let mut rng = seed::rng(trial, &["ab"]);
        let mut draw = || seed::normal(&mut rng);
        let (machine, servers) = (draw(), [draw(), draw()]);
        Self { rng, alike, deviations, machine, servers }
    }

    /// The logarithm of the figure in the next block of a side.
    fn next(&mut self, side: Side) -> f64 {
        let mut step = |state: f64, alike: f64| {
            alike * state + (1.0 - alike * alike).sqrt() * seed::normal(&mut self.rng)
        };
        self.machine = step(self.machine, self.alike[0]);
        let own = step(self.servers[side.index()], self.alike[1]);
        self.servers[side.index()] = own;
        self.deviations[0] * self.machine + self.deviations[1] * own
    }
}

fn names() -> [AbSide; 2] {
    ["A", "B"].map(|name| AbSide { name: name.to_owned(), run_id: String::new() })
}

fn given<'a>(sides: &'a [AbSide; 2], blocks: [&'a [Block]; 2], order: (u64, &'a str)) -> Sides<'a> {
    Sides {
        sides,
        one_server: false,
        blocks,
        order,
        gate: &[],
        out_of_time: false,
        without_noise: false,
    }
}

/// Runs a comparison of two servers. The figure of B is `effect` times the figure of A.
fn played(plan: &AbPlan, trial: u64, mut world: World, effect: f64) -> AbAnswer {
    let pass = PassPlan::closed(8, Bound::requests(32));
    let salt = trial.to_string();
    let mut comparison = Ab::new(plan, 32, 1_000, (trial, &salt));
    let mut blocks: [Vec<Block>; 2] = Default::default();
    let mut at = 0.0;
    while let NextStep::Pair { number, order } = comparison.next() {
        for side in order {
            let log = world.next(side) + if side == Side::B { effect.ln() } else { 0.0 };
            let values = plan.figures.iter().map(|_| Some(100.0 * log.exp())).collect();
            blocks[side.index()].push(block(number, at, values));
            at += 1.0;
        }
        let [a, b] = &blocks;
        comparison.add_pair([&a[a.len() - 1], &b[b.len() - 1]]);
    }
    let sides = names();
    let given = given(&sides, [&blocks[0], &blocks[1]], (trial, &salt));
    AbAnswer::of(plan, (CELL, &pass), 1_000, given)
}

/// Runs 400 comparisons. Returns how many found a difference, how many found no difference, and the 80 % quantile of
/// the number of pairs.
fn trials(alike: [f64; 2], deviations: [f64; 2], effect: f64) -> (usize, usize, u32) {
    let plan = plan(&["output_tokens_per_s"]);
    let answers =
        (0..400).map(|trial| played(&plan, trial, World::new(trial, alike, deviations), effect));
    let (mut differ, mut same, mut pairs) = (0, 0, Vec::new());
    for answer in answers {
        match answer.decision {
            AbDecision::AFaster | AbDecision::BFaster => differ += 1,
            AbDecision::NoDifference => same += 1,
            AbDecision::Undecided => {}
        }
        pairs.push(answer.pairs);
    }
    pairs.sort_unstable();
    (differ, same, pairs[320])
}

#[test]
fn sequential_comparisons_of_a_server_with_itself_find_a_difference_in_at_most_5_percent() {
    // At most 20 of 400 are allowed. If each server drifts more by itself, the rate is higher: see docs/ab.md.
    for (what, alike, deviations, most) in [
        ("independent blocks", [0.0, 0.0], [0.0, 0.03], 20),
        ("a machine that drifts", [0.9, 0.0], [0.05, 0.01], 20),
        ("a machine that drifts far", [0.98, 0.0], [0.2, 0.02], 20),
        ("each server drifts by itself", [0.0, 0.3], [0.0, 0.03], 20),
    ] {
        let (differ, _, _) = trials(alike, deviations, 1.0);
        assert!(differ <= most, "{what}: {differ} of 400");
    }
}

#[test]
fn a_difference_of_5_percent_is_found_in_few_pairs_despite_drift() {
    for effect in [1.05, 1.0 / 1.05] {
        let (differ, same, pairs) = trials([0.9, 0.0], [0.05, 0.01], effect);
        assert!(differ >= 392 && same <= 8, "{effect}: {differ} found, {same} missed of 400");
        assert!(pairs <= 18, "{effect}: {pairs} pairs");
    }
}

#[test]
fn equal_servers_and_a_negligible_difference_give_the_answer_no_difference() {
    let (_, same, _) = trials([0.9, 0.0], [0.05, 0.01], 1.0);
    assert!(same >= 380, "{same} of 400");
    let (differ, same, _) = trials([0.0, 0.0], [0.0, 0.03], 1.002);
    assert!(differ <= 20 && same >= 370, "{differ}, {same}");
}

#[test]
fn the_interval_covers_the_true_value_simultaneously_at_all_numbers_of_pairs() {
    let mut missed = 0;
    for trial in 0..400 {
        let mut rng = seed::rng(trial, &["interval"]);
        let values: Vec<f64> = (0..200).map(|_| 0.3 + seed::normal(&mut rng)).collect();
        let holds = |n: usize| match estimate(&values[..n], 0.05).and_then(|it| it.ends()) {
            Some([low, high]) => low <= 0.3 && 0.3 <= high,
            None => true,
        };
        missed += usize::from(!(1..=200).all(holds));
    }
    assert!(missed <= 20, "{missed} of 400");
}

#[test]
fn the_interval_ends_where_the_bayes_factor_of_students_t_reaches_its_threshold() {
    // Eight values with mean 1. The squares of their distances from the mean sum to 4. At the end of the interval, the
    // factor is `1 / rate` by definition.
    let values = [0.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 0.0];
    let known = estimate(&values, 0.05).expect("values");
    let half = known.half.expect("ends");
    let widening = (1.0 + known.autocorrelation) / (1.0 - known.autocorrelation);
    let t2 = 8.0 * half.powi(2) / (4.0 / 7.0 * widening);
    let weight: f64 = 1.0 + 8.0 * 0.3;
    let factor = ((1.0 + t2 / 7.0) / (1.0 + t2 / 7.0 / weight)).powi(4) / weight.sqrt();
    assert!((known.mean - 1.0).abs() < 1e-12);
    assert!((factor - 20.0).abs() < 1e-9, "{factor}");
    assert_eq!(estimate(&[1.0], 0.05).expect("a value").half, None);
    assert_eq!(estimate(&[], 0.05), None);
}

#[test]
fn every_two_pairs_start_once_with_each_server_in_an_order_set_by_the_seed() {
    let first = |seed: u64, pair: u32| order(seed, "salt", pair)[0];
    for pair in (1..200).step_by(2) {
        assert_ne!(first(1, pair), first(1, pair + 1), "pair {pair}");
    }
    let with_a = (1..400).step_by(2).filter(|pair| first(1, *pair) == Side::A).count();
    assert!((70..130).contains(&with_a), "{with_a} of 200");
    let all = |seed, salt: &str| (1..40).map(|pair| order(seed, salt, pair)).collect::<Vec<_>>();
    assert_eq!(all(1, "x"), all(1, "x"));
    assert!(all(1, "x") != all(2, "x") && all(1, "x") != all(1, "y"));
}

#[test]
fn a_comparison_ends_with_a_decision_or_at_a_limit_or_if_its_figure_is_missing() {
    let world = || World::new(1, [0.0, 0.0], [0.0, 0.2]);
    let of = |plan: &AbPlan| played(plan, 1, world(), 1.0);
    let short = AbPlan { max_requests: 32 * 2 * 12 + 63, ..plan(&["output_tokens_per_s"]) };
    let answer = of(&short);
    assert_eq!((answer.pairs, answer.ended_by), (12, AbEnding::MaxRequests));
    assert_eq!((answer.decision, answer.requests), (AbDecision::Undecided, 768));
    assert!(answer.needs_pairs.is_some_and(|pairs| pairs > 12), "{answer:?}");
    assert!(answer.sentence.starts_with("Undecided"), "{}", answer.sentence);
    assert!(answer.sentence.contains("requests) are"), "{}", answer.sentence);
    let slow = AbPlan {
        max_time: Some(std::time::Duration::from_secs(7)),
        ..plan(&["output_tokens_per_s"])
    };
    let answer = of(&slow);
    // Each block takes 1 s. The limit of 7 s passes during the fourth pair, which is still completed.
    assert_eq!((answer.pairs, answer.ended_by), (4, AbEnding::MaxTime));
    let mut none = Ab::new(&short, 1, 1_000, (1, ""));
    while let NextStep::Pair { number, .. } = none.next() {
        let without = block(number, 0.0, vec![None]);
        none.add_pair([&without, &without]);
    }
    assert_eq!((none.pairs(), none.next()), (8, NextStep::Ends(AbEnding::NoFigure)));
    let quiet = played(&plan(&["ttft_p50"]), 1, World::new(1, [0.0; 2], [0.0, 0.001]), 1.2);
    assert_eq!((quiet.decision, quiet.pairs), (AbDecision::AFaster, FEWEST_PAIRS as u32));
    assert!(
        quiet.sentence.starts_with("A is faster than B: for B, ttft_p50 is 20."),
        "{}",
        quiet.sentence
    );
}

#[test]
fn secondary_figures_have_wider_intervals_and_do_not_decide_a_comparison() {
    let answer = played(
        &plan(&["output_tokens_per_s", "ttft_p50", "tpot_p50", "e2e_p50"]),
        3,
        World::new(3, [0.0; 2], [0.0, 0.002]),
        1.1,
    );
    let levels: Vec<f64> = answer.figures.iter().map(|figure| figure.level).collect();
    assert!((levels[0] - 0.95).abs() < 1e-12 && (levels[1] - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
    let width =
        |at: usize| answer.figures[at].ratio_ci.map(|[low, high]| high / low).expect("ends");
    assert!(width(1) > width(0), "all have the same values, and only the first one is at 95 %");
    assert!(answer.figures[0].decides && !answer.figures[1].decides);
    // A higher latency is worse, and the row's verdict must be worse too.
    let pass = PassPlan::closed(8, Bound::requests(32));
    let rows = answer.comparison((CELL, &pass)).rows;
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[0].verdict, RowVerdict::Better);
    assert_eq!(rows[1].verdict, RowVerdict::Worse);
}

#[test]
fn a_pair_with_a_missing_block_is_not_counted() {
    let pass = PassPlan::closed(8, Bound::requests(32));
    let ab = plan(&["output_tokens_per_s"]);
    let of = |pair: u32, value: f64| block(pair, f64::from(pair), vec![Some(value)]);
    let a = [of(1, 10.0), of(2, 10.0)];
    let b = [of(1, 11.0)];
    let sides = names();
    let given = given(&sides, [&a, &b], (0, ""));
    let answer = AbAnswer::of(&ab, (CELL, &pass), 100, given);
    assert_eq!((answer.pairs, answer.blocks.len(), answer.requests), (1, 3, 96));
    assert_eq!(answer.ended_by, AbEnding::Interrupted);
    assert!((answer.figures[0].ratio.expect("a ratio") - 1.1).abs() < 1e-12);
    assert_eq!(answer.figures[0].ratio_ci, None);
    assert_eq!(answer.needs_pairs, Some(FEWEST_PAIRS as u64), "the minimum for a decision");
}

#[test]
fn an_interval_that_says_nothing_is_not_told_and_few_pairs_name_the_minimum() {
    let pass = PassPlan::closed(8, Bound::requests(32));
    let ab = plan(&["output_tokens_per_s"]);
    // Another user disturbed three of seven pairs.
    let of = |factors: [f64; 7]| {
        let side = |value: &dyn Fn(usize) -> f64| {
            (0..7)
                .map(|at| block(at as u32 + 1, at as f64, vec![Some(value(at))]))
                .collect::<Vec<_>>()
        };
        let (a, b) = (side(&|_| 10.0), side(&|at| 10.0 * factors[at]));
        let sides = names();
        AbAnswer::of(&ab, (CELL, &pass), 100, given(&sides, [&a, &b], (0, ""))).sentence
    };
    let disturbed = of([0.57, 9.0, 0.57, 0.1, 0.57, 20.0, 0.57]);
    assert!(disturbed.contains("the pairs differ too much for an interval"), "{disturbed}");
    let quiet = of([0.57, 0.58, 0.56, 0.57, 0.57, 0.58, 0.57]);
    assert!(quiet.contains("95 % interval"), "{quiet}");
    for told in [disturbed, quiet] {
        assert!(told.contains("a decision needs at least 8 pairs"), "{told}");
    }
}

#[test]
fn a_gate_stays_undecided_below_the_minimum_number_of_pairs() {
    let pass = PassPlan::closed(8, Bound::requests(32));
    for (pairs, expected) in [(1, Met::Undecided), (7, Met::Undecided), (8, Met::No)] {
        let ab = plan(&["output_tokens_per_s"]);
        let of = |value: f64| -> Vec<Block> {
            let own = |pair| {
                block(pair, f64::from(pair), vec![Some(value * (1.0 + 1e-4 * f64::from(pair % 3)))])
            };
            (1..=pairs).map(own).collect()
        };
        let (a, b) = (of(10.0), of(8.0));
        let sides = names();
        let given = given(&sides, [&a, &b], (0, ""));
        let answer = AbAnswer::of(&ab, (CELL, &pass), 100, given);
        let gate = parse_gate("output_tokens_per_s>-3%").expect("a condition");
        let judged = answer.judged(&gate, (CELL, &pass)).expect("a figure");
        assert_eq!(judged[0].met, expected, "{pairs} pairs");
    }
}

#[test]
fn the_answer_states_how_many_requests_completed_if_some_did_not() {
    let pass = PassPlan::closed(8, Bound::requests(32));
    let of = |value: f64, complete: u64| Block { complete, ..block(1, value, vec![Some(value)]) };
    let (a, b) = ([of(1.0, 32)], [of(2.0, 30)]);
    let sides = names();
    let given = given(&sides, [&a, &b], (0, ""));
    let answer = AbAnswer::of(&plan(&["requests_per_s"]), (CELL, &pass), 100, given);
    assert!(
        answer.sentence.ends_with(" completed: 32 of 32 for A, 30 of 32 for B."),
        "{}",
        answer.sentence
    );
}

#[test]
fn the_answer_no_difference_needs_at_least_twenty_pairs() {
    let quiet = World::new(1, [0.0; 2], [0.0, 0.001]);
    let answer = played(&plan(&["ttft_p50"]), 1, quiet, 1.0);
    assert_eq!((answer.decision, answer.pairs), (AbDecision::NoDifference, 20));
}
