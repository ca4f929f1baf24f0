//! The list of dialects. Engines differ in where a request is sent, what its body contains, and how the
//! response is decoded. A dialect has one file, and its `mod` line and entry here; nothing else in this crate
//! depends on a particular one. `tgi` (with counts and a finish reason) and `triton` (with neither) are small
//! examples.

mod anthropic;
mod llama_cpp;
mod openai_chat;
mod openai_completions;
mod openai_responses;
mod sglang;
mod tgi;
mod triton;
mod vllm;

mod definition;
mod json;
mod openai;
mod template;

pub(crate) use definition::Decode;
pub use definition::{Dialect, Framing};

/// Every dialect, in the order in which they are listed.
static DIALECTS: [&Dialect; 9] = [
    &openai_completions::DIALECT,
    &openai_chat::DIALECT,
    &openai_responses::DIALECT,
    &anthropic::DIALECT,
    &vllm::DIALECT,
    &sglang::DIALECT,
    &tgi::DIALECT,
    &llama_cpp::DIALECT,
    &triton::DIALECT,
];

/// Every dialect, in the order in which they are listed.
pub fn dialects() -> &'static [&'static Dialect] {
    &DIALECTS
}

/// The dialect of that name.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name == name)
}
