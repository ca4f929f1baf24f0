//! What servers say of why an answer ended, in the terms of the APIs and engines that are known.

/// What a finish reason means for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model stopped by itself, at a stop text, or at the length asked for.
    Ended,
    /// A filter ended the answer.
    Filtered,
    /// The server gave the request up: it did not complete.
    Failed,
    /// No engine is known to say so. The request completed.
    Unknown,
}

/// The class of requests whose answers a filter ended.
pub const FILTERED_CLASS: &str = "content_filter";

/// Longest finish reason that is kept, in characters.
pub const MAX_CHARS: usize = 100;

const ENDED: [&str; 21] = [
    // OpenAI, vLLM, SGLang, llama.cpp's OpenAI API
    "stop",
    "length",
    "tool_calls",
    "function_call",
    // OpenAI responses
    "completed",
    "incomplete",
    "max_output_tokens",
    // Anthropic
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    // Mistral
    "model_length",
    // TGI
    "eos_token",
    // llama.cpp
    "eos",
    "limit",
    "word",
    // SGLang, Triton
    "matched",
    "end_id",
];
const FILTERED: [&str; 2] = ["content_filter", "content-filter"];
const FAILED: [&str; 8] = [
    "abort",
    "aborted",
    "error",
    "cancelled",
    "canceled",
    "failed",
    "failure",
    // DeepSeek: the request was broken off
    "insufficient_system_resource",
];

impl FinishReason {
    /// The meaning of a server's word; case does not matter.
    pub fn of(reason: &str) -> Self {
        let is_in = |list: &[&str]| list.iter().any(|known| reason.eq_ignore_ascii_case(known));
        if is_in(&ENDED) {
            Self::Ended
        } else if is_in(&FILTERED) {
            Self::Filtered
        } else if is_in(&FAILED) {
            Self::Failed
        } else {
            Self::Unknown
        }
    }
}
