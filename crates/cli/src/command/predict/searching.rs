//! A search of the embedded engine in virtual time: the trials that `search` would send, played. It
//! sends nothing.

use std::time::Duration;

use inferometer_analysis::search::{Search, SearchAnswer, TrialFold, certain_at};
use inferometer_engine::records::{PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, lengths};
use inferometer_load::load_model;
use inferometer_metrics::RequestFigures;
use inferometer_metrics::Timeline;
use inferometer_model::cell::CellPlan;
use inferometer_model::record::Record;
use inferometer_net::{EpollNet, Net};
use inferometer_plan::TargetPlan;
use inferometer_plan::search::SearchPlan;
use inferometer_plan::spec::Spec;
use inferometer_report::plot::Theme;
use inferometer_report::{json, terminal};
use inferometer_stats::seed::of_repeat;
use inferometer_store::{PassBegin, Store};

use super::config;
use super::play::{CHUNKS_ARE_NOT_TOKENS, Kept, Taken, check_plan, span};
use super::requests::Requests;
use super::row::row;
use crate::command::engine_flags::EngineFlags;
use crate::exit::{Failure, print};
use crate::run::{Clock, Options, Resolved, dry_run, outputs, resolve, searched, traces};

/// What becomes of the records of a trial.
type Keep<'a> = dyn FnMut(&PassBegin, Vec<Record>) -> Result<(), Failure> + 'a;

/// The engine of a search, and what it plays.
struct Player<'a> {
    resolved: &'a Resolved,
    config: EngineConfig,
    requests: Option<Requests>,
    /// Passes so far.
    passes: u32,
}

impl<'a> Player<'a> {
    fn new(resolved: &'a Resolved, config: EngineConfig) -> Result<Self, Failure> {
        check_plan(&resolved.plan)?;
        let requests = Requests::open(resolved, &config)?;
        Ok(Self { resolved, config, requests, passes: 0 })
    }

    /// Plays the trials of a cell; `keep` gets the records of each.
    fn cell(
        &mut self,
        cell: CellPlan,
        plan: &SearchPlan,
        keep: &mut Keep<'_>,
    ) -> Result<Search, Failure> {
        let of_plan = self.resolved.plan.passes_of(cell);
        let mut search = Search::new(inferometer_analysis::search::settings(plan));
        if let Some(requests) = &mut self.requests {
            requests.warm_up(&self.resolved.plan, cell);
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
            let records = self.cut_off(plan, &begin, records);
            let Some(mut trial) = TrialFold::of(&begin.plan, &plan.criteria) else { break };
            self.figures(&records).iter().for_each(|figures| trial.add(figures));
            let trials = search.trials();
            search.tell(trial.finish());
            keep(&begin, records)?;
            if search.trials() == trials {
                return Err(Failure::not_carried_out(format!(
                    "trial {} of {cell} has requests that could not be played: it counts for nothing",
                    begin.repeat
                )));
            }
        }
        Ok(search)
    }

    fn figures(&self, records: &[Record]) -> Vec<RequestFigures> {
        let streamed = self.resolved.plan.sampling.stream;
        records.iter().map(|record| RequestFigures::of(&Timeline::new(record, streamed))).collect()
    }

    /// The records as they are of a pass that ends as soon as its claim is certain.
    fn cut_off(&self, plan: &SearchPlan, begin: &PassBegin, records: Vec<Record>) -> Vec<Record> {
        let watcher = inferometer_analysis::search::watcher(plan, &begin.plan);
        match watcher.and_then(|watcher| certain_at(&watcher, &self.figures(&records))) {
            None => records,
            Some(at) => records.into_iter().map(|record| record.cut_off(at)).collect(),
        }
    }

    fn pass(&mut self, begin: &PassBegin) -> Result<Vec<Record>, Failure> {
        let plan = &self.resolved.plan;
        let row = row(&self.config, begin.cell, None)?;
        let mut engine = Engine::new(row.config).map_err(Failure::usage)?;
        let place = PassContext {
            cell: begin.cell,
            pass: &begin.plan,
            number: begin.pass,
            streamed: plan.sampling.stream,
        };
        let mut load = load_model(&begin.plan, of_repeat(plan.seed, begin.repeat));
        let mut play = |asked: &mut dyn Iterator<Item = EngineRequest>| {
            simulate_pass(&mut engine, &mut *load, asked, place).records(place)
        };
        let Some(requests) = &mut self.requests else {
            let requests = begin.plan.requests().unwrap_or(1);
            return Ok(play(&mut lengths(begin.cell, None, requests).map(EngineRequest::from)));
        };
        let (mut stream, _) = requests.of_pass(plan, begin)?;
        let mut records = play(&mut stream);
        stream.made()?.tell(&mut records);
        Ok(records)
    }
}

