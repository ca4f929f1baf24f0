//! The passes of a run: warm-ups, and passes that are recorded.

use std::sync::{Arc, OnceLock};
use std::{sync::atomic::Ordering, sync::mpsc::channel};

use inferometer_cluster::{Lead, Order, RankReport};
use inferometer_drive::{Live, Recorder};
use inferometer_model::{
    CellPlan, Finding, Observed, OutcomeCounts, PassPlan, Record, Source, code, digits,
};
use inferometer_net::spawn_scoped;
use inferometer_plan::Procedure;
use inferometer_store::{Ending, PassBegin, StoreError};
use inferometer_workload::PromptScope;

use super::{RunRequest, Session, dataset_exhausted, prompt_findings};
use crate::pass::runner::{PassPart, PlayedPass};
use crate::prompts::{self, PassRequests, WorkloadHash};
use crate::recording::queue::{FromDriver, ToWriter, record_queue};
use crate::team::{self, LeadGate};
use crate::{
    Event, Network, PassEnded, PassStarted, PromptsStarted, RunError, Team, WarmUpStarted,
    estimate::memory::PlanMemory, recording::pass_figures::PassResult,
};

/// Counts the outcomes of requests that are not recorded.
#[derive(Default)]
struct Unrecorded(OutcomeCounts);

impl Recorder for Unrecorded {
    fn record(&mut self, record: Record, _text: Option<String>) {
        self.0.add(record.outcome);
    }
}

/// A pass that was run and written.
struct WrittenPass {
    result: PassResult,
    /// The error if the records of the pass could not be stored.
    error: Option<StoreError>,
    body_hash: String,
    /// The reports of the other ranks on this pass.
    reports: Vec<RankReport>,
}

