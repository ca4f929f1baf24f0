//! Resolves the passes of each cell from a spec.

use std::time::Duration;

use super::{arrivals, conversations};
use crate::spec::levels::{self, Staged};
use crate::spec::limits::{MAX_CELLS, MAX_IN_FLIGHT};
use crate::spec::{Mistakes, Spec, values};
use crate::{Procedure, WorkloadPlan};
use inferometer_model::load::{Level, Recording, ReplayPlan};
use inferometer_model::{Bound, ClosedPlan, OpenPlan, OverLimit, PassPlan, did_you_mean};

/// The numbers of requests in the published tables: of the pass "one by one", and of the pass
/// "saturated".
const TABLE_ONE_BY_ONE: u32 = 10;
const TABLE_REQUESTS: u32 = 399;
/// Number of blocks in each pass of the published text-block log.
const BLOCKS: u32 = 500;
/// Number of requests in the published serving run.
const SERVING_REQUESTS: u32 = 1_000;
/// The numbers of requests of the passes "one by one" and "saturated" in a run without any options. Such a
/// run takes less than a minute.
const DEMONSTRATION_ONE_BY_ONE: u32 = 2;
const DEMONSTRATION_REQUESTS: u32 = 32;

/// The default number of conversations at the same time.
const CONVERSATIONS_AT_ONCE: u32 = 8;

/// The passes, in this order: named passes, closed loops, open loops, the load in stages, the replay. A search
/// or a sweep has only one pass.
pub(super) fn passes(
    spec: &Spec,
    workload: &WorkloadPlan,
    procedure: &Procedure,
    mistakes: &mut Mistakes,
) -> Vec<PassPlan> {
    match procedure {
        Procedure::Search(search) => {
            let limit = limit(spec, mistakes);
            let load = (search.over, search.start, "--over rate");
            let passes = super::search::passes(spec, load, limit, mistakes);
            if !search.over.is_of_jobs() {
                return passes;
            }
            if spec.workload.conversation.concurrency_of.is_some() {
                mistakes.add("concurrency_of", "cannot be set: a search counts jobs; leave it out");
            }
            return conversations::begun_by(spec, workload, passes, 0, mistakes);
        }
        Procedure::Sweep(sweep) => {
            let limit = limit(spec, mistakes);
            return super::search::passes(spec, (sweep.by, 1.0, "--by rate"), limit, mistakes);
        }
        Procedure::Passes | Procedure::Ab(_) => {}
    }
    let (one_by_one, requests) = if is_demonstration(spec) {
        (DEMONSTRATION_ONE_BY_ONE, DEMONSTRATION_REQUESTS)
    } else {
        (TABLE_ONE_BY_ONE, requests_of(spec))
    };
    let one_by_one = mistakes.count("one_by_one", spec.one_by_one, one_by_one);
    let drawn = &spec.workload.drawn;
    let by_groups = drawn.requests();
    if by_groups.is_some() && (spec.requests.is_some() || spec.duration.is_some()) {
        let problem = "sets the number of requests of a pass; leave out --requests and --duration";
        mistakes.add("prompts_per_group", problem);
    }
    if drawn.prefix_length.is_some()
        && drawn.prompts_per_group.is_none()
        && spec.duration.is_some()
        && spec.requests.is_none()
    {
        mistakes.add(
            "requests",
            "is missing: prompts with a shared prefix need passes with a number of requests",
        );
    }
    let requests = match workload {
        // The loads of this workload count conversations, not requests.
        WorkloadPlan::Conversation(plan) => plan.conversations,
        WorkloadPlan::Agents(plan) => plan.jobs.unwrap_or(0),
        _ => mistakes.count("requests", spec.requests.or(by_groups), requests),
    };
    let duration = mistakes.read("duration", spec.duration.as_ref(), values::span);
    let bound = loop_bound(spec, requests, duration);

    if let WorkloadPlan::Classes(classes) = workload {
        let own_end = spec.requests.is_none() && classes.windows() == classes.0.len();
        let requests = bound.requests.filter(|_| !own_end);
        let bound = Bound { requests, ..bound };
        let loads = classes.loads(bound, limit(spec, mistakes)).into_iter();
        let passes: Vec<PassPlan> = loads.map(PassPlan::Mixed).collect();
        unused_options(spec, &passes, mistakes);
        return passes;
    }
    let mut passes = Vec::new();
    for name in named(spec, workload) {
        match name.replace('-', "_").as_str() {
            "table" => passes.extend([
                PassPlan::one_by_one(Bound::requests(one_by_one)),
                PassPlan::saturated(requests),
            ]),
            "one_by_one" => {
                passes.push(PassPlan::one_by_one(Bound::requests(one_by_one)));
            }
            "saturated" => passes.push(PassPlan::saturated(requests)),
            other => mistakes.add("passes", unknown_pass(other)),
        }
    }
    let loads = Loads { spec, workload, bound, limit: limit(spec, mistakes) };
    if is_published_blocks(spec) {
        // The number in flight depends on the block: see `WorkloadPlan::in_flight`.
        passes.push(loads.closed_at(1.into()));
    }
    loads.closed(&mut passes, mistakes);
    loads.open(&mut passes, mistakes);
    loads.staged(&mut passes, mistakes);
    loads.replay(&mut passes, mistakes);
    loads.own(&mut passes);
    if workload.has_jobs() {
        passes = conversations::begun_by(spec, workload, passes, requests, mistakes);
    }
    if passes.len() > MAX_CELLS {
        let problem = format!("has {} loads; the maximum is {MAX_CELLS}", passes.len());
        mistakes.add("passes", problem);
        return Vec::new();
    }
    for (position, pass) in passes.iter().enumerate() {
        if passes[..position].iter().any(|other| other.to_string() == pass.to_string()) {
            mistakes.add("passes", format!("`{pass}` is given twice; use --repeat instead"));
        }
    }
    unused_options(spec, &passes, mistakes);
    passes
}

