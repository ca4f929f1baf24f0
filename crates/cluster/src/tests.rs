//! Tests with rank 0 and other ranks as threads of one process, connected over loopback.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inferometer_model::{CellPlan, Nanos, Record};

use crate::launcher::{Launcher, RankPlace};
use crate::{Introduction, JoinError, Lead, Meeting, Member, Order, PassReport, SentRecord, Sink};

fn meeting() -> Meeting {
    let port = inferometer_net::free_port("127.0.0.1").unwrap();
    let place = RankPlace {
        launcher: Launcher::Own,
        rank: 0,
        ranks: 2,
        host: Some("127.0.0.1".to_owned()),
        port: Some(port),
        job: "test".to_owned(),
    };
    Meeting::of(&place, None, None, Duration::from_secs(60)).unwrap()
}

fn introduction(rank: u32, ranks: u32) -> Introduction {
    let (version, plan_hash) = ("1".to_owned(), "plan".to_owned());
    Introduction { version, plan_hash, rank, ranks, host: format!("n{rank}") }
}

fn lead(meeting: &Meeting, ranks: u32) -> Result<Lead, JoinError> {
    Lead::gather(meeting, introduction(0, ranks), "salt", |_| {}, Arc::default())
}

fn member(meeting: &Meeting, introduction: Introduction) -> Result<Member, JoinError> {
    Member::join(meeting, &introduction, &AtomicBool::new(false))
}

/// Measures a pass at a member, with one record for each of these instants of the member's clock.
fn measure(member: &Member, picked: &[u64]) -> Result<(), crate::Rank0Lost> {
    let mut records: Vec<SentRecord> = Vec::new();
    for (index, at) in (0..).zip(picked) {
        let record = Record { picked: Some(Nanos(*at)), ..Record::planned(0, index, Nanos(*at)) };
        records.push(SentRecord { record, text: Some("words".to_owned()) });
    }
    let mut records = records.into_iter();
    member
        .begin_pass(Box::new(move || records.next().map(Some).ok_or(crate::NoMoreRecords)), false);
    while member.start("hash").is_none() {
        std::thread::yield_now();
    }
    member.end_pass(PassReport { body_hash: Some("bodies".to_owned()), ..PassReport::default() })
}

#[test]
fn members_execute_every_order_and_send_their_records_before_their_report() {
    let at = meeting();
    let cell = CellPlan { input_length: 1, output_length: 2 };
    let pass = inferometer_store::PassBegin {
        pass: 0,
        cell,
        plan: serde_json::from_str(r#"{"kind":"saturated","requests":4}"#).unwrap(),
        repeat: 1,
    };
    // Four orders without waiting in between, then a pass, then the end of the run.
    let orders: Vec<Order> = (1..=4)
        .map(|input_length| Order::WarmUp { cell: CellPlan { input_length, ..cell } })
        .chain([Order::Pass { begin: pass, most_time: None }, Order::End { failed: None }])
        .collect();
    std::thread::scope(|scope| {
        let members: Vec<_> = [1, 2]
            .map(|rank| {
                let at = &at;
                scope.spawn(move || {
                    let member = member(at, introduction(rank, 3)).unwrap();
                    assert_eq!(member.salt, "salt");
                    let mut done = Vec::new();
                    loop {
                        let order = member.next_order().unwrap();
                        done.push(order.clone());
                        match order {
                            Order::Pass { .. } => {
                                let now = inferometer_net::monotonic_now().0;
                                measure(&member, &[now, now + 1_000]).unwrap();
                            }
                            Order::End { .. } => return done,
                            _ => {}
                        }
                    }
                })
            })
            .into();
        let lead = lead(&at, 3).unwrap();
        assert_eq!(lead.hosts(), ["n1", "n2"]);
        let taken = Arc::new(Mutex::new(Vec::new()));
        for order in &orders[..4] {
            lead.order(order.clone(), Vec::new());
        }
        let sink = |rank: u32| -> Sink {
            let taken = Arc::clone(&taken);
            Box::new(move |records| {
                taken.lock().unwrap().extend(records.into_iter().map(|it| (rank, it)))
            })
        };
        lead.order(orders[4].clone(), vec![sink(1), sink(2)]);
        lead.wait_for_work();
        while lead.start("hash").is_none() {
            std::thread::yield_now();
        }
        let reports = lead.reports();
        let mut taken = taken.lock().unwrap().clone();
        taken.sort_by_key(|(rank, sent)| (*rank, sent.record.index));
        let found: Vec<_> = taken.iter().map(|(rank, sent)| (*rank, sent.record.index)).collect();
        assert_eq!(found, [(1, 0), (1, 1), (2, 0), (2, 1)]);
        for report in &reports {
            let report = report.report.as_ref().unwrap();
            // All ranks use the same clock, so the true offset is 0.
            assert!(report.clock.offset_ns.unsigned_abs() <= report.clock.bound_ns, "{report:?}");
            assert_eq!(report.body_hash.as_deref(), Some("bodies"));
        }
        assert_eq!(lead.trouble(), None);
        lead.end(None);
        for member in members {
            assert_eq!(member.join().unwrap(), orders);
        }
    });
}

#[test]
fn a_failure_at_rank_0_ends_the_pass_of_the_other_ranks() {
    let at = meeting();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let member = member(&at, introduction(1, 2)).unwrap();
            member.next_order().unwrap();
            let (tell, told) = std::sync::mpsc::channel();
            member.when_stopped(move || tell.send(()).unwrap());
            assert!(member.start("hash").is_none());
            // Only the failed end of the run can end the pass here.
            told.recv().unwrap();
            member.next_order().unwrap()
        });
        let lead = lead(&at, 2).unwrap();
        lead.order(Order::WarmUp { cell: CellPlan::OWN }, Vec::new());
        lead.wait_for_work();
        let why = Some("the disk is full".to_owned());
        lead.end(why.clone());
        assert_eq!(other.join().unwrap(), Order::End { failed: why });
    });
}

