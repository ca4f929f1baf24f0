//! What a run shows of itself while it goes on: written by those who measure, on the threads that
//! write records and ask servers, and read by whoever looks on. It is filled whether somebody
//! looks or not, so that both measure the same; no result comes from it.

use std::sync::{Arc, Mutex, PoisonError};

use inferometer_analysis::so_far::SoFar;
use inferometer_drive::{Live, LiveCounts};
use inferometer_metrics::spans::Spans;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_model::sample::Sample;
use inferometer_model::target::Target;
use inferometer_net::{Nanos, monotonic_now};
use inferometer_store::{LiveNote, PassBegin};

/// The board of a run, or of several that follow each other; clones are the same one.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<Shown>>);

/// What stands on it.
#[derive(Default)]
pub struct Shown {
    /// The run that goes on, or the last one.
    pub run: Option<Run>,
    /// Passes that it has, at most.
    pub passes: usize,
    /// Passes that are over.
    pub over: usize,
    /// The pass that goes on, or the last one.
    pub pass: Option<Pass>,
    /// What the server and the cards said last.
    pub said: Option<Sample>,
    /// What the passes before have come to, those of earlier runs included.
    before: Totals,
}

/// A run.
pub struct Run {
    /// Its identity.
    pub id: String,
    /// What is measured against what, in words.
    pub title: String,
    /// The server.
    pub target: Target,
    /// When it began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
}

/// A pass that goes on.
pub struct Pass {
    /// Which pass of the run it is, from 1.
    pub number: usize,
    /// How people call it.
    pub label: String,
    /// What it is.
    pub begin: PassBegin,
    /// When it began, on the monotonic axis.
    pub began: Nanos,
    /// The driver's counters.
    pub live: Arc<Live>,
    /// What requests that are over have come to.
    pub so_far: SoFar,
    /// Whether it is over: what it came to is among the totals then.
    is_over: bool,
}

/// What all passes have come to. What was taken over from an earlier run is not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests begun, requests ended and chunks received.
    pub counts: LiveCounts,
    /// What became of requests, as they are recorded: a moment after they ended.
    pub outcomes: OutcomeCounts,
    /// Output tokens of those that completed.
    pub output_tokens: u64,
    /// Their spans.
    pub spans: Spans,
    /// What this process went through in the passes that are over.
    pub process: Process,
}

impl Board {
    /// A run begins, which has so many passes at most.
    pub fn begin(&self, run: Run, passes: usize) {
        self.change(|shown| {
            let before = std::mem::take(&mut shown.before);
            *shown = Shown { run: Some(run), passes, before, ..Shown::default() };
        });
    }

    /// A pass begins.
    pub fn begin_pass(&self, label: &str, begin: &PassBegin, streamed: bool, live: &Arc<Live>) {
        let pass = |number| Pass {
            number,
            label: label.to_owned(),
            begin: begin.clone(),
            began: monotonic_now(),
            live: Arc::clone(live),
            so_far: SoFar::new(streamed),
            is_over: false,
        };
        self.change(|shown| shown.pass = Some(pass(shown.over + 1)));
    }

