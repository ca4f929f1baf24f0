//! Tests the figures of a pass by server and by rank, and which differences are more than chance.

use inferometer_model::fixture::steady;
use inferometer_model::{Bound, ClosedPlan, Outcome, PassPlan, Phase, Record, Timeline};

use crate::inspect::part_findings;
use crate::{PassFold, PassSummary};

/// A closed loop of 400 requests with two in flight. Each of the two parts has its own time to first token.
fn pass(by_rank: bool, ttft_ms: [f64; 2]) -> PassSummary {
    let plan = PassPlan::Closed(ClosedPlan { concurrency: 2.into(), bound: Bound::requests(400) });
    let names = ["http://a:1".to_owned(), "http://b:1".to_owned()];
    let mut fold = PassFold::new(&plan).of_servers(&names);
    for index in 0..400_u32 {
        let part = index % 2;
        // The times vary between requests, but in the same way in both parts.
        let noise = f64::from(index / 2 * 7919 % 101) / 10.0;
        let mut record: Record =
            steady(f64::from(index / 2) * 100.0, ttft_ms[part as usize] + noise, 1.0, 5);
        record.index = index;
        match by_rank {
            true => record.rank = Some(part),
            false => record.server = Some(part),
        }
        fold.add(&Timeline::new(&record));
    }
    fold.finish()
}

#[test]
fn each_server_has_separate_figures_and_a_slower_one_is_reported_by_name() {
    let pass = pass(false, [10.0, 30.0]);
    let of = |at: usize| {
        let one = &pass.servers[at];
        let ttft = one.figures.latencies.get(&inferometer_model::metrics::ttft::FROM_SENT).unwrap();
        (one.server.as_str(), one.figures.planned, ttft.mean.round() as u32)
    };
    assert_eq!([of(0), of(1)], [("http://a:1", 200, 15), ("http://b:1", 200, 35)]);
    assert!(pass.ranks.is_empty());
    let told = part_findings(&pass);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].message.contains("http://b:1") && told[0].message.contains("TTFT"),
        "{}",
        told[0].message
    );
}

#[test]
fn ranks_are_reported_separately_only_if_they_differ_significantly() {
    let alike = pass(true, [10.0, 10.0]);
    assert!(alike.ranks.is_empty() && part_findings(&alike).is_empty());
    let apart = pass(true, [10.0, 30.0]);
    assert_eq!(apart.ranks.iter().map(|one| one.rank).collect::<Vec<_>>(), [0, 1]);
    let told = part_findings(&apart);
    assert!(told[0].message.contains("rank 1"), "{}", told[0].message);
    // A load without a steady state has no interval, so no difference can be shown.
    let plan = PassPlan::saturated(2);
    let mut fold = PassFold::new(&plan);
    for (rank, ttft) in [(0, 10.0), (1, 30.0)] {
        fold.add(&Timeline::new(&Record { rank: Some(rank), ..steady(0.0, ttft, 1.0, 5) }));
    }
    assert!(fold.finish().ranks.is_empty());
}

#[test]
fn a_server_that_fails_more_requests_than_the_others_is_reported_by_name() {
    let told = |failed: [u32; 2]| {
        let names = ["http://a:1".to_owned(), "http://b:1".to_owned()];
        let mut fold = PassFold::new(&PassPlan::saturated(40)).of_servers(&names);
        for index in 0..40_u32 {
            let (server, number) = (index % 2, index / 2);
            let mut record = Record { index, server: Some(server), ..steady(0.0, 10.0, 1.0, 5) };
            if number < failed[server as usize] {
                record.outcome = Outcome::Connection { phase: Phase::Connect };
            }
            fold.add(&Timeline::new(&record));
        }
        let findings = part_findings(&fold.finish());
        findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert!(told([0, 0]).is_empty() && told([5, 6]).is_empty());
    let [message] = &told([0, 20])[..] else { panic!() };
    assert!(
        message.starts_with(
            "http://b:1 failed 20 of its 20 requests (20 connection), the others 0 of 20"
        ),
        "{message}"
    );
}
