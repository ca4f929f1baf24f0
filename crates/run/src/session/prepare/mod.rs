//! All steps before the first pass: checks that need no server, the start of the server, the first requests,
//! the estimated duration, and the entry of the run in the store.

pub(crate) mod equip;
mod first_requests;
pub(crate) mod messages;
mod model_limit;
pub(crate) mod overhead;

use inferometer_model::target::{EventLoopCount, Side};
use inferometer_model::{Environment, Finding, Severity, Target, request::BodyHasher};
use inferometer_plan::{Plan, Procedure, Repeat};
use inferometer_report::progress::{Notice, SlowStep};
use inferometer_servers::observe::Observer;
use inferometer_store::{RunHeader, Store};
use inferometer_workload::PromptScope;

use super::{RunRequest, Session, prefix_cache::PrefixCache, slow::report_if_slow};
use crate::prompts::{self, PromptCursor, PromptTokenizer, Prompts, WorkloadHash};
use crate::recording::header::{self, TimeOrigin};
use crate::{
    DurationEstimate, Event, Events, ExpectedPass, Network, Outputs, ReadyTarget, ReportFiles,
    RunError, RunStarted, Servers, Start,
    estimate::bound::LongestRun,
    estimate::duration::{self, Times},
    pass::event_loops::event_loops,
    pass::runner::PassRunner,
    recording::recorder::Recording,
    results::grid::Grid,
    resume::sent_before,
    target::ignore_eos::IgnoreEos,
};
use equip::{Equipped, equip, fit_prompts, if_interrupted};
use first_requests::First;
use overhead::Overhead;

/// The results of the checks that need no server.
pub(super) struct CheckedPlan {
    pub(super) tokenizer: Option<PromptTokenizer>,
    pub(super) outputs: Outputs,
    store: Store,
    longest: LongestRun,
    /// The estimated duration of the plan in `longest` on the embedded engine, or according to its schedule; absent if
    /// the duration depends on the server.
    estimate: Option<Times>,
}

impl CheckedPlan {
    pub(super) fn of(RunRequest { plan, context, .. }: RunRequest<'_>) -> Result<Self, RunError> {
        let tokenizer = prompts::named_tokenizer(plan)?;
        prompts::check_dataset(plan)?;
        let outputs = Outputs::prepare(context.out.as_deref())?;
        let store = Store::open(&context.store)
            .map_err(|error| RunError::plan(format!("store (--store): {error}")))?;
        let longest = LongestRun::of(plan);
        let estimate = duration::of_plan(&longest.plan)?;
        Ok(Self { tokenizer, outputs, store, longest, estimate })
    }
}

