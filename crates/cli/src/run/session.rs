//! A run from its first question to its last file.

mod head;
mod launched;
mod limits;
mod missing;
mod said;
mod searching;
mod summarised;
mod taken_over;

use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};

use inferometer_analysis::summary::Summary;
use inferometer_drive::{Endpoint, Live, Recorder};
use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::record::Record;
use inferometer_model::request::BodyHasher;
use inferometer_model::sample::Observed;
use inferometer_net::{EpollNet, wall_clock_ns};
use inferometer_observe::Observer;
use inferometer_plan::precision::Precision;
use inferometer_plan::{Plan, Repeat, WorkloadPlan};
use inferometer_report::plot::Theme;
use inferometer_store::utc::rfc3339;
use inferometer_store::{
    Ending, LiveNote, LogHeader, LogWriter, PassBegin, RunHeader, RunState, Store,
};
use inferometer_workload::PromptPlace;
use inferometer_workload::conversation::History;

use super::bound::Longest;
use super::cells::Grid;
use super::enough;
use super::estimate;
use super::identity::Identity;
use super::outputs::Outputs;
use super::pass::{Passes, Played};
use super::places::Places;
use super::prefix_cache::PrefixCache;
use super::progress::Progress;
use super::prompts::{self, Prompts, Shaper, Supplied};
use super::recording::{Counter, Recorded, Recording, ToWriter};
use super::servers::{Servers, Start};
use super::{Options, Resolved, interrupt, observe, overhead, target, traces};
use crate::exit::Failure;
use crate::tui::Screen;

/// A run that was carried out, as far as it was.
pub struct Finished {
    /// Its results.
    pub summary: Summary,
    /// Where the files are, in words.
    pub files: String,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Carries out a run.
///
/// # Errors
/// When it cannot be: nothing was sent if it is the usage that is wrong.
pub fn carry_out(
    resolved: &Resolved,
    options: &Options,
    servers: &mut Servers,
) -> Result<Finished, Failure> {
    let progress = Progress::new(options);
    let plan = &resolved.plan;
    // Everything that can be wrong without a server is found before one is asked.
    let named = prompts::named_tokenizer(plan)?;
    prompts::check_dataset(plan)?;
    let outputs = Outputs::prepare(resolved.out.as_deref())?;
    let mut store = Store::open(&resolved.store)
        .map_err(|error| Failure::usage(format!("store (--store): {error}")))?;
    let longest = Longest::of(plan);
    let estimate = estimate::of_plan(&longest.plan)?;
    // A limit that stays low shows in the records of the connections that it costs.
    let _ = inferometer_net::raise_open_files_limit();
    let net =
        EpollNet::new().map_err(|error| Failure::not_carried_out(format!("sockets: {error}")))?;
    let stop = interrupt::on_interrupt(net.waker())?;

    let start = Start { folder: outputs.folder(), stop: &stop, progress };
    let mut ready = match target::prepare(resolved, options, servers, start) {
        Err(_) if stop.load(Ordering::Relaxed) => return Err(stopped_before()),
        ready => ready?,
    };
    said::announce(progress, &ready.target, plan);
    if let Some(run) = outputs.replaced() {
        let folder = outputs.folder().display();
        progress.say(&format!("out: {folder}: this run replaces the report of run {run}"));
    }
    let beyond = limits::beyond(plan, &ready.target.facts)?;
    let mut observer = observe::observer(plan, &resolved.trust, &mut ready)?;
    let mut findings = ready.findings.clone();
    findings.extend(beyond);
    let shaper = match named {
        Some(shaper) => shaper,
        None => prompts::servers_tokenizer(&ready.server, &ready.target.model, &mut findings),
    };
    let counter = counter(plan, &ready.endpoint, &shaper);
    let mut prompts = Prompts::open(plan, shaper, &resolved.salt)?;
    findings.extend(prompts::data_set_findings(&prompts));
    findings.extend(said::identity(plan));
    prompts::check_dialect(&prompts, plan, ready.endpoint.dialect)?;
    let talks = matches!(plan.workload, WorkloadPlan::Conversation(_));
    if ready.endpoint.dialect.accepts_messages {
        prompts.tell_history_as(History::Messages);
    }
    let mut passes = Passes {
        net,
        stop,
        address: ready.server.address,
        tls: ready.server.tls.clone(),
        endpoint: ready.endpoint.clone(),
        keep_text: talks || !matches!(counter, Counter::None),
        reuse_connections: true,
        cut_off: true,
    };
    let seen = overhead::measure(&mut passes, plan, &prompts)?;
    if passes.interrupted() {
        return Err(stopped_before());
    }
    if !passes.reuse_connections {
        let message = "the server closes connections after an answer without saying so: each \
                       request has a connection of its own, opened ahead of it";
        findings.push(Finding::new("connections_not_kept", Severity::Note, message));
    }
    let guess = match estimate {
        Some(span) => Some((span, span)),
        None => {
            let (plan, record) = (&longest.plan, seen.record.as_ref());
            let by_record = record.and_then(|record| estimate::from_request(plan, record));
            by_record.or_else(|| estimate::of_sample(plan, &prompts, record))
        }
    };
    let guess = guess.and_then(|(one, other)| longest.time(one).zip(longest.time(other)));
    let template = ready.endpoint.dialect.applies_chat_template;
    let known = seen.tokens.filter(|_| prompts.shaper().is_models_own);
    if prompts.shaper().is_models_own {
        findings.extend(seen.findings);
    }
    if template && plan.count_template && known.is_none() {
        findings.push(overhead::template_not_counted());
    }
    let counted = !template || plan.count_template;
    if counted {
        prompts.reserve(known.unwrap_or(0));
    }
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Warning) {
        progress.say(&format!("warning: {}", finding.message));
    }
    for &cell in &plan.cells {
        // A cell for which there are no prompts is told before anything is measured.
        prompts.build(cell, &PromptPlace::new(cell.to_string(), "check", 0), 1)?;
    }
    match &plan.search {
        Some(search) => said::search(progress, plan, search, guess),
        None => said::estimate(progress, guess),
    }
    said::consent(options, guess)?;

