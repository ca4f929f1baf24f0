//! Steady state: figures over the window in which the load keeps its number of requests in flight. Tokens are counted,
//! not chunks. A request that is only partly inside the window counts partly. Without a plateau there are no figures.

use std::collections::BTreeMap;

use super::{Definition, Direction, JudgedOn, PassData, Plateau, SteadyState, Unit, Value};
use crate::Nanos;

/// Output tokens per second at the plateau.
pub static OUTPUT_TOKENS: Definition = Definition {
    name: "steady_output_tokens_per_s",
    formula: "tokens of completed requests inside the window / duration of the window",
    unit: Unit::TokensPerSecond,
    direction: Some(Direction::Higher),
    notes: "The window goes from the first to the last time at which the number of requests \
        in flight is at least the plateau. In a closed loop, the plateau is the concurrency. In \
        an open loop, it is the median number in flight up to the last send, weighted by time. \
        The tokens of an event are spread over the time since the previous event. Absent without \
        streaming and if the load is not constant. Also absent if the number in flight is off \
        the plateau for more than 10 % of the window. In a closed loop, off means below the \
        plateau. In an open loop, off means a difference of more than 10 % and of more than \
        three times the square root of the plateau, which is the variation of independent \
        arrivals.",
    value: Value::Pass(output_tokens_per_s),
    title: "Output tokens per second, steady state",
    result_key: "steady_output_tokens_per_s",
    judged: JudgedOn::OnPasses,
    ..Definition::DEFAULT
};

/// Requests per second at the plateau.
pub static REQUESTS: Definition = Definition {
    name: "steady_requests_per_s",
    formula: "steady_output_tokens_per_s / mean output tokens of the completed requests",
    unit: Unit::RequestsPerSecond,
    notes: "Each request counts by its share of tokens inside the window of \
        steady_output_tokens_per_s, so a request across an edge counts partly. (A count of the \
        requests that complete inside the window would be too low if many requests end together \
        just after the window.) Absent if steady_output_tokens_per_s is absent.",
    value: Value::Pass(requests_per_s),
    title: "Requests per second, steady state",
    result_key: "steady_requests_per_s",
    ..OUTPUT_TOKENS
};

/// The smallest share of the window in which the number in flight must be at the plateau.
const SHARE_AT_PLATEAU: f64 = 0.9;

/// Tokens per second are stated only for a start-up or a drain of at least this length, in seconds. A rate over a
/// shorter time is meaningless.
pub const SHORTEST_S: f64 = 0.005;

fn output_tokens_per_s(window: &PassData) -> Option<f64> {
    Some(steady_state(window)?.output_tokens_per_s)
}

fn requests_per_s(window: &PassData) -> Option<f64> {
    Some(steady_state(window)?.requests_per_s)
}

/// The steady state of a pass. `None` if the pass has no plateau, never reaches it or is off it for too long, was not
/// streamed, or has no counted output. It is computed once for each [`PassData`].
pub fn steady_state(window: &PassData) -> Option<SteadyState> {
    *window.steady_state.get_or_init(|| compute(window))
}

fn compute(window: &PassData) -> Option<SteadyState> {
    let steps = window.in_flight.steps();
    let (first, last) = (steps.first()?.0, steps.last()?.0);
    let plateau = match window.plateau {
        Plateau::None => return None,
        Plateau::Of(concurrency) => u64::from(concurrency),
        Plateau::Around => median(&steps, window.in_flight.last_send()?)?,
    };
    let start = steps.iter().find(|step| step.1 >= plateau)?.0;
    let end = steps.windows(2).rfind(|pair| pair[0].1 >= plateau)?[1].0;
    let duration_s = end.seconds_after(start);
    let (mut at_plateau_s, mut in_flight_s) = (0.0, 0.0);
    for pair in steps.windows(2) {
        let held_s = pair[1].0.min(end).seconds_after(pair[0].0.max(start)).max(0.0);
        in_flight_s += held_s * pair[0].1 as f64;
        at_plateau_s += if is_at(window.plateau, pair[0].1, plateau) { held_s } else { 0.0 };
    }
    // Without streaming, the arrival times of tokens are unknown.
    if duration_s <= 0.0 || at_plateau_s < SHARE_AT_PLATEAU * duration_s || !window.streamed {
        return None;
    }
    let instants = [first, start, end, last];
    let tokens = window.tokens.between_each(&instants);
    let rate = |part: usize| {
        let seconds = instants[part + 1].seconds_after(instants[part]);
        (seconds >= SHORTEST_S).then(|| tokens[part] / seconds)
    };
    let output_tokens_per_s = tokens[1] / duration_s;
    let counted = window.completed - window.uncounted;
    if window.output_tokens == 0 || counted == 0 {
        return None;
    }
    let mean_output = window.output_tokens as f64 / counted as f64;
    Some(SteadyState {
        plateau,
        startup_s: start.seconds_after(first),
        duration_s,
        drain_s: last.seconds_after(end),
        requests_per_s: output_tokens_per_s / mean_output,
        output_tokens_per_s,
        startup_output_tokens_per_s: rate(0),
        drain_output_tokens_per_s: rate(2),
        mean_concurrency: in_flight_s / duration_s,
    })
}

