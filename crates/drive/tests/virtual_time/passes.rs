//! Closed and open loops, limits, timeouts, interruptions: instants and records.

use std::sync::atomic::Ordering;
use std::time::Duration;

use inferometer_analysis::cell::cell;
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::search::{self, Claim, Search, TrialFold};
use inferometer_analysis::validity::judge;
use inferometer_analysis::verdict::Validity;
use inferometer_drive::Watcher;
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::load::{
    Bound, ClosedPlan, Curve, Level, OpenPlan, OverLimit, PassPlan, Stage,
};
use inferometer_model::metrics::{RequestFigures, Timeline, slo};
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{Detail, Record, StopReason};
use inferometer_model::time::Nanos;
use inferometer_plan::Timeouts;
use inferometer_plan::search::{Over, SearchPlan, criteria};

use crate::support::{NO_TIMEOUTS, Server, Setup, ms};

#[test]
fn all_timestamps_of_1000_concurrent_streams_equal_the_true_times() {
    let setup = Setup::of(PassPlan::saturated(1_000), 1_000);
    let (records, start) = setup.play(Server::new(ms(100), ms(10), 100), true);
    assert_eq!(records.len(), 1_000);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Complete, "{:?}", record.detail);
        assert_eq!(record.due, start);
        assert_eq!(record.send_start, Some(start));
        assert_eq!(record.usage.completion, Some(100));
        let arrivals: Vec<Nanos> =
            record.token_events().map(|event| record.arrival(event)).collect();
        let truth: Vec<Nanos> = (0..100).map(|k| start + ms(100 + 10 * k)).collect();
        assert_eq!(arrivals, truth);
        assert_eq!(record.ended, Some(start + ms(100 + 990)));
    }
}

#[test]
fn the_one_by_one_load_makes_each_request_due_at_the_end_of_the_previous_one() {
    let setup = Setup::of(PassPlan::one_by_one(Bound::requests(5)), 5);
    let (records, start) = setup.play(Server::new(ms(20), ms(5), 3), true);
    for (k, record) in records.iter().enumerate() {
        assert_eq!(record.due, start + ms(30 * k as u64));
        assert_eq!(record.ended, Some(record.due + ms(30)));
        assert!(record.connected.is_none(), "the connection was opened ahead and kept alive");
    }
}

#[test]
fn an_open_loop_sends_on_schedule_even_if_the_server_is_slow() {
    let bound = Bound::requests(200);
    let setup = Setup::of(PassPlan::open(100.0, bound), 200);
    let (records, start) = setup.play(Server::new(ms(500), ms(50), 20), true);
    let plan: Vec<Nanos> = Arrivals::Poisson
        .seconds(1)
        .take(200)
        .map(|second| start + Duration::from_nanos((second / 100.0 * 1e9) as u64))
        .collect();
    let due: Vec<Nanos> = records.iter().map(|record| record.due).collect();
    let sent: Vec<Nanos> = records.iter().map(|record| record.send_start.unwrap()).collect();
    assert_eq!(due, plan);
    assert_eq!(sent, plan);
}

#[test]
fn requests_above_the_in_flight_limit_wait_and_keep_their_due_time() {
    let bound = Bound::requests(4);
    let (records, start) = limited(bound, OverLimit::Queue, Some(2), f64::INFINITY);
    let starts: Vec<Nanos> = records.iter().map(|record| record.send_start.unwrap()).collect();
    assert_eq!(starts, [start, start, start + ms(18), start + ms(18)]);
    assert!(records.iter().all(|record| record.due == start));
}

/// An open loop with constant arrivals and a limit, against a server that takes 18 ms.
fn limited(
    bound: Bound,
    over_limit: OverLimit,
    max_in_flight: Option<u32>,
    rate: f64,
) -> (Vec<Record>, Nanos) {
    let rate = rate.into();
    let arrivals = Arrivals::Constant;
    let pass = PassPlan::Open(OpenPlan {
        rate,
        arrivals,
        scaled: false,
        bound,
        max_in_flight,
        over_limit,
    });
    let requests = bound.requests.expect("a count");
    Setup::of(pass, requests).play(Server::new(ms(9), ms(9), 2), true)
}

#[test]
fn requests_above_a_dropping_limit_are_dropped_at_their_due_time_and_recorded() {
    // One request is due every 5 ms, each takes 18 ms, and two may be in flight: two of every four requests
    // are sent.
    let (records, start) = limited(Bound::requests(12), OverLimit::Drop, Some(2), 200.0);
    assert_eq!(records.len(), 12);
    for (k, record) in records.iter().enumerate() {
        assert_eq!(record.due, start + ms(5 * k as u64));
        assert_eq!((record.index, record.asked_output), (k as u32, 2));
        if k % 4 < 2 {
            assert_eq!(record.outcome, Outcome::Complete);
            assert_eq!(record.send_start, Some(record.due));
        } else {
            assert_eq!((record.outcome, record.send_start), (Outcome::Dropped, None));
            assert!(record.detail_text().unwrap().contains("limit of 2 requests"));
        }
    }
}

