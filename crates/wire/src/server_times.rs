//! The times of a request that servers state in their responses: which field of which server holds what.

use inferometer_model::record::{
    ServerTime::{self, Decode, FirstToken, Inference, Load, Prefill, Queue, Total},
    ServerTimes,
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::http::Head;

const NS: f64 = 1e-3;
const MS: f64 = 1e3;
const S: f64 = 1e6;

/// Fields with times in JSON: the name, the microseconds of its unit, and what it holds. Fields that hold the same are
/// added. No two servers use the same name.
static FIELDS: [(&str, f64, ServerTime); 14] = [
    // vLLM with --enable-per-request-metrics, in `metrics`. Its TTFT begins when the request leaves the queue.
    ("queue_time_ms", MS, Queue),
    ("time_to_first_token_ms", MS, Prefill),
    ("generation_time_ms", MS, Decode),
    // llama.cpp, in `timings`. Both times leave out the wait for a free slot.
    ("prompt_ms", MS, Prefill),
    ("predicted_ms", MS, Decode),
    // SGLang, in `meta_info`. The latencies begin when the HTTP server has the request; two are instants.
    ("queue_time", S, Queue),
    ("prefill_finished_time", S, Prefill),
    ("forward_entry_time", -S, Prefill),
    ("first_token_latency", S, FirstToken),
    ("e2e_latency", S, Total),
    // Ollama, in the last message. The load ends when the model has a place for the request; with a loaded model it is
    // short. No field holds the wait for a slot.
    ("load_duration", NS, Load),
    ("prompt_eval_duration", NS, Prefill),
    ("eval_duration", NS, Decode),
    ("total_duration", NS, Total),
];

/// TGI's header fields, in whole milliseconds.
const TGI: [(&str, ServerTime); 3] =
    [("x-queue-time", Queue), ("x-inference-time", Inference), ("x-total-time", Total)];

/// The times in TGI's header fields. TGI sends them with every response that is not a stream, in its own API and in
/// the OpenAI API. Other servers use the same names with other units, so the field `x-compute-type` must be present.
pub(crate) fn of_head(head: &Head) -> ServerTimes {
    let is_tgi = head.header("x-compute-type").is_some();
    let stated = TGI.iter().filter(|_| is_tgi);
    stated.fold(ServerTimes::default(), |times, &(name, time)| {
        let ms = head.header(name).and_then(|value| value.trim().parse::<u32>().ok());
        times.with(time, ms.and_then(|ms| ms.checked_mul(1_000)))
    })
}

/// The times in an object. A value that is no number of at least 0 is left out.
pub(crate) fn of_object(object: &Value) -> ServerTimes {
    let mut sums = [None; ServerTime::ALL.len()];
    for (name, unit_us, time) in FIELDS {
        if let Some(value) = object[name].as_f64() {
            *sums[time as usize].get_or_insert(0.0) += value * unit_us;
        }
    }
    let range = 0.0..=f64::from(u32::MAX);
    ServerTimes(sums.map(|us| us.filter(|us| range.contains(us)).map(|us| us.round() as u32)))
}

/// Reads a field that has an object with times.
pub(crate) fn times<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ServerTimes, D::Error> {
    Ok(of_object(&Value::deserialize(deserializer)?))
}
