//! Simulates the passes of a search, a sweep, or one side of a comparison, in virtual time. It sends nothing.

use std::time::Duration;

use inferometer_analysis::search::certain_at;
use inferometer_analysis::trials::{TrialResult, TrialResultFold, Trials};
use inferometer_engine::records::{PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, Feed, NoiseState, lengths};
use inferometer_model::{CellPlan, Detail, Nanos, Record, StopReason, Timeline, load_model};
use inferometer_plan::Plan;
use inferometer_run::{Context, RunError};
use inferometer_store::PassBegin;

use crate::{check_plan, requests::Requests, row, simulated_pass::figures};

/// Receives the records of each trial.
type Keep<'a> = dyn FnMut(&PassBegin, Vec<Record>) -> Result<(), RunError> + 'a;

/// Simulates passes for a search, a sweep, or one side of a comparison.
pub(crate) struct Player<'a> {
    plan: &'a Plan,
    config: EngineConfig,
    /// The prompts of the requests; absent if only their lengths exist.
    pub(crate) requests: Option<Requests>,
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
            records.iter().for_each(|record| trial.add(&Timeline::new(record)));
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
            leavers: None,
            in_prefill: plan.max_in_prefill,
        };
        let mut load = load_model(&begin.plan, begin.seed(plan.seed));
        let mut play = |asked: &mut dyn Feed| simulate_pass(&mut engine, &mut *load, asked, place);
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
