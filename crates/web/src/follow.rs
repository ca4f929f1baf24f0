//! A run in progress as its log tells of it: read on from where the last look ended. It keeps no
//! record, and writes nothing.

use std::path::Path;
use std::time::Duration;

use inferometer_core::histogram::Histogram;
use inferometer_core::metric::itl::itl_ms;
use inferometer_core::metric::{InFlight, Span, Timeline, TokenCurve, Weighted, e2e, ttft};
use inferometer_core::observed::ServerSample;
use inferometer_core::outcome::OutcomeCounts;
use inferometer_core::record::Record;
use inferometer_core::time::Nanos;
use inferometer_store::{Ending, Entry, LogReader, PassBegin, StoreError};

/// The most entries of a log that one look reads, so that no reader waits long for a page.
const MOST_ENTRIES: usize = 20_000;

/// A log that is followed.
pub(crate) struct Follow {
    reader: LogReader,
    /// Whether answers of this run are streams.
    streamed: bool,
    passes: Vec<Seen>,
    ending: Option<Ending>,
    /// Whether the last look ended before what was there did.
    is_behind: bool,
}

/// A pass, as far as it was recorded.
pub(crate) struct Seen {
    pub(crate) begin: PassBegin,
    pub(crate) ending: Option<Ending>,
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) output_tokens: u64,
    pub(crate) ttft: Histogram,
    pub(crate) itl: Histogram,
    pub(crate) e2e: Histogram,
    pub(crate) tokens: TokenCurve,
    pub(crate) in_flight: InFlight,
    /// What the server said last.
    pub(crate) server: Option<ServerSample>,
    gaps: Vec<Weighted>,
}

impl Follow {
    /// Begins with a log.
    ///
    /// # Errors
    /// As [`LogReader::open`].
    pub(crate) fn open(log: &Path, streamed: bool) -> Result<Self, StoreError> {
        let reader = LogReader::open(log)?;
        Ok(Self { reader, streamed, passes: Vec::new(), ending: None, is_behind: false })
    }

    /// Reads on.
    ///
    /// # Errors
    /// As [`LogReader`] has them, but for a log that is cut: that is one that still grows.
    pub(crate) fn look(&mut self) -> Result<(), StoreError> {
        self.is_behind = false;
        for read in 0.. {
            if read == MOST_ENTRIES {
                self.is_behind = true;
                break;
            }
            match self.reader.next() {
                Some(Ok(entry)) => self.take(entry),
                Some(Err(error)) if error.is_cut() => {
                    self.reader.read_on()?;
                    break;
                }
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: Entry) {
        match (entry, self.passes.last_mut()) {
            (Entry::PassBegin(begin), _) => self.passes.push(Seen::new(begin)),
            (Entry::Record(record), Some(pass)) => pass.add(&record, self.streamed),
            (Entry::Observed(said), Some(pass)) => {
                let last = said.samples.into_iter().rev().find_map(|sample| sample.server);
                pass.server = last.or_else(|| pass.server.take());
            }
            (Entry::PassEnd(end), Some(pass)) => pass.ending = Some(end.ending),
            (Entry::RunEnd(ending), _) => self.ending = Some(ending),
            // The reader gives nothing of a pass that did not begin.
            (Entry::Record(_) | Entry::Observed(_) | Entry::PassEnd(_), None) => {}
        }
    }

    /// The passes so far.
    pub(crate) fn passes(&self) -> &[Seen] {
        &self.passes
    }

    /// How the run ended, if it did.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Whether there is more to read now.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }
}

impl Seen {
    fn new(begin: PassBegin) -> Self {
        Self {
            begin,
            ending: None,
            outcomes: OutcomeCounts::default(),
            output_tokens: 0,
            ttft: Histogram::default(),
            itl: Histogram::default(),
            e2e: Histogram::default(),
            tokens: TokenCurve::default(),
            in_flight: InFlight::default(),
            server: None,
            gaps: Vec::new(),
        }
    }

    fn add(&mut self, record: &Record, streamed: bool) {
        let timeline = Timeline::new(record, streamed);
        self.outcomes.add(record.outcome);
        self.tokens.add(&timeline.events);
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            let completed = record.outcome.is_complete();
            self.in_flight.add(Span { send_start, ended, completed });
        }
        if !record.outcome.is_complete() {
            return;
        }
        self.output_tokens += u64::from(timeline.output_tokens);
        for (value, histogram) in [
            (ttft::from_sent(&timeline), &mut self.ttft),
            (e2e::from_sent(&timeline), &mut self.e2e),
        ] {
            value.into_iter().for_each(|ms| histogram.add(span(ms)));
        }
        if streamed {
            self.gaps.clear();
            itl_ms(&timeline, &mut self.gaps);
            for gap in &self.gaps {
                self.itl.add_times(span(gap.value), gap.weight.round() as u64);
            }
        }
    }

    /// From the first send to the last end that was recorded.
    pub(crate) fn window(&self) -> Option<(Nanos, Nanos)> {
        self.in_flight.first_send().zip(self.in_flight.last_end())
    }

    /// Output tokens per second over the window.
    pub(crate) fn tokens_per_s(&self) -> Option<f64> {
        let (from, until) = self.window()?;
        let seconds = until.since(from).as_secs_f64();
        (seconds > 0.0).then(|| self.output_tokens as f64 / seconds)
    }

    /// Completed requests per second over the window.
    pub(crate) fn requests_per_s(&self) -> Option<f64> {
        let (from, until) = self.window()?;
        let seconds = until.since(from).as_secs_f64();
        (seconds > 0.0).then(|| self.outcomes.complete as f64 / seconds)
    }

    /// How people call it: `128 x 32, saturated`.
    pub(crate) fn place(&self) -> String {
        let load = self.begin.plan.load();
        match self.begin.repeat {
            0 | 1 => format!("{}, {load}", self.begin.cell),
            repeat => format!("{}, {load}, repeat {repeat}", self.begin.cell),
        }
    }
}

fn span(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::ZERO)
}
