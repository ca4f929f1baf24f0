//! Everything before the first pass: what can be wrong without a server, the server itself, what it
//! adds to prompts, how long the run will take, and the run's entry in the store.

use std::sync::Arc;
use std::time::Duration;

use inferometer_drive::Endpoint;
use inferometer_model::finding::{Finding, Severity, code};
use inferometer_model::request::BodyHasher;
use inferometer_model::secrets::{MIN_SECRET_CHARS, short_keys};
use inferometer_model::target::{Environment, Target};
use inferometer_observe::Observer;
use inferometer_plan::{Plan, WorkloadPlan};
use inferometer_store::{RunHeader, Store};
use inferometer_workload::PromptScope;
use inferometer_workload::conversation::History;

use super::first_requests::{self, First};
use super::{RunRequest, Session};
use crate::context::{Estimate, ReportFiles};
use crate::error::RunError;
use crate::event::{Event, RunStarted};
use crate::events::Events;
use crate::grid::Grid;
use crate::header::{self, Origin};
use crate::ignore_eos::IgnoreEos;
use crate::network::Network;
use crate::outputs::Outputs;
use crate::overhead::Overhead;
use crate::pass::PassRunner;
use crate::prefix_cache::PrefixCache;
use crate::prompts::{self, PromptCursor, PromptTokenizer, Prompts, WorkloadHash};
use crate::recording::{Counter, Recording};
use crate::search_bound::LongestRun;
use crate::servers::{Servers, Start};
use crate::slow::told_if_slow;
use crate::target::ReadyTarget;
use crate::{estimate, messages, model_limit, observers, overhead, prompt_findings};

/// What is known without a server.
struct Checked {
    tokenizer: Option<PromptTokenizer>,
    outputs: Outputs,
    store: Store,
    longest: LongestRun,
    /// How long the run takes on the embedded engine, or by its schedule.
    estimate: Option<Duration>,
}

impl Checked {
    fn of(RunRequest { plan, context, .. }: RunRequest<'_>) -> Result<Self, RunError> {
        let tokenizer = prompts::named_tokenizer(plan)?;
        prompts::check_dataset(plan)?;
        let outputs = Outputs::prepare(context.out.as_deref())?;
        let store = Store::open(&context.store)
            .map_err(|error| RunError::plan(format!("store (--store): {error}")))?;
        let longest = LongestRun::of(plan);
        let estimate = estimate::of_plan(&longest.plan)?;
        Ok(Self { tokenizer, outputs, store, longest, estimate })
    }
}

/// Prepares a run up to its first pass.
///
/// # Errors
/// When it cannot be carried out, or is interrupted or refused.
pub(super) fn prepare<'a, N: Network>(
    net: N,
    request: RunRequest<'a>,
    servers: &'a mut Servers,
    connect: impl FnOnce(&mut Servers, Start<'_>) -> Result<ReadyTarget, RunError>,
) -> Result<Session<'a, N>, RunError> {
    let RunRequest { plan, context, events } = request;
    let Checked { tokenizer, outputs, store, longest, estimate } = Checked::of(request)?;
    let mut ready = connected(&net, request, servers, &outputs, connect)?;
    let too_long = model_limit::check(plan, &ready.target.facts)?;
    let mut asked = observers::observer(plan, &context.access, &mut ready)?;
    let mut findings = ready.findings.clone();
    findings.extend(too_long);
    let tokenizer = match tokenizer {
        Some(tokenizer) => tokenizer,
        None => {
            let server = ready.server.as_ref();
            told_if_slow(
                events,
                "asking the server for a tokenizer (/tokenize, /detokenize)",
                || prompts::servers_tokenizer(server, &ready.endpoint.model, &mut findings),
            )
        }
    };
    let counter = counter(plan, &ready.endpoint, &tokenizer);
    let mut prompts = open_prompts(request, tokenizer, &ready, &mut findings)?;
    let mut runner = runner(net, request, &ready, &counter);
    let first = first_requests::send(&mut runner, plan, &prompts, &ready, &mut findings)?;
    let First { seen, ignore_eos } = first;
    if runner.interrupted() {
        return Err(RunError::Interrupted("anything was measured"));
    }
    if asked.again {
        asked.observer.scrape = observers::ask_again(plan, &context.access, &mut ready)?;
    }
    let observer = asked.observer;
    let estimate = estimate_after(&longest, estimate, &prompts, &seen);
    let template = fit_prompts(&mut prompts, plan, &ready, &runner, seen, &mut findings);
    tell(&findings, events);
    for &cell in &plan.cells {
        // A cell for which there are no prompts is an error before anything is measured.
        let scope = PromptScope::new(cell.to_string(), "check", 0);
        let what = match prompts.tokenizer().asks_the_server {
            true => {
                format!("making a first prompt for {cell} by the server's tokenizer (/tokenize)")
            }
            false => format!("making a first prompt for {cell}"),
        };
        told_if_slow(events, &what, || prompts.build(cell, &scope, 1))?;
    }
    if let Some(earlier) = &context.same_work {
        events.say(&format!(
            "making the requests of run {} again, to see that they are the same",
            earlier.run
        ));
        prompts::check_same_work(&prompts, plan, earlier)?;
    }
    match &plan.search {
        Some(search) => messages::search(events, plan, search, estimate),
        None => messages::estimate(events, estimate),
    }
    context.host.confirm.as_ref().map_or(Ok(()), |ask| ask(estimate).map_err(RunError::Refused))?;
    let header = header_of(request, &ready.target, &prompts, &runner, &observer);
    let mut recording = Recording::begin(store, &header, counter)?;
    recording.template = template;
    recording.honours_ignore_eos = ignore_eos == IgnoreEos::Honoured;
    recording.traced = context.files == ReportFiles::All;
    let workload_hash = WorkloadHash::of_run(plan, &context.salt, context.dump.as_deref())?;
    started(request, &recording, &header);
    Ok(Session {
        request,
        servers,
        outputs,
        runner,
        prompts,
        recording,
        observer: heard(observer, request),
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
        cursor_is_a_bound: false,
        broken: None,
        _embedded: ready.embedded,
    })
}