/// What a search of the embedded engine is predicted to find; nothing is kept.
///
/// # Errors
/// When the spec has mistakes, or cannot be played.
pub fn expected(spec: &Spec, flags: &EngineFlags) -> Result<Vec<SearchAnswer>, Failure> {
    let resolved = resolve(spec)?;
    let config = config(spec.model.as_deref(), spec.profile.as_deref(), flags)?;
    let Some(plan) = &resolved.plan.search else { return Ok(Vec::new()) };
    let mut player = Player::new(&resolved, config)?;
    let cells = resolved.plan.cells.iter();
    cells
        .map(|&cell| {
            let search = player.cell(cell, plan, &mut |_, _| Ok(()))?;
            Ok(SearchAnswer::of_search(plan, cell, &search))
        })
        .collect()
}

/// Searches in virtual time, keeps every trial, and prints the answers.
///
/// # Errors
/// As the exit codes say.
pub fn search(spec: &Spec, flags: &EngineFlags, options: &Options) -> Result<(), Failure> {
    if options.metrics.is_some() {
        return Err(Failure::usage(
            "--metrics-listen: with --predict no run is in progress that could be scraped; leave \
             it out",
        ));
    }
    if options.tui {
        return Err(Failure::usage(
            "--tui: with --predict there is nothing to look on; leave it out",
        ));
    }
    if spec.target.is_some() || spec.server.is_some() {
        return Err(Failure::usage("--predict: nothing is sent; leave out target and [server]"));
    }
    let mut resolved = resolve(spec)?;
    if let TargetPlan::Embedded { engine_flags, .. } = &mut resolved.plan.target {
        *engine_flags = flags.given();
    }
    let config = config(spec.model.as_deref(), spec.profile.as_deref(), flags)?;
    let Some(plan) = resolved.plan.search.clone() else {
        return Err(Failure::usage("search: there is nothing to look for"));
    };
    if options.dry_run {
        check_plan(&resolved.plan)?;
        return dry_run(&resolved, options, Clock::Virtual);
    }
    let outputs = outputs::Outputs::prepare(resolved.out.as_deref())?;
    let clock =
        EpollNet::new().map_err(|error| Failure::not_carried_out(format!("the clock: {error}")))?;
    let mut kept = Kept::begin(&resolved, &config, None)?;
    let mut player = Player::new(&resolved, config.clone())?;
    let mut taken = Taken { simulation: Duration::ZERO, requests: 0, span: Duration::ZERO };
    let began = clock.now();
    let mut rows = Vec::new();
    for &cell in &resolved.plan.cells {
        rows.push((cell, row(&config, cell, None)?, None));
        player.cell(cell, &plan, &mut |begin, records| {
            taken.requests += records.len();
            taken.span += span(&records);
            kept.pass(begin, records, &[CHUNKS_ARE_NOT_TOKENS])
        })?;
    }
    taken.simulation = clock.now().since(began);
    let requests = player.requests.as_ref();
    kept.findings.extend(requests.map(Requests::findings).into_iter().flatten());
    // Where only their lengths were made there is nothing to tell two of them apart by.
    let hash = requests.map_or_else(String::new, Requests::hash);
    let (summary, run) = kept.finish(&rows, hash)?;
    let store = Store::open(&resolved.store).map_err(Failure::not_carried_out)?;
    let traces = traces::of_log(&store.log_path(&run), &resolved.plan)?;
    let folder = outputs.write_all(&summary, &resolved.plan, &run, &traces, Theme::Light)?;
    if !options.quiet {
        eprintln!("{taken}");
    }
    if options.json {
        print(&(json::summary(&summary) + "\n"))?;
    } else {
        let table = terminal::text(std::slice::from_ref(&summary), outputs::colour());
        print(&format!(
            "{table}\nreport: {0}/report.html, {0}/report.md; plots: {0}/*.png\n\
             store:  {1}, run {run} (predicted)\n{2}",
            folder.display(),
            resolved.store.display(),
            searched::answers(&summary.searches)
        ))?;
    }
    searched::judge(&summary.searches)
}
