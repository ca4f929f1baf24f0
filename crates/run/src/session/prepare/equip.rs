//! Prepares everything that is needed to send requests: a ready server, a tokenizer, prompts, and the results
//! of the first requests. A single process and each of several ranks do this in the same way.

use std::{path::Path, sync::Arc};

use inferometer_drive::Endpoint;
use inferometer_model::secrets::{MIN_SECRET_CHARS, short_keys};
use inferometer_model::{Finding, code};
use inferometer_net::{open_files, raise_open_files_limit};
use inferometer_plan::{Plan, TargetPlan};
use inferometer_report::progress::{Notice, SlowStep};
use inferometer_servers::observe::Observer;
use inferometer_workload::History;

use super::first_requests::{self, First};
use super::{messages, model_limit, overhead, overhead::Overhead};
use crate::pass::runner::{PassRunner, connections_ahead};
use crate::prompts::{self, PromptTokenizer, Prompts};
use crate::{
    Event, Network, ReadyTarget, RunError, RunRequest, ServerSpread, Servers, Start, Team,
    recording::recorder::Counter, session::prompt_findings, session::slow::report_if_slow,
    target::observers,
};

/// Everything that is needed to send requests: a ready server, and prompts for it.
pub(crate) struct Equipped<N> {
    pub(crate) ready: ReadyTarget,
    pub(crate) observer: Observer,
    pub(crate) findings: Vec<Finding>,
    pub(crate) counter: Counter,
    pub(crate) prompts: Prompts,
    pub(crate) runner: PassRunner<N>,
    /// The results of the first requests.
    pub(crate) first: First,
}

