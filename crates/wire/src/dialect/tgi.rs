//! Hugging Face Text Generation Inference, `/generate` and `/generate_stream`: one event per
//! token, the last one with `generated_text` and the counts. TGI has no field for ignoring
//! end-of-text and refuses a temperature of 0; greedy is what it does without one.

use inferometer_model::record::Usage;
use inferometer_model::request::{Prompt, Request, Sampling};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::json::{Count, Text, bytes, parse, server_error, unexpected};
use super::{Decode, Dialect, Framing};
use crate::http::Head;
use crate::{Answer, WireError};

/// `/generate` and `/generate_stream` of TGI.
pub(super) struct Tgi;

impl Dialect for Tgi {
    fn name(&self) -> &'static str {
        "tgi"
    }

    fn description(&self) -> &'static str {
        "Text Generation Inference's native /generate and /generate_stream: one event per token"
    }

    fn source(&self) -> &'static str {
        "https://huggingface.github.io/text-generation-inference"
    }

    fn path(&self, stream: bool) -> &'static str {
        if stream { "/generate_stream" } else { "/generate" }
    }

    fn accepts_token_ids(&self) -> bool {
        false
    }

    fn honours_ignore_eos(&self) -> bool {
        false
    }

    fn reports_usage(&self, _stream: bool) -> bool {
        true
    }

    fn body(
        &self,
        request: &Request,
        sampling: &Sampling,
        _model: &str,
    ) -> Result<Vec<u8>, WireError> {
        let Prompt::Text(text) = &request.prompt else {
            return Err(WireError::prompt(self.name(), &request.prompt));
        };
        let mut parameters = json!({
            "max_new_tokens": request.output_tokens,
            "details": true,
            "do_sample": sampling.temperature > 0.0,
        });
        if sampling.temperature > 0.0 {
            parameters["temperature"] = json!(sampling.temperature);
        }
        let body = json!({ "inputs": text, "parameters": parameters });
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(Generate { stream })
    }
}

struct Generate {
    stream: bool,
}

impl Decode for Generate {
    fn framing(&self) -> Framing {
        if self.stream { Framing::Sse } else { Framing::WholeBody }
    }

    /// Whole bodies come with the counts as header fields; those inside the body replace them.
    fn head(&mut self, head: &Head, answer: &mut Answer) {
        let number = |name| head.header(name).and_then(|value| value.trim().parse().ok());
        let (prompt, completion) = (number("x-prompt-tokens"), number("x-generated-tokens"));
        answer.set_usage(Usage { prompt, completion, cached: None });
    }

    fn message(&mut self, data: &str, answer: &mut Answer) {
        if answer.done {
            return unexpected("it comes after generated_text", data, answer);
        }
        let Some(message) = parse::<Message<'_>>(data, answer) else { return };
        if message.error.is_some() {
            return server_error(data, answer);
        }
        let Some(token) = message.token else {
            return unexpected("neither a token nor an error", data, answer);
        };
        // A special token, such as end-of-text, is one that the server counts and nobody sees.
        answer.text(if token.special { "" } else { &token.text.0 }, Some(1));
        if message.generated_text.is_some() {
            end(message.details.as_ref(), answer);
            answer.done = true;
        }
    }

    fn body(&mut self, body: &[u8], answer: &mut Answer) {
        let data = String::from_utf8_lossy(body);
        let Some(message) = parse::<Message<'_>>(&data, answer) else { return };
        if message.error.is_some() {
            return server_error(&data, answer);
        }
        let Some(Text(text)) = message.generated_text else {
            return unexpected("no generated_text", &data, answer);
        };
        let details = message.details.as_ref();
        let tokens = details.and_then(|details| details.generated_tokens);
        let tokens = tokens.or(answer.usage.completion);
        if !text.is_empty() || tokens.is_some_and(|tokens| tokens > 0) {
            answer.text(&text, tokens);
        }
        end(details, answer);
    }
}

/// The finish reason and the counts of the last event, or of a whole body.
fn end(details: Option<&Details<'_>>, answer: &mut Answer) {
    answer.proper_end = true;
    let Some(details) = details else { return };
    if let Some(Text(reason)) = &details.finish_reason {
        answer.finish(reason);
    }
    let prefill = details.prefill.as_ref().map(|list| list.0).filter(|&count| count > 0);
    let usage = Usage {
        prompt: details.input_length.or(prefill),
        completion: details.generated_tokens,
        cached: None,
    };
    if usage == Usage::default() {
        return;
    }
    answer.usage(usage);
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    token: Option<Token<'a>>,
    #[serde(borrow)]
    generated_text: Option<Text<'a>>,
    #[serde(borrow)]
    details: Option<Details<'a>>,
    error: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Token<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(default)]
    special: bool,
}

#[derive(Debug, Deserialize)]
struct Details<'a> {
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    generated_tokens: Option<u32>,
    input_length: Option<u32>,
    prefill: Option<Count>,
}