/// Prepares a run up to its first pass.
///
/// # Errors
/// When the run cannot be carried out, or is interrupted or refused.
pub(super) fn prepare<'a, N: Network>(
    net: N,
    request: RunRequest<'a>,
    servers: &'a mut Servers,
    connect: impl FnOnce(&mut Servers, Start<'_>) -> Result<ReadyTarget, RunError>,
) -> Result<Session<'a, N>, RunError> {
    let RunRequest { plan, context, events } = request;
    let CheckedPlan { tokenizer, outputs, store, longest, estimate } = CheckedPlan::of(request)?;
    let equipped = equip(net, request, servers, outputs.folder(), tokenizer, connect)?;
    let Equipped { mut ready, observer, mut findings, counter, mut prompts, mut runner, first } =
        equipped;
    ready.target.startup = servers.take_startup();
    // Only now is it known that the server accepts the model.
    messages::measuring(events, &ready.target, plan);
    if let Some(run) = outputs.replaced() {
        let folder = outputs.folder().to_owned();
        events.say(&Notice::ReplacesReport { folder, run: run.to_string() });
    }
    let First { seen, ignore_eos } = first;
    let (estimate, passes_s) =
        estimate_after(request, &longest, estimate, &prompts, &seen, &mut runner)?;
    let template = fit_prompts(&mut prompts, plan, &ready, &runner, seen, &mut findings);
    let beyond = model_limit::beyond(plan, prompts.spec(), &ready.target.facts, template);
    findings.extend(beyond.map_err(|error| if_interrupted(request, error))?);
    tell(&findings, events);
    for &cell in &plan.cells {
        // If no prompt can be made for a cell, the run ends with an error before anything is measured.
        let scope = PromptScope::new(cell.to_string(), "check", 0);
        let asks_server = prompts.tokenizer().asks_the_server;
        let step = SlowStep::FirstPrompt { cell, asks_server };
        report_if_slow(events, step, || prompts.build(cell, &scope, 1))
            .map_err(|error| if_interrupted(request, error))?;
    }
    if let Some(earlier) = &context.same_work {
        events.say(&Notice::CheckingSameWork { run: earlier.run.to_string() });
        prompts::check_same_work(&prompts, plan, earlier)
            .map_err(|error| if_interrupted(request, error))?;
    }
    match &plan.procedure {
        Procedure::Search(search) => messages::search(events, plan, search, estimate),
        Procedure::Sweep(sweep) => messages::sweep(events, plan, sweep),
        // The limits are those of both sides, so they are printed once, for the first side.
        Procedure::Ab(_) if context.origin.side == Some(Side::B) => {}
        Procedure::Ab(ab) => messages::ab(events, plan, ab, estimate),
        Procedure::Passes => messages::estimate(events, plan, estimate),
    }
    context.host.confirm.as_ref().map_or(Ok(()), |ask| ask(estimate).map_err(RunError::Refused))?;
    let header = header_of(request, &ready.target, &prompts, &runner, &observer);
    let mut recording = Recording::begin(store, &header, counter)?;
    recording.template = template;
    recording.honours_ignore_eos = ignore_eos == IgnoreEos::Honoured;
    recording.has_hashes = prompts.spec().workload().has_hashes();
    recording.traced = context.files == ReportFiles::All;
    let workload_hash = WorkloadHash::of_run(plan, &context.salt, context.dump.as_deref())?;
    started(request, &recording, &header, &passes_s);
    Ok(Session {
        request,
        servers,
        outputs,
        runner,
        prompts,
        recording,
        observer: with_sample_events(observer, request),
        header,
        grid: Grid::default(),
        findings,
        workload_hash,
        body_hasher: BodyHasher::new(),
        bodies_are_known: true,
        pass_number: 0,
        completed: 0,
        cache: PrefixCache::of(&ready, plan),
        cursor: PromptCursor::default(),
        cursor_is_upper_bound: false,
        sent_before: sent_before(plan, context),
        broken: None,
        reports: Vec::new(),
        _embedded: ready.embedded,
    })
}

/// Sends the findings from before the measurement as events.
fn tell(findings: &[Finding], events: &Events) {
    for finding in findings {
        events.emit(Event::Finding(finding));
        if finding.severity == Severity::Warning {
            events.say(&Notice::Finding { finding: Box::new(finding.clone()) });
        }
    }
}

/// How long the run takes, and each pass of each cell in seconds (empty if it is unknown). If this time does not follow
/// from the plan, it is estimated from the first requests.
fn estimate_after<N: Network>(
    request: RunRequest<'_>,
    longest: &LongestRun,
    estimate: Option<Times>,
    prompts: &Prompts,
    seen: &Overhead,
    runner: &mut PassRunner<N>,
) -> Result<(DurationEstimate, Vec<f64>), RunError> {
    if let Some(limit) = longest.limit() {
        // If the user set a time limit, no estimate is needed, so no requests are sent for it.
        return Ok((Some((limit, limit)), Vec::new()));
    }
    let times = match estimate {
        Some(times) => Some(times),
        None => match duration::with_lengths(&longest.plan, prompts) {
            None => None,
            Some(plans) => {
                let first = seen.last_complete.as_ref();
                // A resuming run has the salt of the resumed run, whose prompt may be in the server's cache. So the
                // scope contains the id of the resumed run, which makes the prompt different.
                let resumed = request.context.origin.resumes.as_ref();
                let scope =
                    resumed.map_or("estimate".to_owned(), |run| format!("estimate after {run}"));
                let speed = report_if_slow(request.events, SlowStep::LongPrompt, || {
                    overhead::speed(runner, &plans, prompts, &scope, first)
                });
                let speed = speed.map_err(|error| if_interrupted(request, error))?;
                duration::of_plans(&plans, speed.as_ref())
            }
        },
    };
    if runner.interrupted() {
        return Err(RunError::Interrupted("anything was measured"));
    }
    Ok(times.map_or_else(Default::default, |Times { all: (one, other), passes_s }| {
        (longest.time(one).zip(longest.time(other)), passes_s)
    }))
}

