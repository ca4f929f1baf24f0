//! Simulates a run of many ranks in virtual time. The simulation uses the real code of the thread with which a rank
//! communicates, and the real replies of rank 0. The connections, the clocks and the main threads are simulated. Each
//! rank is a thread, and only one thread runs at a time.

mod line;

use std::collections::{BTreeMap, HashSet};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use inferometer_model::{CellPlan, Nanos};
use inferometer_net::{monotonic_now, spawn};
use inferometer_store::PassBegin;

use crate::lead::{RankStates, Shared, reply};
use crate::member::communicate;
use crate::message::{Down, Progress, Up};
use crate::{Order, SentRecord, Sink};

use line::{Go, LocalClock, Script, VirtualLine, Wish};

/// The parameters of a simulated run.
#[derive(Clone, Copy)]
struct Scene {
    ranks: u32,
    /// Requests per second of each rank, and output tokens of each request.
    rate: u64,
    tokens: u32,
    /// The duration of the pass.
    pass: Duration,
    /// The shortest one-way latency of the network. The longest is twice as much; each message has a random latency
    /// between the two.
    way: Duration,
    /// The number of rank 0's processors, and the processor time for each message and for each byte of a message.
    processors: usize,
    message: Duration,
    byte_ns: f64,
}

/// The result of a simulated run.
#[derive(Debug, Default)]
struct SimulatedRun {
    messages: u64,
    bytes: u64,
    /// The utilisation of rank 0's processors during the pass, 0 to 1.
    busy: f64,
    /// The largest error bound of a clock, and the largest true error of an instant.
    bound: Duration,
    wrong: Duration,
    /// How long before the start of the pass the last rank knew the start. None if a rank knew it only after the
    /// start.
    ahead: Option<Duration>,
    /// The maximum number of bytes of messages that waited for rank 0 at one time.
    waiting: u64,
    /// The number of different records that arrived. `astray` counts the records that arrived twice or belong to
    /// another rank.
    records: u64,
    astray: u64,
    /// The time from the end of the pass until the last report arrived.
    tail: Duration,
    /// The mean time that rank 0 needs on this machine for one reply, without encoding and decoding.
    reply: Duration,
    /// The time to decode a message, in nanoseconds for each byte.
    coding_ns_per_byte: f64,
}

/// The records that rank 0 has merged.
#[derive(Default)]
struct Merged {
    seen: HashSet<u32>,
    astray: u64,
    wrong: u64,
}

impl Merged {
    fn take(&mut self, rank: u32, ranks: u32, records: Vec<SentRecord>) {
        for SentRecord { record, text } in records {
            self.astray +=
                u64::from(record.index % ranks != rank || !self.seen.insert(record.index));
            let truth: u64 = text.and_then(|text| text.parse().ok()).unwrap_or(0);
            self.wrong = self.wrong.max(record.picked.map_or(u64::MAX, |at| at.0.abs_diff(truth)));
        }
    }
}

/// An event at an instant of virtual time.
enum Event {
    /// The rank continues, with a reply if it waited for one.
    Go(u32, Option<Down>),
    /// The message of the rank has arrived at rank 0.
    Arrive(u32, Up, u64),
    /// Rank 0 has read the message.
    Read(u32, Up, u64),
    /// The main thread of rank 0 checks the state of the run.
    Look,
}

struct Scheduler {
    scene: Scene,
    shared: Arc<Shared>,
    merged: Arc<Mutex<Merged>>,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    random: u64,
    /// When each processor of rank 0 becomes free.
    free: Vec<u64>,
    worked: u64,
    waiting: u64,
    started: Option<u64>,
    done: Option<u64>,
    outcome: SimulatedRun,
    replies: Duration,
}

