//! Where records go while a pass runs: into the log, the store's index, the summary and the
//! findings. On a thread of its own, so that the load generator writes nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use inferometer_analysis::fold::PassFold;
use inferometer_analysis::inspect::{Inspector, card_findings, server_findings};
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::{Trial, TrialFold};
use inferometer_drive::Recorder;
use inferometer_metrics::RequestFigures;
use inferometer_metrics::Timeline;
use inferometer_model::finding::Finding;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_model::sample::Observed;
use inferometer_model::tokenizer::Tokenizer;
use inferometer_net::wall_clock_ns;
use inferometer_plan::search::SearchPlan;
use inferometer_plan::{Plan, WorkloadPlan};
use inferometer_store::{
    Ending, LiveNote, LogWriter, PassBegin, RunId, Store, StoreError, into_stored,
};

use super::board::Board;

/// Records that are entered into the index in one transaction.
const INDEX_BATCH: usize = 1_024;

/// A record on its way, with its output text where a tokenizer is to count it.
pub type Message = (Record, Option<String>);

/// Hands records over to the thread that writes them.
pub struct ToWriter(pub Sender<Message>);

impl Recorder for ToWriter {
    fn record(&mut self, record: Record, text: Option<String>) {
        // A writer that has failed says so itself, when the pass is over.
        let _ = self.0.send((record, text));
    }
}

/// The log and the store of a run.
pub struct Recording {
    /// The store.
    pub store: Store,
    /// The run.
    pub run: RunId,
    /// The log.
    pub log: LogWriter,
    /// Counts outputs.
    pub counter: Counter,
    /// Tokens of a chat template that input lengths do not count.
    pub template: u32,
    /// What others see of it.
    pub board: Board,
    /// Wall time at which the run's monotonic axis has its origin.
    pub origin_unix_ns: i64,
}

/// Who counts the tokens of outputs, beside the server's usage and the events.
pub enum Counter {
    /// Nobody.
    None,
    /// The tokenizer that the user named, as records come.
    AsTheyCome(Arc<dyn Tokenizer>),
    /// The server's own, which must not be asked while it is measured: records wait for the end
    /// of their pass.
    AfterThePass(Arc<dyn Tokenizer>),
}

/// What a pass gave.
pub struct Recorded {
    /// Its figures.
    pub summary: PassSummary,
    /// What its records show.
    pub findings: Vec<Finding>,
    /// The same as a trial, where the plan searches.
    pub trial: Option<Trial>,
}

/// How often records on their way are made sure of: what a killed run can lose.
const MAKE_SURE_EVERY: Duration = Duration::from_secs(1);
/// How often it is said what is under way.
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// How long records are let gather before they are taken. A writer that sleeps needs not be woken
/// by the load generator, and works while that sleeps too.
const GATHER: Duration = Duration::from_millis(10);