    let header = head::of_run(resolved, &ready.target, prompts.shaper(), &passes, &observer);
    let run = store.begin_run(&header).map_err(Failure::not_carried_out)?;
    let log_header = LogHeader::new(run.as_str(), header.origin_unix_ns);
    let log =
        LogWriter::create(store.log_path(&run), &log_header).map_err(Failure::not_carried_out)?;
    let template = if counted { 0 } else { known.unwrap_or(0) };
    let origin_unix_ns = header.origin_unix_ns;
    let board = options.board.clone();
    board.begin(head::on_board(&run, &header), most_passes(plan));
    let heard = board.clone();
    observer.told = Some(Box::new(move |sample| heard.heard(sample)));
    let _screen = options.tui.then(|| Screen::open(board.clone())).transpose()?;
    let recording = Recording { store, run, log, counter, template, board, origin_unix_ns };
    let session = Session {
        resolved,
        progress,
        servers,
        outputs,
        passes,
        prompts,
        recording,
        observer,
        header,
        grid: Grid::default(),
        findings,
        identity: Identity::of_run(plan, &resolved.salt, resolved.dump.as_deref())?,
        body_hasher: BodyHasher::new(),
        bodies_are_known: true,
        pass_number: 0,
        completed: 0,
        cache: PrefixCache::of(&ready, plan),
        places: Places::default(),
        taken_is_a_bound: false,
        broken: None,
    };
    session.play()
}

/// Passes that a run has, at most.
fn most_passes(plan: &Plan) -> usize {
    let once: usize = plan.cells.iter().map(|cell| plan.passes_of(*cell).len()).sum();
    let search = plan.search.as_ref();
    once * search.map_or(plan.repeat.at_most, |search| search.max_trials) as usize
}

fn stopped_before() -> Failure {
    Failure::Interrupted("interrupted before anything was measured".to_owned())
}

