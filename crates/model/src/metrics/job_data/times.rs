//! Where the time of a job goes: in the model, in tools, with people, in the client, and the rest.

use derive_more::AddAssign;
use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::record::{GapKind, JobCall};

/// A call of a job, as it was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTimes {
    /// Its place in its job.
    pub place: JobCall,
    /// When it was due.
    pub due: Nanos,
    /// When its first byte was sent.
    pub sent: Nanos,
    /// When its first output arrived; `None` if this is not known.
    pub first: Option<Nanos>,
    /// When it ended.
    pub ended: Nanos,
    /// Prompt tokens, and those that the server took from its cache, if it states both.
    pub cached: Option<(u32, u32)>,
    /// Tokens of the answer.
    pub output: u32,
}

impl CallTimes {
    /// Milliseconds from the send to the first output, if this is known.
    pub fn ttft_ms(&self) -> Option<f64> {
        Some(self.first?.ms_after(self.sent))
    }
}

/// The parts of a time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, AddAssign)]
pub struct Parts {
    /// With at least one call in flight.
    pub model_s: f64,
    /// With at least one tool running, and no call in flight.
    pub tools_s: f64,
    /// Waiting for a person, and for nothing of the above.
    pub people_s: f64,
    /// With a call that is due and not sent, and nothing of the above.
    pub client_s: f64,
    /// The rest: what happens between calls beside tools and people.
    pub rest_s: f64,
}

impl Parts {
    /// The sum of the parts.
    pub fn sum(&self) -> f64 {
        self.model_s + self.tools_s + self.people_s + self.client_s + self.rest_s
    }

    /// Each part, divided by `count`.
    #[must_use]
    pub fn over(self, count: f64) -> Self {
        let Self { model_s, tools_s, people_s, client_s, rest_s } = self;
        let [model_s, tools_s, people_s, client_s, rest_s] =
            [model_s, tools_s, people_s, client_s, rest_s].map(|part| part / count);
        Self { model_s, tools_s, people_s, client_s, rest_s }
    }

    /// Adds seconds to the part with this rank.
    fn add(&mut self, rank: usize, seconds: f64) {
        let parts = [&mut self.model_s, &mut self.tools_s, &mut self.people_s, &mut self.client_s];
        *parts.into_iter().nth(rank).unwrap_or(&mut self.rest_s) += seconds;
    }
}

/// The ranks of the parts: at each instant, the first one that applies counts.
const MODEL: usize = 0;
const TOOLS: usize = 1;
const PEOPLE: usize = 2;
const CLIENT: usize = 3;

/// The times of a job whose calls have all ended.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTimes {
    /// From the due time of its first call to its last end, in seconds.
    pub duration_s: f64,
    /// How long it would take with the recorded durations of its calls and the same gaps; `None` if one of them is not
    /// recorded.
    pub recorded_s: Option<f64>,
    /// How long it would take if its tools needed no time, and its calls as long as measured.
    pub without_tools_s: f64,
    /// The parts of the duration.
    pub parts: Parts,
    /// The parts of the time on the critical path: the chain of calls that determined the end. The time in the model is
    /// without that to the first output.
    pub path: Parts,
    /// The time to the first output on the critical path, in seconds.
    pub path_first_s: f64,
    /// The number of calls on the critical path.
    pub path_calls: usize,
    /// The sum of the times in flight of all calls, in seconds.
    pub work_s: f64,
}

impl JobTimes {
    /// The duration divided by that with the recorded durations of the calls; `None` if they are unknown.
    pub fn slowdown(&self) -> Option<f64> {
        let recorded_s = self.recorded_s.filter(|recorded_s| *recorded_s > 0.0)?;
        Some(self.duration_s / recorded_s)
    }