/// The limit of requests in flight, and what happens to requests that are due while this limit is reached.
fn limit(spec: &Spec, mistakes: &mut Mistakes) -> (Option<u32>, OverLimit) {
    if spec.max_in_flight == Some(0) {
        mistakes.add("max_in_flight", "is 0; give at least 1");
    }
    if spec.max_in_flight.is_some_and(|most| most > MAX_IN_FLIGHT) {
        mistakes.add("max_in_flight", format!("is too high; give at most {MAX_IN_FLIGHT}"));
    }
    let over_limit = match spec.over_limit.as_deref() {
        None | Some("queue") => OverLimit::Queue,
        Some("drop") => OverLimit::Drop,
        Some(other) => {
            mistakes.add("over_limit", format!("`{other}` is not one of queue, drop"));
            OverLimit::Queue
        }
    };
    if spec.over_limit.is_some() && spec.max_in_flight.is_none() {
        mistakes.add("over_limit", "needs --max-in-flight");
    }
    (spec.max_in_flight, over_limit)
}

/// Makes the passes of the loads that the user gave (loops, stages, a replay), and the default loads of text
/// blocks, traces and conversations.
struct Loads<'a> {
    spec: &'a Spec,
    workload: &'a WorkloadPlan,
    bound: Bound,
    limit: (Option<u32>, OverLimit),
}

