//! Tests summaries of samples against values that were computed by hand.

use std::collections::BTreeMap;

use inferometer_model::sample::{
    Buckets, CardSample, Latency, Quantity, Sample, ServerSample, SourceSample,
};
use inferometer_model::stats::seed;
use inferometer_model::{Nanos, Observed};

use super::*;

fn said(values: &[(Quantity, f64)]) -> ServerSample {
    ServerSample { values: values.iter().copied().collect(), histograms: BTreeMap::new() }
}

fn at(ms: u64, server: Option<ServerSample>) -> Sample {
    let missing = if server.is_none() { vec!["refused".to_owned()] } else { Vec::new() };
    Sample { at: Nanos(ms * 1_000_000), took_us: ms, server, missing, ..Sample::default() }
}

fn buckets(count: f64, sum: f64, below: &[(f64, f64)]) -> Buckets {
    Buckets { count, sum, below: below.to_vec() }
}

#[test]
fn server_metrics_use_gauges_within_the_pass_and_increases_of_counters() {
    use Quantity::{GenerationTokens, Running};
    let mut first = said(&[(Running, 9.0), (GenerationTokens, 100.0)]);
    let mut last = said(&[(Running, 0.0), (GenerationTokens, 160.0)]);
    first.histograms.insert(Latency::Ttft, buckets(10.0, 1.0, &[(0.1, 4.0), (0.2, 10.0)]));
    last.histograms.insert(Latency::Ttft, buckets(14.0, 1.8, &[(0.1, 5.0), (0.2, 13.0)]));
    first.histograms.insert(Latency::Queue, buckets(10.0, 1.0, &[(0.1, 10.0)]));
    last.histograms.insert(Latency::Queue, buckets(14.0, 1.2, &[(0.1, 14.0)]));
    let observed = Observed {
        asks_server: true,
        cpu_us: 1_500,
        cards_named: false,
        sources: Vec::new(),
        samples: vec![
            at(10, Some(first)),
            at(30, Some(said(&[(Running, 2.0), (GenerationTokens, 120.0)]))),
            Sample { took_us: 1, ..at(50, None) },
            at(70, Some(said(&[(Running, 4.0)]))),
            at(90, Some(last)),
        ],
    };
    let steps = [(Nanos(20_000_000), 1), (Nanos(40_000_000), 5), (Nanos(80_000_000), 0)];
    let window = (Nanos(20_000_000), Nanos(80_000_000));
    let metrics = ServerMetrics::of(&observed, window, &steps).unwrap();
    assert_eq!((metrics.scrapes, metrics.failed), (5, 1));
    assert_eq!(metrics.first_failure.as_deref(), Some("refused"));
    assert_eq!(metrics.running, Some(Level { mean: 3.0, max: 4.0, n: 2 }));
    assert_eq!((metrics.generation_tokens, metrics.preemptions), (Some(60.0), None));
    assert_eq!(
        (metrics.took_ms_min, metrics.took_ms_max, metrics.client_cpu_ms),
        (0.01, 0.09, 1.5)
    );
    let ttft = metrics.ttft_ms.unwrap();
    assert!((ttft.mean - 200.0).abs() < 1e-9, "{ttft:?}");
    assert_eq!((ttft.p50_above, ttft.p50_below, ttft.n), (100.0, Some(200.0), 4.0));
    assert!((metrics.queue_ms.unwrap().mean - 50.0).abs() < 1e-9, "{:?}", metrics.queue_ms);
    let instants: Vec<(f64, u64)> =
        metrics.timeline.iter().map(|i| (i.at_s, i.in_flight)).collect();
    assert_eq!(instants, [(0.01, 1), (0.05, 5)]);
}

