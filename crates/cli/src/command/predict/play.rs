//! A plan played in virtual time, and its records kept like those of a run, marked as predicted.

use std::fmt;
use std::sync::mpsc::channel;
use std::time::Duration;

use inferometer_analysis::cell::Cell;
use inferometer_analysis::prediction::{CellPrediction, Columns, Intervals};
use inferometer_analysis::prediction_error::error_summaries;
use inferometer_analysis::summary::Summary;
use inferometer_engine::confidence::{ErrorColumn, confidence};
use inferometer_engine::records::{DETAILED_REQUESTS, PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, Lengths, lengths};
use inferometer_load as load;
use inferometer_load::load_model;
use inferometer_load::{OverLimit, PassPlan};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::record::Record;
use inferometer_model::sample::Observed;
use inferometer_model::target::{Environment, Target};
use inferometer_net::{EpollNet, Net, wall_clock_ns};
use inferometer_plan as plan;
use inferometer_plan::Plan;
use inferometer_store::utc::rfc3339;
use inferometer_store::{
    Ending, LogHeader, LogWriter, PassBegin, RunHeader, RunId, RunState, Store,
};

use super::against::Against;
use super::ignored::Ignored;
use super::requests::Requests;
use super::row::{Row, constant_extra_cost, row};
use crate::exit::Failure;
use crate::run::Resolved;
use crate::run::board::Board;
use crate::run::cells::Grid;
use crate::run::recording::{Counter, Recording};
use crate::run::session::{Facts, summarise};

/// The finding that streams bundle tokens.
pub const CHUNKS_ARE_NOT_TOKENS: &str = "chunks_are_not_tokens";

/// The finding that outputs ended before they were as long as asked.
const SHORTER_THAN_ASKED: &str = "output_shorter_than_asked";

/// A pass with its records.
struct PlayedPass {
    cell: CellPlan,
    pass: PassPlan,
    records: Vec<Record>,
}

/// A plan that was played.
pub struct Played<'a> {
    passes: Vec<PlayedPass>,
    /// How each cell was predicted, and what was measured of it.
    rows: Vec<(CellPlan, Row, Option<&'a Columns>)>,
    findings: Vec<Finding>,
    /// Loads and lengths are those of a log.
    of_log: bool,
    /// The identity of the requests; empty where only their lengths were made.
    workload_hash: String,
    /// To play all passes.
    pub simulation: Duration,
    /// Requests of all passes.
    pub requests: usize,
    /// The engine's own time of all passes.
    pub span: Duration,
}

/// How long it took.
pub struct Taken {
    /// To play it.
    pub simulation: Duration,
    /// Requests.
    pub requests: usize,
    /// The engine's own time.
    pub span: Duration,
}

impl Played<'_> {
    /// How long it took.
    pub fn taken(&self) -> Taken {
        Taken { simulation: self.simulation, requests: self.requests, span: self.span }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { simulation, requests, span } = self;
        write!(
            f,
            "simulated {requests} requests, {:.0} s of the engine's time, in {:.1} ms",
            span.as_secs_f64(),
            simulation.as_secs_f64() * 1e3
        )
    }
}

/// Refuses a load that the engine is not driven by here, rather than predict another.
fn check(pass: &PassPlan) -> Result<(), Failure> {
    let what = match pass {
        pass if matches!(pass.limit(), (Some(_), OverLimit::Drop)) => {
            "requests that are dropped over --max-in-flight"
        }
        PassPlan::Conversations { .. } => "conversations, whose answers are a server's own,",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("passes: {what} cannot be predicted; `run` can play it")))
}

/// Refuses a workload or a load that cannot be predicted.
///
/// # Errors
/// When it is one.
pub fn check_plan(plan: &Plan) -> Result<(), Failure> {
    if plan.workload.grid() == plan::Grid::Characters {
        return Err(Failure::usage(format!(
            "workload (--workload): {} ends its outputs where the model does, which nobody knows \
             beforehand, so it cannot be predicted; `run` plays it, and `--against` a log of it \
             predicts with the log's lengths",
            plan.workload.name()
        )));
    }
    plan.passes.iter().try_for_each(check)
}

