//! The list of dialects. Engines differ in the path of a request, in its body, and in the format of the
//! response. To add a dialect, add a file, its `mod` line and its entry in `DIALECTS`; no other code of this
//! crate changes. `tgi` (with token counts and a finish reason) and `triton` (with neither) are small
//! examples.

mod anthropic;
mod llama_cpp;
mod ollama;
mod openai_chat;
mod openai_completions;
mod openai_responses;
mod pooled;
mod sglang;
mod stated_tokens;
mod tgi;
mod triton;
mod vllm;

mod decode;
mod definition;
mod delta;
mod json;
pub mod media;
mod openai;
mod template;
mod usage;

pub(crate) use decode::{Decode, Undecoded};
pub use definition::{Dialect, FieldChange, Framing};
pub(crate) use json::merge;

/// Every dialect, in the order in which they are listed.
static DIALECTS: [&Dialect; 12] = [
    &openai_completions::DIALECT,
    &openai_chat::DIALECT,
    &openai_responses::DIALECT,
    &anthropic::DIALECT,
    &vllm::DIALECT,
    &sglang::DIALECT,
    &tgi::DIALECT,
    &llama_cpp::DIALECT,
    &ollama::DIALECT,
    &triton::DIALECT,
    &pooled::EMBED,
    &pooled::RANK,
];

/// All dialects, in the order in which they are listed.
pub fn dialects() -> &'static [&'static Dialect] {
    &DIALECTS
}

/// The dialect of this name; `None` if there is none.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name == name)
}
