//! The queue of records from the load generator to the thread that writes them. Its memory is limited:
//! while it is full, no request begins.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::{sync::Arc, time::Duration};

use inferometer_cluster::SentRecord;
use inferometer_drive::Recorder;
use inferometer_model::Record;
use inferometer_model::record::{Event, Read};

/// How many bytes of memory records may take while they wait to be written. While they take more, no request begins.
/// The memory of all answers that may be in flight is added to this limit, because these answers may all end at the
/// same time.
pub const QUEUE_BYTES: usize = 64 << 20;

/// How long to wait before checking again whether the queue has room.
const WAIT: Duration = Duration::from_millis(1);

/// A record in the queue, with its output text if a tokenizer must count it.
pub struct Message {
    /// The record.
    pub record: Record,
    /// The output text; `None` if no tokenizer must count it.
    pub text: Option<String>,
    /// How many requests the record represents. If there are several, none of them began: they differ only in
    /// their index, and the record is that of the first.
    pub count: u32,
    /// The memory of the message, in bytes.
    pub bytes: usize,
}

/// Creates the queue and returns both ends. `answers`: memory of the answers that the plan may have in
/// flight, in bytes.
pub fn record_queue(answers: u64) -> (ToWriter, FromDriver) {
    let answers = usize::try_from(answers).unwrap_or(usize::MAX);
    let limit = QUEUE_BYTES.saturating_add(answers);
    let (sender, receiver) = channel();
    let waiting = Arc::<Waiting>::default();
    let to = ToWriter { sender, waiting: Arc::clone(&waiting), limit, rank: None };
    (to, FromDriver { receiver, waiting })
}

/// The state that both ends share.
#[derive(Default)]
struct Waiting {
    /// The memory of the records that wait, in bytes.
    bytes: AtomicUsize,
    /// Whether the receiver was dropped.
    has_no_writer: AtomicBool,
}

/// Sends records to the thread that writes them. The records of all clones are written.
#[derive(Clone)]
pub struct ToWriter {
    sender: Sender<Message>,
    waiting: Arc<Waiting>,
    limit: usize,
    /// The rank that the requests belong to, if several processes measure together.
    rank: Option<u32>,
}

/// Receives records from the load generator, and from other ranks.
pub struct FromDriver {
    receiver: Receiver<Message>,
    waiting: Arc<Waiting>,
}

impl Drop for FromDriver {
    fn drop(&mut self) {
        self.waiting.has_no_writer.store(true, Relaxed);
    }
}

impl FromDriver {
    /// Removes and returns the next record.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`] if there is no record now, [`TryRecvError::Disconnected`] if there will be no
    /// more records.
    pub fn try_recv(&self) -> Result<Message, TryRecvError> {
        let message = self.receiver.try_recv()?;
        self.waiting.bytes.fetch_sub(message.bytes, Relaxed);
        Ok(message)
    }
}

impl ToWriter {
    /// The same sender, for the requests of one of several ranks.
    #[must_use]
    pub fn of_rank(self, rank: Option<u32>) -> Self {
        Self { rank, ..self }
    }

    fn send(&mut self, mut record: Record, text: Option<String>, count: u32) {
        record.rank = self.rank;
        let bytes = size_of::<Message>()
            + record.reads.capacity() * size_of::<Read>()
            + record.events.capacity() * size_of::<Event>()
            + [text.as_deref(), record.detail_text()]
                .into_iter()
                .map(|it| it.map_or(0, str::len))
                .sum::<usize>();
        self.waiting.bytes.fetch_add(bytes, Relaxed);
        // This fails if the writer has failed. The writer itself reports its error at the end of the pass.
        let _ = self.sender.send(Message { record, text, count, bytes });
    }

    /// Sends records of another rank. Waits while the queue is full.
    pub fn take(&mut self, records: Vec<SentRecord>) {
        for SentRecord { record, text } in records {
            self.wait_for_room();
            self.send(record, text, 1);
        }
    }
}

impl Recorder for ToWriter {
    fn record(&mut self, record: Record, text: Option<String>) {
        self.send(record, text, 1);
    }

    fn record_never_begun(&mut self, record: Record, count: u32) {
        self.send(record, None, count);
    }

    fn is_behind(&self) -> bool {
        // If the writer has ended, the queue never gets room, so the load generator must not wait.
        let Waiting { bytes, has_no_writer } = &*self.waiting;
        bytes.load(Relaxed) > self.limit && !has_no_writer.load(Relaxed)
    }

    fn wait_for_room(&mut self) {
        while self.is_behind() {
            std::thread::sleep(WAIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::time::Nanos;

    #[test]
    fn requests_wait_while_queued_records_exceed_the_memory_limit() {
        let (mut to, from) = record_queue(0);
        let limit = to.limit;
        let mut record = Record { picked: Some(Nanos(1)), ..Record::planned(0, 0, Nanos(0)) };
        record.reads.reserve_exact(limit / size_of::<Read>());
        to.record(record, Some("text".to_owned()));
        assert!(to.is_behind());
        let message = from.try_recv().expect("a record waits");
        assert!(!to.is_behind() && message.bytes > limit);
        assert_eq!(to.waiting.bytes.load(Relaxed), 0);
    }

    #[test]
    fn records_of_unsent_requests_wait_for_queue_space_but_not_for_an_ended_writer() {
        let (mut to, from) = record_queue(0);
        to.limit = 4 * size_of::<Message>();
        let writer = inferometer_net::thread::spawn(move || {
            let mut seen = 0;
            loop {
                match from.try_recv() {
                    Ok(_) => seen += 1,
                    Err(TryRecvError::Empty) => std::thread::yield_now(),
                    Err(TryRecvError::Disconnected) => return seen,
                }
            }
        })
        .expect("a thread");
        for index in 0..100 {
            to.wait_for_room();
            to.record(Record::planned(0, index, Nanos(0)), None);
        }
        assert!(to.waiting.bytes.load(Relaxed) <= 6 * size_of::<Message>());
        drop(to);
        assert_eq!(writer.join().unwrap(), 100);
        let (mut to, from) = record_queue(0);
        to.limit = 0;
        drop(from);
        for index in 0..3 {
            to.wait_for_room();
            to.record(Record::planned(0, index, Nanos(0)), None);
        }
        assert!(!to.is_behind());
    }

    #[test]
    fn many_unsent_requests_are_queued_as_one_record() {
        let (mut to, from) = record_queue(0);
        to.record_never_begun(Record::planned(0, 7, Nanos(0)), 3_000_000);
        assert!(to.waiting.bytes.load(Relaxed) < 2 * size_of::<Message>());
        let message = from.try_recv().expect("a record waits");
        assert_eq!((message.record.index, message.count), (7, 3_000_000));
        assert!(from.try_recv().is_err());
    }
}