#[test]
fn a_concurrency_ramp_sends_requests_at_the_times_of_its_steps() {
    // The concurrency rises from 1 to 3 in 400 ms and is rounded. So it is 2 from 100 ms on, and 3 from 300 ms on.
    let stage = Stage { duration: ms(400), from: 1.0, to: 3.0, curve: Curve::Linear };
    let pass = PassPlan::Closed(ClosedPlan {
        concurrency: Level::Stages(vec![stage]),
        bound: Bound::none(),
    });
    let (records, start) = Setup::of(pass, 20).play(Server::new(ms(100), ms(50), 2), true);
    let sent: Vec<Nanos> = records.iter().map(|record| record.send_start.unwrap()).collect();
    let truth = [0, 100, 150, 250, 300, 300].map(|at| start + ms(at));
    assert_eq!(sent, truth);
    assert!(records.iter().all(|record| record.due == record.send_start.unwrap()));
}

#[test]
fn each_timeout_expires_at_the_exact_time_and_names_its_phase() {
    let limit = Some(ms(70));
    for (timeouts, server, stall, phase, ended) in [
        (Timeouts { first_token: limit, ..NO_TIMEOUTS }, 100, None, Phase::Headers, 70),
        (Timeouts { between_events: limit, ..NO_TIMEOUTS }, 5, Some(2), Phase::BetweenEvents, 85),
        (Timeouts { total: limit, ..NO_TIMEOUTS }, 5, None, Phase::Total, 70),
    ] {
        let mut setup = Setup::of(PassPlan::one_by_one(Bound::requests(1)), 1);
        setup.timeouts = timeouts;
        let mut server = Server::new(ms(server), ms(10), 50);
        server.stall_after = stall;
        let (records, start) = setup.play(server, true);
        assert_eq!(records[0].outcome, Outcome::TimedOut { phase });
        assert_eq!(records[0].ended, Some(start + ms(ended)));
    }
}

#[test]
fn every_request_to_a_server_that_does_not_listen_fails_in_the_connect_phase() {
    let setup = Setup::of(PassPlan::closed(2, Bound::requests(5)), 5);
    let (records, _) = setup.play(Server::new(ms(1), ms(1), 1), false);
    assert_eq!(records.len(), 5);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Connection { phase: Phase::Connect });
    }
}

#[test]
fn a_pass_ends_at_its_maximum_time_and_cancels_requests_in_flight() {
    // Two requests at a time, each 1 s long: three pairs end within 3.5 s, and the fourth pair is in flight.
    let mut setup = Setup::of(PassPlan::closed(2, Bound::requests(20)), 20);
    setup.most_time = Some(ms(3_500));
    let (records, start) = setup.play(Server::new(ms(999), ms(1), 2), true);
    let of = |outcome| records.iter().filter(|record| record.outcome == outcome).count();
    let counts = [Outcome::Complete, Outcome::Cancelled, Outcome::Skipped].map(of);
    assert_eq!((records.len(), counts), (20, [6, 2, 12]));
    let last = records.iter().filter_map(|record| record.ended).max();
    assert_eq!(last, Some(start + ms(3_500)));
    for record in records.iter().filter(|record| record.outcome != Outcome::Complete) {
        assert_eq!(record.detail, Some(Detail::Stopped(StopReason::MaxTime)));
    }
    // A time limit has no effect on a pass that ends before this limit.
    setup.most_time = Some(ms(60_000));
    let (records, _) = setup.play(Server::new(ms(999), ms(1), 2), true);
    assert!(records.iter().all(|record| record.outcome == Outcome::Complete));
}

