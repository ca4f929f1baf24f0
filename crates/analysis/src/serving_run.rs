//! The six figures of vLLM 0.2's `benchmark_serving.py`, for requests with individual lengths. They are computed twice:
//! from the actual outputs, and as the script computes them. The script assumes that outputs have the lengths of the
//! data set. This module writes no text of a report.

use serde::{Deserialize, Serialize};

use inferometer_model::{Nanos, Timeline, metrics::e2e};

/// The figures of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServingRun {
    /// The number of completed requests.
    pub completed: u64,
    /// The time from the first send to the last end.
    pub total_time_s: Option<f64>,
    /// Mean E2E, counted from the send.
    pub mean_latency_s: Option<f64>,
    /// The figures that depend on token counts, from the actual tokens.
    pub measured: ByTokens,
    /// The same figures from the lengths in the data set, as the script computes them.
    pub script: ByTokens,
}

/// The figures that depend on token counts. A figure is absent if the tokens of one completed request were not counted,
/// or if no request completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByTokens {
    /// Mean of E2E / (prompt + output tokens).
    pub latency_per_token_s: Option<f64>,
    /// Mean of E2E / output tokens.
    pub latency_per_output_token_s: Option<f64>,
    /// Output tokens of the completed requests.
    pub output_tokens: Option<u64>,
}

impl ServingRun {
    /// Completed requests per second.
    pub fn requests_per_s(&self) -> Option<f64> {
        self.per_second(self.completed)
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        self.total_time_s.filter(|seconds| *seconds > 0.0).map(|seconds| count as f64 / seconds)
    }
}

/// One of the six figures.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name that the script prints.
    pub name: &'static str,
    /// The unit that the script prints.
    pub unit: &'static str,
    /// The number of decimals that the script prints; absent if it prints all digits.
    pub decimals: Option<usize>,
    /// The formula of the figure, as text.
    pub formula: &'static str,
    /// Computes the figure; `None` if it is unknown.
    pub value: fn(&ServingRun, &ByTokens) -> Option<f64>,
}

/// The six figures in the order of the script.
pub static FIELDS: [Field; 6] = inferometer_model::table! { Field { name, unit, decimals, formula, value }
    ("Total time", "s", Some(2), "last end - first send", |run, _| run.total_time_s)
    ("Throughput", "requests/s", Some(2), "completed requests / total time", |run, _| run.requests_per_s())
    ("Average latency", "s", Some(2), "mean of E2E", |run, _| run.mean_latency_s)
    ("Average latency per token", "s", Some(2), "mean of (E2E / (prompt + output tokens))",
     |_, by| by.latency_per_token_s)
    ("Average latency per output token", "s", Some(2), "mean of (E2E / output tokens)",
     |_, by| by.latency_per_output_token_s)
    ("Completion tokens per second", "tokens/s", None, "output tokens of the completed requests / total time",
     |run, by| run.per_second(by.output_tokens?))
};

/// Collects the records of a pass, in any order.
#[derive(Clone, Debug, Default)]
pub struct ServingRunFold {
    completed: u64,
    span: Option<(Nanos, Nanos)>,
    latency_s: Mean,
    measured: ByTokensFold,
    script: ByTokensFold,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    n: u64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sum += value;
            self.n += 1;
        }
    }

    /// The mean; `None` if it does not cover all of `count` requests.
    fn of_all(self, count: u64) -> Option<f64> {
        (count > 0 && self.n == count).then(|| self.sum / count as f64)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ByTokensFold {
    per_token: Mean,
    per_output_token: Mean,
    output_tokens: u64,
    counted: u64,
}

impl ByTokensFold {
    fn add(&mut self, latency_s: Option<f64>, prompt: Option<u32>, output: Option<u32>) {
        let over = |tokens: Option<f64>| Some(latency_s? / tokens?);
        let output_tokens = output.map(f64::from);
        self.per_token.add(over(prompt.zip(output).map(|(a, b)| f64::from(a) + f64::from(b))));
        self.per_output_token.add(over(output_tokens));
        if let Some(tokens) = output {
            self.output_tokens += u64::from(tokens);
            self.counted += 1;
        }
    }

    fn finish(self, completed: u64) -> ByTokens {
        ByTokens {
            latency_per_token_s: self.per_token.of_all(completed),
            latency_per_output_token_s: self.per_output_token.of_all(completed),
            output_tokens: (completed > 0 && self.counted == completed)
                .then_some(self.output_tokens),
        }
    }
}

impl ServingRunFold {
    /// Adds the record of a request, whatever its outcome.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            let (first, last) = self.span.unwrap_or((send_start, ended));
            self.span = Some((first.min(send_start), last.max(ended)));
        }
        if !record.outcome.is_complete() {
            return;
        }
        self.completed += 1;
        let latency_s = e2e::from_sent(timeline).map(|ms| ms / 1e3);
        self.latency_s.add(latency_s);
        let output = timeline.tokens_from.map(|_| timeline.output_tokens);
        self.measured.add(latency_s, record.input_tokens(), output);
        self.script.add(latency_s, Some(record.asked_input), Some(record.asked_output));
    }

    /// Computes the figures.
    pub fn finish(self) -> ServingRun {
        ServingRun {
            completed: self.completed,
            total_time_s: self.span.map(|(first, last)| last.seconds_after(first)),
            mean_latency_s: self.latency_s.of_all(self.completed),
            measured: self.measured.finish(self.completed),
            script: self.script.finish(self.completed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::steady;
    use inferometer_model::outcome::Outcome;

    #[test]
    fn measured_and_script_columns_match_values_computed_by_hand() {
        // Two requests with 20 output tokens in the data set. One takes 1.1 s for 11 tokens, the other 2.1 s for 20.
        let mut records = [steady(0.0, 1_000.0, 10.0, 11), steady(500.0, 1_910.0, 10.0, 20)];
        for record in &mut records {
            record.asked_input = 10;
            record.asked_output = 20;
        }
        let mut failed = steady(600.0, 100.0, 10.0, 3);
        failed.outcome = Outcome::Truncated;
        failed.ended = Some(Nanos(5_000_000_000));
        let mut fold = ServingRunFold::default();
        for record in records.iter().chain([&failed]) {
            fold.add(&Timeline::new(record));
        }
        let run = fold.finish();
        let column = |by: &ByTokens| FIELDS.map(|field| (field.value)(&run, by).unwrap());
        // The server counts eight prompt tokens; the data set has ten.
        let measured = [5.0, 0.4, 1.6, (1.1 / 19.0 + 2.1 / 28.0) / 2.0, 0.1025, 31.0 / 5.0];
        let script = [5.0, 0.4, 1.6, (1.1 / 30.0 + 2.1 / 30.0) / 2.0, 0.08, 8.0];
        for (by, expected) in [(&run.measured, measured), (&run.script, script)] {
            for (found, expected) in column(by).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
            }
        }
    }

    #[test]
    fn an_uncounted_prompt_leaves_only_latency_per_token_absent() {
        let mut uncounted = steady(0.0, 10.0, 10.0, 2);
        uncounted.usage.prompt = None;
        let mut fold = ServingRunFold::default();
        fold.add(&Timeline::new(&uncounted));
        let run = fold.finish();
        assert_eq!(run.measured.latency_per_token_s, None);
        assert!(run.measured.latency_per_output_token_s.is_some());
        assert_eq!(ServingRunFold::default().finish().requests_per_s(), None);
    }
}