#[test]
fn a_restarted_server_has_no_counter_increase_and_an_unscraped_server_has_no_metrics() {
    let counter = |value| Some(said(&[(Quantity::Preemptions, value)]));
    let mut observed = Observed {
        asks_server: true,
        cpu_us: 0,
        cards_named: false,
        sources: Vec::new(),
        samples: vec![at(0, counter(5.0)), at(9, counter(1.0))],
    };
    let window = (Nanos(1), Nanos(2));
    assert_eq!(ServerMetrics::of(&observed, window, &[]).unwrap().preemptions, None);
    observed.asks_server = false;
    assert_eq!(ServerMetrics::of(&observed, window, &[]), None);
    let silent = Observed { asks_server: true, samples: vec![at(5, None)], ..Observed::default() };
    let metrics = ServerMetrics::of(&silent, window, &[]).unwrap();
    assert_eq!((metrics.took_ms_min, metrics.took_ms_mean, metrics.took_ms_max), (0.0, 0.0, 0.0));
    let new = buckets(1.0, 0.1, &[(0.1, 1.0)]);
    assert_eq!(new.since(&buckets(2.0, 0.1, &[(0.1, 1.0)])), None);
    assert_eq!(new.since(&buckets(0.0, 0.0, &[(0.2, 0.0)])), None);
}

#[test]
fn a_quantile_above_all_bucket_bounds_has_no_upper_bound() {
    let all_above = buckets(4.0, 80.0, &[(1.0, 1.0)]);
    assert_eq!(all_above.quantile_within(0.5), Some([1.0, f64::INFINITY]));
    assert_eq!(all_above.quantile_within(0.25), Some([0.0, 1.0]));
    assert_eq!(buckets(0.0, 0.0, &[]).quantile_within(0.5), None);
}

#[test]
fn energy_comes_from_the_cards_counter_or_else_from_the_integral_of_power() {
    let sample = |ms: u64, power_w: f64, energy_j: Option<f64>| {
        let card = CardSample { power_w: Some(power_w), energy_j, ..CardSample::default() };
        let second = CardSample { index: 1, energy_j: None, ..card };
        Sample { at: Nanos(ms * 1_000_000), cards: vec![card, second], ..Sample::default() }
    };
    // From 1 to 3 s, the counter increases from 1,150 to 1,450 J. Power is 200 W.
    let samples = (0..=40_u32)
        .map(|at| sample(100 * u64::from(at), 200.0, Some(1_000.0 + 15.0 * f64::from(at))));
    let mut observed =
        Observed { cards_named: true, samples: samples.collect(), ..Observed::default() };
    let window = (Nanos(1_000_000_000), Nanos(3_000_000_000));
    let used = HardwareUse::of(&observed, window, 100, 10).unwrap();
    assert_eq!(used.cards[0].energy_from, Some(Energy::Counter));
    assert_eq!(used.cards[1].energy_from, Some(Energy::Power));
    let joules: Vec<f64> = used.cards.iter().filter_map(|card| card.energy_j).collect();
    assert!((joules[0] - 300.0).abs() < 1e-9 && (joules[1] - 400.0).abs() < 1e-9, "{joules:?}");
    assert_eq!(
        (used.energy_j, used.energy_per_request_j),
        (Some(joules[0] + joules[1]), Some(70.0))
    );
    assert_eq!(used.energy_per_output_token_j, Some(7.0));
    assert_eq!(used.cards[0].power_w, Some(Level { mean: 200.0, max: 200.0, n: 21 }));
    assert_eq!((used.cards[1].coverage, used.cards[1].idle_share), (Some(1.0), Some(1.0)));
    // If the plan does not name the cards, it is unknown whether they work for the server.
    observed.cards_named = false;
    let unnamed = HardwareUse::of(&observed, window, 100, 10).unwrap();
    assert_eq!((unnamed.energy_j, unnamed.energy_per_output_token_j), (used.energy_j, None));
    assert_eq!(unnamed.energy_per_request_j, None);
    // Samples that do not cover the whole window give no energy.
    let beyond = HardwareUse::of(&observed, (Nanos(1), Nanos(5_000_000_000)), 1, 1).unwrap();
    assert_eq!((beyond.energy_j, beyond.cards[0].energy_j), (None, None));
    assert_eq!(beyond.cards[1].energy_unknown, Some(EnergyUnknown::NotCovered));
}

