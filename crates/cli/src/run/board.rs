//! What a run shows of itself while it goes on: written by those who measure, on the threads that
//! write records and ask servers, and read by whoever looks on. It is filled whether somebody
//! looks or not, so that both measure the same; no result comes from it.

use std::sync::{Arc, Mutex, PoisonError};

use inferometer_core::observed::Sample;
use inferometer_core::record::Record;
use inferometer_core::so_far::SoFar;
use inferometer_drive::{Live, LiveCounts};
use inferometer_net::{Nanos, monotonic_now};
use inferometer_store::LiveNote;

/// The board of a run; clones are the same one.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<Shown>>);

/// What stands on it.
#[derive(Default)]
pub struct Shown {
    /// What is measured against what.
    pub title: String,
    /// Passes that the run has, at most.
    pub passes: usize,
    /// Passes that are over.
    pub over: usize,
    /// The pass that goes on, or the last one.
    pub pass: Option<Pass>,
    /// What the server and the cards said last.
    pub said: Option<Sample>,
}

/// A pass that goes on.
pub struct Pass {
    /// Which pass of the run it is, from 1.
    pub number: usize,
    /// How people call it.
    pub label: String,
    /// Its requests, where they are known.
    pub requests: Option<u32>,
    /// Output tokens that each is asked for.
    pub output_tokens: u32,
    /// When it began, on the monotonic axis.
    pub began: Nanos,
    /// The driver's counters.
    pub live: Arc<Live>,
    /// What requests that are over have come to.
    pub so_far: SoFar,
}

impl Board {
    /// A run begins.
    pub fn begin(&self, title: String, passes: usize) {
        self.change(|shown| *shown = Shown { title, passes, ..Shown::default() });
    }

    /// A pass begins.
    pub fn begin_pass(
        &self,
        label: &str,
        requests: Option<u32>,
        output_tokens: u32,
        streamed: bool,
        live: &Arc<Live>,
    ) {
        let pass = |number| Pass {
            number,
            label: label.to_owned(),
            requests,
            output_tokens,
            began: monotonic_now(),
            live: Arc::clone(live),
            so_far: SoFar::new(streamed),
        };
        self.change(|shown| shown.pass = Some(pass(shown.over + 1)));
    }

    /// A request is over.
    pub fn add(&self, record: &Record) {
        self.change(|shown| {
            if let Some(pass) = &mut shown.pass {
                pass.so_far.add(record);
            }
        });
    }

    /// The server and the cards said something.
    pub fn heard(&self, sample: &Sample) {
        self.change(|shown| shown.said = Some(sample.clone()));
    }

    /// What is under way, for other processes; `before` is the note that was written before.
    pub fn note(&self, pass: u32, at_unix_ns: u64, before: Option<&LiveNote>) -> Option<LiveNote> {
        self.look(|shown| {
            let LiveCounts { begun, ended, tokens: chunks, .. } = shown.pass.as_ref()?.live.look();
            let since = before.filter(|before| before.pass == pass && before.chunks <= chunks);
            let chunks_per_s = since.and_then(|before| {
                let ns = at_unix_ns.checked_sub(before.at_unix_ns).filter(|ns| *ns > 0)?;
                Some((chunks - before.chunks) as f64 * 1e9 / ns as f64)
            });
            let said = shown.said.clone();
            Some(LiveNote { at_unix_ns, pass, begun, ended, chunks, chunks_per_s, said })
        })
    }

    /// The pass is over.
    pub fn end_pass(&self) {
        self.change(|shown| shown.over += 1);
    }

    /// Looks at it.
    pub fn look<T>(&self, look: impl FnOnce(&Shown) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Shown)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
