//! Simulates a comparison of two settings of the embedded engine in virtual time, with the blocks that `ab` would send.
//! It sends nothing.

use std::path::PathBuf;

use inferometer_analysis::ab::{Ab, Block, NextStep, Side};
use inferometer_engine::EngineConfig;
use inferometer_model::{Nanos, Record, Timeline, code};
use inferometer_net::monotonic_now;
use inferometer_plan::Plan;
use inferometer_report::ab::AbDocument;
use inferometer_run::recording::pass_figures::PassFigures;
use inferometer_run::results::outputs;
use inferometer_run::{AbRun, Member, Outputs, RunError, noise_of, order_salt};
use inferometer_store::PassBegin;

use crate::player::{Player, in_time};
use crate::{PlayTime, row, simulated_pass::span, stored::StoredPrediction};

/// A simulated comparison.
pub struct PredictedAb {
    /// The result of the comparison, with the results of both runs.
    pub document: AbDocument,
    /// The folder of the report.
    pub folder: PathBuf,
    /// How long the simulation took.
    pub time: PlayTime,
}

/// Receives the records of each block.
type Keep<'a> = dyn FnMut(Side, &PassBegin, Vec<Record>) -> Result<(), RunError> + 'a;

/// Compares two settings in virtual time and stores every block.
///
/// # Errors
/// If a plan cannot be simulated, or the store or files cannot be written.
pub fn ab(run: &AbRun, configs: [&EngineConfig; 2]) -> Result<PredictedAb, RunError> {
    let configs = with_noise(&run.sides, configs)?;
    // The folders are checked and locked before anything is simulated.
    let outputs = run.outputs()?;
    let mut of_sides = Vec::new();
    for side in &run.sides {
        of_sides.push(Outputs::prepare(side.context.out.as_deref())?);
    }
    let mut stored = Vec::new();
    for (side, config) in run.sides.iter().zip(&configs) {
        stored.push(StoredPrediction::begin(&side.plan, &side.context, config, None)?);
    }
    let mut time = PlayTime::default();
    let began = monotonic_now();
    play(run, &configs, &mut |side, begin, records| {
        time.requests += records.len();
        time.span += span(&records);
        stored[side.index()].pass(begin, records, &[code::CHUNKS_ARE_NOT_TOKENS], None)
    })?;
    time.simulation = monotonic_now().since(began);
    let (mut blocks, mut summaries) = (Vec::new(), Vec::new());
    for ((outputs, config), stored) in of_sides.iter().zip(&configs).zip(stored) {
        blocks.push(stored.grid.blocks.clone());
        let cell = run.place().0;
        let (summary, id, _) =
            stored.finish(&[(cell, row(config, cell, None)?, None)], &[], None)?;
        outputs.write_figures(&summary, &id)?;
        summaries.push(summary);
    }
    let document = run.document([blocks[0].as_slice(), blocks[1].as_slice()], summaries);
    outputs::write_ab(outputs.folder(), &document, run.plots())?;
    let folder = outputs.folder().to_owned();
    Ok(PredictedAb { document, folder, time })
}

/// Returns the configurations of both engines with the noise of their plans. If both plans have the same noise, both
/// engines count as running on one machine: they get the same noise, and each block continues the noise state of the
/// block before it.
fn with_noise(
    sides: &[Member; 2],
    configs: [&EngineConfig; 2],
) -> Result<[EngineConfig; 2], RunError> {
    let noise = |at: usize| noise_of(&sides[at].plan, &sides[at].context);
    let (mut a, mut b) = (configs[0].clone(), configs[1].clone());
    (a.noise, b.noise) = (noise(0)?.or(a.noise), noise(1)?.or(b.noise));
    if is_shared(sides) {
        b.noise = a.noise;
    }
    Ok([a, b])
}

/// Whether the plans of both sides have the same noise, so that both sides share one noise state.
fn is_shared(sides: &[Member; 2]) -> bool {
    sides[0].variant.spec.noise == sides[1].variant.spec.noise
}

/// Simulates blocks until the procedure ends or the time limit is reached. `keep` receives the records of each block.
/// Each block begins at the time at which the previous block ended.
fn play(run: &AbRun, configs: &[EngineConfig; 2], keep: &mut Keep<'_>) -> Result<(), RunError> {
    let sides = &run.sides;
    let plan = &sides[0].plan;
    let (Some(ab), [cell]) = (plan.procedure.ab(), plan.cells.as_slice()) else {
        return Err(RunError::plan("ab: the plan has no comparison"));
    };
    let passes = plan.passes_of(*cell);
    let [pass] = passes.as_slice() else {
        return Err(RunError::plan("ab: a comparison needs exactly one load"));
    };
    let mut players = [
        Player::new(&sides[0].plan, &sides[0].context, configs[0].clone())?,
        Player::new(&sides[1].plan, &sides[1].context, configs[1].clone())?,
    ];
    let of_block = u64::from(pass.requests().unwrap_or(0));
    let seeds = (plan.seed, order_salt(&sides[0].context));
    let mut procedure = Ab::new(ab, of_block, plan.repeat.at_most, seeds).with_gate(&run.gate);
    let mut now = Nanos::ZERO;
    while let NextStep::Pair { number, order } = procedure.next() {
        let mut pair: [Option<Block>; 2] = [None, None];
        for side in order {
            let begin =
                PassBegin { pass: number - 1, cell: *cell, plan: pass.clone(), repeat: number };
            let player = &mut players[side.index()];
            let left = ab.max_time.map(|most| most.saturating_sub(now.since(Nanos::ZERO)));
            let (records, stopped) = in_time(player.pass(&begin)?, left);
            let records: Vec<Record> =
                records.into_iter().map(|record| record.later(now)).collect();
            let ends = records.iter().filter_map(|record| record.ended).max();
            now = ends.unwrap_or(now);
            if is_shared(sides) {
                let noise = player.noise.clone();
                players.iter_mut().for_each(|player| player.noise.clone_from(&noise));
            }
            pair[side.index()] = block(&sides[side.index()].plan, &begin, &records);
            keep(side, &begin, records)?;
            if stopped.is_some() {
                return Ok(());
            }
        }
        let [Some(a), Some(b)] = &pair else {
            return Err(RunError::Prompts(format!(
                "pair {number} has requests that could not be simulated: no result is possible"
            )));
        };
        procedure.add_pair([a, b]);
    }
    Ok(())
}

/// The figures of a block, computed as in a run; `None` if a request could not be simulated.
fn block(plan: &Plan, begin: &PassBegin, records: &[Record]) -> Option<Block> {
    let mut figures = PassFigures::new(plan, begin, 0, 0);
    records.iter().for_each(|record| figures.add(&Timeline::new(record)));
    figures.finish(None).block
}
