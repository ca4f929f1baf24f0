//! What differs between engines: where a request goes, what its body says, how the answer is
//! read. One file per dialect, one line here; nothing else in the program asks which it is.

mod anthropic;
mod json;
mod llama_cpp;
mod openai;
mod openai_chat;
mod openai_completions;
mod openai_responses;
mod sglang;
mod template;
mod tgi;
mod triton;
mod vllm;

use inferometer_model::request::{Prompt, Request, Sampling};

use crate::http::Head;
use crate::{Answer, WireError};

/// Every dialect, in the order in which they are listed.
static DIALECTS: [&dyn Dialect; 9] = [
    &openai_completions::OpenAiCompletions,
    &openai_chat::OpenAiChat,
    &openai_responses::OpenAiResponses,
    &anthropic::Anthropic,
    &vllm::Vllm,
    &sglang::Sglang,
    &tgi::Tgi,
    &llama_cpp::LlamaCpp,
    &triton::Triton,
];

/// Every dialect, in the order in which they are listed.
#[must_use]
pub fn dialects() -> &'static [&'static dyn Dialect] {
    &DIALECTS
}

/// The dialect of that name.
#[must_use]
pub fn dialect(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name() == name)
}

/// How one kind of server is spoken to.
pub trait Dialect: Sync + Send {
    /// Its name on the command line and in results.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn description(&self) -> &'static str;

    /// Where it is specified.
    fn source(&self) -> &'static str;

    /// The path that requests are posted to; `{model}` in it stands for the model's name.
    fn path(&self, stream: bool) -> &'static str;

    /// Header fields that every request needs.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The header field that carries a key, and its value.
    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    /// Whether a prompt may be token ids.
    fn accepts_token_ids(&self) -> bool;

    /// Whether a prompt may be the messages of a chat.
    fn accepts_messages(&self) -> bool {
        false
    }

    /// Whether it has a way to make the server go on after end-of-text. Where it has none,
    /// outputs may be shorter than asked for.
    fn honours_ignore_eos(&self) -> bool;

    /// Whether the server wraps the prompt in the model's chat template before it counts it.
    fn applies_chat_template(&self) -> bool {
        false
    }

    /// Whether answers carry the server's own token counts.
    fn reports_usage(&self, stream: bool) -> bool;

    /// The body of a request, as JSON. Fields of the plan's `extra_body` replace fields of the
    /// same name, those of the request's replace both; where both are objects, their fields are
    /// merged.
    ///
    /// # Errors
    /// When the prompt is token ids or messages, and the dialect takes none.
    fn body(
        &self,
        request: &Request,
        sampling: &Sampling,
        model: &str,
    ) -> Result<Vec<u8>, WireError>;

    /// Reads the answer to one request with this prompt.
    fn decoder(&self, prompt: &Prompt, stream: bool) -> Box<dyn Decode>;
}

/// How the messages of an answer are set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// Messages that end with NUL or LF.
    NulDelimited,
    /// One message: the whole body.
    WholeBody,
}

/// Reads the messages of one answer.
pub trait Decode: Send {
    /// How its messages are set apart.
    fn framing(&self) -> Framing;

    /// The head of a successful response, before any message.
    fn head(&mut self, _head: &Head, _answer: &mut Answer) {}

    /// One message of a stream.
    fn message(&mut self, data: &str, answer: &mut Answer);

    /// A whole body that is not streamed.
    fn body(&mut self, body: &[u8], answer: &mut Answer);
}
