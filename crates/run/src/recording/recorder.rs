//! Writes the records of a run in progress: into its log, the index of the store, and the figures of their
//! pass. The writing runs on a separate thread, so that the load generator writes nothing.

use std::sync::mpsc::{TryRecvError, sync_channel};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, thread, time::Duration};

use inferometer_analysis::Summary;
use inferometer_model::{Observed, OutcomeCounts, Process, Record, Timeline, Tokenizer};
use inferometer_net::{spawn_scoped, wall_clock_ns};
use inferometer_plan::Plan;
use inferometer_store::{
    Ending, LiveNote, PassBegin, RowFigures, RunHeader, RunId, RunRecording, RunState, Store,
    StoreError, into_stored,
};

use super::pass_figures::{PassFigures, PassResult};
use super::queue::{FromDriver, Message};
use crate::{Event, Events};

/// The log and the store of a run, and the figures of its passes.
pub struct Recording {
    stored: RunRecording,
    counter: Counter,
    /// Outcomes of the requests of each rank, if there are several ranks.
    ranks: BTreeMap<u32, OutcomeCounts>,
    /// The names of the servers, if there are several.
    servers: Vec<String>,
    /// The number of chat template tokens that input lengths do not include.
    pub template: u32,
    /// Whether the server continues after end-of-text if a request sets `ignore_eos`.
    pub honours_ignore_eos: bool,
    /// Whether a trace has hashes, as the opened workload states.
    pub has_hashes: Option<bool>,
    /// Whether charts of single requests are drawn; data of every record is then collected for them.
    pub traced: bool,
    /// The wall time at which the run's monotonic clock begins, in nanoseconds since 1970.
    origin_unix_ns: i64,
}

/// Which tokenizer counts output tokens, in addition to the counts in the server's `usage` and the counts of stream
/// events.
pub enum Counter {
    /// No tokenizer.
    None,
    /// The tokenizer that the user named. It counts each output when its record arrives.
    AsTheyCome(Arc<dyn Tokenizer>),
    /// The model's own tokenizer, which may send requests to the server. Such requests must not be sent while
    /// the server is measured, so outputs are counted after the end of their pass.
    AfterThePass(Arc<dyn Tokenizer>),
}

/// How many bytes of memory the records of a pass may take while their texts wait to be counted. Once they take
/// more, texts that arrive later in the pass are not counted. The token count of a stream is then the number of
/// its events; the token count of a body that is not streamed is unknown.
pub const UNCOUNTED_BYTES: usize = 128 << 20;
/// The longest text that is counted, in bytes. A tokenizer needs about forty times the memory of the text.
const COUNTED_BYTES: usize = 8 << 20;
/// How often records are flushed to the disk. The flush is delayed while records wait to be written. A killed run can
/// lose the records since the last flush.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How often the live note is written for other processes.
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// How long the writer sleeps when it has no record. The load generator then need not wake it.
const POLL_EVERY: Duration = Duration::from_millis(10);
/// For a pass that is not in progress: the number of records in a batch, and the maximum number of batches
/// that wait to be written.
const BATCH: usize = 1_024;
const WAITING_BATCHES: usize = 32;

impl Recording {
    /// Adds a run to a store and opens its log.
    ///
    /// # Errors
    /// When the store or the log cannot be written.
    pub fn begin(store: Store, header: &RunHeader, counter: Counter) -> Result<Self, StoreError> {
        let stored = RunRecording::begin(store, header)?;
        Ok(Self {
            stored,
            counter,
            ranks: BTreeMap::new(),
            servers: header.target.servers.clone(),
            template: 0,
            honours_ignore_eos: true,
            has_hashes: None,
            traced: false,
            origin_unix_ns: header.origin_unix_ns,
        })
    }

    /// Outcomes of a rank's requests in the passes so far.
    pub fn of_rank(&self, rank: u32) -> OutcomeCounts {
        self.ranks.get(&rank).copied().unwrap_or_default()
    }

    /// The id of the run.
    pub fn run(&self) -> &RunId {
        self.stored.run()
    }

    /// The path of the run's log.
    pub fn log_path(&self) -> PathBuf {
        self.stored.log_path()
    }

