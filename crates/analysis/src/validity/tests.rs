//! Tests each rule on both sides of its limit.

use super::*;
use crate::PassFold;
use crate::cell::cell;
use crate::observed::ServerMetrics;
use crate::range::Range;
use inferometer_model::fixture::{ms, steady};
use inferometer_model::load::{ConversationsPlan, CountOf, Script};
use inferometer_model::metrics::{latency_per_token, ttft};
use inferometer_model::{
    Bound, Outcome, PassPlan, Process, Record, Statistic, Timeline, TokensFrom,
};

fn cells(pass: &PassPlan, records: &[Record]) -> Vec<Cell> {
    let mut fold = PassFold::new(pass);
    records.iter().for_each(|record| fold.add(&Timeline::new(record)));
    vec![cell(128, 32, vec![fold.finish()])]
}

const SATURATED: PassPlan = PassPlan::saturated(100);

fn open(rate: f64) -> PassPlan {
    PassPlan::open(rate, Bound::requests(100))
}

/// A hundred requests that were sent `delay_ms` milliseconds late.
fn sent_late(delay_ms: f64) -> Vec<Record> {
    let late = |_| {
        let mut record = steady(100.0, 50.0, 10.0, 4);
        record.due = ms(100.0 - delay_ms);
        record
    };
    (0..100).map(late).collect()
}

#[test]
fn a_run_whose_client_was_exact_is_valid() {
    let records = sent_late(0.0);
    for pass in [SATURATED, open(10.0)] {
        assert_eq!(judge(&cells(&pass, &records), &[]), (Validity::Valid, Vec::new()));
    }
    assert_eq!(judge(&[], &[]), (Validity::Valid, Vec::new()));
}

#[test]
fn a_run_is_suspect_if_a_figure_of_its_table_is_unreliable() {
    // Each request has an E2E of 80 ms, and 8 + 4 tokens.
    let of = &latency_per_token::DEFINITION;
    for (metric, statistic, low, broken) in [
        (of, Statistic::Mean, 6.64, None),
        (of, Statistic::Mean, 5.4, None),
        (
            of,
            Statistic::Mean,
            5.3,
            Some(["latency_per_token_ms is 6.667, ", "between 5.300 and 6.667"]),
        ),
        // The results table does not show these figures. Reports mark them as unreliable, but the
        // run stays valid.
        (of, Statistic::P50, 1.0, None),
        (&ttft::FROM_SENT, Statistic::Mean, 1.0, None),
    ] {
        let mut cells = cells(&SATURATED, &sent_late(0.0));
        let pass = &mut cells[0].passes[0];
        let figure = statistic.of(pass.latency(metric).expect("measured")).expect("a figure");
        pass.instrument.ranges.set(metric, statistic, Range::of(figure, low, figure, 0.01));
        let (validity, reasons) = judge(&cells, &[]);
        assert_eq!(validity == Validity::Valid, broken.is_none(), "{reasons:?}");
        assert_eq!(reasons.len(), usize::from(broken.is_some()), "{reasons:?}");
        for (reason, words) in reasons.iter().zip(broken) {
            assert!(reason.starts_with("128 x 32: "), "{reason}");
            assert!(words.iter().all(|words| reason.contains(words)), "{reason}");
        }
    }
}

#[test]
fn missing_kernel_timestamps_are_named_as_the_cause_of_a_suspect_run() {
    let mut records = sent_late(0.0);
    for record in &mut records {
        record.reads[3].kernel = None;
        record.reads[3].empty_before = ms(100.0);
        record.ended = Some(record.reads[3].user);
    }
    let (validity, reasons) = judge(&cells(&SATURATED, &records), &[]);
    assert_eq!((validity, reasons.len()), (Validity::Suspect, 4), "{reasons:?}");
    for part in
        ["128 x 32: latency_per_token_ms is 6.668", "0.000 and 6.668: 100 of 400 reads", "kernel"]
    {
        assert!(reasons[2].contains(part), "{part}: {}", reasons[2]);
    }
}

#[test]
fn an_objective_left_undecided_by_the_clients_error_makes_a_run_suspect() {
    let open = SloResult {
        objective: "ttft_p99<50ms".to_owned(),
        place: "128 x 32, saturated".to_owned(),
        undecided: Some("the true value may be on either side".to_owned()),
        ..SloResult::default()
    };
    let decided = SloResult { undecided: None, ..open.clone() };
    let cells = cells(&SATURATED, &sent_late(0.0));
    assert_eq!(judge(&cells, &[decided]).0, Validity::Valid);
    let (validity, reasons) = judge(&cells, &[open]);
    assert_eq!(validity, Validity::Suspect);
    assert!(reasons[0].contains("ttft_p99<50ms is undecided: the true value"), "{reasons:?}");
}

