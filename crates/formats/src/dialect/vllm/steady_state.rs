//! The steady state as the Rust version of `vllm bench serve` defines it: the time in which the number of
//! requests in flight is near its limit.

use serde_json::{Value as Json, json};

use super::{Figures, Request};
use crate::dialect::layout::{TableLine, Value, count, figure, number, section};
use crate::{dialect::numbers::Numbers, dialect::selection::SteadyStateWindow};

/// The figures of the steady-state window.
pub(crate) struct SteadyState {
    window: SteadyStateWindow,
    /// The beginning of the window, in seconds after the first start of a request.
    from: f64,
    to: f64,
    peak: u32,
    started: usize,
    completed: usize,
    all: usize,
    warning: Option<String>,
    input_tokens: u64,
    output_tokens: usize,
    /// The figures of the requests that started in the window.
    figures: Figures,
}

impl SteadyState {
    /// Finds the window in the completed requests of a pass of `duration` seconds. `None` if the number of
    /// requests in flight never reaches the threshold, or falls below it again at the same instant.
    pub(crate) fn of(
        window: SteadyStateWindow,
        requests: &[Request],
        duration: f64,
    ) -> Option<Self> {
        let first = requests.iter().map(|request| request.start).fold(f64::INFINITY, f64::min);
        let (opens, closes, peak) = bounds(&window, requests)?;
        let (from, to) = (opens - first, closes - first);
        let shortest = window.shortest_s.unwrap_or_else(|| f64::max(10.0, 0.1 * duration));
        let warning = (to - from < shortest).then(|| {
            let (seconds, share) = (to - from, 100.0 * (to - from) / duration);
            format!("steady-state window is {seconds:.1}s ({share:.1}% of run); may not be representative")
        });
        let starts: Vec<Request> =
            requests.iter().filter(|one| (opens..=closes).contains(&one.start)).cloned().collect();
        let ends = |one: &&Request| (opens..closes).contains(&(one.start + one.latency));
        Some(Self {
            window,
            from,
            to,
            peak,
            started: starts.len(),
            completed: requests.iter().filter(ends).count(),
            all: requests.len(),
            warning,
            input_tokens: starts.iter().map(|request| u64::from(request.input)).sum(),
            output_tokens: requests.iter().map(|request| chunks_in(request, opens, closes)).sum(),
            figures: Figures::of(&starts),
        })
    }

    fn per_s(&self, count: f64) -> f64 {
        count / (self.to - self.from)
    }

    /// Returns requests/s, input tokens/s, output tokens/s and total tokens/s.
    fn throughputs(&self) -> [f64; 4] {
        let (input, output) = (self.input_tokens as f64, self.output_tokens as f64);
        [self.completed as f64, input, output, input + output].map(|count| self.per_s(count))
    }

    /// Returns the figures as the tool's result file states them.
    pub(crate) fn json(&self, percentiles: &[f64]) -> Json {
        let [requests, input, output, all] = self.throughputs();
        let (ttft, tpot) = (&self.figures.ttft, &self.figures.tpot);
        let of = |values: &Numbers| -> Vec<Json> {
            percentiles
                .iter()
                .map(|&percent| json!([percent, values.percentile(percent)]))
                .collect()
        };
        json!({
            "window": {
                "start_s": self.from,
                "end_s": self.to,
                "duration_s": self.to - self.from,
                "target_concurrency": self.window.most_in_flight,
                "threshold": self.window.threshold,
                "threshold_abs": self.window.fewest(),
                "observed_peak": self.peak,
                "requests_started_in_window": self.started,
                "requests_completed_in_window": self.completed,
                "requests_total": self.all,
                "warning": self.warning,
            },
            "request_throughput": requests,
            "input_throughput": input,
            "output_throughput": output,
            "total_token_throughput": all,
            "mean_ttft_ms": ttft.mean(),
            "median_ttft_ms": ttft.percentile(50.0),
            "percentiles_ttft_ms": of(ttft),
            "mean_tpot_ms": tpot.mean(),
            "median_tpot_ms": tpot.percentile(50.0),
            "p90_tpot_ms": tpot.percentile(90.0),
            "p99_tpot_ms": tpot.percentile(99.0),
        })
    }

