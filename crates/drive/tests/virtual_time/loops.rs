//! A pass on several event loops is the same as on one event loop: the same requests at the same instants, even if the
//! pass ends early.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use inferometer_drive::Watcher;
use inferometer_model::load::{
    Bound, ClosedPlan, OverLimit, PassPlan, Recording, ReplayPlan, Share,
};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::Record;
use inferometer_model::source::Prepared;
use inferometer_model::time::Nanos;
use inferometer_plan::stop::StopPlan;

use crate::support::{Server, Setup, ms, request};

/// Arrivals at these instants, in milliseconds, with a limit of requests in flight.
fn replay(instants_ms: &[u64], max_in_flight: Option<u32>, over_limit: OverLimit) -> PassPlan {
    let mut recording = Recording::of_file("trace");
    let text: String = instants_ms.iter().map(|at| format!("{}\n", *at as f64 / 1e3)).collect();
    recording.read(&text).expect("instants");
    PassPlan::Replay(ReplayPlan {
        recording,
        speed: 1.0,
        bound: Bound::none(),
        max_in_flight,
        over_limit,
    })
}

/// The index, due time, send time, end, outcome and requested output of a request. Times are relative to the start
/// of its pass.
type Course = (u32, Nanos, Option<Nanos>, Nanos, Outcome, u32);

fn course(record: &Record, start: Nanos) -> Course {
    let from_start = |at: Nanos| Nanos::ZERO + at.since(start);
    (
        record.index,
        from_start(record.due),
        record.send_start.map(from_start),
        from_start(record.ended_or_due()),
        record.outcome,
        record.asked_output,
    )
}

struct Played {
    records: Vec<Record>,
    start: Nanos,
    body_hash: String,
    prompts: Vec<String>,
}

impl Played {
    fn courses(&self) -> Vec<Course> {
        self.records.iter().map(|record| course(record, self.start)).collect()
    }
}

/// Runs a pass on this many event loops. Each request has a different prompt.
fn play_with(pass: &PassPlan, loops: u32, change: impl FnOnce(&mut Setup)) -> Played {
    let server = Server::new(ms(20), ms(5), 3);
    let prompts = server.prompts.clone();
    let count = pass.requests().unwrap_or(40);
    let requests = (0..count).map(|index| request(format!("prompt {index}"), 3)).collect();
    let mut setup = Setup { loops, ..Setup::of(pass.clone(), count) };
    change(&mut setup);
    let source = Box::new(Prepared::new(requests));
    let (records, start) = setup.play_source(source, server, true);
    let prompts = prompts.lock().expect("one thread").clone();
    Played { records, start, body_hash: setup.body_hash.take(), prompts }
}

fn play(pass: &PassPlan, loops: u32) -> Played {
    play_with(pass, loops, |_| {})
}

/// The passes of a test.
fn passes() -> Vec<PassPlan> {
    let crowd: Vec<u64> = (0..30).map(|at| at * 3).collect();
    let mut timed = PassPlan::closed(4, Bound::none());
    if let PassPlan::Closed(ClosedPlan { bound, .. }) = &mut timed {
        bound.duration = Some(ms(200));
    }
    vec![
        PassPlan::one_by_one(Bound::requests(4)),
        PassPlan::saturated(11),
        PassPlan::closed(5, Bound::requests(23)),
        PassPlan::closed(2, Bound::requests(9)),
        timed,
        PassPlan::open(120.0, Bound::requests(31)),
        replay(&crowd, None, OverLimit::Queue),
        replay(&crowd, Some(5), OverLimit::Queue),
        replay(&crowd, Some(5), OverLimit::Drop),
    ]
}

#[test]
fn each_load_sends_the_same_requests_at_the_same_instants_on_any_number_of_loops() {
    for pass in passes() {
        let one = play(&pass, 1);
        for loops in [2, 3, 4] {
            let several = play(&pass, loops);
            assert_eq!(several.courses(), one.courses(), "{pass}, {loops} loops");
            assert_eq!(several.body_hash, one.body_hash, "{pass}, {loops} loops");
            let sent = |played: &Played| played.prompts.iter().cloned().collect::<BTreeSet<_>>();
            assert_eq!(sent(&several), sent(&one), "{pass}, {loops} loops");
            assert_eq!(several.prompts.len(), one.prompts.len(), "{pass}: none is sent twice");
        }
    }
}

#[test]
fn the_limit_of_requests_in_flight_applies_to_all_loops_together() {
    let crowd: Vec<u64> = (0..30).map(|at| at / 4).collect();
    for over_limit in [OverLimit::Queue, OverLimit::Drop] {
        let pass = replay(&crowd, Some(5), over_limit);
        for loops in [1, 2, 3, 5] {
            let played = play(&pass, loops);
            let sent = played.records.iter().filter(|record| record.send_start.is_some());
            let mut ends: Vec<(Nanos, i32)> = sent
                .flat_map(|one| [(one.send_start.unwrap_or_default(), 1), (one.ended_or_due(), -1)])
                .collect();
            ends.sort_unstable();
            let in_flight = ends.iter().scan(0, |sum, (_, change)| {
                *sum += change;
                Some(*sum)
            });
            assert_eq!(in_flight.max(), Some(5), "{loops} loops, {over_limit:?}");
        }
    }
}

