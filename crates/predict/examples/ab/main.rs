//! Compares the statistical power and the error rate of `ab` with those of `compare` on alternating whole runs. For
//! this purpose, the embedded engine simulates comparisons with many seeds in virtual time.
//!
//! `cargo run --release -p inferometer-predict --example ab [TRIALS [WORDS]]` runs the cases whose names contain WORDS.
//! The program prints the results; `conformance/ab/` contains the last results.

mod simulation;

use inferometer_analysis::ab::{AbAnswer, AbDecision};
use simulation::{OF_BLOCK, OF_RUN, World, in_blocks, whole_runs};

/// The maximum number of rounds of whole runs.
const MOST_ROUNDS: usize = 24;
/// The share by which the second server is slower.
const SLOWER: f64 = 0.05;

fn main() {
    let trials: u64 = std::env::args().nth(1).map_or(200, |text| text.parse().expect("a number"));
    let only = std::env::args().nth(2).unwrap_or_default();
    let bursts = "drift=0.03:10s,step=0.05,burst=0.002:10";
    let usual = "output_tokens_per_s";
    // A block takes about 1 s. With a drift time of 10 s, the correlation between successive blocks is about 0.9.
    for (what, noise, figure, of_block) in [
        (
            "drift of 5 %, correlation 0.9 from block to block",
            "drift=0.05:10s,step=0.02",
            usual,
            OF_BLOCK,
        ),
        (
            "drift of 5 %, 0.9 from whole run to whole run",
            "drift=0.05:130s,step=0.02",
            usual,
            OF_BLOCK,
        ),
        ("drift of 3 %, 0.9 from block to block, bursts", bursts, usual, OF_BLOCK),
        ("drift of 3 % and bursts, blocks of 64 requests", bursts, usual, 64),
        ("drift of 3 % and bursts, blocks of 128 requests", bursts, usual, 128),
        ("bursts, compared by itl_p50, which bursts do not change", bursts, "itl_p50", OF_BLOCK),
    ] {
        if !what.contains(&only) {
            continue;
        }
        println!(
            "{what} (--noise {noise} --metric {figure} --requests {of_block}), {trials} trials"
        );
        let world = World { figure, of_block, ..World::new(noise, 0.0) };
        in_alternating_blocks("a server with itself", world, trials);
        let world = World { slower: SLOWER, ..world };
        let enough = in_alternating_blocks("B slower by 5 %", world, trials);
        let rounds = alternated_runs(world, trials.min(60));
        if let (Some(blocks), Some(rounds)) = (enough, rounds) {
            let runs = 2 * rounds as u64 * u64::from(OF_RUN);
            println!(
                "  requests until 80 % of trials find the difference: {blocks} in blocks, {runs} \
                    in whole runs (blocks need {:.1} % of these)",
                100.0 * blocks as f64 / runs as f64
            );
        }
    }
}

/// Prints the results. Returns the number of requests within which four of five trials found that B is slower.
fn in_alternating_blocks(what: &str, world: World<'_>, trials: u64) -> Option<u64> {
    let answers: Vec<AbAnswer> = (0..trials).map(|seed| in_blocks(world, seed)).collect();
    let share = |of: &[AbDecision]| {
        let count = answers.iter().filter(|answer| of.contains(&answer.decision)).count();
        100.0 * count as f64 / trials as f64
    };
    let mean = answers.iter().map(|answer| answer.requests).sum::<u64>() / trials.max(1);
    let inside = |answer: &&AbAnswer| {
        let times = 1.0 + world.slower;
        let truth = if world.figure.ends_with("_per_s") { 1.0 / times } else { times };
        let ends = answer.figures[0].ratio_ci;
        ends.is_some_and(|[low, high]| low <= truth && truth <= high)
    };
    let held = 100.0 * answers.iter().filter(inside).count() as f64 / trials as f64;
    println!(
        "  blocks, {what}: differs {:.1} %, no difference {:.1} %, undecided {:.1} %; {held:.1} % \
            of intervals contain the true ratio; mean number of requests: {mean}",
        share(&[AbDecision::AFaster, AbDecision::BFaster]),
        share(&[AbDecision::NoDifference]),
        share(&[AbDecision::Undecided])
    );
    let mut found: Vec<u64> = answers
        .iter()
        .filter(|answer| answer.decision == AbDecision::AFaster)
        .map(|answer| answer.requests)
        .collect();
    found.sort_unstable();
    let needed = (0.8 * trials as f64).ceil() as usize;
    found.get(needed.saturating_sub(1)).copied()
}

/// The fewest rounds of whole runs with which four of five trials found that B is slower.
fn alternated_runs(world: World<'_>, trials: u64) -> Option<usize> {
    let found: Vec<Vec<bool>> =
        (0..trials).map(|seed| whole_runs(world, seed, MOST_ROUNDS)).collect();
    let power =
        |at: usize| 100.0 * found.iter().filter(|one| one[at]).count() as f64 / trials as f64;
    let shown: Vec<String> =
        (0..found[0].len()).map(|at| format!("{}: {:.0}", at + 4, power(at))).collect();
    println!(
        "  whole runs of {OF_RUN} requests: share of trials in % that found the difference \
        after N rounds: {}",
        shown.join(", ")
    );
    (0..found[0].len()).find(|&at| power(at) >= 80.0).map(|at| at + 4)
}