/// Plays all passes of all cells.
pub fn play<'a>(
    resolved: &Resolved,
    config: &EngineConfig,
    against: Option<&'a Against>,
) -> Result<Played<'a>, Failure> {
    let plan = &resolved.plan;
    check_plan(plan)?;
    let mut requests = match against.filter(|against| !against.blocks.is_empty()) {
        Some(_) => None,
        None => Requests::open(resolved, config)?,
    };
    let clock =
        EpollNet::new().map_err(|error| Failure::not_carried_out(format!("the clock: {error}")))?;
    let mut played = Played {
        simulation: Duration::ZERO,
        passes: Vec::new(),
        rows: Vec::new(),
        findings: Vec::new(),
        of_log: against.is_some_and(|against| !against.blocks.is_empty()),
        workload_hash: String::new(),
        requests: 0,
        span: Duration::ZERO,
    };
    let mut ignored = Ignored::default();
    for &cell in &plan.cells {
        if let Some(requests) = &mut requests {
            requests.warm_up(plan, cell);
        }
        let measured = against.and_then(|against| against.row(cell));
        let row = row(config, cell, measured)?;
        played.findings.extend(row.findings.iter().cloned());
        let block = against.and_then(|against| against.block(cell));
        let passes = block.map_or_else(|| plan.passes.clone(), |block| vec![block.pass()]);
        for pass in &passes {
            let mut engine = Engine::new(row.config.clone()).map_err(Failure::usage)?;
            let limits = engine.config().limits;
            let place = PassContext {
                cell,
                pass,
                number: played.passes.len() as u32,
                streamed: plan.sampling.stream,
            };
            let mut load = load_model(pass, plan.seed);
            let mut play = |asked: &mut dyn Iterator<Item = EngineRequest>| {
                let began = clock.now();
                let pass_played = simulate_pass(&mut engine, &mut *load, asked, place);
                played.simulation += clock.now().since(began);
                pass_played.records(place)
            };
            let records = if let Some(requests) = &mut requests {
                let begin = PassBegin { pass: place.number, cell, plan: pass.clone(), repeat: 1 };
                let (mut stream, findings) = requests.of_pass(plan, &begin)?;
                let mut records = play(&mut stream);
                stream.made()?.tell(&mut records);
                played.findings.extend(findings);
                records
            } else {
                let lengths: Box<dyn Iterator<Item = Lengths>> = match block {
                    Some(block) => Box::new(block.lengths(limits.max_model_len)),
                    None => lengths(cell, row.mean_output, pass_requests(pass)),
                };
                play(&mut lengths.map(EngineRequest::from))
            };
            ignored.look(cell, limits, &records);
            played.requests += records.len();
            played.span += span(&records);
            if records.len() > DETAILED_REQUESTS {
                let message =
                    "gaps between tokens are the mean of each request, for there are many";
                let finding = Finding::new("itl_is_a_mean", Severity::Note, message);
                played.findings.push(finding.at(format!("{cell}, {pass}")));
            }
            played.passes.push(PlayedPass { cell, pass: pass.clone(), records });
        }
        played.rows.push((cell, row, measured));
    }
    played.findings.extend(against.and_then(log_is_no_plan));
    let other_model = |against: &Against| against.of_another_model(&config.model.name);
    played.findings.extend(against.and_then(other_model));
    played.findings.extend(against.and_then(|against| against.in_sample(config)));
    if let Some(requests) = &requests {
        played.findings.extend(requests.findings());
        played.workload_hash = requests.hash();
    }
    played.findings.extend(ignored.findings());
    Ok(played)
}

/// What a log does not say, and how it was taken.
fn log_is_no_plan(against: &Against) -> Option<Finding> {
    if against.blocks.is_empty() {
        return None;
    }
    let message = "lengths are the log's means in tokens, of its completed requests; outputs are \
                   spread around theirs as if each token were as likely to be the last; what its \
                   failed requests cost is not known";
    Some(Finding::new("lengths_from_log", Severity::Note, message))
}

/// Requests over which lengths are spread.
fn pass_requests(pass: &PassPlan) -> u32 {
    pass.requests().unwrap_or(DETAILED_REQUESTS as u32)
}

pub fn span(records: &[Record]) -> Duration {
    let first = records.iter().filter_map(|record| record.send_start).min();
    let last = records.iter().filter_map(|record| record.ended).max();
    first.zip(last).map_or(Duration::ZERO, |(first, last)| last.since(first))
}

