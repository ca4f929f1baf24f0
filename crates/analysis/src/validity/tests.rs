//! Each rule on both sides of its limit.

use super::*;
use crate::cell::cell;
use crate::distributions::Distributions;
use crate::fold::PassFold;
use crate::instrument::Instrument;
use inferometer_load::{Bound, CountOf, PassPlan, Script};
use inferometer_metrics::{e2e, itl, tpot, ttft};
use inferometer_model::fixture::{ms, steady};
use inferometer_model::outcome::Outcome;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_stats::Distribution;

fn cells(pass: &PassPlan, records: &[Record]) -> Vec<Cell> {
    let mut fold = PassFold::new(pass);
    records.iter().for_each(|record| fold.add(record));
    vec![cell(128, 32, vec![fold.finish()])]
}

const SATURATED: PassPlan = PassPlan::Saturated { requests: 100 };

fn open(rate: f64) -> PassPlan {
    PassPlan::open(rate, Bound::requests(100))
}

/// A hundred requests sent this late, in milliseconds.
fn sent_late(delay_ms: f64) -> Vec<Record> {
    let late = |_| {
        let mut record = steady(100.0, 50.0, 10.0, 4);
        record.due = ms(100.0 - delay_ms);
        record
    };
    (0..100).map(late).collect()
}

fn bound(instrument: &Instrument, metric: &Definition) -> Distribution {
    *instrument.bounds.bound(metric).expect("a bound")
}

/// Bounds of one metric, and of no other.
fn only(metric: &Definition, bound: Distribution) -> Distributions {
    Distributions::of_bounds(|other| (other.name == metric.name).then_some(bound))
}

#[test]
fn a_run_whose_client_was_exact_is_valid() {
    let records = sent_late(0.0);
    for pass in [SATURATED, open(10.0)] {
        assert_eq!(judge(&cells(&pass, &records)), (Validity::Valid, Vec::new()));
    }
    assert_eq!(judge(&[]), (Validity::Valid, Vec::new()));
}

#[test]
fn error_bounds_are_held_against_median_and_99th_percentile_of_each_latency() {
    // Each request: TTFT 50 ms, three more tokens 10 ms apart, E2E 80 ms.
    let figures = [
        ("TTFT", 50.0, &ttft::FROM_SENT),
        ("TPOT", 10.0, &tpot::DEFINITION),
        ("ITL", 10.0, &itl::DEFINITION),
        ("E2E", 80.0, &e2e::FROM_SENT),
    ];
    for (name, figure_ms, metric) in figures {
        let (of_p50, of_p99) = (10.0 * figure_ms, 50.0 * figure_ms);
        for (p50, p99, broken) in [
            (of_p50 - 1.0, of_p99 - 1.0, None),
            (of_p50 + 1.0, of_p99 - 1.0, Some("median")),
            (0.0, of_p99 + 1.0, Some("99th percentile")),
            // Both are broken: the worse one is told.
            (of_p50 + 1.0, 9.0 * of_p99, Some("99th percentile")),
        ] {
            let mut cells = cells(&SATURATED, &sent_late(0.0));
            let instrument = &mut cells[0].passes[0].instrument;
            instrument.bounds =
                only(metric, Distribution { p50, p99, ..bound(instrument, metric) });
            let (validity, reasons) = judge(&cells);
            assert_eq!(validity == Validity::Valid, broken.is_none(), "{reasons:?}");
            assert_eq!(reasons.len(), usize::from(broken.is_some()), "{reasons:?}");
            for (reason, statistic) in reasons.iter().zip(broken) {
                let begins = format!("128 x 32, saturated: the {statistic} of {name} is ");
                assert!(reason.starts_with(&begins), "{reason}");
            }
        }
    }
}

#[test]
fn a_figure_of_zero_has_no_share_to_hold_a_bound_against() {
    let mut cells = cells(&SATURATED, &sent_late(0.0));
    let pass = &mut cells[0].passes[0];
    let bound = Distribution { p50: 100.0, ..bound(&pass.instrument, &itl::DEFINITION) };
    pass.instrument.bounds = only(&itl::DEFINITION, bound);
    *pass.latencies.entry(&itl::DEFINITION) =
        pass.latencies.get(&itl::DEFINITION).map(|itl| Distribution { p50: 0.0, ..*itl });
    assert_eq!(judge(&cells).0, Validity::Valid);
}