/// A card that is idle until 10 s and from 70 s on. In between, its power waves slowly around 300 W, and swings by
/// `swing_w` every `each_s` seconds. It is sampled every second or so, but not in the gap.
fn planted(seed: u64, swing_w: f64, each_s: f64, gap_s: f64, has_counter: bool) -> (Observed, f64) {
    let mut rng = seed::rng(seed, &["power"]);
    let phase = seed::unit(&mut rng);
    let watts = |ms: u32| {
        let s = f64::from(ms) / 1e3;
        let ramp = ((s - 10.0) / 0.2).clamp(0.0, 1.0) * ((70.0 - s) / 0.2).clamp(0.0, 1.0);
        let wave = 50.0 * (s / 6.0 + 6.0 * phase).sin();
        let swing = if (s / each_s + phase).fract() < 0.5 { swing_w } else { -swing_w };
        60.0 + ramp * (240.0 + wave + swing)
    };
    let mut joules = vec![0.0];
    (0..80_000).for_each(|ms| joules.push(joules[ms as usize] + watts(ms) / 1e3));
    let gap_at_s = 8.0 + 60.0 * seed::unit(&mut rng);
    let (mut samples, mut at_ms) = (Vec::new(), 0);
    while at_ms < 80_000 {
        let s = f64::from(at_ms) / 1e3;
        if !(gap_at_s..gap_at_s + gap_s).contains(&s) {
            let energy_j = has_counter.then(|| joules[at_ms as usize]);
            let card =
                CardSample { power_w: Some(watts(at_ms)), energy_j, ..CardSample::default() };
            let at = Nanos(u64::from(at_ms) * 1_000_000);
            samples.push(Sample { at, cards: vec![card], ..Sample::default() });
        }
        at_ms += 950 + (100.0 * seed::unit(&mut rng)) as u32;
    }
    let truth = joules[70_000] - joules[10_000];
    (Observed { samples, cards_named: true, ..Observed::default() }, truth)
}

#[test]
fn energy_is_within_1_percent_of_planted_power_curves_or_unknown_with_its_reason() {
    let window = (Nanos(10_000_000_000), Nanos(70_000_000_000));
    for (swing_w, each_s, gap_s, has_counter, least, most) in [
        (0.0, 1.0, 0.0, false, 0.9, 1.0),
        (0.0, 1.0, 0.0, true, 1.0, 1.0),
        (20.0, 3.7, 0.0, false, 0.8, 1.0),
        // Swings as fast as the samples hide from them.
        (150.0, 2.3, 0.0, false, 0.0, 0.1),
        (0.0, 1.0, 12.0, false, 0.0, 0.1),
        // A counter loses nothing in a gap within the pass.
        (0.0, 1.0, 12.0, true, 0.7, 0.95),
    ] {
        let (mut known, mut wrong) = (0, 0);
        for seed in 0..200 {
            let (observed, truth) = planted(seed, swing_w, each_s, gap_s, has_counter);
            let card = HardwareUse::of(&observed, window, 1, 1).unwrap().cards[0];
            assert_eq!(card.energy_j.is_none(), card.energy_unknown.is_some(), "{card:?}");
            let Some(joules) = card.energy_j else { continue };
            known += 1;
            wrong += u32::from((joules / truth - 1.0).abs() > 0.01);
            let idle = card.idle_share.unwrap();
            assert!((idle - 60.0 * 60.0 / truth).abs() < 0.01, "{idle}");
        }
        let share = f64::from(known) / 200.0;
        let case = format!(
            "{swing_w} W, {each_s} s, gap {gap_s} s, counter {has_counter}: {wrong} of {known}"
        );
        assert!((least..=most).contains(&share), "{case}");
        // The check of a swing has an error of its own.
        assert!(f64::from(wrong) <= 0.02 * f64::from(known), "{case}");
    }
}

/// One sample per second of a card at 100 W. An exporter reads the card every `collected_each_s` seconds.
fn exported(seconds: u64, collected_each_s: u64) -> Observed {
    let sample = |second: u64| {
        let read_at = (second / collected_each_s * collected_each_s) as f64;
        let energy_j = Some(1_000.0 + 100.0 * read_at);
        let clock_mhz = Some(1_000.0 + read_at);
        let card = CardSample { energy_j, clock_mhz, cached: true, ..CardSample::default() };
        Sample { at: Nanos(second * 1_000_000_000), cards: vec![card], ..Sample::default() }
    };
    Observed { samples: (0..=seconds).map(sample).collect(), ..Observed::default() }
}