    /// The times of a job. `calls` has all of its calls, in the order of their places.
    pub fn of(calls: &[CallTimes]) -> Option<Self> {
        let begin = calls.first()?.due;
        let last = (0..calls.len()).max_by_key(|at| calls[*at].ended)?;
        let recorded = calls.iter().map(|call| Some(call.place.recorded_ns?.1));
        let recorded = recorded.collect::<Option<Vec<u64>>>();
        let measured: Vec<u64> =
            calls.iter().map(|call| call.ended.since(call.due).as_nanos() as u64).collect();
        let (path, path_first_s, path_calls) = path(calls, last);
        Some(Self {
            duration_s: calls[last].ended.seconds_after(begin),
            recorded_s: recorded.map(|lasts| scheduled_s(calls, &lasts, |place| place.gap_ns)),
            without_tools_s: scheduled_s(calls, &measured, |place| match place.gap {
                GapKind::Tool if place.tool_ns == 0 => 0,
                _ => place.gap_ns - place.tool_ns,
            }),
            parts: parts(calls, begin),
            path,
            path_first_s,
            path_calls,
            work_s: calls.iter().map(|call| call.ended.seconds_after(call.sent)).sum(),
        })
    }
}

/// The last end of the calls that a call waits for; the begin of the job if there are none.
fn awaited(calls: &[CallTimes], at: usize) -> Nanos {
    let ends = calls[at].place.after.iter().map(|before| calls[*before as usize].ended);
    ends.max().unwrap_or(calls[0].due)
}

/// The duration of a job whose calls take these times, in nanoseconds, with these gaps.
fn scheduled_s(calls: &[CallTimes], lasts: &[u64], gap_ns: impl Fn(&JobCall) -> u64) -> f64 {
    let mut ends: Vec<u64> = Vec::with_capacity(calls.len());
    for (CallTimes { place, .. }, last) in calls.iter().zip(lasts) {
        let awaited = place.after.iter().map(|before| ends[*before as usize]).max();
        ends.push(awaited.unwrap_or(0) + gap_ns(place) + last);
    }
    ends.into_iter().max().unwrap_or(0) as f64 / 1e9
}

/// Splits the gap before a call: each part with its rank, and the two instants between which it lies.
fn gap(calls: &[CallTimes], at: usize) -> [(usize, Nanos, Nanos); 3] {
    let CallTimes { place, due, sent, .. } = &calls[at];
    let begin = awaited(calls, at);
    let tools_end = match place.gap {
        GapKind::Tool if place.tool_ns == 0 => *due,
        _ => Nanos(begin.0 + place.tool_ns).min(*due),
    };
    let rest = if place.gap == GapKind::Human { PEOPLE } else { usize::MAX };
    [(TOOLS, begin, tools_end), (rest, tools_end, *due), (CLIENT, *due, *sent)]
}

fn parts(calls: &[CallTimes], begin: Nanos) -> Parts {
    let mut changes: Vec<(Nanos, usize, i32)> = Vec::with_capacity(calls.len() * 8);
    let mut last = begin;
    for (at, call) in calls.iter().enumerate() {
        last = last.max(call.ended);
        let spans = gap(calls, at).into_iter().chain([(MODEL, call.sent, call.ended)]);
        for (rank, from, to) in spans.filter(|(rank, from, to)| *rank <= CLIENT && from < to) {
            changes.extend([(from, rank, 1), (to, rank, -1)]);
        }
    }
    changes.sort_unstable();
    let (mut parts, mut counts, mut now) = (Parts::default(), [0; CLIENT + 1], begin);
    for (at, rank, change) in changes.into_iter().chain([(last, MODEL, 0)]) {
        let current = counts.iter().position(|count| *count > 0).unwrap_or(usize::MAX);
        parts.add(current, at.seconds_after(now).max(0.0));
        now = now.max(at);
        counts[rank] += change;
    }
    parts
}

/// The parts of the chain of calls that ends with the call `last`, the time to the first output in it, and the number of
/// its calls.
fn path(calls: &[CallTimes], last: usize) -> (Parts, f64, usize) {
    let (mut parts, mut first_s, mut count, mut at) = (Parts::default(), 0.0, 0, last);
    loop {
        let call = &calls[at];
        count += 1;
        let first = call.first.unwrap_or(call.sent);
        first_s += first.seconds_after(call.sent);
        parts.add(MODEL, call.ended.seconds_after(first));
        for (rank, from, to) in gap(calls, at) {
            parts.add(rank, to.seconds_after(from).max(0.0));
        }
        let before = call.place.after.iter().max_by_key(|before| calls[**before as usize].ended);
        match before {
            Some(before) => at = *before as usize,
            None => return (parts, first_s, count),
        }
    }
}
