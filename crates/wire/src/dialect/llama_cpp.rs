//! llama.cpp's native `/completion`: one message per token. The last message has `"stop": true`, the finish
//! reason and the server's own `timings`. The stream ends without `[DONE]`.

use inferometer_model::{Prompt, Request, Sampling, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::definition::{DEFAULT, Decode, Dialect};
use super::json::{Text, parse, server_error, tokens, unexpected};
use super::openai::prompt;
use crate::ParsedResponse;

/// `/completion` of llama.cpp's server.
pub(super) static DIALECT: Dialect = Dialect {
    name: "llama-cpp",
    description: "llama.cpp's native /completion: one message per token, without the server's \
        prompt cache",
    source: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
    whole_path: "/completion",
    accepts_token_ids: true,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, _model: &str) -> Option<Value> {
    let prompt = prompt(&request.prompt)?;
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
    Some(body)
}

fn decoder(_prompt: &Prompt, _stream: bool) -> Box<dyn Decode> {
    Box::new(Completion { tokens: 0 })
}

struct Completion {
    /// The number of tokens after the previous message, as the server counts them.
    tokens: u32,
}

impl Completion {
    fn take(&mut self, data: &str, parsed: &mut ParsedResponse) {
        let Some(message) = parse::<Message<'_>>(data, parsed) else { return };
        if message.error.is_some() {
            return server_error(data, parsed);
        }
        let (Some(Text(content)), Some(stop)) = (&message.content, message.stop) else {
            return unexpected("the field `content` or `stop` is missing", data, parsed);
        };
        let new = message.tokens_predicted.and_then(|all| all.checked_sub(self.tokens));
        self.tokens = message.tokens_predicted.unwrap_or(self.tokens);
        // If the server states no count, each message before the last is one token. With counts, a progress
        // report is recognised: it adds no token.
        let is_token = new.map_or(!stop, |new| new > 0);
        if !content.is_empty() || is_token {
            parsed.text(content, new);
        }
        if stop {
            self.end(&message, parsed);
        }
    }

    fn end(&self, message: &Message<'_>, parsed: &mut ParsedResponse) {
        let timings = message.timings.as_ref();
        let usage = Usage {
            prompt: message.tokens_evaluated,
            completion: message.tokens_predicted,
            cached: timings.and_then(|timings| timings.cache_n),
        };
        let reason = message.stop_type.as_ref().map_or("stop", |Text(reason)| reason);
        parsed.finish(reason);
        parsed.usage(usage);
        parsed.done = true;
    }
}

impl Decode for Completion {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) {
        if parsed.done {
            return unexpected("it comes after the last message", data, parsed);
        }
        self.take(data, parsed);
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    stop: Option<bool>,
    #[serde(borrow)]
    stop_type: Option<Text<'a>>,
    #[serde(default, deserialize_with = "tokens")]
    tokens_predicted: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    tokens_evaluated: Option<u32>,
    timings: Option<Timings>,
    error: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Timings {
    #[serde(default, deserialize_with = "tokens")]
    cache_n: Option<u32>,
}