    /// Adds the records of a pass until all senders are dropped, then ends the pass with the result of
    /// `ending`. Sends each record to `events`. If the beginning of the pass or a record cannot be written,
    /// `give_up` is called once. After an error, records are counted in the figures but not stored, and the
    /// error is returned with the figures.
    pub fn pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        records: &FromDriver,
        events: Option<&Events>,
        ending: impl FnOnce() -> (Ending, Option<Process>, Observed),
        give_up: impl FnOnce(),
    ) -> (PassResult, Option<StoreError>) {
        let mut in_progress = self.begin_pass(plan, begin, events);
        match in_progress.error {
            Some(_) => give_up(),
            None => in_progress.give_up = Some(Box::new(give_up)),
        }
        let mut waiting = Vec::new();
        let mut waiting_bytes = 0;
        loop {
            let received = records.try_recv();
            if let Ok(Message { record: Record { rank: Some(rank), outcome, .. }, count, .. }) =
                &received
            {
                self.ranks.entry(*rank).or_default().add_times(*outcome, u64::from(*count));
            }
            match received {
                Ok(message) => match &self.counter {
                    Counter::AfterThePass(_)
                        if message.text.is_none() || waiting_bytes > UNCOUNTED_BYTES =>
                    {
                        self.take(&mut in_progress, message.record, message.count);
                    }
                    Counter::AfterThePass(_) => {
                        waiting_bytes += message.bytes;
                        waiting.push(message);
                    }
                    Counter::AsTheyCome(counter) => {
                        let requests = message.count;
                        let record = count(&**counter, message);
                        self.take(&mut in_progress, record, requests);
                    }
                    Counter::None => self.take(&mut in_progress, message.record, message.count),
                },
                Err(TryRecvError::Empty) => {
                    self.flush_if_due(&mut in_progress);
                    self.note_if_due(&mut in_progress, begin.pass);
                    thread::sleep(POLL_EVERY);
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
        if let Counter::AfterThePass(counter) = &self.counter {
            let counter = Arc::clone(counter);
            for message in waiting {
                self.take(&mut in_progress, count(&*counter, message), 1);
            }
        }
        self.flush(&mut in_progress);
        self.end_pass(in_progress, ending())
    }

    /// Adds the records of a pass that is not in progress: of an earlier run, or of a prediction. Another
    /// thread writes records while this thread computes the figures of the next records.
    pub fn add_stored_pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        records: impl IntoIterator<Item = Record>,
        (process, observed): (Option<Process>, Observed),
    ) -> (PassResult, Option<StoreError>) {
        let mut in_progress = self.begin_pass(plan, begin, None);
        let (sender, unwritten) = sync_channel::<Vec<(Record, RowFigures)>>(WAITING_BATCHES);
        let is_written = in_progress.error.is_none();
        let stored = &mut self.stored;
        let log = stored.live_note_path().with_extension("log");
        let write = move || {
            let mut unwritten = unwritten.into_iter().flatten();
            unwritten.try_for_each(|(record, figures)| stored.append_read(record, figures))
        };
        let written = thread::scope(|scope| {
            let writer = is_written.then(|| spawn_scoped(scope, write));
            let read = |record: Record| {
                let record = into_stored(record);
                let timeline = Timeline::new(&record);
                in_progress.figures.add(&timeline);
                let figures = RowFigures::of(&timeline);
                (record, figures)
            };
            let mut records = records.into_iter().map(read).peekable();
            while records.peek().is_some() {
                let batch: Vec<_> = records.by_ref().take(BATCH).collect();
                // After an error, the writer receives no more batches; the error is returned.
                let _ = sender.send(batch);
            }
            drop(sender);
            writer.map(|writer| {
                let refused = |source| StoreError::Io { action: "write", path: log, source };
                let writer = writer.map_err(refused)?;
                writer.join().expect("writing a record does not panic")
            })
        });
        in_progress.note(written.unwrap_or(Ok(())));
        self.end_pass(in_progress, (Ending::Complete, process, observed))
    }

    /// Ends the log and stores the results.
    ///
    /// # Errors
    /// When the store or the log cannot be written.
    pub fn finish(
        self,
        summary: &Summary,
        ending: Ending,
        state: RunState,
    ) -> Result<RunId, StoreError> {
        let run = self.run().clone();
        let now = i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX);
        self.stored.finish(ending, summary, state, now)?;
        Ok(run)
    }

    fn begin_pass<'a>(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
        events: Option<&'a Events>,
    ) -> PassInProgress<'a> {
        let figures = PassFigures::new(plan, begin, self.template, self.origin_unix_ns)
            .of_servers(&self.servers)
            .with_ignore_eos(self.honours_ignore_eos)
            .with_hashes(&plan.workload, self.has_hashes);
        PassInProgress {
            figures: if self.traced { figures.traced(begin) } else { figures },
            events,
            note: None,
            flushed_at_ns: wall_clock_ns(),
            give_up: None,
            error: self.stored.begin_pass(begin).err(),
        }
    }

    fn end_pass(
        &mut self,
        mut in_progress: PassInProgress<'_>,
        (ending, process, observed): (Ending, Option<Process>, Observed),
    ) -> (PassResult, Option<StoreError>) {
        if in_progress.error.is_none() {
            in_progress.error = self.stored.end_pass(ending, process, &observed).err();
        }
        in_progress.figures.observe(observed);
        (in_progress.figures.finish(process), in_progress.error)
    }

    /// Adds a record that represents `count` requests. If `count` is above 1, none of them has begun.
    fn take(&mut self, in_progress: &mut PassInProgress<'_>, record: Record, count: u32) {
        // Figures are computed from the stored form of a record, so that a report that is made again has the
        // same figures.
        let record = into_stored(record);
        let timeline = Timeline::new(&record);
        in_progress.figures.add_repeated(&timeline, count);
        if let Some(events) = in_progress.events {
            events.emit(match count {
                1 => Event::Record(&timeline),
                _ => Event::NeverBegun(&record, count),
            });
        }
        let figures = RowFigures::of(&timeline);
        if in_progress.error.is_none() {
            in_progress.note(match count {
                1 => self.stored.append_read(record, figures),
                _ => self.stored.append_repeated(record, count),
            });
        }
    }

    fn flush_if_due(&mut self, in_progress: &mut PassInProgress<'_>) {
        let since = wall_clock_ns().saturating_sub(in_progress.flushed_at_ns);
        if u128::from(since) > FLUSH_EVERY.as_nanos() {
            self.flush(in_progress);
        }
    }

    /// Writes the live note for dashboards in other processes, if it is due.
    fn note_if_due(&self, in_progress: &mut PassInProgress<'_>, pass: u32) {
        let now = wall_clock_ns();
        let since = in_progress.note.as_ref().map(|note| now.saturating_sub(note.at_unix_ns));
        if since.is_some_and(|since| u128::from(since) < NOTE_EVERY.as_nanos()) {
            return;
        }
        let live = in_progress.events.map(Events::live);
        in_progress.note = live.and_then(|live| live.note(pass, now, in_progress.note.as_ref()));
        if let Some(note) = &in_progress.note {
            // An error does no harm: dashboards then show only the recorded requests.
            let _ = note.write(&self.stored.live_note_path());
        }
    }

    /// Writes all records so far to the disk.
    fn flush(&mut self, in_progress: &mut PassInProgress<'_>) {
        in_progress.flushed_at_ns = wall_clock_ns();
        if in_progress.error.is_none() {
            in_progress.note(self.stored.flush());
        }
    }
}