impl Recording {
    /// Takes in the records of a pass until the sender is gone, then ends the pass as `ending`
    /// says. When the log or the store cannot be written any more, `give_up` is called once, and
    /// what still comes is folded but not stored: figures are kept, and the error is returned
    /// beside them.
    pub fn pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        records: &Receiver<Message>,
        ending: impl FnOnce() -> (Ending, Option<Process>, Observed),
        give_up: impl FnOnce(),
    ) -> (Recorded, Option<StoreError>) {
        let mut taken = Taken {
            folded: Folded::new(plan, begin, self.template, self.origin_unix_ns),
            batch: Vec::new(),
            note: None,
            sure_at_ns: wall_clock_ns(),
            give_up: Some(give_up),
            error: self.log.begin_pass(begin).err(),
        };
        let mut waiting = Vec::new();
        loop {
            match records.try_recv() {
                Ok(message) => match &self.counter {
                    Counter::AfterThePass(_) => waiting.push(message),
                    Counter::AsTheyCome(counter) => {
                        let record = count(&**counter, message);
                        self.take(&mut taken, record);
                    }
                    Counter::None => self.take(&mut taken, message.0),
                },
                Err(TryRecvError::Empty) => {
                    self.make_sure_if_due(&mut taken);
                    self.note_if_due(&mut taken, begin.pass);
                    std::thread::sleep(GATHER);
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
        if let Counter::AfterThePass(counter) = &self.counter {
            let counter = Arc::clone(counter);
            for message in waiting {
                self.take(&mut taken, count(&*counter, message));
            }
        }
        self.make_sure(&mut taken);
        let (ending, process, observed) = ending();
        if taken.error.is_none() {
            let written = self.log.observed(&observed);
            taken.error = written.and_then(|()| self.log.end_pass_of(ending, process)).err();
        }
        taken.folded.observe(observed);
        (taken.folded.finish(process), taken.error)
    }

    fn take(&mut self, taken: &mut Taken<impl FnOnce()>, record: Record) {
        if taken.error.is_none() {
            taken.note(self.log.append(&record));
        }
        // RequestFigures are those of the stored record, so that a report made again is equal.
        let record = into_stored(record);
        taken.folded.add(&record);
        self.board.add(&record);
        taken.batch.push(record);
        if taken.batch.len() >= INDEX_BATCH {
            self.make_sure(taken);
        }
    }

    fn make_sure_if_due(&mut self, taken: &mut Taken<impl FnOnce()>) {
        let since = wall_clock_ns().saturating_sub(taken.sure_at_ns);
        if u128::from(since) > MAKE_SURE_EVERY.as_nanos() {
            self.make_sure(taken);
        }
    }

    /// Says what is under way, for those who look on from other processes.
    fn note_if_due(&self, taken: &mut Taken<impl FnOnce()>, pass: u32) {
        let now = wall_clock_ns();
        let since = taken.note.as_ref().map(|note| now.saturating_sub(note.at_unix_ns));
        if since.is_some_and(|since| u128::from(since) < NOTE_EVERY.as_nanos()) {
            return;
        }
        taken.note = self.board.note(pass, now, taken.note.as_ref());
        if let Some(note) = &taken.note {
            // Nothing is lost with it: whoever looks on sees what is recorded.
            let _ = note.write(&self.store.live_note(&self.run));
        }
    }

    /// Hands everything taken so far to the disk.
    fn make_sure(&mut self, taken: &mut Taken<impl FnOnce()>) {
        taken.sure_at_ns = wall_clock_ns();
        let batch = std::mem::take(&mut taken.batch);
        if taken.error.is_none() && !batch.is_empty() {
            taken.note(self.log.flush());
        }
        if taken.error.is_none() && !batch.is_empty() {
            taken.note(self.store.index_requests(&self.run, batch));
        }
    }
}

/// What became of the records of a pass so far.
struct Taken<G> {
    folded: Folded,
    batch: Vec<Record>,
    /// What was last said of what is under way.
    note: Option<LiveNote>,
    /// When everything taken before was last handed to the disk.
    sure_at_ns: u64,
    give_up: Option<G>,
    error: Option<StoreError>,
}

impl<G: FnOnce()> Taken<G> {
    fn note(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written {
            self.error = Some(error);
            if let Some(give_up) = self.give_up.take() {
                give_up();
            }
        }
    }
}

/// A text that cannot be counted leaves the count absent, which the findings tell.
fn count(counter: &dyn Tokenizer, (mut record, text): Message) -> Record {
    record.tokens_tokenizer = text.and_then(|text| counter.count(&text).ok());
    record
}

/// The figures and findings of a pass, from its records.
pub struct Folded {
    fold: PassFold,
    inspector: Inspector,
    streamed: bool,
    trial: Option<TrialFold>,
}

impl Folded {
    /// Nothing seen yet.
    pub fn new(plan: &Plan, begin: &PassBegin, template: u32, origin_unix_ns: i64) -> Self {
        let fold =
            PassFold::new(&begin.plan, plan.sampling.stream, plan.seed).judging(&plan.goodput);
        let fold = match plan.search {
            Some(_) => fold.of_trial(begin.repeat),
            None => fold.of_repeat(begin.repeat),
        };
        let fold = match (&plan.workload, plan.workload.block_pass(begin.cell, origin_unix_ns)) {
            (_, Some(pass)) => fold.over_blocks(pass),
            (WorkloadPlan::ServingRun { .. }, None) => fold.as_serving_run(),
            _ => fold,
        };
        let trial = |search: &SearchPlan| TrialFold::of(&begin.plan, &search.criteria);
        let inspector = Inspector::new(&begin.cell, &begin.plan, &plan.sampling);
        Self {
            fold,
            streamed: plan.sampling.stream,
            trial: plan.search.as_ref().and_then(trial),
            inspector: match plan.search {
                Some(_) => inspector.of_trial(begin.repeat),
                None => inspector.of_repeat(begin.repeat),
            }
            .with_template(template),
        }
    }

    /// Takes in a record.
    pub fn add(&mut self, record: &Record) {
        self.fold.add(record);
        self.inspector.add(record);
        if let Some(trial) = &mut self.trial {
            trial.add(&RequestFigures::of(&Timeline::new(record, self.streamed)));
        }
    }

    /// Takes in what the server and the cards said of themselves.
    pub fn observe(&mut self, observed: Observed) {
        self.fold.observe(observed);
    }

    /// What came out, with what the client's process went through, which no record shows.
    pub fn finish(self, process: Option<Process>) -> Recorded {
        let mut summary = self.fold.finish();
        summary.instrument.process = process;
        let place = self.inspector.place().to_owned();
        let mut findings = self.inspector.finish();
        let said = server_findings(&summary).into_iter().chain(card_findings(&summary));
        findings.extend(said.map(|finding| finding.at(&place)));
        Recorded { summary, findings, trial: self.trial.map(TrialFold::finish) }
    }
}
