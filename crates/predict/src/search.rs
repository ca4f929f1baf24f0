//! Simulates a search or a sweep of the embedded engine in virtual time: the trials that `search` or `sweep` would
//! send. It sends nothing.

use std::time::Duration;

use inferometer_analysis::SearchAnswer;
use inferometer_analysis::search::certain_at;
use inferometer_analysis::trials::{TrialResult, TrialResultFold, Trials};
use inferometer_engine::records::{PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, NoiseState, lengths};
use inferometer_model::{CellPlan, Detail, Nanos, Record, StopReason, code, load_model};
use inferometer_net::monotonic_now;
use inferometer_plan::{Plan, Procedure};
use inferometer_run::{Context, Outputs, RunError, noise_of};
use inferometer_store::PassBegin;

use crate::ranges_of_answers::ranges_of_answers;
use crate::requests::Requests;
use crate::simulated_pass::{figures, span};
use crate::stored::StoredPrediction;
use crate::{PlayTime, Prediction, check_plan, row};

/// Receives the records of each trial.
type Keep<'a> = dyn FnMut(&PassBegin, Vec<Record>) -> Result<(), RunError> + 'a;

/// Simulates passes for a search, a sweep, or one side of a comparison.
pub(crate) struct Player<'a> {
    plan: &'a Plan,
    config: EngineConfig,
    requests: Option<Requests>,
    /// The state of the engine's noise, which continues from trial to trial.
    pub(crate) noise: Option<NoiseState>,
    /// The number of passes so far.
    passes: u32,
}

impl<'a> Player<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        context: &Context,
        config: EngineConfig,
    ) -> Result<Self, RunError> {
        check_plan(plan)?;
        let requests = Requests::open(plan, context, &config)?;
        Ok(Self { plan, config, requests, noise: None, passes: 0 })
    }

    /// Simulates the trials of a cell. `keep` receives the records of each trial.
    pub(crate) fn cell(&mut self, cell: CellPlan, keep: &mut Keep<'_>) -> Result<Trials, RunError> {
        let of_plan = self.plan.passes_of(cell);
        let nothing = || RunError::plan("the plan has no search and no sweep");
        let mut trials = Trials::of(self.plan).ok_or_else(nothing)?;
        if let Some(requests) = &mut self.requests {
            requests.warm_up(self.plan, cell);
        }
        let pause = self.plan.cooldown.unwrap_or_default();
        let most = self.plan.procedure.max_time();
        // The time of the warm-up is not simulated.
        let mut taken = Duration::ZERO;
        while let Some(plan) = of_plan.first().and_then(|of_plan| trials.next(of_plan)) {
            let begin = PassBegin { pass: self.passes, cell, plan, repeat: trials.count() + 1 };
            self.passes += 1;
            let records = self.pass(&begin)?;
            let records = self.cut_off(&begin, records);
            let (records, stopped) = in_time(records, most.map(|most| most.saturating_sub(taken)));
            let Some(mut trial) = TrialResultFold::of(self.plan, &begin.plan) else { break };
            figures(&records).iter().for_each(|figures| trial.add(figures));
            let count = trials.count();
            let tried = trial.finish(stopped);
            trials.add_trial(&tried);
            taken = trials.time() + pause.saturating_mul(trials.count());
            trials.set_time(taken);
            keep(&begin, records)?;
            if trials.count() == count && !matches!(tried, TrialResult::OutOfTime(_)) {
                return Err(RunError::Prompts(format!(
                    "trial {} of {cell} has requests that could not be simulated: no result is possible",
                    begin.repeat
                )));
            }
        }
        Ok(trials)
    }

    /// Returns the records as if the pass had ended as soon as its result was certain.
    fn cut_off(&self, begin: &PassBegin, records: Vec<Record>) -> Vec<Record> {
        let search = self.plan.procedure.search();
        let watcher = search.and_then(|it| inferometer_analysis::search::watcher(it, &begin.plan));
        match watcher.and_then(|watcher| certain_at(&watcher, &figures(&records))) {
            None => records,
            Some(at) => {
                let cut = |record: Record| record.cut_off(at, Detail::ResultCertain);
                records.into_iter().map(cut).collect()
            }
        }
    }

    pub(crate) fn pass(&mut self, begin: &PassBegin) -> Result<Vec<Record>, RunError> {
        let plan = self.plan;
        let row = row(&self.config, begin.cell, None)?;
        let engine = Engine::new(row.config).map_err(RunError::plan)?;
        let mut engine = engine.with_noise_of(self.noise.take());
        let place = PassContext {
            cell: begin.cell,
            pass: &begin.plan,
            number: begin.pass,
            streamed: plan.sampling.stream,
        };
        let mut load = load_model(&begin.plan, begin.seed(plan.seed));
        let mut play = |asked: &mut dyn Iterator<Item = EngineRequest>| {
            simulate_pass(&mut engine, &mut *load, asked, place)
        };
        let records = if let Some(requests) = &mut self.requests {
            let (mut stream, _) = requests.of_pass(plan, begin)?;
            let simulated = play(&mut stream);
            let played = stream.played()?;
            simulated.records(place).map(|record| played.complete(record)).collect()
        } else {
            let requests = begin.plan.requests().unwrap_or(1);
            let simulated = play(&mut lengths(begin.cell, None, requests).map(EngineRequest::from));
            simulated.records(place).collect()
        };
        self.noise = engine.noise().cloned();
        Ok(records)
    }
}

/// Returns the records as if the pass had ended at the time limit `most`, and the reason if the pass ended early.
pub(crate) fn in_time(
    records: Vec<Record>,
    most: Option<Duration>,
) -> (Vec<Record>, Option<StopReason>) {
    let ends = most.map(|most| Nanos::ZERO + most);
    let last = records.iter().map(Record::ended_or_due).max();
    match ends.filter(|ends| last.is_some_and(|last| last > *ends)) {
        None => (records, None),
        Some(ends) => {
            let why = StopReason::MaxTime;
            let cut = |record: Record| record.cut_off(ends, Detail::Stopped(why));
            (records.into_iter().map(cut).collect(), Some(why))
        }
    }
}

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
    let mut rows = Vec::new();
    for &cell in &plan.cells {
        rows.push((cell, row(config, cell, None)?, None));
        let trials = player.cell(cell, &mut |begin, records| {
            time.requests += records.len();
            time.span += span(&records);
            stored.pass(begin, records, &[code::CHUNKS_ARE_NOT_TOKENS], None)
        })?;
        stored.ranges.extend(ranges_of_answers(plan, context, config, cell, &trials)?);
        stored.grid.end_trials(cell, plan);
    }
    time.simulation = monotonic_now().since(began);
    let requests = player.requests.as_ref();
    stored.findings.extend(requests.map(Requests::findings).into_iter().flatten());
    // Without prompts, only the lengths exist, so there is no hash that could distinguish two workloads.
    let hash = requests.map(Requests::hash);
    let (summary, run, traces) = stored.finish(&rows, &[], hash)?;
    let folder = outputs.write_all(&summary, plan, &run, &traces, context.plots)?;
    Ok(Prediction { summary, run, folder, time })
}
