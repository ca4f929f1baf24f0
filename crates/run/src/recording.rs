//! Writes the records of a run while it goes on: into its log, into the index of the store, into the
//! figures of their pass. It runs on a thread of its own, so that the load generator writes nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

use inferometer_analysis::summary::Summary;
use inferometer_drive::Recorder;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_model::sample::Observed;
use inferometer_model::tokenizer::Tokenizer;
use inferometer_net::wall_clock_ns;
use inferometer_plan::Plan;
use inferometer_store::{
    Ending, LiveNote, LogHeader, LogWriter, PassBegin, RunHeader, RunId, RunState, Store,
    StoreError, into_stored,
};

use crate::event::Event;
use crate::events::Events;
use crate::pass_figures::{PassFigures, PassResult};

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
    /// Wall time at which the run's monotonic axis begins.
    pub origin_unix_ns: i64,
}

/// Which tokenizer counts the tokens of outputs, beside the server's usage and the events.
pub enum Counter {
    /// None.
    None,
    /// The tokenizer that the user named, as records come.
    AsTheyCome(Arc<dyn Tokenizer>),
    /// The server's own. It must not be asked while the server is measured, so records wait for the
    /// end of their pass.
    AfterThePass(Arc<dyn Tokenizer>),
}

/// How often records are flushed to the disk: what a killed run can lose.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How often the live note is written, which other processes read.
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// How long the writer sleeps when it has no record. The load generator need not wake it then.
const POLL_EVERY: Duration = Duration::from_millis(10);

impl Recording {
    /// Enters a run in a store and opens its log.
    ///
    /// # Errors
    /// When either cannot be written.
    pub fn begin(
        mut store: Store,
        header: &RunHeader,
        counter: Counter,
    ) -> Result<Self, StoreError> {
        let run = store.begin_run(header)?;
        let origin_unix_ns = header.origin_unix_ns;
        let log_header = LogHeader::new(run.as_str(), origin_unix_ns);
        let log = LogWriter::create(store.log_path(&run), &log_header)?;
        Ok(Self { store, run, log, counter, template: 0, origin_unix_ns })
    }

    /// Takes in the records of a pass until the sender is gone, then ends the pass as `ending`
    /// says; `events`, if there are any, hear of each record. When the log or the store cannot be
    /// written any more, `give_up` is called once. Later records are counted in the figures but not
    /// stored, and the error is returned beside the figures.
    pub fn pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        records: &Receiver<Message>,
        events: Option<&Events>,
        ending: impl FnOnce() -> (Ending, Option<Process>, Observed),
        give_up: impl FnOnce(),
    ) -> (PassResult, Option<StoreError>) {
        let mut taken = Taken {
            figures: PassFigures::new(plan, begin, self.template, self.origin_unix_ns),
            events,
            batch: Vec::new(),
            note: None,
            flushed_at_ns: wall_clock_ns(),
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
                    self.flush_if_due(&mut taken);
                    self.note_if_due(&mut taken, begin.pass);
                    std::thread::sleep(POLL_EVERY);
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
        self.flush(&mut taken);
        let (ending, process, observed) = ending();
        if taken.error.is_none() {
            let written = self.log.observed(&observed);
            taken.error = written.and_then(|()| self.log.end_pass_of(ending, process)).err();
        }
        taken.figures.observe(observed);
        (taken.figures.finish(process), taken.error)
    }

    /// Records of a pass that is not in progress: of an earlier run, or of a prediction.
    pub fn played_pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        records: impl IntoIterator<Item = Record>,
        (process, observed): (Option<Process>, Observed),
    ) -> (PassResult, Option<StoreError>) {
        let (sender, receiver) = channel();
        for record in records {
            // The receiver is there until all are sent.
            let _ = sender.send((record, None));
        }
        drop(sender);
        let counter = std::mem::replace(&mut self.counter, Counter::None);
        let ending = || (Ending::Complete, process, observed);
        let done = self.pass(plan, begin, &receiver, None, ending, || ());
        self.counter = counter;
        done
    }

    /// Ends the log, and enters the results.
    ///
    /// # Errors
    /// When either cannot be written.
    pub fn finish(
        mut self,
        summary: &Summary,
        ending: Ending,
        state: RunState,
    ) -> Result<RunId, StoreError> {
        self.log.finish(ending)?;
        let now = i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX);
        LiveNote::remove(&self.store.live_note(&self.run));
        self.store.finish_run(&self.run, summary, state, now)?;
        Ok(self.run)
    }

    fn take(&mut self, taken: &mut Taken<'_, impl FnOnce()>, record: Record) {
        if taken.error.is_none() {
            taken.note(self.log.append(&record));
        }
        // Figures are those of the stored record, so that a report made again is equal.
        let record = into_stored(record);
        taken.figures.add(&record);
        if let Some(events) = taken.events {
            events.emit(Event::Record(&record));
        }
        taken.batch.push(record);
        if taken.batch.len() >= INDEX_BATCH {
            self.flush(taken);
        }
    }

    fn flush_if_due(&mut self, taken: &mut Taken<'_, impl FnOnce()>) {
        let since = wall_clock_ns().saturating_sub(taken.flushed_at_ns);
        if u128::from(since) > FLUSH_EVERY.as_nanos() {
            self.flush(taken);
        }
    }

    /// Writes the live note, for dashboards in other processes.
    fn note_if_due(&self, taken: &mut Taken<'_, impl FnOnce()>, pass: u32) {
        let now = wall_clock_ns();
        let since = taken.note.as_ref().map(|note| now.saturating_sub(note.at_unix_ns));
        if since.is_some_and(|since| u128::from(since) < NOTE_EVERY.as_nanos()) {
            return;
        }
        let live = taken.events.map(Events::live);
        taken.note = live.and_then(|live| live.note(pass, now, taken.note.as_ref()));
        if let Some(note) = &taken.note {
            // Nothing is lost with it: dashboards then show what is recorded.
            let _ = note.write(&self.store.live_note(&self.run));
        }
    }

    /// Hands everything taken so far to the disk.
    fn flush(&mut self, taken: &mut Taken<'_, impl FnOnce()>) {
        taken.flushed_at_ns = wall_clock_ns();
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
struct Taken<'a, G> {
    figures: PassFigures,
    events: Option<&'a Events>,
    batch: Vec<Record>,
    /// The live note that was written last.
    note: Option<LiveNote>,
    /// When everything taken before was last handed to the disk.
    flushed_at_ns: u64,
    give_up: Option<G>,
    error: Option<StoreError>,
}

impl<G: FnOnce()> Taken<'_, G> {
    fn note(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written {
            self.error = Some(error);
            if let Some(give_up) = self.give_up.take() {
                give_up();
            }
        }
    }
}

/// A text that cannot be counted leaves the count absent, which is a finding.
fn count(counter: &dyn Tokenizer, (mut record, text): Message) -> Record {
    record.tokens_tokenizer = text.and_then(|text| counter.count(&text).ok());
    record
}
