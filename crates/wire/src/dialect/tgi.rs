//! Hugging Face Text Generation Inference, `/generate` and `/generate_stream`: one event per token. The last
//! event has `generated_text` and the counts. TGI has no field for ignoring end-of-text. TGI rejects a
//! temperature of 0; without a temperature, it decodes greedily.

use inferometer_model::{Prompt, Request, Sampling, Usage};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect};
use super::json::{Count, Text, parse, tokens, wrong};
use crate::{ParsedResponse, http::Head};

/// `/generate` and `/generate_stream` of TGI.
pub(super) static DIALECT: Dialect = Dialect {
    name: "tgi",
    description: "Text Generation Inference's native /generate and /generate_stream: one event per token",
    source: "https://huggingface.github.io/text-generation-inference",
    whole_path: "/generate",
    stream_path: "/generate_stream",
    honours_ignore_eos: false,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, _model: &str) -> Option<Value> {
    let Prompt::Text(text) = &request.prompt else { return None };
    let mut parameters = json!({
        "max_new_tokens": request.output_tokens,
        "details": true,
        "do_sample": sampling.temperature > 0.0,
    });
    if sampling.temperature > 0.0 {
        parameters["temperature"] = json!(sampling.temperature);
    }
    let body = json!({ "inputs": text, "parameters": parameters });
    Some(body)
}

fn decoder(_prompt: &Prompt, _stream: bool) -> Box<dyn Decode> {
    Box::new(Generate)
}

struct Generate;

impl Decode for Generate {
    /// Reads the token counts of a whole body from header fields. Counts inside the body replace them. A
    /// stream has no such fields, because its head is sent before its tokens.
    fn head(&mut self, head: &Head, parsed: &mut ParsedResponse) {
        let number = |name| head.header(name).and_then(|value| value.trim().parse().ok());
        let (prompt, completion) = (number("x-prompt-tokens"), number("x-generated-tokens"));
        parsed.set_usage(Usage { prompt, completion, ..Usage::default() });
    }

    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let message: Message<'_> = parse(data)?;
        if message.error.is_some() {
            return Err(Undecoded::Error);
        }
        if message.token.is_none() && message.generated_text.is_none() {
            return Err(Undecoded::NoOutput);
        }
        // A special token, such as end-of-text, counts as a token, but its text is not part of the output.
        if let Some(token) = message.token {
            parsed.text(if token.special { "" } else { &token.text.0 }, Some(1));
        }
        if message.generated_text.is_some() {
            end(message.details.as_ref(), parsed);
            parsed.done = true;
        }
        Ok(())
    }

    fn body(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let message: Message<'_> = parse(data)?;
        if message.error.is_some() {
            return Err(Undecoded::Error);
        }
        let Some(Text(text)) = message.generated_text else { return wrong("no generated_text") };
        let details = message.details.as_ref();
        let tokens = details.and_then(|details| details.generated_tokens);
        let tokens = tokens.or(parsed.usage.completion);
        if !text.is_empty() || tokens.is_some_and(|tokens| tokens > 0) {
            parsed.text(&text, tokens);
        }
        end(details, parsed);
        Ok(())
    }
}

/// Records that the answer ended properly, and the finish reason and the token counts, if the last event or
/// the whole body has `details`.
fn end(details: Option<&Details<'_>>, parsed: &mut ParsedResponse) {
    parsed.proper_end = true;
    let Some(details) = details else { return };
    if let Some(Text(reason)) = &details.finish_reason {
        parsed.finish(reason);
    }
    let prefill = details.prefill.as_ref().map(|list| list.0).filter(|&count| count > 0);
    let usage = Usage {
        prompt: details.input_length.or(prefill),
        completion: details.generated_tokens,
        ..Usage::default()
    };
    if usage == Usage::default() {
        return;
    }
    parsed.usage(usage);
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    token: Option<Token<'a>>,
    generated_text: Option<Text<'a>>,
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
    #[serde(default, deserialize_with = "tokens")]
    generated_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    input_length: Option<u32>,
    prefill: Option<Count>,
}
