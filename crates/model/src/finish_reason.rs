//! The finish reasons of known APIs and engines, and what they mean.

/// What a finish reason means for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The answer ended as usual: by itself, at a stop text, with a tool call or a refusal, or at a limit on its
    /// length.
    Ended,
    /// A filter ended the answer.
    Filtered,
    /// The server aborted the request: the request did not complete.
    Failed,
    /// The reason is in none of the lists below. The request counts as complete.
    Unknown,
}

/// The name of the class of requests that ended with [`FinishReason::Filtered`].
pub const FILTERED_CLASS: &str = "content_filter";

/// The longest finish reason that a record stores, in characters.
pub const MAX_CHARS: usize = 100;

const ENDED: [&str; 22] = [
    // OpenAI, vLLM, SGLang, llama.cpp's OpenAI API
    "stop",
    "length",
    "tool_calls",
    "function_call",
    // vLLM: the output repeats itself
    "repetition",
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
    "abort", "aborted", "error", "cancelled", "canceled", "failed", "failure",
    // DeepSeek: the request was interrupted
    "insufficient_system_resource",
];

/// The reasons of an answer that reached a limit on its length.
const OF_LENGTH: [&str; 7] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "incomplete",
    "model_length",
    "limit",
    "model_context_window_exceeded",
];

/// Whether an answer with this finish reason reached a limit on its length.
pub fn is_of_length(reason: &str) -> bool {
    OF_LENGTH.iter().any(|known| reason.eq_ignore_ascii_case(known))
}

impl FinishReason {
    /// The meaning of a server's finish reason. Upper and lower case are equal.
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