fn is_at(kind: Plateau, in_flight: u64, plateau: u64) -> bool {
    let off = in_flight.abs_diff(plateau) as f64;
    match kind {
        Plateau::None => false,
        Plateau::Of(_) => in_flight >= plateau,
        Plateau::Around => off <= (0.1 * plateau as f64).max(3.0 * (plateau as f64).sqrt()),
    }
}

/// The median of the number of requests in flight up to an instant, weighted by time.
fn median(steps: &[(Nanos, u64)], until: Nanos) -> Option<u64> {
    // How long each number of requests was in flight, in nanoseconds. There are few different numbers.
    let mut held: BTreeMap<u64, u64> = BTreeMap::new();
    for pair in steps.windows(2) {
        *held.entry(pair[0].1).or_default() += pair[1].0.min(until).0.saturating_sub(pair[0].0.0);
    }
    let total: u64 = held.values().sum();
    let mut below = 0;
    let median = held.into_iter().find(|(_, time)| {
        below += time;
        below >= total - below
    });
    median.filter(|_| total > 0).map(|(in_flight, _)| in_flight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{ms, steady};
    use crate::metrics::{EVENTS_KEPT, Span, Timeline, TokenCurve};
    use crate::record::Record;

    fn window(plateau: Plateau, records: &[Record]) -> PassData {
        let tokens = TokenCurve::keeping(EVENTS_KEPT);
        let mut window = PassData { plateau, tokens, streamed: true, ..PassData::default() };
        for record in records {
            let (send_start, ended) = (record.send_start.unwrap(), record.ended.unwrap());
            window.in_flight.add(Span { send_start, ended });
            let timeline = Timeline::new(record);
            window.tokens.add(&timeline.events);
            window.completed += 1;
            window.output_tokens += u64::from(record.output_tokens().0);
        }
        window
    }

    /// Requests that start `gap_ms` apart, with 10 tokens each: the first token after 100 ms, then one every
    /// 100 ms.
    fn arrivals(count: u32, gap_ms: f64) -> Vec<Record> {
        (0..count).map(|i| steady(f64::from(i) * gap_ms, 100.0, 100.0, 10)).collect()
    }

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() <= 1e-3 * expected.abs().max(1.0), "{got} {expected}");
    }

    #[test]
    fn a_closed_loop_is_steady_from_the_first_to_the_last_instant_of_full_concurrency() {
        // Two slots that start 500 ms apart. In each, five requests of 1 s with 10 tokens follow one another.
        let mut records = Vec::new();
        for place in [0.0, 500.0] {
            records.extend((0..5).map(|i| steady(place + 1e3 * f64::from(i), 100.0, 100.0, 10)));
        }
        let got = steady_state(&window(Plateau::Of(2), &records)).unwrap();
        assert_eq!((got.plateau, got.startup_s, got.duration_s, got.drain_s), (2, 0.5, 4.5, 0.5));
        near(got.output_tokens_per_s, 20.0);
        near(got.startup_output_tokens_per_s.unwrap(), 10.0);
        near(got.drain_output_tokens_per_s.unwrap(), 10.0);
        near(got.requests_per_s, 2.0);
        near(got.mean_concurrency, 2.0);
    }

    #[test]
    fn a_request_that_ends_after_the_steady_window_counts_by_its_tokens_within_it() {
        // Two slots. The second one is slightly slower, so the window ends at 2 s, when the last request of
        // the first slot ends. Only three requests have completed within the window: both of the first slot,
        // and one of the second.
        let records = [
            steady(0.0, 100.0, 100.0, 10),
            steady(1_000.0, 100.0, 100.0, 10),
            steady(0.0, 100.5, 100.0, 10),
            steady(1_000.5, 100.5, 100.0, 10),
        ];
        let got = steady_state(&window(Plateau::Of(2), &records)).unwrap();
        assert_eq!((got.duration_s, got.drain_s), (2.0, 0.001));
        // 3 of 4 requests completed within the window, which would be 1.5 requests/s. Counted by tokens, the window has
        // 20 tokens of the first slot, and 20 of the second slot minus the part of its last token that arrived in the
        // last millisecond. The rate is these tokens divided by 2 s and by 10 tokens per request.
        near(got.requests_per_s, (20.0 + 20.0 - 0.01) / 2.0 / 10.0);
        near(got.output_tokens_per_s, 19.995);
        // A drain of 1 ms is too short to state a rate.
        assert_eq!((got.startup_output_tokens_per_s, got.drain_output_tokens_per_s), (None, None));
    }

    #[test]
    fn request_rate_times_mean_output_equals_token_rate_for_varied_lengths() {
        for (places, seed) in [(1_u32, 3_u32), (8, 5), (32, 7)] {
            let mut records = Vec::new();
            for place in 0..places {
                let mut at = 0.0;
                for i in 0..12 {
                    let tokens = 5 + (place * 7 + i * seed) % 40;
                    records.push(steady(at, 50.0, 10.0, tokens));
                    at += 50.0 + 10.0 * f64::from(tokens - 1);
                }
            }
            let window = window(Plateau::Of(places), &records);
            let got = steady_state(&window).unwrap();
            let mean = window.output_tokens as f64 / f64::from(12 * places);
            near(got.requests_per_s * mean / got.output_tokens_per_s, 1.0);
            // In a slot, each request takes 40 ms plus 10 ms for each of its tokens.
            let expected = f64::from(places) / (0.04 + 0.01 * mean);
            assert!((got.requests_per_s / expected - 1.0).abs() < 0.02, "{got:?} {expected}");
        }
    }

    #[test]
    fn bundled_tokens_change_the_steady_state_only_slightly() {
        let bundled: Vec<Record> = (0..8)
            .map(|i| {
                let mut record = steady(f64::from(i) * 250.0, 500.0, 500.0, 2);
                record.events.iter_mut().for_each(|event| event.tokens = Some(5));
                record.usage.completion = Some(10);
                record
            })
            .collect();
        let got = steady_state(&window(Plateau::Of(4), &bundled)).unwrap();
        // Requests of 1 s start every 250 ms: 4 are in flight from 750 ms to 2 s. Expected: 4 x 10 tokens/s.
        assert_eq!((got.startup_s, got.duration_s, got.drain_s), (0.75, 1.25, 0.75));
        let single = steady_state(&window(Plateau::Of(4), &arrivals(8, 250.0))).unwrap();
        near(single.output_tokens_per_s, 40.0);
        // The times of the tokens in a request's first bundle are unknown, so all of them count at the
        // arrival of the bundle. Over whole requests, the rate is still about the same.
        assert!((got.output_tokens_per_s - 40.0).abs() < 5.0, "{}", got.output_tokens_per_s);
    }

    #[test]
    fn an_open_loop_that_keeps_up_is_steady_around_its_median_concurrency() {
        // 20 requests arrive per second for 10 s, and each takes 1 s: 20 are in flight from 0.95 s to 10 s.
        let got = steady_state(&window(Plateau::Around, &arrivals(200, 50.0))).unwrap();
        assert_eq!((got.plateau, got.startup_s), (20, 0.95));
        near(got.duration_s, 9.05);
        near(got.output_tokens_per_s, 200.0);
        near(got.mean_concurrency, 20.0);
    }

    #[test]
    fn an_open_loop_that_does_not_keep_up_has_no_steady_state() {
        // Each request takes longer than the one before, so the number in flight keeps growing.
        let records: Vec<Record> = (0..400)
            .map(|i| steady(f64::from(i) * 10.0, 100.0 + 20.0 * f64::from(i), 10.0, 10))
            .collect();
        assert_eq!(steady_state(&window(Plateau::Around, &records)), None);
    }

    #[test]
    fn a_closed_loop_that_never_fills_or_mostly_waits_has_no_steady_state() {
        assert_eq!(steady_state(&window(Plateau::Of(3), &arrivals(2, 100.0))), None);
        // One request of 1 s, then 1 s without a request, again and again.
        assert_eq!(steady_state(&window(Plateau::Of(1), &arrivals(5, 2_000.0))), None);
        assert_eq!(steady_state(&window(Plateau::None, &arrivals(5, 1_000.0))), None);
        assert_eq!(steady_state(&PassData::default()), None);
        assert_eq!(ms(0.0), Nanos::ZERO);
    }
}