#[test]
fn the_error_names_a_member_that_fails_or_would_send_different_requests() {
    let cases: [(&str, &str); 2] = [
        ("other hash", "rank 1 (n1) would send different requests than rank 0"),
        ("fails", "rank 1 (n1) cannot continue: no tokenizer"),
    ];
    for (case, why) in cases {
        let at = meeting();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let member = member(&at, introduction(1, 2)).unwrap();
                if case == "fails" {
                    member.fail("no tokenizer".to_owned());
                    return;
                }
                member.next_order().unwrap();
                let (tell, told) = std::sync::mpsc::channel();
                member.when_stopped(move || tell.send(()).unwrap());
                assert!(member.start("another").is_none());
                told.recv().unwrap();
                let end = loop {
                    match member.next_order().unwrap() {
                        Order::End { failed } => break failed,
                        _ => continue,
                    }
                };
                assert_eq!(end.as_deref(), Some("broken"));
            });
            let lead = lead(&at, 2).unwrap();
            let alarm = Arc::new(AtomicBool::new(false));
            let rings = Arc::clone(&alarm);
            lead.when_lost(move || rings.store(true, std::sync::atomic::Ordering::Relaxed));
            let cell = CellPlan::OWN;
            lead.order(Order::WarmUp { cell }, Vec::new());
            while lead.trouble().is_none() {
                lead.start("hash");
                std::thread::yield_now();
            }
            assert!(alarm.load(std::sync::atomic::Ordering::Relaxed));
            let trouble = lead.trouble().unwrap();
            assert!(trouble.starts_with(why), "{case}: {trouble}");
            lead.end(Some("broken".to_owned()));
            other.join().unwrap();
        });
    }
}

#[test]
fn incompatible_ranks_are_refused_with_the_difference() {
    let right = introduction(1, 2);
    let cases: [(Introduction, &str); 4] = [
        (
            Introduction { version: "2".to_owned(), ..right.clone() },
            "is inferometer 2, but rank 0 is 1",
        ),
        (Introduction { plan_hash: "other".to_owned(), ..right.clone() }, "has a different plan"),
        (introduction(1, 3), "was started for 3 ranks, but rank 0 for 2"),
        (introduction(0, 2), "there are two processes of rank 0: on n0 and on n0"),
    ];
    for (other, why) in cases {
        let at = meeting();
        std::thread::scope(|scope| {
            let joined = scope.spawn(|| member(&at, other).err());
            let refused = lead(&at, 2).err();
            for error in [refused, joined.join().unwrap()] {
                match error {
                    Some(JoinError::Mistake(text)) => assert!(text.contains(why), "{text}"),
                    other => panic!("{why}: {other:?}"),
                }
            }
        });
    }
}
