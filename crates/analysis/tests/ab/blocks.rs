//! The figures of one block of requests.

use super::*;

#[test]
fn a_block_excludes_the_requests_of_start_up_and_drain() {
    let pass = PassPlan::closed(2, Bound::requests(6));
    let ab =
        AbPlan { uncounted: 2, ..plan(&["requests_per_s", "output_tokens_per_s", "ttft_p50"]) };
    let mut fold = BlockFold::new(&pass, &ab, 7);
    // Two requests are in flight: two are sent at 0 ms, two at 100 ms and two at 200 ms. Each takes 100 ms and has 4
    // tokens. The TTFT of the first two and of the last two differs from that of the other two.
    for (index, (send_ms, ttft_ms)) in
        [(0.0, 70.0), (0.0, 70.0), (100.0, 40.0), (100.0, 40.0), (200.0, 90.0), (200.0, 90.0)]
            .into_iter()
            .enumerate()
    {
        let mut record = steady(send_ms, ttft_ms, (100.0 - ttft_ms) / 3.0, 4);
        record.index = index as u32;
        fold.add(&Timeline::new(&record));
    }
    let block = fold.finish().expect("all requests have records");
    // The window lasts from the first end at 100 ms to the first end of the last two requests at 300 ms. Four requests
    // end in it.
    let [requests, tokens, ttft] = [0, 1, 2].map(|at| block.values[at].expect("a value"));
    assert!((requests - 20.0).abs() < 1e-6 && (tokens - 80.0).abs() < 1e-6, "{requests}, {tokens}");
    assert!((ttft - 40.0).abs() < 1e-6, "{ttft}");
    assert_eq!((block.pair, block.requests, block.complete), (7, 6, 6));
    let mut cut = BlockFold::new(&pass, &ab, 1);
    cut.add(&Timeline::new(&steady(0.0, 10.0, 10.0, 4)));
    assert_eq!(cut.finish(), None, "records are missing");
}

#[test]
fn a_single_request_is_a_complete_block_at_a_concurrency_of_one() {
    let pass = PassPlan::one_by_one(Bound::requests(1));
    let ab = AbPlan { uncounted: 0, ..plan(&["e2e_p50", "requests_per_s"]) };
    let mut fold = BlockFold::new(&pass, &ab, 1);
    fold.add(&Timeline::new(&steady(1_000.0, 40.0, 20.0, 4)));
    let block = fold.finish().expect("all requests have records");
    let [e2e, rate] = [0, 1].map(|at| block.values[at].expect("a value"));
    assert!((e2e - 100.0).abs() < 1e-6 && (rate - 10.0).abs() < 1e-6, "{e2e}, {rate}");
}

/// Computes a block of a closed loop or of arrivals. `sent_ms` are the send times; `refused` more requests were not
/// sent.
fn fold(pass: &PassPlan, uncounted: u32, sent_ms: &[f64], refused: u32) -> Option<Block> {
    let ab = AbPlan { uncounted, ..plan(&["requests_per_s"]) };
    let mut fold = BlockFold::new(pass, &ab, 1);
    for (index, send_ms) in sent_ms.iter().enumerate() {
        let mut record = steady(*send_ms, 40.0, 20.0, 4);
        record.index = index as u32;
        fold.add(&Timeline::new(&record));
    }
    for index in 0..refused {
        let mut record = steady(0.0, 40.0, 20.0, 4);
        record.index = sent_ms.len() as u32 + index;
        (record.send_start, record.outcome) = (None, Outcome::Connection { phase: Phase::Connect });
        fold.add(&Timeline::new(&record));
    }
    fold.finish()
}

#[test]
fn a_block_whose_last_requests_were_refused_has_no_rate() {
    let pass = PassPlan::closed(2, Bound::requests(12));
    let block = fold(&pass, 10, &[0.0, 0.0, 100.0, 100.0], 8).expect("all requests have records");
    assert_eq!((block.values, block.complete), (vec![None], 4));
}

#[test]
fn the_rate_of_a_saturated_block_uses_only_its_counted_requests() {
    let arrivals = PassPlan::saturated(4);
    // Each request takes 100 ms. The first two do not count; the other two last from 200 to 500 ms.
    let block = fold(&arrivals, 2, &[0.0, 100.0, 200.0, 400.0], 0).expect("a block");
    let rate = block.values[0].expect("a rate");
    assert!((rate - 2.0 / 0.3).abs() < 1e-6, "{rate}");
}