fn header_of<N: Network>(
    RunRequest { plan, context, .. }: RunRequest<'_>,
    target: &Target,
    prompts: &Prompts,
    runner: &PassRunner<N>,
    observer: &Observer,
) -> RunHeader {
    let environment = Environment {
        tokenizer: Some(prompts.tokenizer().tokenizer.name()),
        tokenizer_sha256: prompts.tokenizer().tokenizer.sha256(),
        salt: Some(context.salt.clone()),
        event_loops: Some(EventLoopCount { count: runner.net.loops() as u32, ..event_loops(plan) }),
        cards: observer.cards.iter().flat_map(|source| source.cards()).collect(),
        ..inferometer_servers::observe::environment()
    };
    header::of_run(plan, target.clone(), environment, TimeOrigin::Clock(runner.net.now()))
}

/// Sends the event that the run begins. `passes_s`: the expected time of each pass of each cell; empty if it is unknown.
fn started(request: RunRequest<'_>, recording: &Recording, header: &RunHeader, passes_s: &[f64]) {
    request.events.emit(Event::RunStarted(&RunStarted {
        id: recording.run().to_string(),
        title: messages::title(&header.target),
        target: header.target.clone(),
        started_unix_ns: header.started_unix_ns,
        passes: max_passes(request.plan),
        expected: expected(request.plan, passes_s),
        times_are_known: are_times(passes_s),
    }));
}

/// All passes of a plan in their order; empty if results decide how many there are. If their times are unknown, they are
/// taken to be equally long.
fn expected(plan: &Plan, passes_s: &[f64]) -> Vec<ExpectedPass> {
    let Repeat { at_least, at_most, .. } = plan.repeat;
    if plan.procedure.most_trials().is_some() || at_least != at_most {
        return Vec::new();
    }
    let mut weights = passes_s.iter().filter(|_| are_times(passes_s));
    let mut all = Vec::new();
    for &cell in &plan.cells {
        let of_cell: Vec<f64> =
            plan.passes_of(cell).iter().map(|_| *weights.next().unwrap_or(&1.0)).collect();
        for repeat in 1..=at_most {
            let passes = of_cell.iter().enumerate();
            all.extend(passes.map(|(load, &weight)| ExpectedPass { cell, repeat, load, weight }));
        }
    }
    all
}

/// Whether these are the times of passes: a schedule of one request has none.
fn are_times(passes_s: &[f64]) -> bool {
    !passes_s.is_empty() && passes_s.iter().all(|seconds| seconds.is_finite() && *seconds > 0.0)
}

/// The maximum number of passes of a run.
fn max_passes(plan: &Plan) -> usize {
    let once: usize = plan.cells.iter().map(|cell| plan.passes_of(*cell).len()).sum();
    once * plan.procedure.most_trials().unwrap_or(plan.repeat.at_most) as usize
}

/// An observer that sends its samples as events.
fn with_sample_events(mut observer: Observer, request: RunRequest<'_>) -> Observer {
    let events = request.events.clone();
    observer.on_sample = Some(Box::new(move |sample| events.emit(Event::Sample(sample))));
    observer
}
