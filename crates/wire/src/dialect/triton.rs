//! Triton's generate extension, as the backends of TensorRT-LLM and vLLM implement it. Each step sends one
//! message with the new text, without token counts and finish reason. A stream has no end mark: it ends with
//! the body.

use inferometer_model::{Prompt, Request, Sampling};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect};
use super::json::{Text, parse};
use crate::ParsedResponse;

/// `/v2/models/MODEL/generate` and `/v2/models/MODEL/generate_stream` of Triton.
pub(super) static DIALECT: Dialect = Dialect {
    name: "triton",
    description: "Triton's generate endpoint (TensorRT-LLM): one message per step, no token counts",
    source: "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/protocol/\
         extension_generate.html",
    whole_path: "/v2/models/{model}/generate",
    stream_path: "/v2/models/{model}/generate_stream",
    honours_ignore_eos: false,
    reports_usage: false,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, _model: &str) -> Option<Value> {
    let Prompt::Text(text) = &request.prompt else { return None };
    let body = json!({
        "text_input": text,
        "max_tokens": request.output_tokens,
        "temperature": sampling.temperature,
        "stream": sampling.stream,
        "bad_words": "",
        "stop_words": "",
    });
    Some(body)
}

fn decoder(_prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
    Box::new(Generate { stream })
}

struct Generate {
    stream: bool,
}

impl Decode for Generate {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let message: Message<'_> = parse(data)?;
        if message.error.is_some() {
            return Err(Undecoded::Error);
        }
        let Some(Text(text)) = &message.text_output else { return Err(Undecoded::NoOutput) };
        // In a stream, an empty text is an incomplete character. A whole body without text has no
        // output.
        if self.stream || !text.is_empty() {
            parsed.text(text, None);
        }
        parsed.proper_end = true;
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    text_output: Option<Text<'a>>,
    error: Option<IgnoredAny>,
}
