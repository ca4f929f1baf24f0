//! Simulates a plan in virtual time and creates the records that its passes would have. Nothing is stored here.

use std::{fmt, time::Duration};

use inferometer_analysis::{prediction::Columns, stop::StopWatch};
use inferometer_engine::fit::runs::RunFigures;
use inferometer_engine::records::{DETAILED_REQUESTS, PassContext, simulate_pass};
use inferometer_engine::{Engine, EngineConfig, EngineRequest, Feed, Lengths, NoiseState, lengths};
use inferometer_model::load::{EndedRequest, Leavers};
use inferometer_model::{CellPlan, Finding, OverLimit, PassPlan, code, load_model};
use inferometer_net::monotonic_now;
use inferometer_plan as plan;
use inferometer_plan::Plan;
use inferometer_run::{Context, RunError};
use inferometer_store::PassBegin;

use crate::requests::{PlayedRequests, Requests};
use crate::simulated_pass::{SimulatedPass, figures};
use crate::slower::{FirstRequests, Repeatable};
use crate::{MeasuredRows, Row, row, too_long_prompts::TooLongPrompts};

/// A simulated plan.
#[derive(Default)]
pub struct SimulatedPlan<'a> {
    pub(crate) passes: Vec<SimulatedPass>,
    /// The prediction settings of each cell, and its measured figures.
    pub(crate) rows: Vec<(CellPlan, Row, Option<&'a Columns>)>,
    /// The measured figures of the passes of a stored run or of a result file, in the order of the passes.
    pub(crate) measured: Vec<(CellPlan, RunFigures)>,
    pub(crate) findings: Vec<Finding>,
    /// The state of the engine's noise, which continues from pass to pass.
    noise: Option<NoiseState>,
    /// Whether the loads and the lengths come from a log that `against` contains.
    pub(crate) of_log: bool,
    /// The hash over the requests; `None` if only their lengths were created.
    pub(crate) workload_hash: Option<String>,
    /// The time that it took.
    pub time: PlayTime,
}

/// How long a simulation took.
#[derive(Clone, Copy, Default)]
pub struct PlayTime {
    /// The real time that the simulation took.
    pub simulation: Duration,
    /// The number of simulated requests.
    pub requests: usize,
    /// The virtual time of all passes.
    pub span: Duration,
}

impl SimulatedPlan<'_> {
    /// Simulates a pass with `requests`, the requests of the workload. If `requests` is `None`, the pass has the
    /// requests of `asked`.
    fn pass(
        &mut self,
        plan: &Plan,
        cell: CellPlan,
        pass: PassPlan,
        config: &EngineConfig,
        requests: Option<&mut Requests>,
        mut asked: Box<dyn Iterator<Item = EngineRequest> + '_>,
    ) -> Result<(), RunError> {
        let begin = PassBegin { pass: self.passes.len() as u32, cell, plan: pass, repeat: 1 };
        let pass = &begin.plan;
        let streamed = plan.sampling.stream;
        let engine = Engine::new(config.clone()).map_err(RunError::plan)?;
        let mut engine = engine.with_noise_of(self.noise.take());
        let mut first = FirstRequests::of(config, pass);
        // The arrivals are those of the first repeat of a run.
        let seed = pass.seed(plan.seed, cell, 1);
        let leavers = plan.abandon.map(|abandon| Leavers { abandon, seed });
        let in_prefill = plan.max_in_prefill;
        let mut load = load_model(pass, seed);
        let mut play = |asked: &mut dyn Feed| {
            let began = monotonic_now();
            let mut asked = Noted { asked, first: &mut first };
            let number = begin.pass;
            let place = PassContext { cell, pass, number, streamed, leavers, in_prefill };
            let simulated = simulate_pass(&mut engine, &mut *load, &mut asked, place);
            self.time.simulation += monotonic_now().since(began);
            simulated
        };
        let (simulated, played) = if let Some(requests) = requests {
            let (mut stream, findings) = requests.of_pass(plan, &begin)?;
            let simulated = play(&mut stream);
            self.findings.extend(findings);
            (simulated, Some(stream.played()?))
        } else {
            (play(&mut asked), None)
        };
        self.noise = engine.noise().cloned();
        let mut pass =
            SimulatedPass { begin, streamed, simulated, played, cut_off: None, repeatable: None };
        if let Some(watch) = StopWatch::of(plan.stop, &pass.begin.plan) {
            pass.cut_off = watch.stops_at(&figures(pass.records()));
        }
        let repeatable = || Repeatable::new(config, &pass.begin.plan, first, pass.dues());
        let is_plain = leavers.is_none() && in_prefill.is_none();
        pass.repeatable = is_plain.then(repeatable).flatten();
        self.time.requests += pass.requests();
        self.time.span += pass.span();
        if pass.requests() > DETAILED_REQUESTS {
            let message = format!(
                "ITL is known only as the mean of each request, because the pass has more than \
                    {DETAILED_REQUESTS} requests"
            );
            let finding = Finding::of(code::ITL_IS_A_MEAN, message);
            self.findings.push(finding.at(format!("{cell}, {}", pass.begin.plan)));
        }
        self.passes.push(pass);
        Ok(())
    }
}

/// A feed whose first requests are noted.
struct Noted<'a> {
    asked: &'a mut dyn Feed,
    first: &'a mut FirstRequests,
}

impl Feed for Noted<'_> {
    fn next(&mut self) -> Option<EngineRequest> {
        let request = self.asked.next()?;
        self.first.add(&request);
        Some(request)
    }

    fn call(&mut self, job: u32, call: u32) -> Option<EngineRequest> {
        self.asked.call(job, call)
    }

    fn ended(&mut self, ended: EndedRequest) {
        self.asked.ended(ended);
    }
}

