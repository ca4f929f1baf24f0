//! The times that a server states in the header fields of a response.

use inferometer_model::record::ServerTimes;

use crate::http::Head;

/// The times in TGI's header fields, in milliseconds. TGI sends them with every response that is not a
/// stream, in its own API and in the OpenAI API. Other servers use the same names with other units, so the
/// field `x-compute-type` must be present.
pub(crate) fn server_times(head: &Head) -> ServerTimes {
    if head.header("x-compute-type").is_none() {
        return ServerTimes::default();
    }
    let milliseconds = |name| head.header(name).and_then(|value| value.trim().parse().ok());
    ServerTimes {
        queue_ms: milliseconds("x-queue-time"),
        inference_ms: milliseconds("x-inference-time"),
        total_ms: milliseconds("x-total-time"),
    }
}
