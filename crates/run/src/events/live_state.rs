//! The state of the run in progress, computed from its events, for a dashboard, a terminal and a scraper. Statistics of
//! single requests are computed only if a display asks for them. No result is computed from the state.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use inferometer_analysis::so_far::SoFar;
use inferometer_drive::{Live, LiveCounts};
use inferometer_model::metrics::live_histograms::LiveHistograms;
use inferometer_model::sample::Sample;
use inferometer_model::{OutcomeCounts, Process};
use inferometer_net::{Nanos, monotonic_now};
use inferometer_store::{LiveNote, PassBegin};

use super::event::{Event, ExpectedPass, PassStarted, RunStarted, Subscriber};
use super::time_left::{self, Current};

/// The state of a run, or of several runs one after another. Clones share the same state.
#[derive(Clone, Default)]
pub struct LiveState(Arc<Mutex<Snapshot>>);

/// The state at one instant.
#[derive(Default)]
pub struct Snapshot {
    /// The run in progress, or the last one.
    pub run: Option<RunStarted>,
    /// When the run began, on the monotonic clock.
    pub began: Option<Nanos>,
    /// The number of passes that have ended.
    pub passes_ended: usize,
    /// The seconds that each of them took; absent if it was copied from an earlier run. Also absent for a pass that is
    /// left out, because its server has ended.
    took_s: Vec<Option<f64>>,
    /// The pass in progress, or the last one.
    pub pass: Option<LivePass>,
    /// The last metrics of the server and the cards.
    pub sample: Option<Sample>,
    /// Sums over the passes that have ended, including the passes of earlier runs of this process.
    before: Totals,
    /// Whether [`LivePass::so_far`] has more than outcomes.
    has_statistics: bool,
}

/// A pass in progress, or the last pass.
pub struct LivePass {
    /// The number of the pass in its run, from 1.
    pub number: usize,
    /// Cell, load and repeat, as text for the user.
    pub label: String,
    /// The description of the pass that the log contains.
    pub begin: PassBegin,
    /// When the pass began, on the monotonic clock.
    pub began: Nanos,
    /// The load generator's counters.
    pub live: Arc<Live>,
    /// Statistics of the requests that have ended: only their outcomes without [`LiveState::collect_statistics`].
    pub so_far: SoFar,
    /// Whether the pass has ended. Its counts are then part of `Snapshot::before`.
    has_ended: bool,
}

/// Sums over all passes of this process, without passes that were resumed from an earlier run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Requests that began, ended, failed or never began, and received chunks.
    pub counts: LiveCounts,
    /// Outcomes of recorded requests: a request is recorded a moment after its end.
    pub outcomes: OutcomeCounts,
    /// Output tokens of the completed requests; 0 without [`LiveState::collect_statistics`].
    pub output_tokens: u64,
    /// Latencies of the completed requests, delays of the load generator, and widths of arrival intervals; empty
    /// without [`LiveState::collect_statistics`].
    pub histograms: LiveHistograms,
    /// Resources that this process used in ended passes.
    pub process: Process,
}

impl Subscriber for LiveState {
    fn on_event(&self, event: &Event<'_>) {
        match *event {
            Event::RunStarted(run) => self.change(|state| {
                let before = std::mem::take(&mut state.before);
                *state = Snapshot {
                    run: Some(run.clone()),
                    began: Some(monotonic_now()),
                    before,
                    has_statistics: state.has_statistics,
                    ..Snapshot::default()
                };
            }),
            Event::PassStarted(pass) => self.change(|state| state.begin_pass(pass)),
            Event::Record(timeline) => self.change(|state| {
                if let Some(pass) = state.pass.as_mut().filter(|pass| !pass.has_ended) {
                    match state.has_statistics {
                        true => pass.so_far.add(timeline),
                        false => pass.so_far.outcomes.add(timeline.record.outcome),
                    }
                }
            }),
            Event::NeverBegun(record, count) => self.change(|state| {
                if let Some(pass) = state.pass.as_mut().filter(|pass| !pass.has_ended) {
                    pass.so_far.outcomes.add_times(record.outcome, u64::from(count));
                }
            }),
            Event::Sample(sample) => self.change(|state| state.sample = Some(sample.clone())),
            Event::PassStopped(process) => self.change(|state| state.end_pass(process)),
            Event::PassEnded(ended) if ended.resumed => {
                self.change(|state| {
                    state.passes_ended += 1;
                    state.took_s.push(None);
                });
            }
            _ => {}
        }
    }
}

impl LiveState {
    /// Also computes latencies, tokens and requests in flight from now on. A display that shows these values must call
    /// this method.
    pub fn collect_statistics(&self) {
        self.change(|state| state.has_statistics = true);
    }

