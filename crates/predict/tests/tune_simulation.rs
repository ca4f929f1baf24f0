//! Simulates `tune` on the embedded engine in virtual time, with a planted answer: limits on the sequences of a step, of
//! which those from 16 on are equal, because 16 requests are in flight. `.ci/long/tune` makes more trials.

use inferometer_analysis::tune::{Tune, TuneAnswer, TuneReading};
use inferometer_analysis::{PassFold, cell::cell};
use inferometer_engine::records::{PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, Noise, lengths};
use inferometer_model::metrics::slo::quantity;
use inferometer_model::stats::seed;
use inferometer_model::{Bound, CellPlan, PassPlan, Timeline, load_model};
use inferometer_plan::ab::AbFigure;

const CELL: CellPlan = CellPlan { input_length: 64, output_length: 16 };
/// Runs vary by 3 % from start to start, and steps by 2 %.
const NOISE: &str = "drift=0.03:60s,step=0.02";

/// The answer for these values of `max_num_seqs`, the default first.
fn tuned(values: &[u32], trial: u64) -> TuneAnswer {
    let (metric, statistic) = quantity("", "requests_per_s").expect("a figure");
    let names = values[1..].iter().map(u32::to_string).collect();
    let mut tune = Tune::new(names, AbFigure { metric, statistic }, Vec::new(), (6, None));
    for round in 1.. {
        let members = tune.next(std::time::Duration::ZERO);
        if members.is_empty() {
            break;
        }
        for at in members {
            let reading = measured(tune.figure, values[at], (trial, round, at as u32));
            tune.add(at, reading, Some(1.0));
        }
    }
    tune.answer()
}

fn measured(
    figure: AbFigure,
    max_num_seqs: u32,
    (trial, round, at): (u64, u32, u32),
) -> Result<TuneReading, String> {
    let labels = [round.to_string(), at.to_string()];
    let own = seed::below(&mut seed::rng(trial, &[&labels[0], &labels[1]]), u64::MAX);
    let noise = Some(Noise::parse(NOISE).expect("a noise").or_seed(own));
    let config = EngineConfig::of_model("chatglm3-6b").expect("a model");
    let config = EngineConfig { noise, max_num_seqs: Some(max_num_seqs), ..config };
    let mut engine = Engine::new(config).expect("a configuration");
    let pass = PassPlan::closed(16, Bound::requests(64));
    let place = PassContext {
        cell: CELL,
        pass: &pass,
        number: 0,
        streamed: true,
        leavers: None,
        in_prefill: None,
    };
    let mut load = load_model(&pass, u64::from(round));
    let mut asked = lengths(CELL, None, 64).map(EngineRequest::from);
    let simulated = simulate_pass(&mut engine, &mut *load, &mut asked, place);
    let mut fold = PassFold::new(&pass);
    simulated.records(place).for_each(|record| fold.add(&Timeline::new(&record)));
    let cells = [cell(CELL.input_length, CELL.output_length, vec![fold.finish()])];
    TuneReading::of(figure, &[], &cells)
}

#[test]
fn a_planted_best_set_of_arguments_is_found_and_a_planted_tie_is_called_a_tie() {
    let trials = std::env::var("INFEROMETER_TRIALS").map_or(20, |text| text.parse().unwrap());
    let is_found = |trial: &u64| {
        let answer = tuned(&[8, 4, 5, 6, 10, 7], *trial);
        answer.is_better && answer.best.as_deref() == Some("10") && answer.ties.is_empty()
    };
    let is_tie = |trial: &u64| {
        let answer = tuned(&[16, 20, 24, 32, 48, 64], *trial);
        !answer.is_better && answer.ties.len() == 3
    };
    let (found, ties) = ((0..trials).filter(is_found).count(), (0..trials).filter(is_tie).count());
    println!(
        "of {trials}: the planted best found in {found}, a planted tie called a tie in {ties}"
    );
    assert!(10 * found.min(ties) as u64 >= 9 * trials, "{found} and {ties} of {trials}");
}
