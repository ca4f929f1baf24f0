//! A search of the embedded engine in virtual time: the trials that `search` would send, played. It
//! sends nothing.

use std::path::PathBuf;
use std::time::Duration;

use inferometer_analysis::search::{Search, SearchAnswer, TrialFold, certain_at};
use inferometer_analysis::summary::Summary;
use inferometer_engine::records::{PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, NoiseState, lengths};
use inferometer_load::load_model;
use inferometer_metrics::{RequestFigures, Timeline};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::code;
use inferometer_model::record::Record;
use inferometer_net::monotonic_now;
use inferometer_plan::Plan;
use inferometer_plan::search::SearchPlan;
use inferometer_report::plot::Theme;
use inferometer_run::outputs::Outputs;
use inferometer_run::{Context, noise_of};
use inferometer_store::{PassBegin, RunId};

use crate::error::PredictError;
use crate::play::{PlayTime, check_plan, span};
use crate::requests::Requests;
use crate::row::row;
use crate::stored::StoredPrediction;

/// Takes the records of a trial.
type Keep<'a> = dyn FnMut(&PassBegin, Vec<Record>) -> Result<(), PredictError> + 'a;

/// The engine of a search, and what it plays.
struct Player<'a> {
    plan: &'a Plan,
    config: EngineConfig,
    requests: Option<Requests>,
    /// The engine's noise, which goes on from trial to trial.
    noise: Option<NoiseState>,
    /// Passes so far.
    passes: u32,
}

impl<'a> Player<'a> {
    fn new(plan: &'a Plan, context: &Context, config: EngineConfig) -> Result<Self, PredictError> {
        check_plan(plan)?;
        let requests = Requests::open(plan, context, &config)?;
        Ok(Self { plan, config, requests, noise: None, passes: 0 })
    }

    /// Plays the trials of a cell; `keep` gets the records of each.
    fn cell(
        &mut self,
        cell: CellPlan,
        search_plan: &SearchPlan,
        keep: &mut Keep<'_>,
    ) -> Result<Search, PredictError> {
        let of_plan = self.plan.passes_of(cell);
        let mut search = Search::new(inferometer_analysis::search::settings(search_plan));
        if let Some(requests) = &mut self.requests {
            requests.warm_up(self.plan, cell);
        }
        while let (Some(asked), [of_plan, ..]) = (search.next(), of_plan.as_slice()) {
            let begin = PassBegin {
                pass: self.passes,
                cell,
                plan: inferometer_analysis::search::trial_pass(of_plan, asked),
                repeat: search.trials() + 1,
            };
            self.passes += 1;
            let records = self.pass(&begin)?;
            let records = self.cut_off(search_plan, &begin, records);
            let Some(mut trial) = TrialFold::of(&begin.plan, &search_plan.criteria) else { break };
            figures(&records).iter().for_each(|figures| trial.add(figures));
            let trials = search.trials();
            search.tell(trial.finish());
            keep(&begin, records)?;
            if search.trials() == trials {
                return Err(PredictError::requests(format!(
                    "trial {} of {cell} has requests that could not be played: it counts for nothing",
                    begin.repeat
                )));
            }
        }
        Ok(search)
    }

    /// The records as they are of a pass that ends as soon as its claim is certain.
    fn cut_off(&self, plan: &SearchPlan, begin: &PassBegin, records: Vec<Record>) -> Vec<Record> {
        let watcher = inferometer_analysis::search::watcher(plan, &begin.plan);
        match watcher.and_then(|watcher| certain_at(&watcher, &figures(&records))) {
            None => records,
            Some(at) => records.into_iter().map(|record| record.cut_off(at)).collect(),
        }
    }

    fn pass(&mut self, begin: &PassBegin) -> Result<Vec<Record>, PredictError> {
        let plan = self.plan;
        let row = row(&self.config, begin.cell, None)?;
        let engine = Engine::new(row.config).map_err(PredictError::plan)?;
        let mut engine = engine.with_noise_of(self.noise.take());
        let place = PassContext {
            cell: begin.cell,
            pass: &begin.plan,
            number: begin.pass,
            streamed: plan.sampling.stream,
        };
        let mut load = load_model(&begin.plan, begin.seed(plan.seed));
        let mut play = |asked: &mut dyn Iterator<Item = EngineRequest>| {
            simulate_pass(&mut engine, &mut *load, asked, place).records(place)
        };
        let records = if let Some(requests) = &mut self.requests {
            let (mut stream, _) = requests.of_pass(plan, begin)?;
            let mut records = play(&mut stream);
            stream.played()?.write_into(&mut records);
            records
        } else {
            let requests = begin.plan.requests().unwrap_or(1);
            play(&mut lengths(begin.cell, None, requests).map(EngineRequest::from))
        };
        self.noise = engine.noise().cloned();
        Ok(records)
    }
}

/// What a search of the embedded engine is predicted to find. Nothing is stored.
///
/// # Errors
/// When the plan cannot be played.
pub fn expected_answers(
    plan: &Plan,
    context: &Context,
    config: EngineConfig,
) -> Result<Vec<SearchAnswer>, PredictError> {
    let Some(search_plan) = &plan.search else { return Ok(Vec::new()) };
    let mut player = Player::new(plan, context, config)?;
    let cells = plan.cells.iter();
    cells
        .map(|&cell| {
            let search = player.cell(cell, search_plan, &mut |_, _| Ok(()))?;
            Ok(SearchAnswer::of_search(search_plan, cell, &search))
        })
        .collect::<Result<Vec<_>, _>>()
        .map(|answers| answers.into_iter().flatten().collect())
}

/// A search that was played.
pub struct PredictedSearch {
    /// Its results, with an answer for each cell.
    pub summary: Summary,
    /// Its name in the store.
    pub run: RunId,
    /// The folder of its report.
    pub folder: PathBuf,
    /// How long it took.
    pub time: PlayTime,
}

/// Searches in virtual time; every trial is stored.
///
/// # Errors
/// When the plan has no search or cannot be played, and when files cannot be written.
pub fn search(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
) -> Result<PredictedSearch, PredictError> {
    let Some(search_plan) = &plan.search else {
        return Err(PredictError::plan("search: there is nothing to look for"));
    };
    let config = &EngineConfig { noise: noise_of(plan, context)?, ..config.clone() };
    let outputs = Outputs::prepare(context.out.as_deref())?;
    let mut stored = StoredPrediction::begin(plan, context, config, None)?;
    let mut player = Player::new(plan, context, config.clone())?;
    let mut time = PlayTime { simulation: Duration::ZERO, requests: 0, span: Duration::ZERO };
    let began = monotonic_now();
    let mut rows = Vec::new();
    for &cell in &plan.cells {
        rows.push((cell, row(config, cell, None)?, None));
        player.cell(cell, search_plan, &mut |begin, records| {
            time.requests += records.len();
            time.span += span(&records);
            stored.pass(begin, records, &[code::CHUNKS_ARE_NOT_TOKENS])
        })?;
    }
    time.simulation = monotonic_now().since(began);
    let requests = player.requests.as_ref();
    stored.findings.extend(requests.map(Requests::findings).into_iter().flatten());
    // Where only their lengths were made there is nothing to tell two of them apart by.
    let hash = requests.map(Requests::hash);
    let (summary, run, traces) = stored.finish(&rows, hash)?;
    let folder = outputs.write_all(&summary, plan, &run, &traces, Theme::Light)?;
    Ok(PredictedSearch { summary, run, folder, time })
}

fn figures(records: &[Record]) -> Vec<RequestFigures> {
    records.iter().map(|record| RequestFigures::of(&Timeline::new(record))).collect()
}
