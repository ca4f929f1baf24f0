//! llama.cpp's native `/completion`: one message per token, the last one with `"stop": true`, the
//! reason and the server's own `timings`. It ends without `[DONE]`.

use inferometer_model::record::Usage;
use inferometer_model::request::{Prompt, Request, Sampling};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::json::{Text, bytes, parse, server_error, unexpected};
use super::openai::prompt;
use super::{Decode, Dialect, Framing};
use crate::{Answer, WireError};

/// `/completion` of llama.cpp's server.
pub(super) struct LlamaCpp;

impl Dialect for LlamaCpp {
    fn name(&self) -> &'static str {
        "llama-cpp"
    }

    fn description(&self) -> &'static str {
        "llama.cpp's native /completion: one message per token, its prompt cache switched off"
    }

    fn source(&self) -> &'static str {
        "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"
    }

    fn path(&self, _stream: bool) -> &'static str {
        "/completion"
    }

    fn accepts_token_ids(&self) -> bool {
        true
    }

    fn honours_ignore_eos(&self) -> bool {
        true
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
        let prompt = prompt(&request.prompt)
            .ok_or_else(|| WireError::prompt(self.name(), &request.prompt))?;
        let mut body = json!({
            "prompt": prompt,
            "n_predict": request.output_tokens,
            "temperature": sampling.temperature,
            "stream": sampling.stream,
            "cache_prompt": false,
        });
        if sampling.ignore_eos {
            body["ignore_eos"] = Value::Bool(true);
        }
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(Completion { stream, tokens: 0 })
    }
}

struct Completion {
    stream: bool,
    /// The tokens that earlier messages counted.
    tokens: u32,
}

impl Completion {
    fn take(&mut self, data: &str, answer: &mut Answer) {
        let Some(message) = parse::<Message<'_>>(data, answer) else { return };
        if message.error.is_some() {
            return server_error(data, answer);
        }
        let (Some(Text(content)), Some(stop)) = (&message.content, message.stop) else {
            return unexpected("no content with its stop", data, answer);
        };
        let new = message.tokens_predicted.and_then(|all| all.checked_sub(self.tokens));
        self.tokens = message.tokens_predicted.unwrap_or(self.tokens);
        // A server that counts no tokens sends one a message; a progress report brings none.
        let is_token = new.map_or(!stop, |new| new > 0);
        if !content.is_empty() || is_token {
            answer.text(content, new);
        }
        if stop {
            self.end(&message, answer);
        }
    }

    fn end(&self, message: &Message<'_>, answer: &mut Answer) {
        let timings = message.timings.as_ref();
        let usage = Usage {
            prompt: message.tokens_evaluated,
            completion: message.tokens_predicted,
            cached: timings.and_then(|timings| timings.cache_n),
        };
        let reason = message.stop_type.as_ref().map_or("stop", |Text(reason)| reason);
        answer.finish(reason);
        answer.usage(usage);
        answer.done = true;
    }
}

impl Decode for Completion {
    fn framing(&self) -> Framing {
        if self.stream { Framing::Sse } else { Framing::WholeBody }
    }

    fn message(&mut self, data: &str, answer: &mut Answer) {
        if answer.done {
            return unexpected("it comes after the last message", data, answer);
        }
        self.take(data, answer);
    }

    fn body(&mut self, body: &[u8], answer: &mut Answer) {
        self.take(&String::from_utf8_lossy(body), answer);
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    stop: Option<bool>,
    #[serde(borrow)]
    stop_type: Option<Text<'a>>,
    tokens_predicted: Option<u32>,
    tokens_evaluated: Option<u32>,
    timings: Option<Timings>,
    error: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Timings {
    cache_n: Option<u32>,
}
