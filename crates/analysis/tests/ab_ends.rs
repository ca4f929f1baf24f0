//! Tests what decides, apart from the answer, when a comparison in blocks ends: an undecided gate, a time limit, a
//! limit of requests, a server that no longer answers.

use std::time::Duration;

use inferometer_analysis::ab::{
    Ab, AbAnswer, AbDecision, AbEnding, AbSide, Block, NextStep, Side, Sides,
};
use inferometer_analysis::compare::{Condition, parse_gate};
use inferometer_analysis::verdict::Met;
use inferometer_model::cell::CellPlan;
use inferometer_model::load::{Bound, PassPlan};
use inferometer_model::metrics::slo::quantity;
use inferometer_model::stats::seed;
use inferometer_model::time::Nanos;
use inferometer_plan::ab::{AbFigure, AbPlan};

const CELL: CellPlan = CellPlan { input_length: 64, output_length: 4 };

fn plan() -> AbPlan {
    let (metric, statistic) = quantity("", "output_tokens_per_s").expect("a figure");
    AbPlan {
        figures: vec![AbFigure { metric, statistic }],
        minimal_effect: 0.05,
        uncounted: 8,
        max_requests: 32 * 2 * 400,
        max_time: None,
    }
}

/// Runs a comparison with blocks of 1 s and a pause of 10 s after each block. `value` returns the figure of a block.
fn played(
    plan: &AbPlan,
    gate: &[Condition],
    mut value: impl FnMut(Side, u32) -> Option<f64>,
) -> (AbAnswer, Vec<Met>) {
    let pass = PassPlan::closed(8, Bound::requests(32));
    let mut comparison = Ab::new(plan, 32, 1_000, (1, "")).with_gate(gate);
    let mut blocks: [Vec<Block>; 2] = Default::default();
    let mut at = 0;
    while let NextStep::Pair { number, order } = comparison.next() {
        for side in order {
            let (started, ended) = (Nanos(at), Nanos(at + 1_000_000_000));
            let values = vec![value(side, number)];
            blocks[side.index()].push(Block {
                pair: number,
                started,
                ended,
                requests: 32,
                complete: 32,
                values,
            });
            at += 11_000_000_000;
        }
        let [a, b] = &blocks;
        comparison.add_pair([&a[a.len() - 1], &b[b.len() - 1]]);
    }
    let side = |name: &str| AbSide { name: name.to_owned(), run_id: String::new() };
    let given = Sides {
        sides: &[side("A"), side("B")],
        one_server: false,
        blocks: [&blocks[0], &blocks[1]],
        order: (1, ""),
        gate,
        out_of_time: false,
        without_noise: false,
    };
    let answer = AbAnswer::of(plan, (CELL, &pass), 1_000, given);
    let judged = answer.judged(gate, (CELL, &pass)).expect("the figures are compared");
    (answer, judged.into_iter().map(|result| result.met).collect())
}

/// B is 4 % slower, with a noise of 1 % in each block.
fn slower() -> impl FnMut(Side, u32) -> Option<f64> {
    let mut rng = seed::rng(3, &["blocks"]);
    move |side, _| {
        let of_b = if side == Side::B { 0.96 } else { 1.0 };
        Some(100.0 * of_b * (1.0 + 0.01 * seed::normal(&mut rng)))
    }
}

#[test]
fn a_comparison_continues_while_a_gate_on_the_deciding_figure_is_undecided() {
    let known = played(&plan(), &[], slower()).0;
    assert_eq!((known.decision, known.ended_by), (AbDecision::AFaster, AbEnding::Known));
    let gate = parse_gate("output_tokens_per_s>-5%").expect("a gate");
    let (judged, met) = played(&plan(), &gate, slower());
    assert!(judged.pairs > known.pairs, "{} and {} pairs", judged.pairs, known.pairs);
    assert_eq!((judged.ended_by, met), (AbEnding::Known, vec![Met::Yes]));
    // A condition far from the difference is decided together with the answer.
    let far = parse_gate("output_tokens_per_s>-30%").expect("a gate");
    let (judged, met) = played(&plan(), &far, slower());
    assert_eq!((judged.pairs, met), (known.pairs, vec![Met::Yes]));
    // A condition at the true difference stays undecided until the limit on requests is reached.
    let open = parse_gate("output_tokens_per_s>-4%").expect("a gate");
    let few = AbPlan { max_requests: 32 * 2 * 30, ..plan() };
    let (judged, met) = played(&few, &open, slower());
    assert_eq!((judged.pairs, judged.ended_by), (30, AbEnding::MaxRequests));
    assert_eq!((judged.decision, met), (AbDecision::AFaster, vec![Met::Undecided]));
}

#[test]
fn the_time_limit_of_a_comparison_includes_the_pauses_between_blocks() {
    let plan = AbPlan { max_time: Some(Duration::from_secs(60)), ..plan() };
    let mut rng = seed::rng(1, &["noisy"]);
    let noisy = |_, _| Some(100.0 * (0.3 * seed::normal(&mut rng)).exp());
    let (answer, _) = played(&plan, &[], noisy);
    // The third pair ends at 56 s, the fourth at 78 s.
    assert_eq!((answer.pairs, answer.ended_by), (4, AbEnding::MaxTime));
    let sentence = &answer.sentence;
    assert!(sentence.starts_with("Undecided") && sentence.contains("--max-time"), "{sentence}");
}

#[test]
fn without_a_pair_before_the_time_limit_the_answer_says_so() {
    let plan = AbPlan { max_time: Some(Duration::from_secs(6)), ..plan() };
    let side = |name: &str| AbSide { name: name.to_owned(), run_id: String::new() };
    let given = Sides {
        sides: &[side("A"), side("B")],
        one_server: false,
        blocks: [&[], &[]],
        order: (1, ""),
        gate: &[],
        out_of_time: true,
        without_noise: false,
    };
    let pass = PassPlan::closed(8, Bound::requests(32));
    let answer = AbAnswer::of(&plan, (CELL, &pass), 1_000, given);
    assert_eq!((answer.pairs, answer.ended_by), (0, AbEnding::MaxTime));
    let sentence = &answer.sentence;
    assert!(sentence.starts_with("No answer: ") && sentence.contains("--max-time"), "{sentence}");
}

#[test]
fn a_server_that_stops_answering_ends_a_comparison_and_earlier_pairs_still_count() {
    let mut rng = seed::rng(1, &["noisy"]);
    let dies = |side, pair| {
        let value = 100.0 * (0.3 * seed::normal(&mut rng)).exp();
        (side == Side::A || pair <= 10).then_some(value)
    };
    let (answer, _) = played(&plan(), &[], dies);
    assert_eq!((answer.pairs, answer.ended_by), (18, AbEnding::NoFigure));
    assert_eq!(answer.figures[0].pairs, 10);
    assert!(answer.sentence.contains("lack the metric"), "{}", answer.sentence);
}
