//! The sockets of this machine, on one or several event loops, each with its own thread. Also determines how many event
//! loops a plan needs.

use std::{io, thread::panicking, time::Duration};

use inferometer_model::{Bound, Nanos, PassPlan, target::EventLoopCount};
use inferometer_net::{Actor, EpollNet, LoopStats, Net, StampStats, Waker, spawn_scoped};
use inferometer_plan::{Plan, Procedure};

use super::network::Network;

/// One event loop is enough for this many requests in flight: at 50 tokens/s per request, the loop is busy for a tenth
/// of the time.
const IN_FLIGHT_OF_LOOP: u32 = 1_024;
/// One event loop is enough for this many tokens per second.
const TOKENS_PER_S_OF_LOOP: f64 = 100_000.0;
/// How many cores the machine must have for each event loop. The other cores are for the server, which may run on the
/// same machine, and for the thread that writes records.
const CORES_OF_LOOP: u32 = 4;

/// How many event loops a run of a plan has, and why.
pub fn event_loops(plan: &Plan) -> EventLoopCount {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    of_plan(plan, cores)
}

fn of_plan(plan: &Plan, cores: u32) -> EventLoopCount {
    if let Some(count) = plan.spec.loops {
        return EventLoopCount { count, why: "as --loops says".to_owned() };
    }
    let highest = highest_trial(plan);
    let needed = plan.cells.iter().flat_map(|cell| {
        let passes = plan.passes_of(*cell).into_iter().chain(highest.clone());
        passes.map(|pass| needed_by(&pass, cell.output_length))
    });
    let needed = needed.max().unwrap_or(1).max(1);
    let most = (cores / CORES_OF_LOOP).max(1);
    let count = needed.min(most);
    let rule = format!(
        "one for each {IN_FLIGHT_OF_LOOP} requests in flight or {TOKENS_PER_S_OF_LOOP} tokens/s of the plan"
    );
    let why = match needed > most {
        true => format!(
            "{rule} would be {needed}, but {cores} cores have room for {most}: \
                each loop needs {CORES_OF_LOOP}"
        ),
        false => rule,
    };
    EventLoopCount { count, why }
}

/// A pass at the highest load that a search or a sweep may try, if there is a limit.
fn highest_trial(plan: &Plan) -> Option<PassPlan> {
    let (over, highest) = match &plan.procedure {
        Procedure::Search(search) => (search.over, search.highest?),
        Procedure::Sweep(sweep) => (sweep.by, sweep.highest?),
        Procedure::Passes | Procedure::Ab(_) => return None,
    };
    Some(match over.is_rate() {
        false => PassPlan::closed(highest as u32, Bound::none()),
        true => PassPlan::open(highest, Bound::none()),
    })
}

/// How many event loops a pass needs.
fn needed_by(pass: &PassPlan, output_length: u32) -> u32 {
    let rate = pass.peak_rate();
    if pass.is_scheduled() && rate.is_finite() {
        let tokens_per_s = rate * f64::from(output_length.max(1));
        return (tokens_per_s / TOKENS_PER_S_OF_LOOP).ceil() as u32;
    }
    let most = pass.limit().0.unwrap_or(u32::MAX);
    pass.at_start().unwrap_or(1).min(most).div_ceil(IN_FLIGHT_OF_LOOP)
}

/// Event loops over sockets of this process.
pub struct EventLoops {
    first: EpollNet,
    /// The other event loops. Each runs on a separate thread.
    others: Vec<EpollNet>,
}

impl EventLoops {
    /// Creates `count` event loops, at least one.
    ///
    /// # Errors
    /// When the system refuses the file descriptors for waiting.
    pub fn new(count: u32) -> io::Result<Self> {
        let others = (1..count).map(|_| EpollNet::new()).collect::<io::Result<_>>()?;
        Ok(Self { first: EpollNet::new()?, others })
    }

    /// Creates as many event loops as a plan needs.
    ///
    /// # Errors
    /// The errors of [`EventLoops::new`].
    pub fn of(plan: &Plan) -> io::Result<Self> {
        Self::new(event_loops(plan).count)
    }