#[test]
fn reads_without_the_kernels_stamp_are_named_as_the_cause() {
    let mut records = sent_late(0.0);
    for record in &mut records {
        record.reads[0].kernel = None;
    }
    let (validity, reasons) = judge(&cells(&SATURATED, &records));
    assert_eq!(validity, Validity::Suspect);
    assert_eq!(
        reasons[0],
        "128 x 32, saturated: the median of TTFT is 50.020 ms, but the client's error bound on it \
         is 50.020 ms, more than 1 % of it (100 of 400 reads bore no stamp of the kernel's)."
    );
}

#[test]
fn send_delay_is_judged_in_open_loops_only() {
    for (pass, delay_ms, valid) in [
        // 5 % of 1,000 ms are 50 ms, but never more than 10 ms are allowed.
        (open(1.0), 9.9, true),
        (open(1.0), 10.1, false),
        // 5 % of 10 ms.
        (open(100.0), 0.49, true),
        (open(100.0), 0.51, false),
        (SATURATED, 5_000.0, true),
    ] {
        let (validity, reasons) = judge(&cells(&pass, &sent_late(delay_ms)));
        assert_eq!(validity == Validity::Valid, valid, "{pass} {delay_ms} {reasons:?}");
    }
}

#[test]
fn the_gap_of_conversations_is_that_of_their_requests() {
    let begin = Box::new(open(0.1));
    let mut script = Script::of(10);
    script.turns = 100;
    let pass = PassPlan::Conversations { script, begin, of: CountOf::Conversations };
    // A hundred turns within 99 * 20 + 80 ms, of conversations that begin each 10 s.
    let late = |delay_ms: f64| -> Vec<Record> {
        let turn = |at: u32| {
            let due_ms = f64::from(at) * 20.0 + 10.0;
            Record { due: ms(due_ms), ..steady(due_ms + delay_ms, 50.0, 10.0, 4) }
        };
        (0..100).map(turn).collect()
    };
    assert_eq!(judge(&cells(&pass, &late(0.9))).0, Validity::Valid);
    assert_eq!(judge(&cells(&pass, &late(1.2))).0, Validity::Suspect);
}

#[test]
fn anything_dropped_makes_a_run_suspect() {
    let mut records = sent_late(0.0);
    records[3] = Record::planned(0, 3, ms(1.0));
    assert_eq!(judge(&cells(&open(10.0), &records)).0, Validity::Valid);
    records[3].outcome = Outcome::Dropped;
    let (validity, reasons) = judge(&cells(&open(10.0), &records));
    assert_eq!(validity, Validity::Suspect);
    assert_eq!(
        reasons,
        ["128 x 32, open loop, 10 requests/s: 1 of 100 planned requests were dropped."]
    );
}

#[test]
fn a_rule_broken_in_many_passes_is_one_sentence_about_the_worst() {
    let passes: Vec<Cell> =
        [20.0, 40.0, 30.0].iter().flat_map(|&late| cells(&open(2.0), &sent_late(late))).collect();
    let (_, reasons) = judge(&passes);
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].contains("send_delay is 40.000 ms"), "{}", reasons[0]);
    assert!(reasons[0].ends_with("broken in 2 other passes."), "{}", reasons[0]);
}

#[test]
fn a_client_that_stood_still_or_never_rested_is_suspect() {
    let second = Process { wall_us: 1_000_000, cpu_us: 900_000, ..Process::default() };
    for (process, broken) in [
        (second, None),
        (Process { stalls: 3, stalled_us: 100_000, ..second }, Some("stood still for 10.0 %")),
        // Below 100 ms, and below 5 % of the pass, nothing is said.
        (Process { stalls: 3, stalled_us: 99_999, ..second }, None),
        (Process { stalls: 3, stalled_us: 100_000, wall_us: 2_000_000, ..second }, None),
        (Process { busy_us: 960_000, ..second }, Some("at work for 96.0 %")),
        (Process { busy_us: 950_000, ..second }, None),
        (Process { busy_us: 499_000, wall_us: 499_999, ..second }, None),
    ] {
        let mut cells = cells(&SATURATED, &sent_late(0.0));
        cells[0].passes[0].instrument.process = Some(process);
        let (validity, reasons) = judge(&cells);
        assert_eq!(validity == Validity::Valid, broken.is_none(), "{reasons:?}");
        for (reason, words) in reasons.iter().zip(broken) {
            assert!(reason.contains(words), "{reason}");
        }
    }
}