/// Keeps the records and makes the results of them, as `run` does.
pub fn store(
    resolved: &Resolved,
    config: &EngineConfig,
    played: Played<'_>,
    against: Option<&str>,
) -> Result<(Summary, RunId), Failure> {
    let mut kept = Kept::begin(resolved, config, against)?;
    kept.findings.extend(played.findings);
    // That tokens come in bundles is how predictions are kept, not how a server streams; outputs of
    // a log are as long as it says.
    let expected = [CHUNKS_ARE_NOT_TOKENS, SHORTER_THAN_ASKED];
    let expected = if played.of_log { &expected[..] } else { &expected[..1] };
    for (number, PlayedPass { cell, pass, records }) in (0..).zip(played.passes) {
        let begin = PassBegin { pass: number, cell, plan: pass, repeat: 1 };
        kept.pass(&begin, records, expected)?;
    }
    kept.finish(&played.rows, played.workload_hash)
}

/// A prediction as it is kept, pass by pass.
pub struct Kept {
    header: RunHeader,
    recording: Recording,
    /// The figures of the passes so far.
    pub grid: Grid,
    /// What a reader must know.
    pub findings: Vec<Finding>,
}

impl Kept {
    /// Enters the run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin(
        resolved: &Resolved,
        config: &EngineConfig,
        against: Option<&str>,
    ) -> Result<Self, Failure> {
        let header = header(&resolved.plan, config, against)?;
        let mut store = Store::open(&resolved.store)
            .map_err(|error| Failure::usage(format!("store (--store): {error}")))?;
        let run = store.begin_run(&header).map_err(Failure::not_carried_out)?;
        let log_header = LogHeader::new(run.as_str(), header.origin_unix_ns);
        let log = LogWriter::create(store.log_path(&run), &log_header)
            .map_err(Failure::not_carried_out)?;
        let origin_unix_ns = header.origin_unix_ns;
        let counter = Counter::None;
        let board = Board::default();
        let recording = Recording { store, run, log, counter, template: 0, board, origin_unix_ns };
        Ok(Self { header, recording, grid: Grid::default(), findings: Vec::new() })
    }

    /// Keeps a pass; of what its records show, what is `expected` is left out.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn pass(
        &mut self,
        begin: &PassBegin,
        records: Vec<Record>,
        expected: &[&str],
    ) -> Result<(), Failure> {
        let (sender, receiver) = channel();
        for record in records {
            // The receiver is alive: it is read below.
            let _ = sender.send((record, None));
        }
        drop(sender);
        let ending = || (Ending::Complete, None, Observed::default());
        let plan = &self.header.plan;
        let (recorded, error) = self.recording.pass(plan, begin, &receiver, ending, || ());
        if let Some(error) = error {
            return Err(Failure::not_carried_out(error));
        }
        let found = recorded.findings.iter();
        let told = found.filter(|finding| !expected.contains(&finding.code.as_str()));
        self.findings.extend(told.cloned());
        self.grid.add(begin.cell, recorded);
        Ok(())
    }

    /// Makes the results, and ends the run.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn finish(
        self,
        rows: &[(CellPlan, Row, Option<&Columns>)],
        workload_hash: String,
    ) -> Result<(Summary, RunId), Failure> {
        let Self { header, recording, grid, findings } = self;
        let facts = Facts {
            run_id: recording.run.to_string(),
            started_at: rfc3339(header.started_unix_ns),
            plan: &header.plan,
            target: &header.target,
            environment: &header.environment,
            tool_version: &header.tool_version,
            predicted: true,
            workload_hash,
            // No body is made.
            body_hash: String::new(),
        };
        let mut summary = summarise(facts, &grid, findings);
        beside(&mut summary, rows)?;
        summary.errors = error_summaries(&summary.cells);
        let Recording { mut store, run, log, .. } = recording;
        log.finish(Ending::Complete).map_err(Failure::not_carried_out)?;
        let now = i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX);
        store
            .finish_run(&run, &summary, RunState::Complete, now)
            .map_err(Failure::not_carried_out)?;
        Ok((summary, run))
    }
}