    /// A request of the pass that goes on is over.
    pub fn add(&self, record: &Record) {
        self.change(|shown| {
            if let Some(pass) = shown.pass.as_mut().filter(|pass| !pass.is_over) {
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
            let LiveCounts { begun, ended, chunks, .. } = shown.pass.as_ref()?.live.look();
            let since = before.filter(|before| before.pass == pass && before.chunks <= chunks);
            let chunks_per_s = since.and_then(|before| {
                let ns = at_unix_ns.checked_sub(before.at_unix_ns).filter(|ns| *ns > 0)?;
                Some((chunks - before.chunks) as f64 * 1e9 / ns as f64)
            });
            let said = shown.said.clone();
            Some(LiveNote { at_unix_ns, pass, begun, ended, chunks, chunks_per_s, said })
        })
    }

    /// The pass is over, and this process went through this in it, where that is known.
    pub fn end_pass(&self, process: Option<Process>) {
        self.change(|shown| {
            shown.over += 1;
            if let Some(pass) = shown.pass.as_mut().filter(|pass| !pass.is_over) {
                shown.before.add_pass(pass);
                pass.is_over = true;
            }
            shown.before.add_process(process.unwrap_or_default());
        });
    }

    /// A pass was taken over from an earlier run: nothing is sent for it.
    pub fn take_over_pass(&self) {
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

impl Shown {
    /// The pass, while it goes on.
    pub fn current(&self) -> Option<&Pass> {
        self.pass.as_ref().filter(|pass| !pass.is_over)
    }

    /// What all passes have come to until now. It never shrinks while this process lives.
    pub fn totals(&self) -> Totals {
        let mut totals = self.before.clone();
        if let Some(pass) = self.current() {
            totals.add_pass(pass);
        }
        totals
    }
}

impl Totals {
    fn add_pass(&mut self, pass: &Pass) {
        let LiveCounts { begun, ended, failed, never_begun, chunks } = pass.live.look();
        self.counts.begun += begun;
        self.counts.ended += ended;
        self.counts.failed += failed;
        self.counts.never_begun += never_begun;
        self.counts.chunks += chunks;
        self.outcomes.add_all(&pass.so_far.outcomes);
        self.output_tokens += pass.so_far.output_tokens;
        self.spans.add_all(&pass.so_far.spans);
    }

    /// Sums what can be summed.
    fn add_process(&mut self, other: Process) {
        let sum = &mut self.process;
        for (mine, theirs) in [
            (&mut sum.wall_us, other.wall_us),
            (&mut sum.cpu_us, other.cpu_us),
            (&mut sum.busy_us, other.busy_us),
            (&mut sum.stalls, other.stalls),
            (&mut sum.stalled_us, other.stalled_us),
            (&mut sum.clock_steps, other.clock_steps),
            (&mut sum.implausible_stamps, other.implausible_stamps),
            (&mut sum.truncated_stamps, other.truncated_stamps),
        ] {
            *mine += theirs;
        }
    }
}

/// Boards for the tests of those who look at them.
#[cfg(test)]
pub mod fixture {
    use inferometer_load::PassPlan;
    use inferometer_model::cell::CellPlan;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::record::{Event, EventKind, Read};
    use inferometer_model::sample::{Quantity, ServerSample};

    use super::*;

    /// A board of a run in its second pass, with some requests over.
    pub fn board() -> Board {
        let board = Board::default();
        let run = Run {
            id: "20261120-051233-ab12".to_owned(),
            title: "书生 20B on vllm 0.20".to_owned(),
            target: Target { model: "书生 \"20B\"".to_owned(), ..Target::default() },
            started_unix_ns: 1_795_151_553_500_000_000,
        };
        board.begin(run, 8);
        board.begin_pass("first", &saturated(1, 4), true, &Arc::new(Live::default()));
        board.end_pass(None);
        let second = saturated(40, 4);
        board.begin_pass("128 x 4, saturated", &second, true, &Arc::new(Live::default()));
        for index in 0..20 {
            board.add(&record(index));
        }
        board.add(&Record { outcome: Outcome::Rejected { status: 503 }, ..record(20) });
        let values = [(Quantity::Running, 7.0), (Quantity::KvUse, 0.425)].into();
        let server = Some(ServerSample { values, ..ServerSample::default() });
        board.heard(&Sample { server, ..Sample::default() });
        board
    }

    /// The beginning of a pass.
    pub fn saturated(requests: u32, output_length: u32) -> PassBegin {
        let cell = CellPlan { input_length: 128, output_length };
        PassBegin { pass: 0, cell, plan: PassPlan::Saturated { requests }, repeat: 1 }
    }

    /// Four tokens, the first after 20 ms and a millisecond more for each request.
    pub fn record(index: u32) -> Record {
        let at = |token: u32| Nanos(1_000_000 * u64::from(20 + index + 5 * token));
        let read = |token| Read {
            kernel: Some(at(token)),
            user: at(token),
            empty_before: Nanos(0),
            bytes: 1,
        };
        let event = |read| Event { read, kind: EventKind::Text, chars: 1, tokens: None };
        Record {
            send_start: Some(Nanos(0)),
            reads: (0..4).map(read).collect(),
            events: (0..4).map(event).collect(),
            ended: Some(at(3)),
            outcome: Outcome::Complete,
            ..Record::planned(0, index, Nanos(0))
        }
    }
}
