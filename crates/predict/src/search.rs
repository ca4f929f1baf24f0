//! Simulates a search or a sweep of the embedded engine in virtual time: the trials that `search` or `sweep` would
//! send. It sends nothing.

use inferometer_analysis::{SearchAnswer, trials::Trials};
use inferometer_engine::EngineConfig;
use inferometer_model::code;
use inferometer_net::monotonic_now;
use inferometer_plan::{Plan, Procedure};
use inferometer_run::{Context, Outputs, RunError, noise_of};

use crate::{
    PlayTime, Prediction, player::Player, ranges_of_answers::ranges_of_answers, requests::Requests,
    row, simulated_pass::span, stored::StoredPrediction,
};

/// Predicts the answers of a search with the embedded engine, for all cells. Empty if the plan has no search. Nothing
/// is stored.
///
/// # Errors
/// If the plan cannot be simulated.
pub fn expected_answers(
    plan: &Plan,
    context: &Context,
    config: EngineConfig,
) -> Result<Vec<SearchAnswer>, RunError> {
    if plan.procedure.search().is_none() {
        return Ok(Vec::new());
    }
    let mut player = Player::new(plan, context, config)?;
    let cells = plan.cells.iter();
    cells
        .map(|&cell| {
            Ok(match player.cell(cell, &mut |_, _| Ok(()))? {
                Trials::Search(search) => SearchAnswer::of_search(cell, &search),
                Trials::Sweep(_) => Vec::new(),
            })
        })
        .collect::<Result<Vec<_>, _>>()
        .map(|answers| answers.into_iter().flatten().collect())
}

/// Returns a copy of the plan. If a sweep has no number of cards, this number is set to the number of cards of the
/// engine, because the figures per card need it.
fn with_cards(plan: &Plan, config: &EngineConfig) -> Result<Plan, RunError> {
    let mut plan = plan.clone();
    if let Procedure::Sweep(sweep) = &mut plan.procedure
        && sweep.gpus.is_none()
    {
        let resolved = config.resolve().map_err(RunError::plan)?;
        sweep.gpus = Some(resolved.tensor_parallel_size * resolved.pipeline_parallel_size);
    }
    Ok(plan)
}

/// Simulates a search or a sweep in virtual time and stores every trial.
///
/// # Errors
/// If the plan has neither a search nor a sweep, if it cannot be simulated, or if files cannot be written.
pub fn search(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
) -> Result<Prediction, RunError> {
    let config = &EngineConfig { noise: noise_of(plan, context)?, ..config.clone() };
    let plan = &with_cards(plan, config)?;
    let outputs = Outputs::prepare(context.out.as_deref())?;
    let mut stored = StoredPrediction::begin(plan, context, config, None)?;
    let mut player = Player::new(plan, context, config.clone())?;
    let mut time = PlayTime::default();
    let began = monotonic_now();
    let (mut rows, mut simulated) = (Vec::new(), Vec::new());
    for &cell in &plan.cells {
        rows.push((cell, row(config, cell, None)?, None));
        let trials = player.cell(cell, &mut |begin, records| {
            time.requests += records.len();
            time.span += span(&records);
            stored.pass(begin, records, &[code::CHUNKS_ARE_NOT_TOKENS], None)
        })?;
        stored.grid.end_trials(cell, plan);
        simulated.push((cell, trials));
    }
    time.simulation = monotonic_now().since(began);
    for (cell, trials) in &simulated {
        stored.ranges.extend(ranges_of_answers(plan, context, config, *cell, trials)?);
    }
    let requests = player.requests.as_ref();
    stored.findings.extend(requests.map(Requests::findings).into_iter().flatten());
    // Without prompts, only the lengths exist, so there is no hash that could distinguish two workloads.
    let hash = requests.map(Requests::hash);
    let (summary, run, traces) = stored.finish(&rows, &[], hash)?;
    let folder = outputs.write_all(&summary, plan, &run, &traces, context.plots)?;
    Ok(Prediction { summary, run, folder, time })
}