/// Adds to each cell how sure its figures are, and what was measured.
fn beside(
    summary: &mut Summary,
    rows: &[(CellPlan, Row, Option<&Columns>)],
) -> Result<(), Failure> {
    let mut compared = Vec::new();
    for cell in &mut summary.cells {
        let place = CellPlan { input_length: cell.input_length, output_length: cell.output_length };
        let Some((_, row, measured)) = rows.iter().find(|(known, ..)| *known == place) else {
            continue;
        };
        let found = cell.columns();
        cell.prediction = CellPrediction {
            measured: measured.copied(),
            error_pct: measured
                .filter(|_| row.comparable)
                .map(|measured| found.error_pct(measured)),
            ..sureness(cell, place, row)?
        };
        if let (Some(measured), true) = (measured, row.comparable) {
            compared.push((found, **measured));
        }
    }
    summary.findings.extend(constant_extra_cost(&compared));
    Ok(())
}

fn sureness(cell: &Cell, place: CellPlan, row: &Row) -> Result<CellPrediction, Failure> {
    let resolved = row.config.resolve().map_err(Failure::usage)?;
    let in_flight = cell.passes.iter().filter_map(|pass| pass.peak_concurrency).max().unwrap_or(1);
    let sequences = u64::from(resolved.limits.max_num_seqs).min(in_flight) as u32;
    let sure = confidence(&resolved, lengths_of(cell, place), sequences);
    let interval = |column, predicted: Option<f64>| Some(sure.interval(column, predicted?));
    let (throughput, latency) = (ErrorColumn::Throughput, ErrorColumn::Latency);
    Ok(CellPrediction {
        interval: Some(Intervals {
            requests_per_s: interval(throughput, cell.requests_per_s),
            output_tokens_per_s: interval(throughput, cell.output_tokens_per_s),
            latency_per_token_ms: interval(latency, cell.latency_per_token_ms),
            latency_per_output_token_ms: interval(latency, cell.latency_per_output_token_ms),
        }),
        uncalibrated: sure.uncalibrated,
        ..CellPrediction::default()
    })
}

/// The lengths of a cell; of requests with lengths of their own, their means.
fn lengths_of(cell: &Cell, place: CellPlan) -> CellPlan {
    let passes = cell.passes.iter().filter(|pass| pass.outcomes.complete > 0);
    let Some(pass) = passes.max_by_key(|pass| pass.outcomes.complete) else { return place };
    let mean = |tokens: u64| (tokens as f64 / pass.outcomes.complete as f64).round() as u32;
    let own = |length: u32, tokens: u64| if length == 0 { mean(tokens) } else { length };
    CellPlan {
        input_length: own(place.input_length, pass.input_tokens),
        output_length: own(place.output_length, pass.output_tokens),
    }
}

fn header(plan: &Plan, config: &EngineConfig, against: Option<&str>) -> Result<RunHeader, Failure> {
    let resolved = config.resolve().map_err(Failure::usage)?;
    let profile = &resolved.profile;
    let mut facts: std::collections::BTreeMap<String, String> = [
        ("card", resolved.card.name.clone()),
        ("max_model_len", resolved.limits.max_model_len.to_string()),
        ("max_num_seqs", resolved.limits.max_num_seqs.to_string()),
        ("max_num_batched_tokens", resolved.limits.max_num_batched_tokens.to_string()),
        ("block_size", resolved.block_size.to_string()),
        ("gpu_memory_utilization", resolved.gpu_memory_utilization.to_string()),
        ("tensor_parallel_size", resolved.tensor_parallel_size.to_string()),
        ("pipeline_parallel_size", resolved.pipeline_parallel_size.to_string()),
        ("weights", resolved.weights.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    if let Some(origin) = against {
        facts.insert("against".to_owned(), origin.to_owned());
    }
    for (number, caveat) in resolved.caveats().into_iter().enumerate() {
        facts.insert(format!("caveat_{}", number + 1), caveat);
    }
    let wall_ns = wall_clock_ns();
    Ok(RunHeader {
        started_unix_ns: i64::try_from(wall_ns).unwrap_or(i64::MAX),
        suffix: (wall_ns / 1_000) as u16 ^ (std::process::id() as u16).rotate_left(7),
        // Instants of a prediction begin at 0, and mean nothing on a clock.
        origin_unix_ns: i64::try_from(wall_ns).unwrap_or(i64::MAX),
        plan: plan.clone(),
        workload_hash: None,
        body_hash: None,
        target: Target {
            url: String::new(),
            dialect: "none".to_owned(),
            engine: Some(profile.engine.clone()),
            engine_version: Some(profile.engine_version.clone()),
            model: resolved.model.name.clone(),
            simulated: true,
            profile: Some(profile.name.clone()),
            facts,
        },
        environment: Environment::default(),
        predicted: true,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
