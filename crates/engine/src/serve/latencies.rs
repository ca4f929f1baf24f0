//! Histograms of the engine's own latencies, with the names and bucket bounds of vLLM's `/metrics`. In every version,
//! the time between tokens has its name of vLLM 0.11 and later. Versions before 0.8 also have its older name. The
//! histograms use the instants at which steps ended, not the instants at which a socket accepted the bytes.

use std::time::Duration;

use inferometer_net::http::prometheus::{
    Buckets, Exposition, FIRST_TOKEN_S, FURTHER_TOKEN_S, Kind, REQUEST_S,
};

use crate::Finish;

/// The latencies of all requests so far.
#[derive(Debug)]
pub(super) struct Latencies {
    first_token: Buckets,
    further_token: Buckets,
    request: Buckets,
    ended_at_length: u64,
    ended_at_stop: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            first_token: Buckets::new(&FIRST_TOKEN_S),
            further_token: Buckets::new(&FURTHER_TOKEN_S),
            request: Buckets::new(&REQUEST_S),
            ended_at_length: 0,
            ended_at_stop: 0,
        }
    }
}

impl Latencies {
    /// Adds the time from a request's arrival to its first token.
    pub(super) fn first_token(&mut self, took: Duration) {
        self.first_token.add(took.as_secs_f64(), 1.0);
    }

    /// Adds the time from a token to the next token of the same request.
    pub(super) fn further_token(&mut self, took: Duration) {
        self.further_token.add(took.as_secs_f64(), 1.0);
    }

    /// Adds the time from a request's arrival to its end.
    pub(super) fn ended(&mut self, took: Duration, finish: Finish) {
        self.request.add(took.as_secs_f64(), 1.0);
        match finish {
            Finish::Length => self.ended_at_length += 1,
            Finish::Stop => self.ended_at_stop += 1,
            Finish::Ignored => {}
        }
    }

    /// Writes the Prometheus text. If `is_v1` is set (vLLM 0.8 and later), the older name of the time
    /// between tokens is left out.
    pub(super) fn write(&self, out: &mut String, model: &str, is_v1: bool) {
        let mut exposition = Exposition::default();
        for (histogram, name, help) in [
            (&self.first_token, "time_to_first_token_seconds", "Time to first token."),
            (
                &self.further_token,
                "inter_token_latency_seconds",
                "Time between tokens (vLLM since 0.11).",
            ),
            (
                &self.further_token,
                "time_per_output_token_seconds",
                "Time between tokens (vLLM before 0.11).",
            ),
            (&self.request, "e2e_request_latency_seconds", "Time from arrival to end."),
        ] {
            if is_v1 && name == "time_per_output_token_seconds" {
                continue;
            }
            exposition.histogram(
                &format!("vllm:{name}"),
                help,
                &[("model_name", model)],
                histogram,
            );
        }
        let name = "vllm:request_success_total";
        exposition.family(Kind::Counter, name, "Completed requests, by the reason of their end.");
        for (reason, count) in [("stop", self.ended_at_stop), ("length", self.ended_at_length)] {
            exposition.sample(
                name,
                &[("finished_reason", reason), ("model_name", model)],
                count as f64,
            );
        }
        out.push_str(&exposition.finish());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_buckets_count_values_up_to_and_including_their_bound() {
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
