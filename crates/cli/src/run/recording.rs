//! Where records go while a pass runs: into the log, the store's index, the summary and the
//! findings. On a thread of its own, so that the load generator writes nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use inferometer_core::finding::Finding;
use inferometer_core::fold::PassFold;
use inferometer_core::inspect::Inspector;
use inferometer_core::plan::Plan;
use inferometer_core::record::Record;
use inferometer_core::summary::PassSummary;
use inferometer_core::traits::Tokenizer;
use inferometer_drive::Recorder;
use inferometer_store::{Ending, LogWriter, PassBegin, RunId, Store, StoreError, as_stored};

/// Records that are entered into the index in one transaction.
const INDEX_BATCH: usize = 64;

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
}

impl Recording {
    /// Takes in the records of a pass until the sender is gone, then ends the pass as `ending`
    /// says.
    ///
    /// # Errors
    /// When the log or the store cannot be written.
    pub fn pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        records: &Receiver<Message>,
        ending: impl FnOnce() -> Ending,
    ) -> Result<Recorded, StoreError> {
        let mut taken = Taken { folded: Folded::new(plan, begin), batch: Vec::new() };
        self.log.begin_pass(begin)?;
        if let Counter::AfterThePass(counter) = &self.counter {
            let counter = Arc::clone(counter);
            for message in records.iter().collect::<Vec<_>>() {
                self.take(&mut taken, count(&*counter, message))?;
            }
        } else {
            for message in records {
                let record = match &self.counter {
                    Counter::AsTheyCome(counter) => count(&**counter, message),
                    Counter::None | Counter::AfterThePass(_) => message.0,
                };
                self.take(&mut taken, record)?;
            }
        }
        self.store.index_requests(&self.run, taken.batch)?;
        self.log.end_pass(ending())?;
        Ok(taken.folded.finish())
    }

    fn take(&mut self, taken: &mut Taken, record: Record) -> Result<(), StoreError> {
        self.log.append(&record)?;
        // Figures are those of the stored record, so that a report made again is equal.
        let record = as_stored(&record);
        taken.folded.add(&record);
        taken.batch.push(record);
        if taken.batch.len() == INDEX_BATCH {
            self.store.index_requests(&self.run, taken.batch.drain(..))?;
        }
        Ok(())
    }
}

/// What became of the records of a pass so far.
struct Taken {
    folded: Folded,
    batch: Vec<Record>,
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
}

impl Folded {
    /// Nothing seen yet.
    pub fn new(plan: &Plan, begin: &PassBegin) -> Self {
        Self {
            fold: PassFold::new(&begin.plan, plan.sampling.stream, plan.seed),
            inspector: Inspector::new(&begin.cell, &begin.plan, &plan.sampling),
        }
    }

    /// Takes in a record.
    pub fn add(&mut self, record: &Record) {
        self.fold.add(record);
        self.inspector.add(record);
    }

    /// What came out.
    pub fn finish(self) -> Recorded {
        Recorded { summary: self.fold.finish(), findings: self.inspector.finish() }
    }
}
