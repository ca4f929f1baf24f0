//! The memory of answers. An answer without an end affects no other request, and takes no more memory than the limits
//! allow. Also tests the waits for the recorder, and the reuse of connections.

use inferometer_drive::{ANSWER_BYTES, ANSWERS_BYTES};
use inferometer_model::load::{Bound, OverLimit, PassPlan, Recording, ReplayPlan};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, Read, Record};

use crate::support::{Server, Setup, ms};

/// Runs `requests` requests. The server answers the requests in `floods` without an end. Returns all records.
fn flooded(requests: u32, floods: std::ops::Range<usize>, flood: &[u8]) -> Vec<Record> {
    let mut setup = Setup::of(PassPlan::closed(requests, Bound::requests(requests)), requests);
    setup.keep_text = true;
    let mut server = Server::new(ms(5), ms(1), 5);
    server.floods = Some((floods, flood.to_vec()));
    setup.play(server, true).0
}

fn kept_bytes(record: &Record) -> usize {
    record.reads.capacity() * size_of::<Read>() + record.events.capacity() * size_of::<Event>()
}

#[test]
fn an_endless_response_is_aborted_and_the_other_requests_complete() {
    let text = format!("data: {{\"choices\":[{{\"text\":\"{}\"}}]}}\n\n", "w".repeat(1 << 20));
    let half = format!("data: {}", "w".repeat(1 << 20));
    for (flood, why) in [
        (b":\n".repeat(30_000), "2000000 reads or events"),
        (text.into_bytes(), "1024 KiB of text"),
        (half.into_bytes(), "message of more than 8388608 bytes"),
    ] {
        let records = flooded(3, 1..2, &flood);
        assert_eq!(records[1].outcome, Outcome::Malformed);
        let detail = records[1].detail_text().unwrap_or_default();
        assert!(detail.contains(why), "{detail}");
        assert!(kept_bytes(&records[1]) <= ANSWER_BYTES / 8, "{}", kept_bytes(&records[1]));
        for other in [&records[0], &records[2]] {
            assert_eq!(other.outcome, Outcome::Complete, "{:?}", other.detail);
        }
    }
}

#[test]
fn responses_are_aborted_until_the_others_fit_into_the_common_memory_limit() {
    // Each answer is the beginning of a message, and has 4 MiB. 60 such answers exceed the limit for all answers
    // together.
    let half = format!("data: {}", "w".repeat(4 << 20));
    let mut setup = Setup::of(PassPlan::saturated(64), 64);
    setup.timeouts.total = Some(ms(40));
    let mut server = Server::new(ms(5), ms(1_000), 1);
    server.floods = Some((4..64, half.into_bytes()));
    let (records, _) = setup.play(server, true);
    let of = |outcome: Outcome| {
        records.iter().filter(|record| record.outcome == outcome).collect::<Vec<_>>()
    };
    assert_eq!(of(Outcome::Complete).len(), 4);
    let given_up = of(Outcome::Malformed);
    // The remaining answers fit, with the space that their lists have for growth.
    let left = 60 - given_up.len();
    assert!((left - 1) * (4 << 20) < ANSWERS_BYTES && left >= 8, "{left}");
    for record in given_up {
        let detail = record.detail_text().unwrap_or_default();
        assert!(detail.contains("the answers in flight took more than 128 MiB"), "{detail}");
    }
}

#[test]
fn waits_for_the_recorder_are_counted_and_timed_in_a_closed_loop() {
    for (behind, count) in [(0, 0), (5, 1)] {
        let mut setup = Setup::of(PassPlan::closed(2, Bound::requests(4)), 4);
        setup.behind = behind;
        let (records, _) = setup.play(Server::new(ms(5), ms(1), 5), true);
        assert_eq!(records.len(), 4);
        let waits = setup.waits.get();
        assert_eq!((waits.count, waits.time), (count, ms(u64::from(behind))));
    }
}

#[test]
fn a_record_says_whether_its_connection_was_reused() {
    let setup = Setup::of(PassPlan::closed(2, Bound::requests(6)), 6);
    let (records, _) = setup.play(Server::new(ms(5), ms(1), 5), true);
    let kept: Vec<_> = records.iter().map(|record| record.kept_connection).collect();
    let [new, reused] = [Some(false), Some(true)];
    assert_eq!(kept, [new, new, reused, reused, reused, reused]);
}

#[test]
fn after_a_server_closes_a_kept_connection_each_later_request_gets_a_new_one() {
    let mut recording = Recording::of_file("trace");
    // The first two requests are answered at the same time, so two connections become idle. The server closes the
    // connection of the third request.
    recording.read("0\n0\n0.1\n0.2\n0.3\n").expect("instants");
    let (max_in_flight, over_limit) = (None, OverLimit::Queue);
    let bound = Bound::none();
    let pass = ReplayPlan { recording, speed: 1.0, bound, max_in_flight, over_limit };
    let mut server = Server::new(ms(5), ms(1), 5);
    server.hangs_up_on = Some(2);
    let (records, _) = Setup::of(PassPlan::Replay(pass), 5).play(server, true);
    let kept: Vec<_> = records.iter().map(|record| record.kept_connection).collect();
    let [new, reused] = [Some(false), Some(true)];
    assert_eq!(kept, [new, new, reused, new, new]);
    for (at, record) in records.iter().enumerate() {
        assert_eq!(record.outcome.is_complete(), at != 2, "{at}: {:?}", record.detail);
    }
}
