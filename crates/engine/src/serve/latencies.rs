//! Histograms of the engine's own latencies, under the names and bounds of vLLM's `/metrics`. They
//! count the instants at which steps were over, not those at which a socket took the bytes.

use std::fmt::Write;
use std::time::Duration;

use crate::engine::Finish;

/// Upper bounds in seconds, as vLLM has them.
const FIRST_TOKEN_S: [f64; 22] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
const FURTHER_TOKEN_S: [f64; 19] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
];
const REQUEST_S: [f64; 21] = [
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];

/// Counts between bounds, and the sum of what was counted.
#[derive(Debug)]
struct Histogram {
    bounds_s: &'static [f64],
    /// One for each bound, and one above them all.
    counts: Vec<u64>,
    sum_s: f64,
}

impl Histogram {
    fn new(bounds_s: &'static [f64]) -> Self {
        Self { bounds_s, counts: vec![0; bounds_s.len() + 1], sum_s: 0.0 }
    }

    fn note(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let place = self.bounds_s.partition_point(|&bound| bound < seconds);
        self.counts[place] += 1;
        self.sum_s += seconds;
    }

    fn write(&self, out: &mut String, name: &str, help: &str, model: &str) {
        let _ = writeln!(out, "# HELP vllm:{name} {help}\n# TYPE vllm:{name} histogram");
        let mut below = 0;
        let bounds = self.bounds_s.iter().map(|bound| format!("{bound:?}"));
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&self.counts) {
            below += count;
            let _ = writeln!(
                out,
                "vllm:{name}_bucket{{le=\"{bound}\",model_name=\"{model}\"}} {below}"
            );
        }
        let _ = writeln!(out, "vllm:{name}_count{{model_name=\"{model}\"}} {below}");
        let _ = writeln!(out, "vllm:{name}_sum{{model_name=\"{model}\"}} {}", self.sum_s);
    }
}

/// The latencies of all requests so far.
#[derive(Debug)]
pub(super) struct Latencies {
    first_token: Histogram,
    further_token: Histogram,
    request: Histogram,
    ended_at_length: u64,
    ended_at_stop: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            first_token: Histogram::new(&FIRST_TOKEN_S),
            further_token: Histogram::new(&FURTHER_TOKEN_S),
            request: Histogram::new(&REQUEST_S),
            ended_at_length: 0,
            ended_at_stop: 0,
        }
    }
}

impl Latencies {
    /// From a request's arrival to its first token.
    pub(super) fn first_token(&mut self, took: Duration) {
        self.first_token.note(took);
    }

    /// From a token to the next of its request.
    pub(super) fn further_token(&mut self, took: Duration) {
        self.further_token.note(took);
    }

    /// From a request's arrival to its end.
    pub(super) fn ended(&mut self, took: Duration, finish: Finish) {
        self.request.note(took);
        match finish {
            Finish::Length => self.ended_at_length += 1,
            Finish::Stop => self.ended_at_stop += 1,
            Finish::Ignored => {}
        }
    }

    /// As Prometheus reads them; of vLLM since 0.8 (`is_v1`) without names that it has no more.
    pub(super) fn write(&self, out: &mut String, model: &str, is_v1: bool) {
        for (histogram, name, help) in [
            (&self.first_token, "time_to_first_token_seconds", "Time to first token."),
            (&self.further_token, "inter_token_latency_seconds", "Between tokens (since 0.11)."),
            (&self.further_token, "time_per_output_token_seconds", "Between tokens (before)."),
            (&self.request, "e2e_request_latency_seconds", "From arrival to end."),
        ] {
            if is_v1 && name == "time_per_output_token_seconds" {
                continue;
            }
            histogram.write(out, name, help, model);
        }
        let name = "vllm:request_success_total";
        let _ = writeln!(out, "# HELP {name} Requests that ended.\n# TYPE {name} counter");
        for (reason, count) in [("stop", self.ended_at_stop), ("length", self.ended_at_length)] {
            let labels = format!("finished_reason=\"{reason}\",model_name=\"{model}\"");
            let _ = writeln!(out, "{name}{{{labels}}} {count}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_what_is_at_or_below_their_bound() {
        let mut latencies = Latencies::default();
        for ms in [1, 5, 6, 3_000_000] {
            latencies.first_token(Duration::from_millis(ms));
        }
        latencies.ended(Duration::from_secs(1), Finish::Length);
        let mut text = String::new();
        latencies.write(&mut text, "m", false);
        for line in [
            "vllm:time_to_first_token_seconds_bucket{le=\"0.001\",model_name=\"m\"} 1",
            "vllm:time_to_first_token_seconds_bucket{le=\"0.005\",model_name=\"m\"} 2",
            "vllm:time_to_first_token_seconds_bucket{le=\"2560.0\",model_name=\"m\"} 3",
            "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\",model_name=\"m\"} 4",
            "vllm:time_to_first_token_seconds_count{model_name=\"m\"} 4",
            "vllm:e2e_request_latency_seconds_bucket{le=\"1.0\",model_name=\"m\"} 1",
            "vllm:request_success_total{finished_reason=\"length\",model_name=\"m\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
