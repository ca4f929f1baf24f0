//! The limit of requests that wait for their first token: instants of requests, and what frees a place.

use std::time::Duration;

use inferometer_model::load::{Bound, PassPlan};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;

use crate::support::{Server, Setup, ms};

/// The instants, in milliseconds after the start of the pass, at which requests were due and were sent.
fn due_and_sent(records: &[Record], start: Nanos) -> (Vec<u128>, Vec<u128>) {
    let offset = |at: Nanos| at.since(start).as_millis();
    let sent = records.iter().filter_map(|record| record.send_start).map(offset);
    (records.iter().map(|record| offset(record.due)).collect(), sent.collect())
}

fn play(pass: PassPlan, most: u32, loops: u32, server: Server) -> (Vec<Record>, Nanos) {
    let requests = pass.requests().expect("a count");
    let setup = Setup { max_in_prefill: Some(most), loops, ..Setup::of(pass, requests) };
    setup.play(server, true)
}

/// A server whose first token comes after 100 ms, and two more after 10 ms each.
fn server() -> Server {
    Server::new(ms(100), ms(10), 3)
}

#[test]
fn a_request_begins_at_the_first_token_of_an_earlier_one_and_keeps_its_due_time() {
    for loops in [1, 2] {
        for (most, expected) in [(1, [0, 100, 200, 300]), (3, [0, 0, 0, 100]), (4, [0; 4])] {
            let (records, start) = play(PassPlan::saturated(4), most, loops, server());
            let expected = ([0; 4].to_vec(), expected.to_vec());
            let mut found = due_and_sent(&records, start);
            found.1.sort_unstable();
            assert_eq!(found, expected, "{most}, {loops} loops");
        }
    }
}

#[test]
fn in_a_closed_loop_the_wait_begins_when_a_place_becomes_free() {
    let (records, start) = play(PassPlan::closed(3, Bound::requests(6)), 1, 1, server());
    // The first three requests end 120 ms after they are sent: at 120, 220 and 320 ms.
    let expected = ([0, 0, 0, 120, 220, 320].to_vec(), [0, 100, 200, 300, 400, 500].to_vec());
    assert_eq!(due_and_sent(&records, start), expected);
    let waits = records.iter().map(|record| record.send_start.expect("sent").since(record.due));
    assert_eq!(waits.max(), Some(ms(200)));
}

#[test]
fn both_limits_hold_at_the_same_time() {
    let gaps = |rate: f64| match PassPlan::open(rate, Bound::requests(4)) {
        PassPlan::Open(open) => {
            PassPlan::Open(inferometer_model::OpenPlan { max_in_flight: Some(2), ..open })
        }
        _ => unreachable!(),
    };
    let (records, start) = play(gaps(f64::INFINITY), 1, 1, server());
    // The second request waits for the first token of the first, the third for the end of the first (120 ms) and the
    // first token of the second (200 ms), the fourth for the end of the second (220 ms) and the token of the third.
    assert_eq!(due_and_sent(&records, start).1, [0, 100, 200, 300]);
    let slow = Server::new(ms(100), ms(100), 3);
    let (records, start) = play(gaps(f64::INFINITY), 1, 1, slow);
    assert_eq!(due_and_sent(&records, start).1, [0, 100, 300, 400]);
}

#[test]
fn a_request_that_ends_without_a_token_frees_its_place() {
    for (server, outcome) in [
        (Server { refuses: Some(0), ..server() }, "rejected"),
        (Server { hangs_up_on: Some(0), ..server() }, "connection"),
    ] {
        let (records, start) = play(PassPlan::saturated(3), 1, 1, server);
        assert_eq!(due_and_sent(&records, start).1, [0, 0, 100]);
        let complete = records.iter().filter(|one| one.outcome == Outcome::Complete).count();
        assert_eq!(complete, 2, "{outcome}: {:?}", records[0].outcome);
    }
    // A server that never answers: each request ends by its time limit.
    let mut setup = Setup::of(PassPlan::saturated(3), 3);
    setup.max_in_prefill = Some(1);
    setup.timeouts.total = Some(Duration::from_millis(50));
    let (records, start) = setup.play(server(), true);
    assert_eq!(due_and_sent(&records, start).1, [0, 50, 100]);
}