#[test]
fn a_search_trial_stops_once_its_failure_is_certain_and_its_records_confirm_it() {
    let objectives = slo::parse("ttft_p99<50ms").expect("an objective");
    let criteria = criteria(&objectives, &[], 0.99, None).expect("a criterion");
    let plan = SearchPlan {
        over: Over::Rate,
        criteria: criteria.clone(),
        tiers: Vec::new(),
        start: 1.0,
        stride: 2.0,
        lowest: 1.0,
        highest: None,
        confidence: 0.95,
        precision: 0.05,
        max_requests: 1_000,
        max_trials: 40,
        max_time: None,
    };
    // One request is due each ms. In the first case, no answer arrives within a second. 100 misses among 300 requests
    // make the claim certain (`misses_to_claim`). The last of these is due at 99 ms. Its objective of 50 ms ends at
    // 149 ms. Its response may be read up to 100 ms late, so the miss is certain at 249 ms. The next check is at 250
    // ms.
    let evenly = PassPlan::Open(OpenPlan {
        rate: Level::Constant(1_000.0),
        arrivals: Arrivals::Constant,
        scaled: false,
        bound: Bound::requests(300),
        max_in_flight: None,
        over_limit: OverLimit::Queue,
    });
    for (ttft, outcome) in [(1_000, Outcome::Cancelled), (20, Outcome::Complete)] {
        let mut setup = Setup::of(evenly.clone(), 300);
        setup.watcher = search::watcher(&plan, &evenly).map(Watcher::Trial);
        let (records, start) = setup.play(Server::new(ms(ttft), ms(1), 2), true);
        let of = |outcome| records.iter().filter(|record| record.outcome == outcome).count();
        let skipped = if outcome == Outcome::Complete { 0 } else { 50 };
        assert_eq!(
            (records.len(), of(outcome), of(Outcome::Skipped)),
            (300, 300 - skipped, skipped)
        );
        let mut fold = TrialFold::of(&evenly, &criteria).expect("a load");
        records.iter().for_each(|one| fold.add(&RequestFigures::of(&Timeline::new(one))));
        let mut search = Search::new(plan.clone());
        search.tell(fold.finish());
        let load = &search.loads()[0];
        if outcome == Outcome::Complete {
            assert!(load.overwhelmed.is_empty() && load.claim(&[0]) == Claim::Open, "{load:?}");
            continue;
        }
        assert!(load.overwhelmed.iter().any(|by| by.cut_off > 0), "{load:?}");
        assert_eq!(search.requests(), 250);
        for record in &records {
            assert_eq!(record.detail, Some(Detail::ResultCertain));
            assert!(record.outcome == Outcome::Skipped || record.ended == Some(start + ms(250)));
        }
    }
}

#[test]
fn an_interruption_leaves_one_record_for_every_planned_request() {
    let setup = Setup::of(PassPlan::closed(2, Bound::requests(7)), 7);
    setup.stop.store(true, Ordering::Relaxed);
    let (records, _) = setup.play(Server::new(ms(5), ms(5), 5), true);
    assert_eq!(records.len(), 7);
    assert!(records.iter().all(|record| record.outcome == Outcome::Skipped));
}

#[test]
fn an_exhausted_source_leaves_one_record_for_every_planned_request() {
    for pass in [
        PassPlan::closed(2, Bound::requests(7)),
        PassPlan::saturated(7),
        PassPlan::open(100.0, Bound::requests(7)),
    ] {
        let setup = Setup::of(pass, 4);
        let (records, _) = setup.play(Server::new(ms(5), ms(5), 5), true);
        assert_eq!(records.len(), 7, "{}", setup.pass);
        let skipped: Vec<&Record> =
            records.iter().filter(|record| record.outcome == Outcome::Skipped).collect();
        assert_eq!(skipped.len(), 3, "{}", setup.pass);
        for record in skipped {
            assert!(record.detail_text().is_some_and(|why| why.contains("ended before")));
        }
    }
}

/// An open loop with constant arrivals.
fn evenly(rate: f64, requests: u32) -> PassPlan {
    PassPlan::Open(OpenPlan {
        rate: Level::Constant(rate),
        arrivals: Arrivals::Constant,
        scaled: false,
        bound: Bound::requests(requests),
        max_in_flight: None,
        over_limit: OverLimit::Queue,
    })
}

#[test]
fn a_busy_client_sends_late_but_has_exact_timestamps_and_its_pass_is_suspect() {
    // One request is due every 10 ms, and the client gets a processor every 12 ms.
    let pass = evenly(100.0, 100);
    for (acts_every, is_busy) in [(Duration::from_nanos(1), false), (ms(12), true)] {
        let mut setup = Setup::of(pass.clone(), 100);
        setup.client_acts_every = acts_every;
        let (records, start) = setup.play(Server::new(ms(20), ms(0), 1), true);
        let mut fold = PassFold::new(&pass);
        for (k, record) in records.iter().enumerate() {
            let due = start + ms(10 * k as u64);
            let turn_ns = u64::try_from(acts_every.as_nanos()).expect("a short period");
            let sent = Nanos(due.0.next_multiple_of(turn_ns));
            assert_eq!((record.due, record.send_start), (due, Some(sent)));
            // The kernel's stamps do not depend on when the client gets a processor.
            let arrivals: Vec<Nanos> = record.token_events().map(|e| record.arrival(e)).collect();
            assert_eq!(arrivals, [sent + ms(20)]);
            fold.add(&Timeline::new(record));
        }
        let (validity, reasons) = judge(&[cell(3, 1, vec![fold.finish()])], &[]);
        let expected = if is_busy { Validity::Suspect } else { Validity::Valid };
        assert_eq!((validity, reasons.len()), (expected, usize::from(is_busy)), "{reasons:?}");
        // The delays of the busy client are 0, 2, 4, 6, 8 and 10 ms, again and again.
        let said = "the 99th percentile of send_delay is 10.000 ms, above the limit of 0.500 ms";
        assert!(reasons.iter().all(|reason| reason.contains(said)), "{reasons:?}");
    }
}
