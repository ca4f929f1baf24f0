//! The calls of the jobs of a pass ([`Script`]), which of them may start ([`Progress`]), and whether a load counts jobs
//! or requests ([`CountOf`]). A conversation is a job whose calls, its turns, follow one another.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Nanos, sha256::sha256_hex};

/// A call of a job: a request that waits for other calls of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The calls that must have ended, by their places in the job, which are all below that of this call. A call
    /// without any begins with the job.
    pub after: Box<[u32]>,
    /// From the last end of these calls, or from the begin of the job, to the due time of this call. The first call of
    /// a job begins the job, whatever its gap.
    pub gap: Duration,
    /// Whether another call waits for this one.
    pub(crate) is_awaited: bool,
}

impl Step {
    /// A call that is due `gap` after the last end of the calls `after`.
    pub fn new(after: impl Into<Box<[u32]>>, gap: Duration) -> Self {
        Self { after: after.into(), gap, is_awaited: false }
    }

    /// The turns of a conversation, with the think time before each.
    pub fn turns(think: impl IntoIterator<Item = Duration>) -> Vec<Self> {
        let turn = |(at, gap): (u32, Duration)| Self::new(Vec::from_iter(at.checked_sub(1)), gap);
        (0..).zip(think).map(turn).collect()
    }
}

/// The turns of the conversations of a pass. A plan stores the numbers of conversations and turns, and the hash of
/// the turns. The turns are computed again for each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// The number of conversations.
    pub conversations: u32,
    /// Whether these are jobs of agents, and not conversations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_jobs: bool,
    /// The number of turns of all conversations; 0 until the turns have been computed.
    pub turns: u32,
    /// SHA-256 over the numbers of turns, the think times and what calls wait for, in hexadecimal; empty until the
    /// turns have been computed.
    pub sha256: String,
    /// For each conversation: its turns.
    #[serde(skip)]
    pub(crate) steps: Arc<[Box<[Step]>]>,
}

impl Script {
    /// A script of this many conversations. Their turns have not been computed.
    pub fn of(conversations: u32) -> Self {
        Self { conversations, ..Self::default() }
    }

    /// A script of this many jobs of agents. Their calls have not been read.
    pub fn of_jobs(jobs: u32) -> Self {
        Self { are_jobs: true, ..Self::of(jobs) }
    }

    /// What the script is of, for users.
    pub fn noun(&self) -> &'static str {
        if self.are_jobs { "jobs" } else { "conversations" }
    }

    /// Sets the calls of each job. Each job must have at least one.
    pub fn write(&mut self, jobs: impl IntoIterator<Item = Vec<Step>>) {
        self.steps = jobs.into_iter().map(with_awaited).collect();
        self.conversations = self.steps.len() as u32;
        self.turns = self.steps.iter().map(|job| job.len() as u32).sum();
        let bytes: Vec<u8> = self.steps.iter().flat_map(|job| bytes_of(job)).collect();
        self.sha256 = sha256_hex(&bytes);
    }

    /// The calls of each job.
    pub fn steps(&self) -> impl Iterator<Item = &[Step]> {
        self.steps.iter().map(|job| &**job)
    }

    /// The mean number of turns of a conversation.
    pub(crate) fn mean_turns(&self) -> f64 {
        f64::from(self.turns.max(1)) / f64::from(self.conversations.max(1))
    }

    /// The think time of a whole conversation in seconds, as the mean over all conversations.
    pub(crate) fn mean_think_s(&self) -> f64 {
        let later = self.steps.iter().flat_map(|job| job.iter().skip(1));
        later.map(|step| step.gap.as_secs_f64()).sum::<f64>() / f64::from(self.conversations.max(1))
    }
}

/// The calls of a job, which know whether others wait for them.
fn with_awaited(mut job: Vec<Step>) -> Box<[Step]> {
    for at in 0..job.len() {
        for before in job[at].after.clone() {
            job[before as usize].is_awaited = true;
        }
    }
    job.into()
}

/// A job as bytes, for the hash: the number of its calls, then the gap before each, in ns. Unless each call waits only
/// for the one before it, also what each waits for.
fn bytes_of(job: &[Step]) -> Vec<u8> {
    let gaps = job.iter().map(|step| step.gap.as_nanos() as u64);
    let numbers = std::iter::once(job.len() as u64).chain(gaps);
    let is_chain =
        (0_u32..).zip(job).all(|(at, step)| step.after.iter().copied().eq(at.checked_sub(1)));
    let edges = job.iter().filter(|_| !is_chain).flat_map(|step| {
        std::iter::once(step.after.len() as u64).chain(step.after.iter().map(|at| u64::from(*at)))
    });
    numbers.chain(edges).flat_map(u64::to_le_bytes).collect()
}

/// Which calls of a job may start.
#[derive(Debug)]
pub struct Progress {
    /// For each call: how many calls it still waits for, and the last end of those that it waited for.
    waits: Box<[(u32, Nanos)]>,
    /// How many calls have neither ended nor were skipped.
    open: u32,
}

/// What the end of a call changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Freed {
    /// The calls that wait for nothing any more, with their due times.
    pub ready: Vec<(u32, Nanos)>,
    /// The calls that will never start, because a call failed that they wait for.
    pub skipped: Vec<u32>,
}

/// The number of awaited calls of a call that will never start.
const NEVER: u32 = u32::MAX;

impl Progress {
    /// A job that begins at `at`, and the calls besides its first that may start, with their due times.
    pub fn begin(job: &[Step], at: Nanos) -> (Self, Vec<(u32, Nanos)>) {
        let waits = job.iter().map(|step| (step.after.len() as u32, Nanos::ZERO)).collect();
        let roots = (0..).zip(job).skip(1).filter(|(_, step)| step.after.is_empty());
        let ready = roots.map(|(call, step)| (call, at + step.gap)).collect();
        (Self { waits, open: job.len() as u32 }, ready)
    }

    /// Whether all calls have ended or will never start.
    pub fn is_over(&self) -> bool {
        self.open == 0
    }

    /// A call of the job has ended at `at`; calls that wait for it start only if it is complete.
    pub fn ended(&mut self, job: &[Step], call: u32, at: Nanos, complete: bool) -> Freed {
        let mut freed = Freed::default();
        self.open -= 1;
        for (next, step) in (0..).zip(job).skip(call as usize + 1) {
            let (waits, latest) = &mut self.waits[next as usize];
            let is_lost =
                |before: &u32| freed.skipped.contains(before) || (!complete && *before == call);
            if *waits == NEVER {
                continue;
            }
            if step.after.iter().any(is_lost) {
                *waits = NEVER;
                self.open -= 1;
                freed.skipped.push(next);
            } else if step.after.contains(&call) {
                *waits -= 1;
                *latest = at.max(*latest);
                if *waits == 0 {
                    freed.ready.push((next, *latest + step.gap));
                }
            }
        }
        freed
    }
}

/// Whether the load that begins conversations counts conversations or requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountOf {
    /// Conversations: each one counts from its first turn to its last answer, also during its think times.
    #[default]
    Conversations,
    /// Requests: a conversation does not count during its think times. A turn that is due is sent before a
    /// new conversation begins.
    Requests,
}
