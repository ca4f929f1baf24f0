//! vLLM's native `/generate` of `vllm.entrypoints.api_server`, as it was in 0.2.x and still is:
//! every message repeats the prompt and the whole output so far. It counts no tokens and names
//! no reason to finish; a stream's only end is the end of the body.

use inferometer_model::request::{Prompt, Request, Sampling};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::json::{AtMostOne, Text, bytes, parse, server_error, unexpected};
use super::{Decode, Dialect, Framing};
use crate::{Answer, WireError};

/// `/generate` of vLLM.
pub(super) struct Vllm;

impl Dialect for Vllm {
    fn name(&self) -> &'static str {
        "vllm"
    }

    fn description(&self) -> &'static str {
        "vLLM's native /generate (vllm.entrypoints.api_server): cumulative text, no usage"
    }

    fn source(&self) -> &'static str {
        "https://github.com/vllm-project/vllm/blob/v0.2.7/vllm/entrypoints/api_server.py"
    }

    fn path(&self, _stream: bool) -> &'static str {
        "/generate"
    }

    fn accepts_token_ids(&self) -> bool {
        false
    }

    fn honours_ignore_eos(&self) -> bool {
        true
    }

    fn reports_usage(&self, _stream: bool) -> bool {
        false
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
        let mut body = json!({
            "prompt": text,
            "max_tokens": request.output_tokens,
            "temperature": sampling.temperature,
            "stream": sampling.stream,
        });
        if sampling.ignore_eos {
            body["ignore_eos"] = Value::Bool(true);
        }
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        let prompt = match prompt {
            Prompt::Text(text) => text.clone(),
            // No other request is ever made in this dialect.
            Prompt::TokenIds(_) | Prompt::Messages(_) => String::new(),
        };
        Box::new(Generate { prompt, stream, output_bytes: 0 })
    }
}

/// Reads cumulative answers.
struct Generate {
    prompt: String,
    stream: bool,
    /// The length of the output that earlier messages brought.
    output_bytes: usize,
}

impl Generate {
    /// Takes one message; what it adds to the earlier ones is the event.
    fn cumulative(&mut self, data: &str, answer: &mut Answer) {
        let Some(message) = parse::<Message<'_>>(data, answer) else { return };
        if message.error.is_some() || message.object.is_some_and(|object| object.0 == "error") {
            return server_error(data, answer);
        }
        let Some(AtMostOne(Some(Text(text)))) = &message.text else {
            return unexpected("no text", data, answer);
        };
        let Some(output) = text.strip_prefix(&*self.prompt) else {
            return unexpected("the text does not begin with the prompt", data, answer);
        };
        let Some(new) = output.get(self.output_bytes..) else {
            return unexpected("the text is shorter than it was", data, answer);
        };
        // A step of the engine whose text is held back is half a character; in a whole body
        // nothing at all is no output.
        if self.stream || !new.is_empty() {
            answer.text(new, None);
        }
        self.output_bytes = output.len();
        answer.proper_end = true;
    }
}

impl Decode for Generate {
    fn framing(&self) -> Framing {
        if self.stream { Framing::NulDelimited } else { Framing::WholeBody }
    }

    fn message(&mut self, data: &str, answer: &mut Answer) {
        self.cumulative(data, answer);
    }

    fn body(&mut self, body: &[u8], answer: &mut Answer) {
        self.cumulative(&String::from_utf8_lossy(body), answer);
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    text: Option<AtMostOne<Text<'a>>>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
}
