//! vLLM's native `/generate` of `vllm.entrypoints.api_server`. Every message repeats the prompt and the whole
//! output so far, without token counts and finish reason. In a stream, old versions such as 0.2 end each
//! message with NUL, and newer versions with LF. A stream has no end mark: it ends with the body.

use inferometer_model::{Prompt, Request, Sampling};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect, Framing};
use super::json::{Choices, Text, parse, wrong};
use crate::ParsedResponse;

/// `/generate` of vLLM.
pub(super) static DIALECT: Dialect = Dialect {
    name: "vllm",
    description: "vLLM's native /generate (vllm.entrypoints.api_server): cumulative text, no usage",
    source: "https://github.com/vllm-project/vllm/blob/v0.2.7/vllm/entrypoints/api_server.py",
    whole_path: "/generate",
    stream_framing: Framing::Delimited,
    reports_usage: false,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, _model: &str) -> Option<Value> {
    let Prompt::Text(text) = &request.prompt else { return None };
    let mut body = json!({
        "prompt": text,
        "max_tokens": request.output_tokens,
        "temperature": sampling.temperature,
        "stream": sampling.stream,
    });
    if sampling.ignore_eos {
        body["ignore_eos"] = Value::Bool(true);
    }
    Some(body)
}

fn decoder(prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
    let prompt = match prompt {
        Prompt::Text(text) => text.clone(),
        // Unreachable in practice: `fields` makes no body for these prompts.
        Prompt::TokenIds(_) | Prompt::Messages(_) => String::new(),
    };
    Box::new(Generate { prompt, stream, output_bytes: 0 })
}

/// Decodes messages that repeat the prompt and the output so far.
struct Generate {
    prompt: String,
    stream: bool,
    /// The length of the output in the previous message, in bytes.
    output_bytes: usize,
}

impl Decode for Generate {
    /// Adds an event with the part of the output that the previous message did not have.
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let message: Message<'_> = parse(data)?;
        if message.error.is_some() || message.object.is_some_and(|object| object.0 == "error") {
            return Err(Undecoded::Error);
        }
        let Some(Choices { first: Some(Text(text)), others }) = &message.text else {
            return Err(Undecoded::NoOutput);
        };
        if !others.is_empty() {
            return wrong("several answers, whose tokens cannot be told apart");
        }
        let Some(output) = text.strip_prefix(&*self.prompt) else {
            return wrong("the text does not begin with the prompt");
        };
        let Some(new) = output.get(self.output_bytes..) else {
            return wrong("it does not continue the previous message's text");
        };
        // In a stream, a message without new text is a token that does not complete a character. A whole body
        // without text has no output.
        if self.stream || !new.is_empty() {
            parsed.text(new, None);
        }
        self.output_bytes = output.len();
        parsed.proper_end = true;
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    text: Option<Choices<Text<'a>>>,
    error: Option<IgnoredAny>,
    object: Option<Text<'a>>,
}
