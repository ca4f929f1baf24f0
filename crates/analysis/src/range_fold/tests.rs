//! Tests that the true values lie in the ranges, in whatever way the client read the events.

use inferometer_model::fixture::{ms, steady, stream};
use inferometer_model::metrics::{itl, registry, tpot, ttft};
use inferometer_model::record::EventKind::{Text, Usage};
use inferometer_model::{PassPlan, Record, Statistic, Timeline};
use proptest::prelude::*;

use crate::range::Trust;
use crate::{PassFold, PassSummary};

fn folded(records: &[Record]) -> PassSummary {
    let mut fold = PassFold::new(&PassPlan::saturated(10));
    records.iter().for_each(|record| fold.add(&Timeline::new(record)));
    fold.finish()
}

/// A stream whose events follow each other after these gaps in milliseconds. With `at_once`, an event with the flag is
/// read together with the next event without the flag.
fn seen(gaps: &[(f64, bool)], at_once: bool) -> Record {
    let mut at = 0.0;
    let times: Vec<f64> = gaps
        .iter()
        .map(|(gap, _)| {
            at += gap;
            at
        })
        .collect();
    let stamp = |index: usize| {
        let last = (index..times.len()).find(|&at| !at_once || !gaps[at].1);
        times[last.unwrap_or(times.len() - 1)]
    };
    let mut events: Vec<_> = (0..times.len()).map(|index| (stamp(index), Text, None)).collect();
    // The stamp of a read belongs to its last event. In the last read, this is a usage event, so the time of the last
    // token is not exact either.
    events.push((stamp(times.len() - 1), Usage, None));
    let mut record = stream(0.0, &events);
    record.usage.completion = u32::try_from(times.len()).ok();
    record.usage.prompt = Some(8);
    record
}

proptest! {
    #[test]
    fn the_true_value_of_every_figure_lies_within_its_range(
        streams in prop::collection::vec(
            (prop::collection::vec((0.1_f64..10.0, any::<bool>()), 2..12), any::<bool>()),
            1..8,
        ),
    ) {
        let truth: Vec<Record> = streams.iter().map(|(gaps, _)| seen(gaps, false)).collect();
        let of_client = streams.iter().map(|(gaps, stamped)| {
            let mut record = seen(gaps, true);
            if !stamped {
                record.reads.iter_mut().for_each(|read| read.kernel = None);
                record.ended = record.reads.last().map(|read| read.user);
            }
            record
        });
        let (truth, measured) = (folded(&truth), folded(&of_client.collect::<Vec<_>>()));
        for (_, metric) in registry::in_results() {
            let both = truth.latency(metric).zip(measured.latency(metric));
            for (statistic, (truth, figure)) in Statistic::ALL.into_iter().zip(both.into_iter().cycle()) {
                let (truth, figure) = (statistic.of(truth).unwrap(), statistic.of(figure).unwrap());
                let range = measured.instrument.ranges.get(metric, statistic);
                let (low, high) = range.map_or((figure, figure), |range| (range.low, range.high));
                prop_assert!(
                    (low - 1e-6..=high + 1e-6).contains(&truth),
                    "{} {}: {truth} is not in {low} to {high}", metric.name, statistic.name()
                );
            }
        }
        let end_s = measured.instrument.end_width_us * 1e-6;
        let (true_s, measured_s) = (truth.duration_s.unwrap(), measured.duration_s.unwrap());
        prop_assert!(true_s <= measured_s + 1e-9 && measured_s - end_s <= true_s + 1e-9);
    }
}

#[test]
fn the_median_itl_has_a_range_even_if_most_arrival_times_are_exact() {
    // A token every 2.1 ms. Of every five tokens, the client read the second, the third and the fourth together.
    let gaps: Vec<(f64, bool)> = (0..100).map(|at| (2.1, matches!(at % 5, 1 | 2))).collect();
    let records = [seen(&gaps, true)];
    let got = folded(&records);
    let widths = got.instrument.arrival_width_us.expect("tokens");
    assert_eq!(widths.p50, 0.0, "fewer than half of the intervals are wide");
    let range = got.instrument.ranges.get(&itl::DEFINITION, Statistic::P50).expect("a range");
    assert!(range.low <= 2.1 && 2.1 <= range.high && range.trust != Trust::Trusted, "{range:?}");
}

#[test]
fn exact_arrivals_give_no_ranges_and_an_uncertain_one_gives_ranges_to_figures_that_depend_on_it() {
    let mut records: Vec<Record> = (0..9).map(|_| steady(0.0, 40.0, 10.0, 5)).collect();
    assert!(folded(&records).instrument.ranges.is_empty());
    // The first token of the last request has no kernel stamp: it arrived between 0 and 40.02 ms.
    records[8].reads[0].kernel = None;
    let got = folded(&records);
    let ends = |metric, statistic| {
        let range = got.instrument.ranges.get(metric, statistic).expect("a range");
        [range.low, range.high].map(|end| (end * 1e3).round() / 1e3)
    };
    assert_eq!(ends(&ttft::FROM_SENT, Statistic::P50), [40.0, 40.0]);
    assert_eq!(ends(&ttft::FROM_SENT, Statistic::Max), [40.0, 40.02]);
    assert_eq!(ends(&ttft::FROM_DUE, Statistic::Mean), [35.556, 40.002]);
    // The TPOT of the last request lies between 39.98 ms / 4 and 80 ms / 4.
    assert_eq!(ends(&tpot::DEFINITION, Statistic::Max), [10.0, 20.0]);
    assert_eq!(ends(&tpot::DEFINITION, Statistic::P50), [10.0, 10.0]);
    assert_eq!(got.instrument.end_width_us, 0.0);
}

#[test]
fn a_response_without_streaming_and_kernel_timestamp_has_a_range_of_e2e() {
    let mut record = steady(0.0, 40.0, 10.0, 1);
    (record.streamed, record.reads[0].kernel) = (false, None);
    record.reads[0].empty_before = ms(30.0);
    record.ended = Some(record.reads[0].user);
    let got = folded(&[record]);
    let e2e = inferometer_model::metrics::e2e::FROM_SENT;
    let range = got.instrument.ranges.get(&e2e, Statistic::P50).expect("a range");
    assert_eq!((range.low.round(), range.high), (30.0, 40.02));
    assert_eq!(got.instrument.end_width_us.round(), 10_020.0);
}