impl<N: Network> Session<'_, N> {
    /// The place of the prompts of a cell's warm-up, which come before those of its passes; `None` without a warm-up.
    pub(super) fn place_of_warm_up(&mut self, cell: CellPlan) -> Option<PromptScope> {
        let pass = self.request.plan.warmup.pass()?;
        self.tell_ranks(Order::WarmUp { cell });
        Some(self.cursor.next(cell, "warm-up", 1, &pass))
    }

    /// Sends the warm-up requests of a cell with their load; they are not recorded.
    pub(super) fn warm_up(
        &mut self,
        cell: CellPlan,
        place: Option<PromptScope>,
    ) -> Result<(), RunError> {
        let plan = self.request.plan;
        let Some((pass, place)) = plan.warmup.pass().zip(place).filter(|_| !self.is_stopped())
        else {
            return Ok(());
        };
        let begin = PassBegin { pass: 0, cell, plan: pass, repeat: 1 };
        let mut unused = WorkloadHash::unused();
        let made = prompts::supply(&self.prompts, plan, &begin, &place, &mut unused);
        let Some(requests) = self.unless_interrupted(made)? else { return Ok(()) };
        let live = Arc::new(Live::default());
        let label = format!("{cell}, warm-up");
        let started = WarmUpStarted { label, cell, live: Arc::clone(&live) };
        self.request.events.emit(Event::WarmUpStarted(&started));
        let PlayedPass { recorder: Unrecorded(outcomes), .. } = self
            .runner
            .play(plan, &begin, requests.source, Unrecorded::default(), live)
            .map_err(RunError::Sockets)?;
        self.request.events.emit(Event::WarmUpEnded);
        if outcomes.failed() > 0 && !self.runner.interrupted() && !self.runner.is_late() {
            let message = format!("warm-up requests failed: {outcomes}");
            self.found(Finding::of(code::WARM_UP_FAILED, message).at(cell.to_string()));
        }
        Ok(())
    }

    /// Measures and records one pass.
    pub(super) fn pass(
        &mut self,
        cell: CellPlan,
        repeat: u32,
        pass: &PassPlan,
    ) -> Result<(), RunError> {
        let plan = self.request.plan;
        let begin = PassBegin { pass: self.pass_number, cell, plan: pass.clone(), repeat };
        let label = digits::of_load(&format!("{cell}, {pass}{}", self.nth(repeat)));
        let (recorder, records) = record_queue(PlanMemory::of(plan).answers.unwrap_or(0));
        let live = Arc::new(Live::default());
        if let Some(lead) = self.request.context.team.lead() {
            let sinks = team::sinks(lead, &recorder, &live);
            lead.order(
                Order::Pass { begin: begin.clone(), most_time: self.runner.most_time() },
                sinks,
            );
        }
        let queue = (recorder.of_rank(self.request.context.team.lead().map(|_| 0)), records);
        let hasher = self.workload_hash.hasher();
        let made = self.requests(&begin, &label);
        let Some(made) = self.unless_interrupted(made)? else {
            // The pass has no records, so its first requests are removed from the hash.
            self.workload_hash.reset(hasher);
            return Ok(());
        };
        let PassRequests { source, error: source_error, .. } = made;
        let written = self.play_and_write(&begin, &label, (source, live), queue)?;
        let WrittenPass { result, error, body_hash, reports } = written;
        let not_whole = team::not_whole(&reports, Some(&body_hash), self.runner.interrupted());
        self.reports.extend(reports);
        // The bodies of conversations contain answers, and this rank does not know the bodies of other ranks.
        self.bodies_are_known &= self.request.context.team.lead().is_none()
            || !matches!(pass, PassPlan::Conversations(_));
        if let Some(why) = not_whole {
            self.broken = Some(format!("{label}: {why}"));
        } else if let Some(error) = error {
            self.broken = Some(format!("{label}: {error}"));
        } else if let Some(why) = source_error.get() {
            self.broken = Some(format!("{label}: no more prompts could be generated: {why}"));
        }
        self.body_hasher.body(body_hash.as_bytes());
        let records = result.summary.planned;
        if !pass.may_end_before_its_count()
            && pass.requests().is_some_and(|planned| u64::from(planned) != records)
        {
            self.broken.get_or_insert(format!(
                "{label}: there are {records} records, but {pass} has a different number of requests"
            ));
        }
        self.completed += usize::from(!self.is_stopped());
        let in_data = self.prompts.spec().workload().trace_length();
        for finding in dataset_exhausted::findings(pass, records, in_data) {
            self.found(finding.at(&label));
        }
        self.find_sent_before(&begin, &result.summary);
        self.add_result(cell, &label, result, false);
        Ok(())
    }

    /// Which repeat, trial or block of its cell a pass is, as the end of its label.
    fn nth(&self, repeat: u32) -> String {
        let RunRequest { plan, context, .. } = self.request;
        match plan.procedure {
            Procedure::Passes if plan.repeat.at_most == 1 => String::new(),
            Procedure::Passes => format!(", repeat {repeat}"),
            Procedure::Search(_) | Procedure::Sweep(_) => format!(", trial {repeat}"),
            Procedure::Ab(_) => {
                let side = context.origin.side.map(|side| side.name().to_uppercase());
                format!(", pair {repeat}, {}", side.unwrap_or_default())
            }
        }
    }

    /// Returns `made`, a result that needed prompts; `None` if an interruption has ended the generation of the prompts.
    pub(super) fn unless_interrupted<T>(
        &self,
        made: Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        match made {
            Err(RunError::Prompts(_)) if self.runner.interrupted() => Ok(None),
            made => made.map(Some),
        }
    }

    /// Makes the requests of a pass.
    fn requests(&mut self, begin: &PassBegin, label: &str) -> Result<PassRequests, RunError> {
        let (plan, events) = (self.request.plan, self.request.events);
        let (cell, pass) = (begin.cell, &begin.plan);
        let place = self.cursor.next(cell, &pass.prompt_label(), begin.repeat, pass);
        if let Some(finding) = self.cache.empty(events) {
            self.found(finding);
        }
        let made = self.prompts.made();
        let started = PromptsStarted { label: label.to_owned(), prompts: pass.requests(), made };
        events.emit(Event::PromptsStarted(&started));
        let supplied = prompts::supply(&self.prompts, plan, begin, &place, &mut self.workload_hash);
        events.emit(Event::PromptsEnded);
        let supplied = supplied?;
        let is_upper_bound = self.cursor_is_upper_bound;
        for note in &supplied.notes {
            self.found(prompt_findings::of_note(note, is_upper_bound).at(label));
        }
        self.cursor_is_upper_bound |= pass.requests().is_none();
        Ok(supplied)
    }

    /// Runs a pass on this thread, while one thread writes its records and another thread reads the metrics
    /// of the server and the cards.
    fn play_and_write(
        &mut self,
        begin: &PassBegin,
        label: &str,
        (source, live): (Box<dyn Source>, Arc<Live>),
        (recorder, records): (ToWriter, FromDriver),
    ) -> Result<WrittenPass, RunError> {
        let (plan, events) = (self.request.plan, self.request.events);
        events.emit(Event::PassStarted(&PassStarted {
            label: label.to_owned(),
            begin: begin.clone(),
            live: Arc::clone(&live),
        }));
        let stop = Arc::clone(&self.runner.stop);
        let waker = self.runner.net.waker();
        let part = self.part(&begin.plan);
        let team = &self.request.context.team;
        let (process, observed) = (OnceLock::new(), OnceLock::<Observed>::new());
        if let Some(lead) = team.lead() {
            lead.wait_for_work();
        }
        let before = self.observer.begin();
        let (played, written, reports) = std::thread::scope(|scope| {
            let (over, is_over) = channel::<()>();
            let (recording, observer) = (&mut self.recording, &mut self.observer);
            let (process, observed) = (&process, &observed);
            let watcher = spawn_scoped(scope, move || observer.watch(before, &is_over))?;
            let writer = spawn_scoped(scope, move || {
                let ending = || {
                    let ending = match stop.load(Ordering::Relaxed) {
                        true => Ending::Interrupted,
                        false => Ending::Complete,
                    };
                    (ending, process.get().copied(), observed.get().cloned().unwrap_or_default())
                };
                // If the records of a pass cannot be stored, the pass ends, because its results are lost.
                let give_up = || {
                    stop.store(true, Ordering::Relaxed);
                    waker.wake();
                };
                recording.pass(plan, begin, &records, Some(events), ending, give_up)
            })?;
            let played = self.runner.play_part(plan, begin, part, source, recorder, live);
            if played.is_err() {
                self.runner.stop.store(true, Ordering::Relaxed);
            }
            // The server is observed until the last rank is done.
            let reports = team.lead().map(Lead::reports).unwrap_or_default();
            drop(over);
            let samples = watcher.join().expect("invariant: the watcher does not panic");
            observed.get_or_init(|| samples);
            let played = played.map(|PlayedPass { body_hash, process: seen, recorder }| {
                process.get_or_init(|| seen);
                // The writer ends the pass when no sender is left.
                drop::<ToWriter>(recorder);
                body_hash
            });
            Ok((played, writer.join(), reports))
        })
        .map_err(RunError::Thread)?;
        events.emit(Event::PassStopped(process.get()));
        let body_hash = played.map_err(RunError::Sockets)?;
        let (result, error) = written.expect("invariant: the writer does not panic");
        Ok(WrittenPass { result, error, body_hash, reports })
    }

    /// This rank's part of a pass. If a rank is lost, the pass ends.
    fn part(&self, pass: &PassPlan) -> PassPart {
        let Team::Lead(lead) = &self.request.context.team else { return PassPart::whole() };
        let (stop, waker) = (Arc::clone(&self.runner.stop), self.runner.net.waker());
        lead.when_lost(move || {
            stop.store(true, Ordering::Relaxed);
            waker.wake();
        });
        let workload_hash = self.workload_hash.hash();
        let gate = LeadGate { lead: Arc::clone(lead), workload_hash };
        PassPart { share: self.request.context.team.share(pass), gate: Some(Box::new(gate)) }
    }

    /// Adds the result of a pass to its cell.
    pub(super) fn add_result(
        &mut self,
        cell: CellPlan,
        label: &str,
        result: PassResult,
        resumed: bool,
    ) {
        let is_block = self.request.plan.procedure.ab().is_some();
        let ended = PassEnded { label, summary: &result.summary, resumed, is_block };
        self.request.events.emit(Event::PassEnded(&ended));
        for finding in &result.findings {
            self.found(finding.clone());
        }
        self.grid.add(cell, result);
        self.pass_number += 1;
    }
}