#[test]
fn send_delay_is_judged_in_open_loops_only() {
    for (pass, delay_ms, valid) in [
        // 5 % of 1,000 ms are 50 ms, but at most 10 ms are allowed.
        (open(1.0), 9.9, true),
        (open(1.0), 10.1, false),
        // 5 % of 10 ms are 0.5 ms.
        (open(100.0), 0.49, true),
        (open(100.0), 0.51, false),
        (SATURATED, 5_000.0, true),
    ] {
        let (validity, reasons) = judge(&cells(&pass, &sent_late(delay_ms)), &[]);
        assert_eq!(validity == Validity::Valid, valid, "{pass} {delay_ms} {reasons:?}");
    }
}

#[test]
fn the_send_delay_limit_of_conversations_depends_on_the_gap_between_their_requests() {
    let begin = Box::new(open(0.1));
    let mut script = Script::of(10);
    script.turns = 100;
    let pass =
        PassPlan::Conversations(ConversationsPlan { script, begin, of: CountOf::Conversations });
    // A hundred turns within 99 * 20 + 80 ms. According to the plan, conversations begin every 10 s.
    let late = |delay_ms: f64| -> Vec<Record> {
        let turn = |at: u32| {
            let due_ms = f64::from(at) * 20.0 + 10.0;
            Record { due: ms(due_ms), ..steady(due_ms + delay_ms, 50.0, 10.0, 4) }
        };
        (0..100).map(turn).collect()
    };
    assert_eq!(judge(&cells(&pass, &late(0.9)), &[]).0, Validity::Valid);
    assert_eq!(judge(&cells(&pass, &late(1.2)), &[]).0, Validity::Suspect);
}

#[test]
fn a_dropped_request_makes_a_run_suspect() {
    let mut records = sent_late(0.0);
    records[3] = Record::planned(0, 3, ms(1.0));
    assert_eq!(judge(&cells(&open(10.0), &records), &[]).0, Validity::Valid);
    records[3].outcome = Outcome::Dropped;
    let (validity, reasons) = judge(&cells(&open(10.0), &records), &[]);
    assert_eq!(validity, Validity::Suspect);
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    let begins = "128 x 32, open loop, 10 requests/s: 1 of 100 ";
    assert!(reason.starts_with(begins) && reason.contains("dropped"), "{reason}");
}

#[test]
fn a_rule_violated_in_several_passes_gives_one_reason_about_the_worst_pass() {
    let passes: Vec<Cell> =
        [20.0, 40.0, 30.0].iter().flat_map(|&late| cells(&open(2.0), &sent_late(late))).collect();
    let (_, reasons) = judge(&passes, &[]);
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].contains("send_delay is 40.000 ms"), "{}", reasons[0]);
    assert!(reasons[0].ends_with("same holds for 2 other passes."), "{}", reasons[0]);
}

#[test]
fn a_client_that_stalls_or_is_always_busy_makes_a_run_suspect() {
    let second = Process { wall_us: 1_000_000, cpu_us: 900_000, ..Process::default() };
    // All 100 requests are sent at the same time, and end 80 ms later. A client counts as always
    // busy if it is busy for more than 95 % of a pass that lasts at least half a second.
    for (process, broken) in [
        (second, None),
        (Process { stalls: 3, stalled_us: 100_000, ..second }, Some("was stopped for 10.0 %")),
        // Stalls of less than 100 ms in total do not count, nor do stalls of at most 5 % of the
        // pass.
        (Process { stalls: 3, stalled_us: 99_999, ..second }, None),
        (Process { stalls: 3, stalled_us: 100_000, wall_us: 2_000_000, ..second }, None),
        (Process { busy_us: 960_000, ..second }, Some("busy for 96.0 %")),
        (Process { busy_us: 950_000, ..second }, None),
        (Process { busy_us: 499_000, wall_us: 499_999, ..second }, None),
    ] {
        let mut cells = cells(&SATURATED, &sent_late(0.0));
        cells[0].passes[0].instrument.process = Some(process);
        let (validity, reasons) = judge(&cells, &[]);
        assert_eq!(validity == Validity::Valid, broken.is_none(), "{reasons:?}");
        for (reason, words) in reasons.iter().zip(broken) {
            assert!(reason.contains(words) && reason.contains("_per_s is "), "{reason}");
        }
    }
}

#[test]
fn a_run_is_suspect_if_the_server_generated_more_than_this_client_received() {
    for (generated, broken) in [(400.0, false), (430.0, false), (450.0, true)] {
        let mut cells = cells(&SATURATED, &sent_late(0.0));
        let pass = &mut cells[0].passes[0];
        pass.tokens_from = Some(TokensFrom::Usage);
        pass.server =
            Some(ServerMetrics { generation_tokens: Some(generated), ..ServerMetrics::default() });
        let (validity, reasons) = judge(&cells, &[]);
        assert_eq!(validity == Validity::Suspect, broken, "{generated}: {reasons:?}");
        assert!(reasons.iter().all(|why| why.contains("450 output tokens, of which")));
    }
}
