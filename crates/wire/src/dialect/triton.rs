//! Triton's generate extension, as TensorRT-LLM's and vLLM's backends speak it: one message per
//! step with what is new, no counts, no reason to finish; a stream's only end is the end of the
//! body.

use inferometer_model::request::{Prompt, Request, Sampling};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::json::{Text, bytes, parse, server_error, unexpected};
use super::{Decode, Dialect, Framing};
use crate::{Answer, WireError};

/// `/v2/models/MODEL/generate` and `/generate_stream` of Triton.
pub(super) struct Triton;

impl Dialect for Triton {
    fn name(&self) -> &'static str {
        "triton"
    }

    fn description(&self) -> &'static str {
        "Triton's generate endpoint (TensorRT-LLM): one message per step, no counts"
    }

    fn source(&self) -> &'static str {
        "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/protocol/\
         extension_generate.html"
    }

    fn path(&self, stream: bool) -> &'static str {
        if stream { "/v2/models/{model}/generate_stream" } else { "/v2/models/{model}/generate" }
    }

    fn accepts_token_ids(&self) -> bool {
        false
    }

    fn honours_ignore_eos(&self) -> bool {
        false
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
        let body = json!({
            "text_input": text,
            "max_tokens": request.output_tokens,
            "temperature": sampling.temperature,
            "stream": sampling.stream,
            "bad_words": "",
            "stop_words": "",
        });
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(Generate { stream })
    }
}

struct Generate {
    stream: bool,
}

impl Generate {
    fn take(&self, data: &str, answer: &mut Answer) {
        let Some(message) = parse::<Message<'_>>(data, answer) else { return };
        if message.error.is_some() {
            return server_error(data, answer);
        }
        let Some(Text(text)) = &message.text_output else {
            return unexpected("neither text_output nor an error", data, answer);
        };
        // In a stream an empty text is half a character; in a whole body it is no output.
        if self.stream || !text.is_empty() {
            answer.text(text, None);
        }
        answer.proper_end = true;
    }
}

impl Decode for Generate {
    fn framing(&self) -> Framing {
        if self.stream { Framing::Sse } else { Framing::WholeBody }
    }

    fn message(&mut self, data: &str, answer: &mut Answer) {
        self.take(data, answer);
    }

    fn body(&mut self, body: &[u8], answer: &mut Answer) {
        self.take(&String::from_utf8_lossy(body), answer);
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    text_output: Option<Text<'a>>,
    error: Option<IgnoredAny>,
}