/// The tokenizer that the user named counts outputs. Where the answers say nothing of tokens, and
/// whole bodies have no events to count, the model's own does.
fn counter(plan: &Plan, endpoint: &Endpoint, shaper: &Shaper) -> Counter {
    let stream = plan.sampling.stream;
    if plan.tokenizer.is_some() {
        Counter::AsTheyCome(Arc::clone(&shaper.tokenizer))
    } else if shaper.is_models_own && !stream && !endpoint.dialect.reports_usage {
        Counter::AfterThePass(Arc::clone(&shaper.tokenizer))
    } else {
        Counter::None
    }
}

/// A run in progress.
struct Session<'a> {
    resolved: &'a Resolved,
    progress: Progress,
    servers: &'a mut Servers,
    outputs: Outputs,
    passes: Passes,
    prompts: Prompts,
    recording: Recording,
    observer: Observer,
    header: RunHeader,
    grid: Grid,
    findings: Vec<Finding>,
    identity: Identity,
    body_hasher: BodyHasher,
    /// Whether all bodies were made by this run.
    bodies_are_known: bool,
    pass_number: u32,
    /// Passes that were not broken off.
    completed: usize,
    cache: PrefixCache,
    /// Prompts asked for so far, by input length.
    places: Places,
    /// Whether a pass had no number of requests: more is counted as taken then than was sent.
    taken_is_a_bound: bool,
    /// Why the run cannot go on, if it cannot.
    broken: Option<String>,
}

/// Takes records that are not to be kept, and counts their outcomes.
#[derive(Default)]
struct Discard(OutcomeCounts);

impl Recorder for Discard {
    fn record(&mut self, record: Record, _text: Option<String>) {
        self.0.add(record.outcome);
    }
}

