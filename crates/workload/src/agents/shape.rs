//! The jobs of a trace: which calls belong together, what each waits for, and how long.

use std::{collections::HashMap, time::Duration};

use inferometer_model::{load::Step, record::JobCall};

use crate::jobs::{Call, Trace};

/// The calls of a job. Each follows those that it waits for.
#[derive(Debug)]
pub struct Job {
    /// The numbers of the calls in the trace.
    pub calls: Vec<u32>,
    /// The recorded start of the first call, in nanoseconds.
    pub start_ns: Option<i64>,
}

/// The jobs of a trace.
#[derive(Debug, Default)]
pub struct Shape {
    /// The jobs, in the order of their recorded starts, otherwise as in the files.
    pub jobs: Vec<Job>,
    /// The job of each call of the trace, and its place there.
    pub places: Vec<(u32, u32)>,
    /// How many calls of its session come before each call.
    pub depths: Vec<u32>,
    /// The number of gaps, how many are cut, and the time that is removed.
    pub gaps: (u64, u64, Duration),
    max_gap: Option<Duration>,
}

impl Shape {
    /// Finds the jobs of a trace. Longer gaps are cut to `max_gap`.
    pub fn of(trace: &Trace, max_gap: Option<Duration>) -> Self {
        let mut jobs: Vec<Job> = groups(trace).into_iter().map(|calls| job(trace, calls)).collect();
        if jobs.iter().all(|job| job.start_ns.is_some()) {
            jobs.sort_by_key(|job| job.start_ns);
        }
        let mut shape = Self { jobs, max_gap, ..Self::default() };
        shape.places = vec![(0, 0); trace.calls.len()];
        for (number, job) in (0..).zip(&shape.jobs) {
            for (place, call) in (0..).zip(&job.calls) {
                shape.places[*call as usize] = (number, place);
            }
        }
        shape.depths = vec![0; trace.calls.len()];
        for &at in &trace.order {
            let call = &trace.calls[at as usize];
            let before = call
                .parents
                .iter()
                .filter(|&&parent| trace.calls[parent as usize].session == call.session);
            shape.depths[at as usize] =
                before.map(|parent| shape.depths[*parent as usize] + 1).max().unwrap_or(0);
            if let Some(gap) = gap_ns(trace, at) {
                let removed = max_gap.map_or(0, |most| gap.saturating_sub(most.as_nanos() as u64));
                let (gaps, cut, sum) = &mut shape.gaps;
                *gaps += 1;
                *cut += u64::from(removed > 0);
                *sum += Duration::from_nanos(removed);
            }
        }
        shape
    }

    /// What each call of a job waits for.
    pub fn steps(&self, trace: &Trace, job: usize) -> Vec<Step> {
        let calls = &self.jobs[job].calls;
        let step = |at: &u32| {
            let JobCall { after, gap_ns, .. } = self.call(trace, *at);
            Step::new(after, Duration::from_nanos(gap_ns))
        };
        calls.iter().map(step).collect()
    }

    /// The place of a call in its job, and what was recorded of it.
    pub fn call(&self, trace: &Trace, at: u32) -> JobCall {
        let of = &trace.calls[at as usize];
        let (job, call) = self.places[at as usize];
        let Job { start_ns: begin, .. } = self.jobs[job as usize];
        let since_begin = of.start_ns.get().zip(begin).map(|(start, begin)| span(begin, start));
        let gap_ns = match gap_ns(trace, at) {
            Some(gap) => self.max_gap.map_or(gap, |most| gap.min(most.as_nanos() as u64)),
            None => since_begin.filter(|_| call > 0).unwrap_or(0),
        };
        let of_call = of.start_ns.get().zip(of.end_ns.get()).map(|(start, end)| span(start, end));
        let mut after: Vec<u32> =
            of.parents.iter().map(|parent| self.places[*parent as usize].1).collect();
        after.sort_unstable();
        after.dedup();
        JobCall {
            job,
            call,
            calls: self.jobs[job as usize].calls.len() as u32,
            after,
            gap_ns,
            tool_ns: (of.tool_ns.get().unwrap_or(0).max(0) as u64).min(gap_ns),
            gap: of.gap_kind,
            recorded_ns: since_begin.zip(of_call),
            shared: None,
        }
    }
}

/// The gap before a call that waits for others; if it is not known, the time of its tools.
fn gap_ns(trace: &Trace, at: u32) -> Option<u64> {
    let Call { parents, gap_ns, tool_ns, .. } = &trace.calls[at as usize];
    let gap = gap_ns.get().or(tool_ns.get()).unwrap_or(0);
    (!parents.is_empty()).then_some(gap.max(0) as u64)
}

fn span(from: i64, to: i64) -> u64 {
    to.saturating_sub(from).max(0) as u64
}

/// The calls of each job: those of one root session, and those that wait for each other. Each follows its parents.
fn groups(trace: &Trace) -> Vec<Vec<u32>> {
    let mut of_names: HashMap<u32, u32> = HashMap::new();
    let mut group: Vec<u32> = (0..trace.calls.len() as u32).collect();
    fn root(group: &mut [u32], mut at: u32) -> u32 {
        while group[at as usize] != at {
            group[at as usize] = group[group[at as usize] as usize];
            at = group[at as usize];
        }
        at
    }
    for (at, call) in (0..).zip(&trace.calls) {
        let named = *of_names.entry(call.job).or_insert(at);
        for other in call.parents.iter().copied().chain([named]) {
            let (one, other) = (root(&mut group, at), root(&mut group, other));
            group[one.max(other) as usize] = one.min(other);
        }
    }
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut found: Vec<Vec<u32>> = Vec::new();
    for at in 0..trace.calls.len() as u32 {
        let next = found.len();
        if *places.entry(root(&mut group, at)).or_insert(next) == next {
            found.push(Vec::new());
        }
    }
    for &at in &trace.order {
        found[places[&root(&mut group, at)]].push(at);
    }
    found
}

/// A job whose first call is that of its calls without parents that started first.
fn job(trace: &Trace, mut calls: Vec<u32>) -> Job {
    let start = |at: u32| trace.calls[at as usize].start_ns.get();
    let roots = calls.iter().filter(|at| trace.calls[**at as usize].parents.is_empty()).count();
    // Calls without parents are the first ones.
    calls[..roots].sort_by_key(|at| start(*at));
    Job { start_ns: start(calls[0]), calls }
}
