//! vLLM's native `/generate` of 0.2.x (`vllm/entrypoints/api_server.py`). Every message contains the prompt and all
//! output so far; a stream consists of JSON documents that each end with a NUL byte.

use serde_json::{Value, json};

use super::{Host, Job, Output, OutputOptions, Reply, ResponseFormat, body::Body};

/// The default output length, in tokens.
const DEFAULT_MAX_TOKENS: u32 = 16;

/// `/generate` with a `prompt`. As in vLLM, lengths are not checked: the output stops at the length limit, and a prompt
/// above the limit gets an empty output.
pub(super) fn generate(host: &Host, body: &[u8]) -> Result<Job, Reply> {
    let body = Body::parse(body)?;
    let text = body.text("prompt")?.to_owned();
    let prompt = body.prompt(host)?;
    let options = OutputOptions {
        max_tokens: body.count("max_tokens")?.unwrap_or(DEFAULT_MAX_TOKENS),
        ignore_eos: body.flag("ignore_eos")?,
        stream: body.flag("stream")?,
    };
    Ok(Job::new(host, &prompt, options, Box::new(Native { prompt: text })))
}

struct Native {
    prompt: String,
}

impl ResponseFormat for Native {
    fn id_prefix(&self) -> &'static str {
        "generate-"
    }

    fn stream_type(&self) -> &'static str {
        "text/plain; charset=utf-8"
    }

    fn event(&self, output: &Output<'_>) -> Vec<u8> {
        let mut bytes = self.whole(output).to_string().into_bytes();
        bytes.push(0);
        bytes
    }

    fn error(&self, message: &str) -> Vec<Vec<u8>> {
        vec![format!("{}\0", json!({ "error": message })).into_bytes()]
    }

    fn whole(&self, output: &Output<'_>) -> Value {
        json!({ "text": [format!("{}{}", self.prompt, output.text)] })
    }
}