/// Tells those who look on what was found before anything is measured.
fn tell(findings: &[Finding], events: &Events) {
    for finding in findings {
        events.emit(Event::Finding(finding));
        if finding.severity == Severity::Warning {
            events.say(&format!("warning: {}", finding.message));
        }
    }
}

/// The server, ready to be measured.
fn connected(
    net: &impl Network,
    RunRequest { plan, context, events }: RunRequest<'_>,
    servers: &mut Servers,
    outputs: &Outputs,
    connect: impl FnOnce(&mut Servers, Start<'_>) -> Result<ReadyTarget, RunError>,
) -> Result<ReadyTarget, RunError> {
    // A limit that stays low shows in the records of the connections that it costs.
    let _ = inferometer_net::raise_open_files_limit();
    let interrupt = &context.host.interrupt;
    interrupt.wakes(net.waker());
    events.emit(Event::Connecting);
    let stop = interrupt.flag();
    let program = context.host.program.as_deref();
    for name in short_keys(&context.headers) {
        events.say(&format!(
            "warning: the key in the header {name} has fewer than {MIN_SECRET_CHARS} characters, so \
             it is not removed from texts in which the server quotes it"
        ));
    }
    let headers = &context.headers;
    let start = Start { folder: outputs.folder(), stop: &stop, events, program, headers };
    let ready = match connect(servers, start) {
        Err(_) if interrupt.is_requested() => {
            return Err(RunError::Interrupted("anything was measured"));
        }
        ready => ready?,
    };
    messages::announce(events, &ready.target, plan);
    if let Some(run) = outputs.replaced() {
        let folder = outputs.folder().display();
        events.say(&format!("out: {folder}: this run replaces the report of run {run}"));
    }
    Ok(ready)
}

fn open_prompts(
    RunRequest { plan, context, .. }: RunRequest<'_>,
    tokenizer: PromptTokenizer,
    ready: &ReadyTarget,
    findings: &mut Vec<Finding>,
) -> Result<Prompts, RunError> {
    let mut prompts = Prompts::open(plan, tokenizer, &context.salt)?;
    findings.extend(prompts::data_set_findings(&prompts));
    findings.extend(prompt_findings::hash_covers_a_part(plan));
    prompts::check_dialect(&prompts, plan, ready.endpoint.dialect)?;
    if ready.endpoint.dialect.accepts_messages {
        prompts.send_history_as(History::Messages);
    }
    Ok(prompts)
}

fn runner<N: Network>(
    net: N,
    RunRequest { plan, context, .. }: RunRequest<'_>,
    ready: &ReadyTarget,
    counter: &Counter,
) -> PassRunner<N> {
    let talks = matches!(plan.workload, WorkloadPlan::Conversation(_));
    PassRunner {
        net,
        stop: context.host.interrupt.flag(),
        address: ready.address.clone(),
        tunnel: ready.tunnel.clone(),
        tls: ready.tls.clone(),
        endpoint: ready.endpoint.clone(),
        sends_ignore_eos: true,
        keep_text: talks || !matches!(counter, Counter::None),
        reuse_connections: ready.endpoint.keeps_connections(),
        cut_off: true,
    }
}

/// How long the run takes, by what the first requests showed.
fn estimate_after(
    longest: &LongestRun,
    estimate: Option<Duration>,
    prompts: &Prompts,
    seen: &Overhead,
) -> Estimate {
    let (plan, record) = (&longest.plan, seen.last_complete.as_ref());
    let spans = match estimate {
        Some(span) => Some((span, span)),
        None => {
            let by_record = record.and_then(|record| estimate::from_request(plan, record));
            by_record.or_else(|| estimate::of_sample(plan, prompts, record))
        }
    };
    spans.and_then(|(one, other)| longest.time(one).zip(longest.time(other)))
}

/// Makes prompts shorter by what the server adds, where that counts. Says how many tokens of a chat
/// template input lengths leave out.
fn fit_prompts<N: Network>(
    prompts: &mut Prompts,
    plan: &Plan,
    ready: &ReadyTarget,
    runner: &PassRunner<N>,
    seen: Overhead,
    findings: &mut Vec<Finding>,
) -> u32 {
    if !runner.reuse_connections {
        let why = if ready.endpoint.keeps_connections() {
            "the server closes connections after an answer without saying so"
        } else {
            "the header `Connection: close` was given"
        };
        let message =
            format!("{why}: each request has a connection of its own, opened ahead of it");
        findings.push(Finding::of(code::CONNECTIONS_NOT_KEPT, message));
    }
    let has_template = ready.endpoint.dialect.applies_chat_template;
    let is_models_own = prompts.tokenizer().is_models_own;
    let added = seen.tokens.filter(|_| is_models_own);
    if is_models_own {
        findings.extend(seen.findings);
    }
    if has_template && plan.count_template && added.is_none() {
        findings.push(overhead::template_not_counted());
    }
    let counts = !has_template || plan.count_template;
    if counts {
        prompts.reserve(added.unwrap_or(0));
    }
    if counts { 0 } else { added.unwrap_or(0) }
}

/// The tokenizer that the user named counts outputs. Where the answers do not state their tokens, and
/// whole bodies have no events to count, the model's own does.
fn counter(plan: &Plan, endpoint: &Endpoint, tokenizer: &PromptTokenizer) -> Counter {
    let stream = plan.sampling.stream;
    if plan.tokenizer.is_some() {
        Counter::AsTheyCome(Arc::clone(&tokenizer.tokenizer))
    } else if tokenizer.is_models_own && !stream && !endpoint.dialect.reports_usage {
        Counter::AfterThePass(Arc::clone(&tokenizer.tokenizer))
    } else {
        Counter::None
    }
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
        cards: observer.cards.iter().flat_map(|source| source.cards()).collect(),
        ..inferometer_observe::environment()
    };
    header::of_run(plan, target.clone(), environment, Origin::Clock(runner.net.now()))
}

/// Tells those who look on that the run begins.
fn started(request: RunRequest<'_>, recording: &Recording, header: &RunHeader) {
    request.events.emit(Event::RunStarted(&RunStarted {
        id: recording.run().to_string(),
        title: messages::title(&header.target),
        target: header.target.clone(),
        started_unix_ns: header.started_unix_ns,
        passes: max_passes(request.plan),
    }));
}

/// Passes that a run has, at most.
fn max_passes(plan: &Plan) -> usize {
    let once: usize = plan.cells.iter().map(|cell| plan.passes_of(*cell).len()).sum();
    let search = plan.search.as_ref();
    once * search.map_or(plan.repeat.at_most, |search| search.max_trials) as usize
}

/// An observer whose samples are events.
fn heard(mut observer: Observer, request: RunRequest<'_>) -> Observer {
    let events = request.events.clone();
    observer.on_sample = Some(Box::new(move |sample| events.emit(Event::Sample(sample))));
    observer
}