/// Makes the server and the prompts ready, and sends the first requests. These requests are not recorded.
///
/// # Errors
/// When one of these steps fails, or the user interrupts the run.
pub(crate) fn equip<N: Network>(
    net: N,
    request: RunRequest<'_>,
    servers: &mut Servers,
    folder: &Path,
    tokenizer: Option<PromptTokenizer>,
    connect: impl FnOnce(&mut Servers, Start<'_>) -> Result<ReadyTarget, RunError>,
) -> Result<Equipped<N>, RunError> {
    let RunRequest { plan, context, events } = request;
    let mut ready = connected(&net, request, servers, folder, connect)?;
    model_limit::check(plan, &ready.target.facts)?;
    let mut asked = observers::observer(plan, &context.access, &mut ready)?;
    let mut findings = ready.findings.clone();
    let tokenizer = match tokenizer {
        Some(tokenizer) => tokenizer,
        None => {
            let server = ready.server.as_ref();
            report_if_slow(events, SlowStep::FindTokenizer, || {
                prompts::servers_tokenizer(server, &ready.endpoint.model, &mut findings)
            })
        }
    };
    let counter = counter(plan, &ready.endpoint, &tokenizer);
    let mut prompts = open_prompts(request, tokenizer, &ready, &mut findings)?;
    prompts.supply_rank(context.team.place());
    // An interruption does not stop the prompts of ranks other than 0: these ranks learn from rank 0 that the run ends.
    if !matches!(context.team, Team::Member(..)) {
        prompts.stop_when(context.host.interrupt.flag());
    }
    let mut runner = runner(net, request, &ready, &counter);
    let first = report_if_slow(events, SlowStep::FirstRequests, || {
        first_requests::send(&mut runner, plan, &prompts, &ready, &mut findings)
    });
    let first = first.map_err(|error| if_interrupted(request, error))?;
    servers.tell_startup(first.seen.first_answer, events);
    if runner.interrupted() {
        return Err(RunError::Interrupted("anything was measured"));
    }
    if asked.again {
        observers::ask_again(plan, &context.access, &mut ready, &mut asked.observer)?;
    }
    let observer = asked.observer;
    Ok(Equipped { ready, observer, findings, counter, prompts, runner, first })
}

/// Replaces the error by the error of an interruption, if an interruption has ended the generation of prompts.
pub(crate) fn if_interrupted(request: RunRequest<'_>, error: RunError) -> RunError {
    match error {
        RunError::Prompts(_) if request.context.host.interrupt.is_requested() => {
            RunError::Interrupted("anything was measured")
        }
        error => error,
    }
}

/// The number of files that a run opens beside those of its requests: its database, its log, its reports, connections
/// for metrics, and the pipes of a server that it starts.
const FILES_BESIDE: u64 = 12;

/// Raises the limit on open files as far as the system permits, and checks that it suffices for the connections that a
/// pass opens before it begins. A pass with arrivals may need fewer connections or more than it opens before, so its
/// need is unknown.
fn check_open_files(plan: &Plan, team: &Team) -> Result<(), RunError> {
    let (Ok(limit), Ok(open)) = (raise_open_files_limit(), open_files()) else { return Ok(()) };
    let passes = plan.cells.iter().flat_map(|cell| plan.passes_of(*cell));
    let connections = passes.map(|pass| connections_ahead(&pass, team.share(&pass))).max();
    let connections = u64::from(connections.unwrap_or(0));
    let needed = open + FILES_BESIDE + connections;
    if needed <= limit {
        return Ok(());
    }
    Err(RunError::plan(format!(
        "this plan needs {needed} open files, of which {connections} are connections to the server, but the system \
            allows this process {limit}: raise the limit (`ulimit -Hn {needed}`, as root, or LimitNOFILE of \
            the service), or lower the load"
    )))
}

/// Starts the server or connects to it, until it is ready to be measured.
fn connected(
    net: &impl Network,
    RunRequest { plan, context, events }: RunRequest<'_>,
    servers: &mut Servers,
    folder: &Path,
    connect: impl FnOnce(&mut Servers, Start<'_>) -> Result<ReadyTarget, RunError>,
) -> Result<ReadyTarget, RunError> {
    check_open_files(plan, &context.team)?;
    let interrupt = &context.host.interrupt;
    interrupt.wakes(Some(net.waker()));
    events.emit(Event::Connecting);
    let stop = interrupt.flag();
    let program = context.host.program.as_deref();
    for name in short_keys(&context.headers) {
        let header = name.to_owned();
        events.say(&Notice::ShortKey { header, min_chars: MIN_SECRET_CHARS });
    }
    let headers = &context.headers;
    let start = Start { folder, stop: &stop, events, program, headers };
    let step = match (&plan.launch, &plan.target) {
        // The start of a server reports its progress itself.
        (None, TargetPlan::Server { .. }) => {
            SlowStep::Identify { urls: plan.target.urls().map(ToString::to_string).collect() }
        }
        _ => SlowStep::Start,
    };
    let ready = match report_if_slow(events, step, || connect(servers, start)) {
        Err(_) if interrupt.is_requested() => {
            return Err(RunError::Interrupted("anything was measured"));
        }
        ready => ready?,
    };
    messages::server(events, &ready.target);
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
    let talks = plan.workload.has_jobs();
    PassRunner {
        net,
        stop: context.host.interrupt.flag(),
        address: ready.address.clone(),
        tunnel: ready.tunnel.clone(),
        tls: ready.tls.clone(),
        endpoint: ready.endpoint.clone(),
        spread: ServerSpread::of(plan, ready, &context.salt, context.team.place().0),
        changes: Vec::new(),
        keep_text: talks || !matches!(counter, Counter::None),
        reuse_connections: ready.endpoint.keeps_connections(),
        // With several ranks, each rank could end only its own share early.
        cut_off: matches!(context.team, Team::Alone),
        ends: None,
    }
}

/// Makes prompts shorter by the tokens that the server adds, if input lengths include these tokens, and returns 0.
/// Otherwise, returns how many tokens of a chat template the input lengths do not include. Adds findings on these
/// tokens, and on connections that are not kept open.
pub(crate) fn fit_prompts<N: Network>(
    prompts: &mut Prompts,
    plan: &Plan,
    ready: &ReadyTarget,
    runner: &PassRunner<N>,
    seen: Overhead,
    findings: &mut Vec<Finding>,
) -> u32 {
    if !runner.reuse_connections {
        let why = if ready.endpoint.keeps_connections() {
            "the server closes connections after an answer without announcing it (the request before \
                the measurement that was lost by this was sent again)"
        } else {
            "the header `Connection: close` was given"
        };
        let message = format!("{why}: each request uses a new connection, opened in advance");
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

/// Chooses the tokenizer that counts outputs. It is the tokenizer that the user named. Otherwise, if
/// responses are not streamed and do not state their token counts, it is the model's own tokenizer. In all
/// other cases, no tokenizer counts outputs.
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