impl Loads<'_> {
    /// The bound of a load. A load in stages ends with its last stage, so it has a limit on requests only if
    /// the user gave such a limit.
    fn bound_of(&self, level: &Level) -> Bound {
        if level.duration().is_some() && self.spec.requests.is_none() {
            Bound { requests: None, ..self.bound }
        } else {
            self.bound
        }
    }

    fn closed_at(&self, concurrency: Level) -> PassPlan {
        PassPlan::Closed(ClosedPlan { bound: self.bound_of(&concurrency), concurrency })
    }

    fn open_at(&self, rate: Level, mistakes: &mut Mistakes) -> PassPlan {
        let spec = self.spec;
        let (max_in_flight, over_limit) = self.limit;
        PassPlan::Open(OpenPlan {
            bound: self.bound_of(&rate),
            rate,
            arrivals: arrivals::arrivals(spec, mistakes),
            scaled: spec.scale.unwrap_or(true),
            max_in_flight,
            over_limit,
        })
    }

    fn closed(&self, passes: &mut Vec<PassPlan>, mistakes: &mut Mistakes) {
        for given in self.spec.concurrency.iter().flatten() {
            let level = mistakes.read("concurrency", Some(given), levels::concurrency);
            passes.extend(level.map(|level| self.closed_at(level)));
        }
    }

    fn open(&self, passes: &mut Vec<PassPlan>, mistakes: &mut Mistakes) {
        for given in self.spec.rate.iter().flatten() {
            let Some(rate) = mistakes.read("rate", Some(given), levels::rate) else { continue };
            if rate.peak().is_infinite() && self.bound.requests.is_none() {
                mistakes.add("rate", "`inf` needs a number of requests; give --requests too");
            }
            passes.push(self.open_at(rate, mistakes));
        }
    }

    fn staged(&self, passes: &mut Vec<PassPlan>, mistakes: &mut Mistakes) {
        match self.spec.stages.as_ref().map(levels::staged) {
            None => {}
            Some(Ok(Staged::Rate(rate))) => passes.push(self.open_at(rate, mistakes)),
            Some(Ok(Staged::Concurrency(level))) => passes.push(self.closed_at(level)),
            Some(Err(problem)) => mistakes.add("stages", problem),
        }
    }

    /// Adds the default load of conversations, if the user gave no load and no named pass.
    fn own(&self, passes: &mut Vec<PassPlan>) {
        if matches!(self.workload, WorkloadPlan::Conversation(_)) && !has_any_load(self.spec) {
            passes.push(self.closed_at(CONVERSATIONS_AT_ONCE.into()));
        }
    }

    fn replay(&self, passes: &mut Vec<PassPlan>, mistakes: &mut Mistakes) {
        let spec = self.spec;
        let speed = mistakes.read("replay_speed", spec.replay_speed.as_ref(), values::positive);
        if spec.replay.is_some() && spec.workload.rows.is_replayed() {
            mistakes.add(
                "replay_rows",
                "cannot be combined with --replay, because both give \
                arrival times; leave out one of them",
            );
        }
        let own = match self.workload {
            WorkloadPlan::Trace(trace) if !has_any_load(spec) => Some(&trace.dataset),
            WorkloadPlan::Agents(trace) if !has_any_load(spec) => Some(&trace.dataset),
            WorkloadPlan::Rows(rows) if rows.timed => Some(&rows.dataset),
            _ => None,
        };
        let Some(file) = spec.replay.as_ref().or(own) else {
            if spec.replay_speed.is_some() {
                mistakes.add(
                    "replay_speed",
                    "needs recorded arrivals; add --replay, --replay-rows or --workload trace",
                );
            }
            return;
        };
        let (max_in_flight, over_limit) = self.limit;
        passes.push(PassPlan::Replay(ReplayPlan {
            recording: Recording::of_file(file),
            speed: speed.unwrap_or(1.0),
            bound: Bound { requests: spec.requests, ..self.bound },
            max_in_flight,
            over_limit,
        }));
    }
}

/// The default number of requests in a pass, as in the published records of the workload.
fn requests_of(spec: &Spec) -> u32 {
    match spec.workload.name() {
        "blocks" => BLOCKS,
        "sharegpt" if spec.input_lengths.is_none() && spec.output_lengths.is_none() => {
            SERVING_REQUESTS
        }
        _ => TABLE_REQUESTS,
    }
}

/// Whether the pass has the load of the published text-block log. This is the default load of text
/// blocks.
fn is_published_blocks(spec: &Spec) -> bool {
    spec.workload.name() == "blocks" && spec.passes.is_none() && !has_own_load(spec)
}

/// Whether the spec has no target, server, lengths, sizes of blocks, passes or loads: a first try of the
/// program.
pub(super) fn is_demonstration(spec: &Spec) -> bool {
    spec.target.is_none()
        && spec.server.is_none()
        && spec.workload.blocks.is_plain()
        && spec.input_lengths.is_none()
        && spec.output_lengths.is_none()
        && spec.passes.is_none()
        && !has_own_load(spec)
}

/// Whether the user gave a load other than named passes.
pub(super) fn has_own_load(spec: &Spec) -> bool {
    spec.concurrency.is_some()
        || spec.rate.is_some()
        || spec.class.is_some()
        || spec.stages.is_some()
        || spec.replay.is_some()
        || spec.workload.rows.is_replayed()
}