/// The state of a pass whose records are being written.
struct PassInProgress<'a> {
    figures: PassFigures,
    events: Option<&'a Events>,
    /// The live note that was written last.
    note: Option<LiveNote>,
    /// The time of the last flush to the disk, in nanoseconds since 1970.
    flushed_at_ns: u64,
    give_up: Option<Box<dyn FnOnce() + 'a>>,
    error: Option<StoreError>,
}

impl PassInProgress<'_> {
    fn note(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written {
            self.error = Some(error);
            if let Some(give_up) = self.give_up.take() {
                give_up();
            }
        }
    }
}

/// Counts the tokens of the output text. If the text cannot be counted, this count is absent. If the server
/// sent no count either, a finding says so.
fn count(counter: &dyn Tokenizer, message: Message) -> Record {
    let Message { mut record, text, .. } = message;
    let text = text.filter(|text| text.len() <= COUNTED_BYTES);
    record.tokens_tokenizer = text.and_then(|text| counter.count(&text).ok());
    record
}

#[cfg(test)]
mod tests {
    use inferometer_model::target::{Environment, Target};
    use inferometer_plan::spec::{Known, Spec};

    use super::*;
    use crate::recording::header::{TimeOrigin, of_run};
    use crate::recording::queue::record_queue;

    #[test]
    fn a_pass_whose_beginning_cannot_be_written_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        let plan = Spec::default().resolve(&known).unwrap();
        let header = of_run(&plan, Target::default(), Environment::default(), TimeOrigin::Zero);
        let store = Store::open(folder.path().join("runs.db")).unwrap();
        let mut recording = Recording::begin(store, &header, Counter::None).unwrap();
        let begin = |pass: u32| {
            let (cell, plan) = (plan.cells[0], plan.passes[0].clone());
            PassBegin { pass, cell, plan, repeat: 1 }
        };
        let mut is_given_up = [false, false];
        for (pass, is_given_up) in (0..).zip(&mut is_given_up) {
            // A log refuses a pass that begins while another pass is open.
            if pass == 1 {
                recording.stored.begin_pass(&begin(7)).unwrap();
            }
            let (to, from) = record_queue(0);
            drop(to);
            let ending = || (Ending::Complete, None, Observed::default());
            let give_up = || *is_given_up = true;
            let (_, error) = recording.pass(&plan, &begin(pass), &from, None, ending, give_up);
            assert_eq!(error.is_some(), pass == 1, "{error:?}");
        }
        assert_eq!(is_given_up, [false, true]);
    }
}
