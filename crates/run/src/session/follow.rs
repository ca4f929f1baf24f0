//! A rank other than 0: carries out the orders of rank 0, and measures its share of each pass. The rank
//! stores nothing: it sends its records to rank 0.

use std::{path::Path, sync::Arc, sync::atomic::Ordering};

use inferometer_cluster::{Member, Order, PassReport};
use inferometer_drive::{Live, Recorder};
use inferometer_model::{OutcomeCounts, PassPlan, Record};
use inferometer_store::PassBegin;

use super::prepare::equip::{self, Equipped};
use super::{RunRequest, prepare::messages};
use crate::estimate::memory::PlanMemory;
use crate::pass::event_loops::EventLoops;
use crate::pass::runner::{PassPart, PassRunner, PlayedPass};
use crate::prompts::{self, PassRequests, PromptCursor, Prompts, WorkloadHash};
use crate::recording::queue::{ToWriter, record_queue};
use crate::target::reach;
use crate::team::{self, MemberGate};
use crate::{Event, Network, RunError, Servers, Team};

/// A rank other than 0, with everything that it needs to send requests.
struct Follower<'a> {
    request: RunRequest<'a>,
    member: &'a Arc<Member>,
    runner: PassRunner<EventLoops>,
    prompts: Prompts,
    cursor: PromptCursor,
    hash: WorkloadHash,
}

/// Forwards records, and counts their outcomes.
struct CountingRecorder {
    to: ToWriter,
    outcomes: OutcomeCounts,
}

impl Recorder for CountingRecorder {
    fn record(&mut self, record: Record, text: Option<String>) {
        self.outcomes.add(record.outcome);
        self.to.record(record, text);
    }

    fn is_behind(&self) -> bool {
        self.to.is_behind()
    }

    fn wait_for_room(&mut self) {
        self.to.wait_for_room();
    }
}

/// Measures a rank's share of a run whose rank 0 is another process.
///
/// # Errors
/// When this rank fails, rank 0 is lost, or the run failed on rank 0.
pub fn follow(request: RunRequest<'_>) -> Result<(), RunError> {
    let RunRequest { context, events, .. } = request;
    let Team::Member(member, (rank, _)) = &context.team else { return Ok(()) };
    let followed = Follower::new(request, member).and_then(Follower::run);
    context.host.interrupt.wakes(None);
    events.emit(Event::Closed);
    followed.map_err(|error| {
        // Rank 0 sends its errors to all ranks. This rank reports only its own errors.
        if !matches!(error, RunError::Rank0Lost(_) | RunError::FailedAtRank0(_)) {
            member.fail(error.to_string());
        }
        RunError::OfServer { name: format!("rank {rank}"), source: Box::new(error) }
    })
}

impl<'a> Follower<'a> {
    fn new(request: RunRequest<'a>, member: &'a Arc<Member>) -> Result<Self, RunError> {
        let RunRequest { plan, context, .. } = request;
        let net = EventLoops::of(plan).map_err(RunError::Sockets)?;
        let tokenizer = prompts::named_tokenizer(plan)?;
        prompts::check_dataset(plan)?;
        let mut servers = Servers::default();
        let connect = |servers: &mut Servers, start: crate::target::servers::Start<'_>| {
            reach::prepare(plan, context, servers, start)
        };
        let nowhere = Path::new(".");
        let equipped = equip::equip(net, request, &mut servers, nowhere, tokenizer, connect)?;
        let Equipped { ready, mut findings, mut prompts, runner, first, .. } = equipped;
        messages::measuring(request.events, &ready.target, plan);
        // The findings of this rank are not used, because rank 0 has the same findings.
        equip::fit_prompts(&mut prompts, plan, &ready, &runner, first.seen, &mut findings);
        let hash = WorkloadHash::of_run(plan, &context.salt, None)?;
        Ok(Self { request, member, runner, prompts, cursor: PromptCursor::default(), hash })
    }

    /// Carries out one order after another until the run is over.
    fn run(mut self) -> Result<(), RunError> {
        loop {
            let order = self.member.next_order()?;
            match order {
                Order::WarmUp { cell } => {
                    if let Some(pass) = self.request.plan.warmup.pass() {
                        self.cursor.next(cell, "warm-up", 1, &pass);
                    }
                }
                Order::TakenOver { begin } => {
                    self.supply(&self.known(begin))?;
                }
                Order::Pass { begin, most_time } => {
                    self.runner.ends = most_time.map(|most| self.runner.net.now() + most);
                    self.pass(&self.known(begin))?;
                }
                Order::End { failed: None } => return Ok(()),
                Order::End { failed: Some(why) } => {
                    return Err(RunError::FailedAtRank0(why));
                }
            }
        }
    }

    /// Completes a pass with the parts that the order from rank 0 does not contain: the request times of a
    /// recording, and the turns of conversations. They come from this rank's own plan.
    fn known(&self, begin: PassBegin) -> PassBegin {
        let as_text = |pass: &PassPlan| serde_json::to_string(pass).ok();
        let passes = self.request.plan.passes_of(begin.cell);
        let own = passes.into_iter().find(|pass| as_text(pass) == as_text(&begin.plan));
        PassBegin { plan: own.unwrap_or(begin.plan), ..begin }
    }

    fn supply(&mut self, begin: &PassBegin) -> Result<PassRequests, RunError> {
        let pass = &begin.plan;
        let label = pass.prompt_label();
        let place = self.cursor.next(begin.cell, &label, begin.repeat, pass);
        prompts::supply(&self.prompts, self.request.plan, begin, &place, &mut self.hash)
    }

    fn pass(&mut self, begin: &PassBegin) -> Result<(), RunError> {
        let RunRequest { plan, context, .. } = self.request;
        let PassRequests { source, error, .. } = self.supply(begin)?;
        let (to, from) = record_queue(PlanMemory::of(plan).answers.unwrap_or(0));
        let is_scheduled = team::is_scheduled(&begin.plan);
        self.member.begin_pass(Box::new(move || team::next_of(&from)), is_scheduled);
        let (stop, waker) = (Arc::clone(&self.runner.stop), self.runner.net.waker());
        self.member.when_stopped(move || {
            stop.store(true, Ordering::Relaxed);
            waker.wake();
        });
        let share = context.team.share(&begin.plan);
        let workload_hash = self.hash.hash();
        let gate = MemberGate { member: Arc::clone(self.member), workload_hash };
        let part = PassPart { share, gate: Some(Box::new(gate)) };
        let counted = CountingRecorder { to, outcomes: OutcomeCounts::default() };
        let live = Arc::new(Live::default());
        let played = self.runner.play_part(plan, begin, part, source, counted, live);
        let PlayedPass { body_hash, recorder, process } = played.map_err(RunError::Sockets)?;
        let CountingRecorder { to, outcomes } = recorder;
        drop(to);
        if let Some(why) = error.get() {
            return Err(RunError::prompts(format!("no more prompts could be generated: {why}")));
        }
        let interrupted = self.runner.interrupted();
        // This rank has encoded all bodies of the pass only if the number of requests is fixed and this rank
        // reached its last request.
        let has_all = begin.plan.requests().is_some()
            && !begin.plan.may_end_before_its_count()
            && !matches!(begin.plan, PassPlan::Conversations(_))
            && share.owns_any()
            && self.runner.ends.is_none()
            && !interrupted;
        let body_hash = has_all.then_some(body_hash);
        let report =
            PassReport { outcomes, process, body_hash, interrupted, ..PassReport::default() };
        Ok(self.member.end_pass(report)?)
    }
}