#[test]
fn a_pass_that_ends_early_ends_on_all_loops_and_each_request_has_one_record() {
    let crowd: Vec<u64> = (0..40).map(|at| at * 2).collect();
    let open = replay(&crowd, None, OverLimit::Queue);
    for pass in [open, PassPlan::closed(6, Bound::requests(40)), PassPlan::saturated(40)] {
        for loops in [1, 2, 3] {
            let stopped = play_with(&pass, loops, |setup| setup.most_time = Some(ms(25)));
            let indices = stopped.records.iter().map(|record| record.index);
            assert!(indices.eq(0..40), "{pass}, {loops} loops");
            let count = |outcome: Outcome| {
                stopped.records.iter().filter(|record| record.outcome == outcome).count()
            };
            let one = play_with(&pass, 1, |setup| setup.most_time = Some(ms(25)));
            assert_eq!(stopped.courses(), one.courses(), "{pass}, {loops} loops");
            assert!(count(Outcome::Cancelled) > 0, "{pass}");
            let never = play_with(&pass, loops, |setup| setup.stop.store(true, Ordering::Relaxed));
            assert_eq!(never.records.len(), 40, "{pass}, {loops} loops");
            assert!(never.records.iter().all(|record| record.outcome == Outcome::Skipped));
        }
    }
}

#[test]
fn a_stop_rule_counts_the_requests_of_all_loops_together() {
    use inferometer_analysis::stop::StopWatch;
    let pass = PassPlan::closed(6, Bound::requests(400));
    let rule = StopPlan { when_saturated: false, at_error_rate: Some(0.01) };
    let mut ended = Vec::new();
    for loops in [1, 2, 3] {
        let server = Server { refuses: Some(3), ..Server::new(ms(20), ms(5), 3) };
        let setup = Setup {
            loops,
            // One failure is not more than 1 % of the 400 planned requests, so the pass does not end early.
            watcher: StopWatch::of(rule, &pass).map(Watcher::Stop),
            ..Setup::of(pass.clone(), 400)
        };
        let (records, _) = setup.play(server, true);
        ended.push(records.iter().filter(|record| record.outcome == Outcome::Complete).count());
        assert_eq!(records.len(), 400, "{loops} loops");
    }
    assert!(ended.iter().all(|count| *count == ended[0]), "{ended:?}");
}

#[test]
fn a_stalled_loop_does_not_change_the_timestamps_of_other_loops() {
    let crowd: Vec<u64> = (0..30).map(|at| at * 3).collect();
    let pass = replay(&crowd, None, OverLimit::Queue);
    let free = play(&pass, 2);
    let stalled = play_with(&pass, 2, |setup| setup.others_act_every = ms(40));
    // The second loop also delays the start.
    let first = Share::WHOLE.of_loop(&pass, 0, 2);
    let of_first = |played: &Played| -> Vec<Course> {
        let own = played.courses().into_iter();
        own.filter(|(index, ..)| first.owns((*index).into())).collect()
    };
    assert_eq!(of_first(&stalled), of_first(&free));
    for record in &stalled.records {
        // The requests of the second loop begin late, and their records show this. The kernel's stamps of their
        // responses are correct.
        let sent = record.send_start.expect("it was sent");
        let last = record.token_events().next_back().expect("three tokens");
        assert_eq!(record.arrival(last), sent + ms(30), "{}", record.index);
    }
    let late = stalled.records.iter().filter(|one| one.picked > Some(one.due)).count();
    assert!(late > 0, "the second loop was late");
}

#[test]
fn an_exhausted_source_leaves_one_record_per_planned_request_on_any_number_of_loops() {
    for pass in
        [PassPlan::closed(4, Bound::requests(20)), PassPlan::open(500.0, Bound::requests(20))]
    {
        for loops in [1, 2, 3] {
            let server = Server::new(ms(20), ms(5), 3);
            let setup = Setup { loops, ..Setup::of(pass.clone(), 7) };
            let (records, _) = setup.play(server, true);
            assert!(records.iter().map(|record| record.index).eq(0..20), "{pass}, {loops} loops");
            let complete = records.iter().filter(|one| one.outcome.is_complete()).count();
            assert_eq!(complete, 7, "{pass}, {loops} loops");
        }
    }
}

#[test]
fn a_slow_recorder_delays_all_loops() {
    let pass = PassPlan::closed(4, Bound::requests(20));
    let played = play_with(&pass, 2, |setup| setup.behind = 30);
    assert_eq!(played.records.len(), 20);
    let first = played.records.iter().filter_map(|one| one.send_start).min();
    assert!(first >= Some(played.start + Duration::from_millis(10)), "{first:?}");
}