    /// A note for other processes on the progress of the current pass; `None` if no pass has begun. `before` is the
    /// previous note.
    pub fn note(&self, pass: u32, at_unix_ns: u64, before: Option<&LiveNote>) -> Option<LiveNote> {
        self.look(|state| {
            let LiveCounts { begun, ended, chunks, .. } = state.pass.as_ref()?.live.look();
            let since = before.filter(|before| before.pass == pass && before.chunks <= chunks);
            let chunks_per_s = since.and_then(|before| {
                let ns = at_unix_ns.checked_sub(before.at_unix_ns).filter(|ns| *ns > 0)?;
                Some((chunks - before.chunks) as f64 * 1e9 / ns as f64)
            });
            let last_sample = state.sample.clone();
            Some(LiveNote { at_unix_ns, pass, begun, ended, chunks, chunks_per_s, last_sample })
        })
    }

    /// Calls `look` with the state. The measurement waits during the call, so `look` must return quickly.
    pub fn look<T>(&self, look: impl FnOnce(&Snapshot) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl LivePass {
    /// The share of the pass that is done, from 0 to 1; absent if the pass is limited only by time. An ended request
    /// counts as a whole request, even if it had fewer tokens.
    pub fn share(&self, counts: LiveCounts) -> Option<f64> {
        let all = self.begin.plan.requests()?;
        let each = u64::from(self.begin.cell.output_length.max(1));
        let done = counts.chunks.max(counts.over() * each) as f64;
        Some((done / (u64::from(all) * each).max(1) as f64).clamp(0.0, 1.0))
    }
}

impl Snapshot {
    fn begin_pass(&mut self, pass: &PassStarted) {
        let expected = self.run.as_ref().and_then(|run| run.expected.get(self.took_s.len()..));
        let (cell, repeat) = (pass.begin.cell, pass.begin.repeat);
        let is_this = |other: &ExpectedPass| (other.cell, other.repeat) == (cell, repeat);
        let left_out = expected.and_then(|rest| rest.iter().position(is_this)).unwrap_or(0);
        self.took_s.resize(self.took_s.len() + left_out, None);
        self.pass = Some(LivePass {
            number: self.passes_ended + 1,
            label: pass.label.clone(),
            begin: pass.begin.clone(),
            began: monotonic_now(),
            live: Arc::clone(&pass.live),
            so_far: SoFar::default(),
            has_ended: false,
        });
    }

    fn end_pass(&mut self, process: Option<&Process>) {
        self.passes_ended += 1;
        self.took_s.push(self.current().map(|pass| monotonic_now().seconds_after(pass.began)));
        if let Some(pass) = self.pass.as_mut().filter(|pass| !pass.has_ended) {
            self.before.add_pass(pass);
            pass.has_ended = true;
        }
        self.before.add_process(process.copied().unwrap_or_default());
    }

    /// The estimated time left. Absent if results decide about the number of passes, if there is only one, or before
    /// anything is known.
    pub fn left(&self, now: Nanos) -> Option<Duration> {
        let run = self.run.as_ref().filter(|run| run.expected.len() > 1)?;
        let current = self.current().map(|pass| {
            let elapsed_s = now.seconds_after(pass.began);
            let limit = pass.begin.plan.bound().duration;
            let of_limit = limit.map(|limit| (elapsed_s / limit.as_secs_f64()).min(1.0));
            let shares = [pass.share(pass.live.look()), of_limit].into_iter().flatten();
            Current { elapsed_s, share: shares.max_by(f64::total_cmp) }
        });
        let passes_s = self.took_s.iter().flatten().sum::<f64>()
            + current.map_or(0.0, |current| current.elapsed_s);
        let between_s = (now.seconds_after(self.began?) - passes_s).max(0.0);
        time_left::of_run(&run.expected, &self.took_s, current, between_s, run.times_are_known)
    }

    /// The maximum number of passes of the run.
    pub fn passes(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.passes)
    }

    /// The pass in progress, if there is one.
    pub fn current(&self) -> Option<&LivePass> {
        self.pass.as_ref().filter(|pass| !pass.has_ended)
    }

    /// Sums over all passes until now. They never decrease while this process runs.
    pub fn totals(&self) -> Totals {
        let mut totals = self.before.clone();
        if let Some(pass) = self.current() {
            totals.add_pass(pass);
        }
        totals
    }
}

impl Totals {
    fn add_pass(&mut self, pass: &LivePass) {
        let LiveCounts { begun, ended, failed, never_begun, chunks } = pass.live.look();
        self.counts.begun += begun;
        self.counts.ended += ended;
        self.counts.failed += failed;
        self.counts.never_begun += never_begun;
        self.counts.chunks += chunks;
        self.outcomes.add_all(&pass.so_far.outcomes);
        self.output_tokens += pass.so_far.output_tokens;
        self.histograms.add_all(&pass.so_far.histograms);
    }

    /// Adds the values that can be summed; medians and maxima cannot.
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
