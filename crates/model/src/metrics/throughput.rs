//! Throughput: requests and tokens per second of a pass. Tokens of failed requests are not counted.

use super::{Definition, Direction, JudgedOn, PassData, Unit, Value, duration};

/// Completed requests per second.
pub static REQUESTS: Definition = Definition {
    name: "requests_per_s",
    formula: "completed requests / duration",
    unit: Unit::RequestsPerSecond,
    direction: Some(Direction::Higher),
    notes: "Over the whole pass, from the first send to the last end, including start-up and \
        drain.",
    source: "Inferometer; the published tables.",
    value: Value::Pass(requests_per_s),
    title: "Requests per second",
    result_key: "requests_per_s",
    judged: JudgedOn::OnPasses,
    column: Some("Requests/s"),
    compared: true,
    ..Definition::DEFAULT
};

/// Prompt tokens of the completed requests per second.
pub static INPUT_TOKENS: Definition = Definition {
    name: "input_tokens_per_s",
    formula: "prompt tokens of the completed requests / duration",
    unit: Unit::TokensPerSecond,
    notes: "Over the whole pass, from the first send to the last end, including start-up and \
        drain. Absent if the prompt of a completed request was not counted.",
    value: Value::Pass(input_tokens_per_s),
    title: "Input tokens per second",
    result_key: "input_tokens_per_s",
    column: None,
    compared: false,
    ..REQUESTS
};

/// Output tokens of the completed requests per second.
pub static OUTPUT_TOKENS: Definition = Definition {
    name: "output_tokens_per_s",
    formula: "output tokens of the completed requests / duration",
    unit: Unit::TokensPerSecond,
    notes: "Over the whole pass, from the first send to the last end, including start-up and \
        drain. Absent if the output of a completed request was not counted.",
    value: Value::Pass(output_tokens_per_s),
    title: "Output tokens per second",
    result_key: "output_tokens_per_s",
    column: Some("Output tokens/s"),
    ..REQUESTS
};

/// Prompt and output tokens of the completed requests per second.
pub static TOTAL_TOKENS: Definition = Definition {
    name: "total_tokens_per_s",
    formula: "prompt and output tokens of the completed requests / duration",
    notes: "Over the whole pass, from the first send to the last end, including start-up and \
        drain. Absent if a prompt or an output of a completed request was not counted.",
    value: Value::Pass(total_tokens_per_s),
    title: "Tokens per second",
    result_key: "total_tokens_per_s",
    column: Some("Total tokens/s"),
    ..INPUT_TOKENS
};

/// Completed requests per second; absent if the pass has no duration.
pub fn requests_per_s(data: &PassData) -> Option<f64> {
    rate_per_s(data.completed, data)
}

/// Prompt tokens of the completed requests per second. Absent if the prompt of a completed request was not counted, or
/// if the pass has no duration.
pub fn input_tokens_per_s(data: &PassData) -> Option<f64> {
    if data.uncounted_prompts > 0 {
        return None;
    }
    rate_per_s(data.input_tokens, data)
}

/// Output tokens of the completed requests per second. Absent if the output of a completed request was not counted, or
/// if the pass has no duration.
pub fn output_tokens_per_s(data: &PassData) -> Option<f64> {
    if data.uncounted > 0 {
        return None;
    }
    rate_per_s(data.output_tokens, data)
}

/// Prompt and output tokens of the completed requests per second. Absent if the prompt or the output of a completed
/// request was not counted, or if the pass has no duration.
pub fn total_tokens_per_s(data: &PassData) -> Option<f64> {
    if data.uncounted_prompts > 0 || data.uncounted > 0 {
        return None;
    }
    rate_per_s(data.input_tokens + data.output_tokens, data)
}

fn rate_per_s(count: u64, data: &PassData) -> Option<f64> {
    Some(count as f64 / duration::duration_s(data)?)
}
