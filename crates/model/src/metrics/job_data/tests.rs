//! Jobs with planted times.

use super::*;
use crate::Nanos;
use crate::record::{GapKind, JobCall, Record, SharedPrompt};
use crate::stats::seed;

fn at(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

/// A call with its times in milliseconds: due, sent, first output, end.
fn call(place: JobCall, [due, sent, first, ended]: [u64; 4]) -> CallTimes {
    let first = Some(at(first));
    CallTimes {
        place,
        due: at(due),
        sent: at(sent),
        first,
        ended: at(ended),
        cached: None,
        output: 0,
    }
}

fn place(call: u32, after: &[u32], (gap, tool): (u64, u64), kind: GapKind) -> JobCall {
    let (after, ms) = (after.to_vec(), 1_000_000);
    JobCall { call, after, gap_ns: gap * ms, tool_ns: tool * ms, gap: kind, ..JobCall::default() }
}

/// A call, then two beside each other after a tool, then one after both and a person.
fn job() -> Vec<CallTimes> {
    vec![
        call(place(0, &[], (0, 0), GapKind::Unknown), [0, 2, 50, 100]),
        call(place(1, &[0], (40, 30), GapKind::Tool), [140, 140, 160, 240]),
        call(place(2, &[0], (50, 50), GapKind::Tool), [150, 153, 180, 300]),
        call(place(3, &[1, 2], (500, 0), GapKind::Human), [800, 801, 810, 900]),
    ]
}

#[test]
fn the_parts_of_a_jobs_duration_are_its_planted_times() {
    let times = JobTimes::of(&job()).expect("calls");
    let close = |found: f64, ms: f64| assert!((found * 1e3 - ms).abs() < 1e-6, "{found} {ms}");
    close(times.duration_s, 900.0);
    close(times.parts.sum(), 900.0);
    // Tools run from 100 to 150 ms; from 140 ms, a call is in flight.
    for (found, ms) in [
        (times.parts.model_s, 98.0 + 160.0 + 99.0),
        (times.parts.tools_s, 40.0),
        (times.parts.people_s, 500.0),
        (times.parts.client_s, 3.0),
        (times.parts.rest_s, 0.0),
        (times.work_s, 98.0 + 100.0 + 147.0 + 99.0),
    ] {
        close(found, ms);
    }
}

#[test]
fn the_critical_path_is_the_chain_that_determined_the_end() {
    let times = JobTimes::of(&job()).expect("calls");
    let close = |found: f64, ms: f64| assert!((found * 1e3 - ms).abs() < 1e-6, "{found} {ms}");
    assert_eq!(times.path_calls, 3);
    close(times.path_first_s, 48.0 + 27.0 + 9.0);
    for (found, ms) in [
        (times.path.model_s, 50.0 + 120.0 + 90.0),
        (times.path.tools_s, 50.0),
        (times.path.people_s, 500.0),
        (times.path.client_s, 2.0 + 3.0 + 1.0),
        (times.path.rest_s, 0.0),
    ] {
        close(found, ms);
    }
    close(times.path.sum() + times.path_first_s, 900.0);
    // Without tools, the second branch (150 ms after the first call) still determines the end.
    close(times.without_tools_s, 100.0 + 150.0 + 500.0 + 100.0);
}

#[test]
fn a_job_is_as_slow_as_recorded_if_its_calls_take_the_recorded_times() {
    let mut calls = job();
    assert_eq!(JobTimes::of(&calls).expect("calls").recorded_s, None);
    for call in &mut calls {
        let lasts = call.ended.since(call.due).as_nanos() as u64;
        call.place.recorded_ns = Some((0, lasts / 2));
    }
    let recorded = JobTimes::of(&calls).expect("calls").recorded_s.expect("it is known");
    assert!((recorded - (0.05 + 0.05 + 0.075 + 0.5 + 0.05)).abs() < 1e-9, "{recorded}");
}

#[test]
fn a_job_is_complete_only_if_every_call_of_it_is() {
    let record = |job, call, calls, outcome| Record {
        outcome,
        job: Some(Box::new(JobCall { job, call, calls, ..JobCall::default() })),
        send_start: Some(at(0)),
        ended: Some(at(5)),
        ..Record::default()
    };
    let earlier = Some(Detail::earlier_turn(Outcome::Malformed));
    let mut jobs = Jobs::default();
    for record in [
        record(0, 0, 2, Outcome::Complete),
        record(0, 1, 2, Outcome::Complete),
        // The second call has no record, because the time of the pass was over.
        record(1, 0, 2, Outcome::Complete),
        record(2, 0, 2, Outcome::Malformed),
        Record { detail: earlier, ..record(2, 1, 2, Outcome::Skipped) },
        record(3, 0, 1, Outcome::Cancelled),
    ] {
        jobs.add(&Timeline::new(&record));
    }
    let counts = jobs.totals().expect("jobs").counts;
    let expected = JobCounts {
        planned: 4,
        complete: 1,
        failed: 1,
        unfinished: 2,
        failed_calls: 1,
        skipped_calls: 1,
    };
    assert_eq!(counts, expected);
}

#[test]
fn each_shared_token_that_was_not_cached_has_its_cause() {
    // Prompts of 100 tokens. The first call is alone; the later ones share 70 tokens with it.
    let shared = |tokens| Some(SharedPrompt { tokens, with: (0, 0) });
    let stated = |number, tokens, sent, cached: u32| {
        let place = JobCall { call: number, shared: shared(tokens), ..JobCall::default() };
        let call = call(place, [sent, sent, sent + 40, sent + 90]);
        CallTimes { cached: Some((100, cached)), ..call }
    };
    let calls = [
        stated(0, 0, 0, 0),
        // As expected: four blocks of 16.
        stated(1, 70, 100, 64),
        // Sent before the first output of the call with the same begin.
        stated(2, 70, 20, 0),
        // Removed from the cache in part.
        stated(3, 70, 200, 48),
        // More than expected, and the whole prompt but its last block.
        stated(4, 70, 300, 80),
        stated(5, 100, 400, 96),
    ];
    let expected = ExpectedCache {
        shared_tokens: 4 * 70 + 100,
        block: Some(16),
        tokens: 4 * 64 + 96,
        calls_as_expected: 3,
        lost_to_blocks: 4 * 6 + 4,
        lost_to_order: 64,
        lost_to_eviction: 0,
        lost_otherwise: 16,
        more_than_expected: 16,
        reuse: Reuse::default(),
    };
    let (prompt_tokens, cached_tokens) = (600, 64 + 48 + 80 + 96);
    let totals = CacheTotals { calls: 6, prompt_tokens, cached_tokens, expected: Some(expected) };
    // The tests below judge what the calls show of the cache.
    let found = |calls: &[CallTimes]| {
        let mut totals = CacheTotals::of(calls.iter());
        if let Some(expected) = totals.as_mut().and_then(|totals| totals.expected.as_mut()) {
            expected.reuse = Reuse::default();
        }
        totals
    };
    assert_eq!(found(&calls), Some(totals));
    // An answer that is not streamed has no first output; its end shows that the prompt was computed.
    let mut whole = calls.clone();
    whole.iter_mut().for_each(|call| call.first = None);
    assert_eq!(found(&whole), Some(totals));
    // Without knowledge of what prompts share, only the sums are known; without cached tokens, nothing.
    let mut unknown = calls.clone();
    unknown[2].place.shared = None;
    assert_eq!(CacheTotals::of(unknown.iter()), Some(CacheTotals { expected: None, ..totals }));
    unknown.iter_mut().for_each(|call| call.cached = None);
    assert_eq!(CacheTotals::of(unknown.iter()), None);
}

/// Prompts of 20 blocks of 16 tokens, one after the other, on a cache of `capacity` blocks that removes what was used least
/// recently, and the end of a prompt first. Each prompt shares its first blocks with an earlier one. A fresh token takes 0.1 ms
/// of prefill, with noise.
fn on_cache(capacity: usize, number: u64, prompts: &[(u64, u64)]) -> CacheTotals {
    let mut rng = seed::rng(number, &["noise"]);
    let mut kept: Vec<(u64, u64)> = Vec::new();
    let mut calls = Vec::new();
    for (at, (with, shared)) in (0..).zip(prompts) {
        let block = |place| (if place < *shared { *with } else { at }, place);
        let of_shared = kept.iter().filter(|known| known.0 == *with && known.1 < *shared);
        let present: u32 = of_shared.map(|known| 1 << known.1).sum();
        let hit = present.trailing_ones();
        kept.retain(|known| known.0 != *with || known.1 >= *shared);
        kept.extend((0..20).rev().map(block));
        kept.drain(..kept.len().saturating_sub(capacity));
        let shared = Some(SharedPrompt { tokens: 16 * *shared as u32, with: (*with as u32, 0) });
        let place = JobCall { job: at as u32, shared, ..JobCall::default() };
        let ms = 5.0 + 0.1 * f64::from(320 - 16 * hit) + 2.0 * seed::unit(&mut rng);
        let at_ns = |ms: f64| Nanos(1_000_000_000 * at + (ms * 1e6) as u64);
        let cached = Some((320, 16 * hit));
        let first = Some(at_ns(ms));
        let times = call(place, [0; 4]);
        calls.push(CallTimes { sent: at_ns(0.0), first, ended: at_ns(500.0), cached, ..times });
    }
    CacheTotals::of(calls.iter()).expect("the calls state cached tokens")
}

#[test]
fn prompts_that_come_again_bracket_the_capacity_of_a_cache_and_what_its_tokens_save() {
    let (mut holds, mut saved) = (0, 0);
    for number in 0..100 {
        let capacity = 1_000 + 13 * number as usize;
        // New prompts, and one of the last 200 again, but for its last block.
        let mut rng = seed::rng(number, &["reuse"]);
        let mut known: Vec<u64> = Vec::new();
        let mut prompt = |at| {
            let since = seed::below(&mut rng, (known.len() as u64).clamp(1, 200)) as usize;
            let is_new = known.len() < 2 || seed::unit(&mut rng) < 0.5;
            let of = if is_new { at } else { known.remove(known.len() - 1 - since) };
            known.push(of);
            (of, if is_new { 0 } else { 19 })
        };
        let prompts: Vec<(u64, u64)> = (0..800).map(&mut prompt).collect();
        let expected = on_cache(capacity, number, &prompts).expected.expect("prompts are known");
        let tokens = 16 * capacity as u64;
        let (low, high) = (expected.reuse.keeps_at_least, expected.reuse.keeps_less_than);
        let (low, high) = (low.expect("hits"), high.expect("removed prompts"));
        let middle = u64::midpoint(low, high);
        assert!(middle.abs_diff(tokens) <= tokens / 20, "{low} to {high} for {tokens}");
        holds += u32::from((low..=high).contains(&tokens));
        let [slope, least, most] = expected.reuse.ms_saved_per_1000.expect("a slope");
        assert!((slope - 100.0).abs() < 5.0, "{slope}");
        saved += u32::from((least..=most).contains(&100.0));
        assert_eq!(expected.lost_otherwise, 0, "everything that is lost was removed");
        assert!(expected.lost_to_eviction > 0);
        let medians = (expected.reuse.ttft_kept_ms, expected.reuse.ttft_lost_ms);
        assert!((6.0..10.0).contains(&medians.0.expect("kept")), "{medians:?}");
        assert!((37.0..39.0).contains(&medians.1.expect("lost")), "{medians:?}");
    }
    assert!(holds >= 95 && saved >= 90, "{holds} and {saved} of 100 intervals hold");
}

#[test]
fn parts_of_prompts_that_come_again_bracket_the_capacity_too_and_all_that_is_lost_was_removed() {
    for number in 0..20 {
        // A pool of 40 prompts, and prompts that share 0 to 19 blocks with one of them.
        let mut rng = seed::rng(number, &["pool"]);
        let mut share =
            || (seed::below(&mut rng, 40), [0, 5, 10, 15, 19][seed::below(&mut rng, 5) as usize]);
        let prompts: Vec<(u64, u64)> =
            (0..40).map(|at| (at, 0)).chain((0..400).map(|_| share())).collect();
        let capacity = 300 + 7 * number as usize;
        let expected = on_cache(capacity, number, &prompts).expected.expect("prompts are known");
        let ends = (expected.reuse.keeps_at_least, expected.reuse.keeps_less_than);
        let (low, high) = (ends.0.expect("hits"), ends.1.expect("removed prompts"));
        assert!((low..=high).contains(&(16 * capacity as u64)), "{low} to {high} for {capacity}");
        assert!(expected.lost_to_eviction > 0);
        assert_eq!(expected.lost_otherwise, 0, "everything that is lost was removed");
    }
}