impl Session<'_> {
    fn play(mut self) -> Result<Finished, Failure> {
        self.servers.keep_files_in(&self.outputs.of(&self.recording.run)?)?;
        for &cell in &self.resolved.plan.cells {
            // What goes wrong in a cell ends the run, and what was measured before is kept.
            if let Err(failure) = self.cell(cell) {
                self.broken = Some(failure.words());
            }
            if self.is_stopped() {
                break;
            }
        }
        self.finish()
    }

    fn cell(&mut self, cell: CellPlan) -> Result<(), Failure> {
        if self.take_over(cell)? && !self.goes_on(cell) {
            return Ok(());
        }
        self.revive_server()?;
        self.warm_up(cell)?;
        match &self.resolved.plan.search {
            Some(search) => self.search(cell, search)?,
            None => self.repeats(cell)?,
        }
        // A crash later on loses nothing of this cell.
        self.outputs.write_figures(&self.summary(), &self.recording.run)?;
        Ok(())
    }

    /// The passes of a cell, as often as the plan says.
    fn repeats(&mut self, cell: CellPlan) -> Result<(), Failure> {
        let Plan { repeat: Repeat { at_least, at_most, until }, .. } = &self.resolved.plan;
        let passes = self.resolved.plan.passes_of(cell);
        let mut unknown: Vec<&Precision> = Vec::new();
        for repeat in 1..=*at_most {
            for pass in &passes {
                if self.is_stopped() {
                    return Ok(());
                }
                self.rest()?;
                self.pass(cell, repeat, pass)?;
                if self.server_died(cell, pass) {
                    return Ok(());
                }
            }
            let passes = self.grid.passes_of(cell);
            unknown = until
                .iter()
                .filter(|precision| !inferometer_analysis::repeats::is_reached(precision, passes))
                .collect();
            if repeat >= *at_least && unknown.is_empty() {
                return Ok(());
            }
        }
        for precision in unknown {
            let message =
                format!("after {at_most} repeats {} is not reached for every load", precision.text);
            let finding = Finding::new("precision_not_reached", Severity::Warning, message)
                .advise("read the intervals over the repeats, or allow more with --max-repeats");
            self.findings.push(finding.at(cell.to_string()));
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.passes.interrupted() || self.broken.is_some()
    }

    /// The rest between two passes.
    fn rest(&mut self) -> Result<(), Failure> {
        match self.resolved.plan.cooldown.filter(|_| self.pass_number > 0) {
            None => Ok(()),
            Some(span) => self
                .passes
                .rest(span)
                .map_err(|error| Failure::not_carried_out(format!("sockets: {error}"))),
        }
    }

    /// Requests before a cell that are sent and not reported, one by one.
    fn warm_up(&mut self, cell: CellPlan) -> Result<(), Failure> {
        let plan = &self.resolved.plan;
        let Some(bound) = plan.warmup.bound().filter(|_| !self.is_stopped()) else {
            return Ok(());
        };
        let pass = PassPlan::OneByOne { bound };
        let place = self.places.next(cell, "warm-up", 1, &pass);
        let begin = PassBegin { pass: 0, cell, plan: pass, repeat: 1 };
        let mut unused = Identity::unused();
        let supplied = prompts::supply(&self.prompts, plan, &begin, &place, &mut unused)?;
        let live = Arc::new(Live::default());
        let _showing = self.progress.show(
            &format!("{cell}, warm-up"),
            None,
            cell.output_length,
            Arc::clone(&live),
        );
        let Played { recorder: Discard(outcomes), .. } = self
            .passes
            .play(plan, &begin, supplied.source, Discard::default(), live)
            .map_err(|error| Failure::not_carried_out(format!("sockets: {error}")))?;
        if outcomes.failed() > 0 && !self.passes.interrupted() {
            let message = format!("requests of the warm-up failed: {outcomes}");
            let finding = Finding::new("warm_up_failed", Severity::Warning, message);
            self.findings.push(finding.at(cell.to_string()));
        }
        Ok(())
    }

    fn pass(&mut self, cell: CellPlan, repeat: u32, pass: &PassPlan) -> Result<(), Failure> {
        let plan = &self.resolved.plan;
        let begin = PassBegin { pass: self.pass_number, cell, plan: pass.clone(), repeat };
        let of = if plan.repeat.at_most > 1 { format!(", repeat {repeat}") } else { String::new() };
        let of = if plan.search.is_some() { format!(", trial {repeat}") } else { of };
        let label = format!("{cell}, {pass}{of}");
        let place = self.places.next(cell, &pass.prompt_label(), repeat, pass);
        self.findings.extend(self.cache.empty(self.progress));
        let hasher = &mut self.identity;
        let making = self.progress.making(&label, pass.requests(), self.prompts.made());
        let Supplied { source, notes, trouble } =
            prompts::supply(&self.prompts, plan, &begin, &place, hasher)?;
        drop(making);
        let of_a_bound = self.taken_is_a_bound;
        self.findings.extend(notes.iter().map(|note| said::note(note, of_a_bound).at(&label)));
        self.taken_is_a_bound |= pass.requests().is_none();
        let live = Arc::new(Live::default());
        let showing =
            self.progress.show(&label, pass.requests(), cell.output_length, Arc::clone(&live));
        let (board, stream) = (self.recording.board.clone(), plan.sampling.stream);
        board.begin_pass(&label, &begin, stream, &live);
        let (sender, receiver) = channel();
        let stop = Arc::clone(&self.passes.stop);
        let waker = self.passes.net.waker();
        let (process, said) = (OnceLock::new(), OnceLock::new());
        let begun = self.observer.begin();
        let (over, is_over) = channel::<()>();
        let (played, recorded) = std::thread::scope(|scope| {
            let recording = &mut self.recording;
            let observer = &mut self.observer;
            let (begin, process, said) = (&begin, &process, &said);
            let watcher = scope.spawn(move || observer.watch(begun, &is_over));
            let writer = scope.spawn(move || {
                let ending = || {
                    let ending = match stop.load(Ordering::Relaxed) {
                        true => Ending::Interrupted,
                        false => Ending::Complete,
                    };
                    (ending, process.get().copied(), said.get().cloned().unwrap_or_default())
                };
                // A pass whose records cannot be kept is not worth its time.
                let give_up = || {
                    stop.store(true, Ordering::Relaxed);
                    waker.wake();
                };
                recording.pass(plan, begin, &receiver, ending, give_up)
            });
            let recorder = ToWriter(sender);
            let played = self.passes.play(plan, begin, source, recorder, live);
            drop(over);
            let observed: Observed = watcher.join().expect("invariant: the watcher does not panic");
            said.get_or_init(|| observed);
            let played = played.map(|Played { body_hash, process: went_through, recorder }| {
                process.get_or_init(|| went_through);
                // The writer ends the pass when nobody can send it records any more.
                drop::<ToWriter>(recorder);
                body_hash
            });
            (played, writer.join())
        });
        drop(showing);
        board.end_pass(process.get().copied());
        let body_hash =
            played.map_err(|error| Failure::not_carried_out(format!("sockets: {error}")))?;
        let (recorded, error) = recorded.expect("invariant: the writer does not panic");
        if let Some(error) = error {
            self.broken = Some(format!("{label}: {error}"));
        } else if let Some(trouble) = trouble.get() {
            self.broken = Some(format!("{label}: prompts ran out: {trouble}"));
        }
        self.body_hasher.body(body_hash.as_bytes());
        let records = recorded.summary.planned;
        if !pass.may_end_before_its_count()
            && pass.requests().is_some_and(|planned| u64::from(planned) != records)
        {
            self.broken.get_or_insert(format!(
                "{label}: {records} records where {pass} has another number of requests"
            ));
        }
        self.completed += usize::from(!self.is_stopped());
        let played = self.prompts.spec().workload().plays();
        self.findings.extend(enough::findings(pass, records, played).map(|it| it.at(&label)));
        self.note(cell, &label, recorded);
        Ok(())
    }

    fn note(&mut self, cell: CellPlan, label: &str, recorded: Recorded) {
        let summary = &recorded.summary;
        let rate = summary.output_tokens_per_s.unwrap_or(0.0);
        let seconds = summary.duration_s.unwrap_or(0.0);
        self.progress
            .say(&format!("  {label}: {} in {seconds:.2} s, {rate:.1} tokens/s", summary.outcomes));
        self.findings.extend(recorded.findings.iter().cloned());
        self.grid.add(cell, recorded);
        self.pass_number += 1;
    }

    fn summary(&self) -> Summary {
        let facts = Facts {
            run_id: self.recording.run.to_string(),
            started_at: rfc3339(self.header.started_unix_ns),
            plan: &self.header.plan,
            target: &self.header.target,
            environment: &self.header.environment,
            tool_version: &self.header.tool_version,
            predicted: self.header.predicted,
            workload_hash: self.identity.hash(),
            body_hash: match self.bodies_are_known {
                true => self.body_hasher.clone().finish(),
                false => "unknown: some passes are those of an earlier run".to_owned(),
            },
        };
        summarise(facts, &self.grid, self.findings.clone())
    }

    fn finish(mut self) -> Result<Finished, Failure> {
        let interrupted = self.passes.interrupted() && self.broken.is_none();
        let missing = self.note_what_is_missing();
        self.note_server_usage();
        let summary = self.summary();
        let Recording { mut store, run, log, .. } = self.recording;
        let (ending, state) = match (interrupted, &self.broken) {
            (_, Some(_)) => (Ending::Interrupted, RunState::Failed),
            (true, None) => (Ending::Interrupted, RunState::Interrupted),
            // All was begun that could be: what is missing is not what the plan asked for.
            (false, None) if missing => (Ending::Complete, RunState::Failed),
            (false, None) => (Ending::Complete, RunState::Complete),
        };
        let plan = &self.header.plan;
        let traces = traces::of_log_as_far_as_it_goes(log.path(), plan);
        let folder = self.outputs.write_all(&summary, plan, &run, &traces, Theme::Light)?;
        let ended = log.finish(ending).and_then(|()| {
            let now = i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX);
            LiveNote::remove(&store.live_note(&run));
            store.finish_run(&run, &summary, state, now)
        });
        let files = format!(
            "\nreport: {0}/report.html, {0}/report.md; plots: {0}/*.png\nstore:  {1}, run {run}\n",
            folder.display(),
            self.resolved.store.display()
        );
        match (self.broken, ended) {
            (Some(why), _) => Err(Failure::NotCarriedOut(format!(
                "{why}; what was measured until then is in {}",
                folder.display()
            ))),
            (None, Err(error)) => Err(Failure::not_carried_out(error)),
            (None, Ok(())) => Ok(Finished { summary, files, interrupted }),
        }
    }
}

pub use launched::SERVER_DIED;
pub use missing::RUN_INCOMPLETE;
pub use summarised::{Facts, summarise};