#[test]
fn a_card_read_too_seldom_has_no_energy_and_only_the_levels_that_were_read() {
    let within =
        |from: u64, until: u64| (Nanos(from * 1_000_000_000), Nanos(until * 1_000_000_000));
    let of = |observed: &Observed, window| HardwareUse::of(observed, window, 1, 1).unwrap();
    let fresh = of(&exported(30, 1), within(5, 25));
    assert_eq!((fresh.energy_j, fresh.cards[0].readings), (Some(2_000.0), Some(21)));
    for (window, readings, clock) in [
        (within(31, 41), 0, None),
        (within(25, 35), 1, Some(1_030.0)),
        (within(10, 100), 3, Some(1_060.0)),
    ] {
        let stale = of(&exported(120, 30), window);
        let card = stale.cards[0];
        assert_eq!((stale.energy_j, card.energy_from, card.readings), (None, None, Some(readings)));
        assert_eq!(card.clock_mhz.map(|level| level.mean), clock);
    }
}

#[test]
fn an_energy_counter_that_does_not_change_gives_no_energy() {
    let sample = |second: u64| {
        let card = CardSample { energy_j: Some(7.0), ..CardSample::default() };
        Sample { at: Nanos(second * 1_000_000_000), cards: vec![card], ..Sample::default() }
    };
    let observed = Observed { samples: (0..3).map(sample).collect(), ..Observed::default() };
    let used = HardwareUse::of(&observed, (Nanos(1), Nanos(2_000_000_000)), 1, 1).unwrap();
    assert_eq!((used.energy_j, used.cards[0].energy_from), (None, None));
}

#[test]
fn failed_card_reads_are_counted_with_and_without_a_server() {
    let gone = |server| Sample { cards_missing: vec!["gone".to_owned()], ..at(1, server) };
    let card = CardSample { power_w: Some(1.0), ..CardSample::default() };
    let seen = Sample { cards: vec![card], ..at(1, None) };
    let samples = vec![seen, gone(None), gone(Some(said(&[])))];
    let observed = Observed { samples, ..Observed::default() };
    let used = HardwareUse::of(&observed, (Nanos(1), Nanos(2)), 1, 1).unwrap();
    assert_eq!((used.asked, used.failed, used.first_failure.as_deref()), (3, 2, Some("gone")));
    // If all reads failed, the failures are counted, and there is no energy.
    let observed = Observed { samples: vec![gone(None)], ..Observed::default() };
    let used = HardwareUse::of(&observed, (Nanos(1), Nanos(2)), 1, 1).unwrap();
    assert_eq!((used.asked, used.failed, used.energy_j, used.cards.len()), (1, 1, None, 0));
}

#[test]
fn metrics_of_several_servers_are_merged_and_also_available_per_server() {
    let of = |running, kv, count| {
        let mut sample = said(&[(Quantity::Running, running), (Quantity::KvUse, kv)]);
        sample.histograms.insert(Latency::Ttft, buckets(count, count, &[(0.1, count / 2.0)]));
        sample.histograms.insert(Latency::Itl, buckets(1.0, 1.0, &[(running, 1.0)]));
        sample
    };
    let (a, b) = (of(3.0, 0.2, 4.0), of(5.0, 0.4, 8.0));
    let both = ServerSample::together([&a, &b]);
    assert_eq!(both.values[&Quantity::Running], 8.0);
    assert!((both.values[&Quantity::KvUse] - 0.3).abs() < 1e-12);
    assert_eq!(both.histograms[&Latency::Ttft], buckets(12.0, 12.0, &[(0.1, 6.0)]));
    // The bounds of their ITL buckets differ, so these histograms cannot be added.
    assert!(!both.histograms.contains_key(&Latency::Itl));
    let each = [Some(a), None].map(|server| SourceSample {
        took_us: 7,
        missing: server.is_none().then(|| "refused".to_owned()),
        server,
    });
    let observed = Observed {
        sources: vec!["a".to_owned(), "b".to_owned()],
        samples: vec![Sample { each: each.to_vec(), ..at(50, Some(both)) }],
        ..Observed::default()
    };
    let metrics = |source| {
        let window = (Nanos(1), Nanos(90_000_000));
        ServerMetrics::of(&observed.of_source(source), window, &[]).unwrap()
    };
    assert_eq!((metrics(0).failed, metrics(0).running.unwrap().mean), (0, 3.0));
    assert_eq!((metrics(1).failed, metrics(1).first_failure.as_deref()), (1, Some("refused")));
}