impl Scheduler {
    fn at(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    /// A random one-way latency, in nanoseconds.
    fn way(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let least = self.scene.way.as_nanos() as u64;
        least + (self.random >> 33) % (least + 1)
    }

    /// Schedules the action that a rank requests at an instant; false if the rank has ended.
    fn wish(&mut self, now: u64, rank: u32, wish: Wish) -> bool {
        match wish {
            Wish::Say(up, bytes) => {
                let way = self.way();
                self.at(now + way, Event::Arrive(rank, up, bytes));
            }
            Wish::Sleep(span) => self.at(now + span.as_nanos() as u64, Event::Go(rank, None)),
            Wish::Over => return false,
        }
        true
    }

    fn arrive(&mut self, now: u64, rank: u32, up: Up, bytes: u64) {
        self.outcome.messages += 1;
        self.outcome.bytes += bytes;
        self.waiting += bytes;
        self.outcome.waiting = self.outcome.waiting.max(self.waiting);
        let cost =
            self.scene.message.as_nanos() as u64 + (bytes as f64 * self.scene.byte_ns) as u64;
        let first = (0..self.free.len()).min_by_key(|at| self.free[*at]).expect("a processor");
        let read = self.free[first].max(now) + cost;
        self.free[first] = read;
        if self.started.is_some() && self.done.is_none() {
            self.worked += cost;
        }
        self.at(read, Event::Read(rank, up, bytes));
    }

    fn read(&mut self, now: u64, rank: u32, up: Up, bytes: u64) {
        self.waiting -= bytes;
        if let Up::Ping { progress: Progress::Done(Some(report)), .. } = &up {
            self.outcome.bound =
                self.outcome.bound.max(Duration::from_nanos(report.clock.bound_ns));
        }
        let began = monotonic_now();
        let (down, _) = reply(&self.shared, rank, up, Nanos(now));
        self.replies += monotonic_now().since(began);
        let way = self.way();
        self.at(now + way, Event::Go(rank, Some(down)));
    }

    /// The work of rank 0's main thread, once per millisecond.
    fn look(&mut self, now: u64) {
        let mut states = self.shared.lock();
        if self.started.is_none() {
            if states.order() == 0 {
                let begin = PassBegin {
                    pass: 0,
                    cell: CellPlan { input_length: 1, output_length: 1 },
                    plan: serde_json::from_str(r#"{"kind":"saturated","requests":4}"#).unwrap(),
                    repeat: 1,
                };
                let ranks = self.scene.ranks;
                let sink = |rank| -> Sink {
                    let merged = Arc::clone(&self.merged);
                    Box::new(move |records| merged.lock().unwrap().take(rank, ranks, records))
                };
                states.give(Order::Pass { begin, most_time: None }, (1..ranks).map(sink).collect());
            } else if states.are_prepared("hash") == Some(true) {
                self.started = Some(states.announce(Nanos(now)).0);
            }
        } else if self.done.is_none() && states.is_done() {
            self.done = Some(now);
            states.give(Order::End { failed: None }, Vec::new());
        }
        drop(states);
        if self.done.is_none() {
            self.at(now + 1_000_000, Event::Look);
        }
    }
}

/// Runs a simulation until all ranks have ended.
fn play(scene: Scene) -> SimulatedRun {
    let shared = Arc::new(Shared::new(RankStates::of(scene.ranks), Arc::default()));
    let (sender, wishes) = channel();
    let (coding, ahead) = (Arc::default(), Arc::<Mutex<Vec<i64>>>::default());
    let mut scheduler = Scheduler {
        scene,
        shared: Arc::clone(&shared),
        merged: Arc::default(),
        events: BTreeMap::new(),
        count: 0,
        random: 7,
        free: vec![0; scene.processors],
        worked: 0,
        waiting: 0,
        started: None,
        done: None,
        outcome: SimulatedRun::default(),
        replies: Duration::ZERO,
    };
    let mut ranks: Vec<Option<(Sender<Go>, JoinHandle<()>)>> = vec![None];
    for rank in 1..scene.ranks {
        shared.lock().rank(rank).joined = true;
        let (to, go) = channel();
        // Clocks with offsets of up to six minutes, and drifts of up to 50 ppm in both directions.
        let ppm = i64::from(rank % 101) - 50;
        let clock = LocalClock { offset: 60_000_000_000 * u64::from(rank % 7), ppm };
        let script = Script {
            scene,
            rank,
            clock,
            pass: None,
            knows_start: false,
            made: 0,
            outgoing: Arc::default(),
            ahead: Arc::clone(&ahead),
        };
        let (wishes_of, coding) = (sender.clone(), Arc::clone(&coding));
        let line = VirtualLine { clock, at: 0, wishes: wishes_of, go, rank, script, coding };
        let sender = sender.clone();
        let thread = spawn(move || {
            communicate(line, &Arc::default(), scene.ranks);
            let _ = sender.send((rank, Wish::Over));
        });
        ranks.push(Some((to, thread.expect("a thread"))));
        let (_, wish) = wishes.recv().expect("the first request of the rank");
        scheduler.wish(0, rank, wish);
    }
    scheduler.at(1_000_000_000, Event::Look);
    let mut now = 0;
    while let Some(((at, _), event)) = scheduler.events.pop_first() {
        now = at;
        match event {
            Event::Look => scheduler.look(now),
            Event::Arrive(rank, up, bytes) => scheduler.arrive(now, rank, up, bytes),
            Event::Read(rank, up, bytes) => scheduler.read(now, rank, up, bytes),
            Event::Go(rank, down) => {
                let slot = &mut ranks[rank as usize];
                let Some((to, _)) = slot else { continue };
                to.send(Go { at: now, down }).expect("the rank waits");
                let (_, wish) = wishes.recv().expect("the next request of the rank");
                if !scheduler.wish(now, rank, wish)
                    && let Some((_, thread)) = slot.take()
                {
                    thread.join().expect("the thread ended without panic");
                }
            }
        }
    }
    let Scheduler { mut outcome, merged, worked, started, done, replies, .. } = scheduler;
    let merged = merged.lock().unwrap();
    let (started, done) = (started.expect("the pass started"), done.unwrap_or(now));
    let pass = scene.pass.as_nanos() as u64;
    let (coded, bytes) = *coding.lock().unwrap();
    let least = ahead.lock().unwrap().iter().copied().min().unwrap_or(i64::MIN);
    outcome.busy = worked as f64 / ((done - started).max(1) as f64 * scene.processors as f64);
    outcome.wrong = Duration::from_nanos(merged.wrong);
    outcome.ahead = u64::try_from(least).ok().map(Duration::from_nanos);
    (outcome.records, outcome.astray) = (merged.seen.len() as u64, merged.astray);
    outcome.tail = Duration::from_nanos(done.saturating_sub(started + pass));
    outcome.reply = replies / u32::try_from(outcome.messages.max(1)).unwrap_or(u32::MAX);
    outcome.coding_ns_per_byte = coded.as_nanos() as f64 / bytes.max(1) as f64;
    outcome
}

const SCENE: Scene = Scene {
    ranks: 0,
    rate: 5,
    tokens: 8,
    pass: Duration::from_secs(2),
    way: Duration::from_micros(100),
    processors: 2,
    message: Duration::from_micros(30),
    byte_ns: 4.0,
};

#[test]
fn simulated_ranks_start_together_and_each_record_is_merged_once_within_the_clock_bounds() {
    for ranks in [2, 30, 300] {
        let found = play(Scene { ranks, ..SCENE });
        assert_eq!((found.records, found.astray), (u64::from(ranks - 1) * 10, 0), "{found:?}");
        assert!(found.wrong <= found.bound && found.bound < Duration::from_millis(5), "{found:?}");
        assert!(found.ahead.is_some(), "{found:?}");
    }
}

#[test]
fn with_a_slow_rank_0_the_clock_bounds_still_hold_and_all_records_are_merged() {
    let slow = Scene { ranks: 60, processors: 1, message: Duration::from_micros(400), ..SCENE };
    let found = play(slow);
    assert!(found.wrong <= found.bound, "{found:?}");
    assert_eq!((found.records, found.astray), (590, 0), "{found:?}");
}

/// Prints how the load of rank 0 grows with the number of ranks. With INFEROMETER_MANY_RANKS, as in `.ci/long/ranks`,
/// the largest runs have 4,000 ranks, which takes minutes.
#[test]
fn more_and_more_ranks_learn_the_start_time_in_advance_and_each_record_is_merged_once() {
    let most = std::env::var_os("INFEROMETER_MANY_RANKS").map_or(30, |_| u32::MAX);
    println!(
        "| ranks | requests/s, tokens/s | messages/s | MB/s | rank 0 busy | clock error bound | largest clock error | \
         start known before it | unread at rank 0 | last report after the end | time per reply | decoding |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let light: &[u32] = &[10, 100, 300, 1_000, 2_000, 4_000];
    for (rate, tokens, sizes) in [(1, 16, light), (10, 64, &light[..4])] {
        for &ranks in sizes.iter().filter(|ranks| **ranks <= most) {
            let scene = Scene { ranks, rate, tokens, pass: Duration::from_secs(5), ..SCENE };
            let found = play(scene);
            let seconds = scene.pass.as_secs_f64();
            let ahead = found.ahead.map_or("too late".to_owned(), |span| format!("{span:.1?}"));
            println!(
                "| {ranks} | {}, {} | {:.0} | {:.1} | {:.0} % | {:.2?} | {:.2?} | {ahead} | {:.2} MB | {:.2?} | {:.1?} | {:.1} ns/B |",
                u64::from(ranks - 1) * rate,
                u64::from(ranks - 1) * rate * u64::from(tokens),
                found.messages as f64 / seconds,
                found.bytes as f64 / seconds / 1e6,
                found.busy * 100.0,
                found.bound,
                found.wrong,
                found.waiting as f64 / 1e6,
                found.tail,
                found.reply,
                found.coding_ns_per_byte,
            );
            let sent = u64::from(ranks - 1) * rate * 5;
            assert_eq!((found.records, found.astray), (sent, 0), "{found:?}");
            assert!(found.wrong <= found.bound, "{found:?}");
            assert!(found.ahead.is_some(), "{found:?}");
        }
    }
}