    fn all(&mut self) -> impl Iterator<Item = &mut EpollNet> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

impl Network for EventLoops {
    type Net = EpollNet;

    fn now(&self) -> Nanos {
        Net::now(&self.first)
    }

    fn play(&mut self, actor: &mut impl Actor<EpollNet>) -> io::Result<()> {
        self.first.run(actor)
    }

    fn play_all<A: Actor<EpollNet> + Send>(
        &mut self,
        actors: &mut [A],
        give_up: &(dyn Fn() + Sync),
    ) -> io::Result<()> {
        let Some((first, others)) = actors.split_first_mut() else { return Ok(()) };
        std::thread::scope(|scope| {
            let work = others.iter_mut().zip(&mut self.others);
            let threads: Vec<_> = work
                .map(|(actor, net)| {
                    let watched = move || {
                        let _guard = GivesUp(give_up);
                        net.run(actor).inspect_err(|_| give_up())
                    };
                    spawn_scoped(scope, watched).inspect_err(|_| give_up())
                })
                .collect();
            let mut played = self.first.run(first).inspect_err(|_| give_up());
            for thread in threads {
                let ended =
                    thread.map(|it| it.join().expect("invariant: an event loop does not panic"));
                played = played.and(ended.and_then(|ended| ended));
            }
            played
        })
    }

    fn wakers(&self) -> Vec<Waker> {
        std::iter::once(&self.first).chain(&self.others).map(EpollNet::waker).collect()
    }

    fn set_spin(&mut self, spin: Duration) {
        self.all().for_each(|net| net.set_spin(spin));
    }

    fn take_loop_stats(&mut self) -> LoopStats {
        let first = self.first.take_loop_stats();
        self.others.iter_mut().fold(first, |all, net| all.merge_parallel(&net.take_loop_stats()))
    }

    fn stamp_stats(&self) -> StampStats {
        let first = self.first.stamp_stats();
        self.others.iter().map(EpollNet::stamp_stats).fold(first, |all, one| StampStats {
            // All loops see the steps of the same clock.
            clock_steps: all.clock_steps.max(one.clock_steps),
            implausible: all.implausible + one.implausible,
        })
    }
}

/// If this event loop panics, ends the other event loops, because they might wait for it.
struct GivesUp<'a>(&'a (dyn Fn() + Sync));

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        if panicking() {
            (self.0)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_plan::spec::{Known, Spec};
    use serde_json::json;

    #[test]
    fn the_number_of_event_loops_follows_from_the_load_and_the_number_of_cores() {
        for (load, cores, count, says) in [
            (json!({"concurrency": [64]}), 64, 1, "one for each 1024 requests in flight"),
            (json!({"concurrency": [4096], "requests": 9000}), 64, 4, "one for each"),
            (json!({"concurrency": [4096], "requests": 9000}), 8, 2, "would be 4, but 8 cores"),
            (json!({"concurrency": [4096], "requests": 9000}), 2, 1, "2 cores have room for 1"),
            (json!({"rate": ["10"], "requests": 5000}), 64, 1, "one for each"),
            (json!({"rate": ["2500"], "requests": 5000}), 64, 3, "one for each"),
            (json!({"rate": ["inf"], "requests": 5000}), 64, 5, "one for each"),
            (json!({"sweep": {"max_concurrency": 2048}}), 64, 2, "one for each"),
            (json!({"concurrency": [1], "loops": 7}), 2, 7, "as --loops says"),
        ] {
            let mut keys = json!({"input_lengths": [8], "output_lengths": [100]});
            let keys = keys.as_object_mut().unwrap();
            keys.extend(load.as_object().unwrap().clone());
            let spec: Spec = serde_json::from_value(keys.clone().into()).unwrap();
            let known =
                Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
            let plan = spec.resolve(&known).unwrap();
            let found = of_plan(&plan, cores);
            assert_eq!(found.count, count, "{load}, {cores} cores");
            assert!(found.why.contains(says), "{load}: {}", found.why);
        }
    }
}