/// Whether the user gave a load or named passes.
fn has_any_load(spec: &Spec) -> bool {
    spec.passes.is_some() || has_own_load(spec)
}

fn named(spec: &Spec, workload: &WorkloadPlan) -> Vec<String> {
    match (&spec.passes, workload) {
        (Some(names), _) => names.clone(),
        // Traces and conversations have their own default loads.
        (None, WorkloadPlan::Trace(_)) => Vec::new(),
        (None, workload) if workload.has_jobs() => Vec::new(),
        (None, _) if has_own_load(spec) || is_published_blocks(spec) => Vec::new(),
        // Without a rate, the serving benchmark of vLLM sends all requests at the start.
        (None, WorkloadPlan::ServingRun { .. }) => vec!["saturated".to_owned()],
        (None, _) => vec!["table".to_owned()],
    }
}

fn unknown_pass(name: &str) -> String {
    let known = ["table", "one_by_one", "saturated"];
    format!(
        "`{name}` is not a pass{}; there are {}; other loads are --concurrency, --rate, --stages \
            and --replay",
        did_you_mean(name, known),
        known.join(", ")
    )
}

/// The bound of a pass. If the user gave only a duration, the bound is this duration. Otherwise it is
/// the number of requests, together with the duration if one is given.
fn loop_bound(spec: &Spec, requests: u32, duration: Option<Duration>) -> Bound {
    let by_time_alone = duration.is_some() && spec.requests.is_none();
    Bound { requests: (!by_time_alone).then_some(requests), duration }
}

/// Adds a mistake for each option that is given here and that no pass uses, and a mistake if there are no passes.
fn unused_options(spec: &Spec, passes: &[PassPlan], mistakes: &mut Mistakes) {
    let any =
        |wanted: fn(&PassPlan) -> bool| passes.iter().map(conversations::beginning).any(wanted);
    let open = any(|pass| pass.is_scheduled());
    let drawn = any(|pass| matches!(pass, PassPlan::Open(_)));
    let closed = any(|pass| matches!(pass, PassPlan::Closed(_)));
    let one_by_one = any(|pass| matches!(pass, PassPlan::OneByOne(_)));
    let no_pass = "has no effect on any pass; ";
    if spec.duration.is_some() && !open && !closed {
        mistakes.add("duration", format!("{no_pass}it limits closed and open loops"));
    }
    if spec.max_in_flight.is_some() && !open {
        mistakes.add("max_in_flight", format!("{no_pass}it limits open loops, such as --rate"));
    }
    if spec.burstiness.is_some() && !drawn {
        mistakes.add("burstiness", format!("{no_pass}it applies to the arrivals of --rate"));
    }
    if spec.arrivals.is_some() && !drawn {
        mistakes.add("arrivals", format!("{no_pass}it applies to the arrivals of --rate"));
    }
    if spec.scale.is_some() && !drawn {
        mistakes.add("scale", format!("{no_pass}it scales the arrivals of --rate"));
    }
    if spec.workload.workload.as_deref() == Some("trace")
        && spec.workload.trace.trace_scale.is_some()
        && !any(|pass| matches!(pass, PassPlan::Replay(_)))
    {
        mistakes.add("trace_scale", format!("{no_pass}it scales the trace's own arrivals"));
    }
    let at_a_rate = any(|pass| {
        matches!(pass, PassPlan::Open(_)) && pass.constant_load().is_some_and(f64::is_finite)
    });
    if spec.stop_when_saturated == Some(true) && !at_a_rate {
        mistakes.add("stop_when_saturated", format!("{no_pass}it needs a constant, finite --rate"));
    }
    if spec.one_by_one.is_some() && !one_by_one {
        mistakes.add("one_by_one", format!("{no_pass}add --passes table"));
    }
    let counts_apart = |pass: &PassPlan| matches!(pass, PassPlan::OneByOne(_));
    if spec.requests.is_some() && !passes.is_empty() && passes.iter().all(counts_apart) {
        mistakes.add("requests", format!("{no_pass}give --one-by-one, or add --passes table"));
    }
    if passes.is_empty() && mistakes.0.is_empty() {
        mistakes.add("passes", "is empty, so nothing would be measured");
    }
}