impl fmt::Display for PlayTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { simulation, requests, span } = self;
        write!(
            f,
            "simulated {requests} requests ({:.0} s of virtual time) in {:.1} ms",
            span.as_secs_f64(),
            simulation.as_secs_f64() * 1e3
        )
    }
}

/// Rejects loads that the simulation does not support.
fn check(pass: &PassPlan) -> Result<(), RunError> {
    let what = match pass {
        pass if matches!(pass.limit(), (Some(_), OverLimit::Drop)) => {
            "dropped requests (--over-limit drop)"
        }
        PassPlan::Conversations(jobs) if !jobs.script.are_jobs => {
            "conversations, which depend on the answers of a server,"
        }
        _ => return Ok(()),
    };
    Err(RunError::plan(format!("passes: {what} cannot be predicted; use `inferometer run`")))
}

/// Checks that a plan can be predicted.
///
/// # Errors
/// If its workload or a load cannot be predicted.
pub fn check_plan(plan: &Plan) -> Result<(), RunError> {
    if plan.workload.grid() == plan::Grid::Characters {
        return Err(RunError::plan(format!(
            "workload (--workload): the output lengths of {} are known only after a measurement, \
                so this workload cannot be predicted; use `inferometer run`, or leave out \
                --workload and name a log of this workload with --against",
            plan.workload.name()
        )));
    }
    plan.passes.iter().try_for_each(check)
}

/// Simulates all passes of all cells. If `against` states loads, the simulation uses them instead of the loads of the
/// plan.
pub fn play<'a>(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
    against: Option<&'a MeasuredRows>,
) -> Result<SimulatedPlan<'a>, RunError> {
    check_plan(plan)?;
    let brings_requests = |it: &&MeasuredRows| !it.blocks.is_empty() || !it.passes.is_empty();
    let mut requests = match against.filter(brings_requests) {
        Some(_) => None,
        None => Requests::open(plan, context, config)?,
    };
    let mut played = SimulatedPlan {
        of_log: against.is_some_and(|against| !against.blocks.is_empty()),
        ..SimulatedPlan::default()
    };
    let mut too_long_prompts = TooLongPrompts::default();
    for &cell in &plan.cells {
        if let Some(requests) = &mut requests {
            requests.warm_up(plan, cell);
        }
        let of_table = against.filter(|against| against.passes.is_empty());
        let measured = of_table.and_then(|against| against.row(cell));
        let mut row = row(config, cell, measured)?;
        row.measured_on = against.map(|it| it.measured_on.clone()).unwrap_or_default();
        played.findings.extend(row.findings.iter().cloned());
        let of_run: Vec<_> = against.iter().flat_map(|against| against.passes_of(cell)).collect();
        for pass in &of_run {
            let asked = pass.run.requests(row.config.block_size.unwrap_or(16));
            let config = EngineConfig { noise: row.config.noise, ..pass.run.config.clone() };
            played.pass(plan, cell, pass.run.pass.clone(), &config, None, Box::new(asked))?;
            // The simulated requests ask for the measured lengths, which may vary within the cell.
            if let Some(simulated) = played.passes.last_mut() {
                simulated.played = Some(PlayedRequests::of_lengths(&pass.run.lengths));
            }
            played.measured.push((cell, pass.run.measured));
        }
        let block = against.and_then(|against| against.block(cell));
        let passes = match (block, of_run.is_empty()) {
            (Some(block), _) => vec![block.pass()],
            (None, true) => plan.passes.clone(),
            (None, false) => Vec::new(),
        };
        for pass in passes {
            let limits = row.config.resolve().map_err(RunError::plan)?.limits;
            let lengths: Box<dyn Iterator<Item = Lengths>> = match block {
                Some(block) => Box::new(block.lengths(limits.max_model_len)),
                None => lengths(cell, row.mean_output, pass_requests(&pass)),
            };
            let asked = Box::new(lengths.map(EngineRequest::from));
            played.pass(plan, cell, pass, &row.config, requests.as_mut(), asked)?;
            if let Some(pass) = played.passes.last() {
                // Making the records takes long, so they are made only if they are needed.
                let records = pass.has_ignored_prompts().then(|| pass.records());
                let records = records.into_iter().flatten();
                too_long_prompts.add(cell, limits, pass.requests(), records);
            }
        }
        played.rows.push((cell, row, measured));
    }
    played.findings.extend(against.and_then(assumptions_of_log));
    let other_model = |against: &MeasuredRows| against.of_another_model(&config.model.name);
    played.findings.extend(against.and_then(other_model));
    if let Some(against) = against {
        let resolved = config.resolve().map_err(RunError::plan)?;
        played.findings.extend(against.on_another_engine(&resolved));
    }
    played.findings.extend(against.and_then(|against| against.in_sample(config)));
    if let Some(requests) = &requests {
        played.findings.extend(requests.findings());
        played.workload_hash = Some(requests.hash());
    }
    played.findings.extend(too_long_prompts.findings());
    Ok(played)
}

/// A finding for predictions from a log: which lengths and costs had to be assumed.
fn assumptions_of_log(against: &MeasuredRows) -> Option<Finding> {
    if against.blocks.is_empty() {
        return None;
    }
    let message = "lengths are the log's means in tokens over completed requests; output lengths \
        are quantiles of a geometric distribution with that mean; the cost of failed requests is \
        unknown";
    Some(Finding::of(code::LENGTHS_FROM_LOG, message))
}

/// The number of requests for which lengths are computed; a default if the pass has no number of requests.
fn pass_requests(pass: &PassPlan) -> u32 {
    pass.requests().unwrap_or(DETAILED_REQUESTS as u32)
}