    /// Returns the figures as lines of the tool's table.
    pub(crate) fn lines(&self, percentiles: &[f64]) -> Vec<TableLine> {
        let key = |name: &str| format!("steady_state.{name}");
        let words = |label: &str, name: &str, words| figure(label, &key(name), Value::Words(words));
        let SteadyStateWindow { most_in_flight, threshold, .. } = self.window;
        let fewest = self.window.fewest();
        let (from, to, started, all) = (self.from, self.to, self.started, self.all);
        let share = 100.0 * started as f64 / all as f64;
        let limit = format!(">= {threshold} * {most_in_flight} = {fewest}");
        let window = format!("{from:.1}s -> {to:.1}s  ({:.1}s)", to - from);
        let mut lines = vec![
            section("Steady-State Metrics"),
            words("Concurrency threshold:", "threshold", limit),
            words("Window:", "window", window),
            count("Observed peak concurrency:", &key("observed_peak"), self.peak as usize),
            words(
                "Requests started in window:",
                "started",
                format!("{started} / {all} ({share:.1}%)"),
            ),
            count("Requests completed in window:", &key("completed"), self.completed),
        ];
        lines.extend(self.warning.iter().map(|text| words("Warning:", "warning", text.clone())));
        let named = [
            ("Request throughput (req/s):", "request_throughput"),
            ("Input token throughput (tok/s):", "input_throughput"),
            ("Output token throughput (tok/s):", "output_throughput"),
            ("Total token throughput (tok/s):", "total_token_throughput"),
        ];
        let rates = named.into_iter().zip(self.throughputs());
        lines.extend(rates.map(|((label, name), value)| number(label, &key(name), value)));
        for (name, values, percentiles) in
            [("TTFT", &self.figures.ttft, percentiles), ("TPOT", &self.figures.tpot, &[90.0, 99.0])]
        {
            let mut put = |label: String, value| {
                let key = key(&label.to_lowercase().replace(' ', "_"));
                lines.push(number(&format!("{label} (ms):"), &key, value));
            };
            put(format!("Mean {name}"), values.mean());
            put(format!("Median {name}"), values.percentile(50.0));
            for &percent in percentiles {
                put(format!("P{percent} {name}"), values.percentile(percent));
            }
        }
        lines
    }
}

/// Returns the first and the last instant, in seconds, at which at least [`SteadyStateWindow::fewest`]
/// requests are in flight. Also returns the maximum number of requests in flight. `None` if there are no two
/// such instants.
fn bounds(window: &SteadyStateWindow, requests: &[Request]) -> Option<(f64, f64, u32)> {
    let mut changes: Vec<(f64, bool)> = requests
        .iter()
        .flat_map(|one| [(one.start, false), (one.start + one.latency, true)])
        .collect();
    // If one request starts at the instant at which another ends, both count as in flight.
    changes.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let (mut in_flight, mut peak, mut opens, mut closes) = (0, 0, None, None);
    for (at, ends) in changes {
        if ends {
            if in_flight == window.fewest() {
                closes = Some(at);
            }
            in_flight -= 1;
        } else {
            in_flight += 1;
            peak = peak.max(in_flight);
            if in_flight == window.fewest() {
                opens = opens.or(Some(at));
            }
        }
    }
    opens
        .zip(closes)
        .filter(|(opens, closes)| opens < closes)
        .map(|(opens, closes)| (opens, closes, peak))
}

/// Returns the number of chunks of the request that arrived at or after `from` and before `to`. Both are in
/// seconds.
fn chunks_in(request: &Request, from: f64, to: f64) -> usize {
    let mut at = request.start + request.ttft;
    let mut within = usize::from((from..to).contains(&at));
    for gap in &request.itl {
        at += gap;
        within += usize::from((from..to).contains(&at));
    }
    within
}
