//! llama.cpp's native `/completion`: one message per token. The last message has `"stop": true`, the finish
//! reason and the server's own `timings`. The stream ends without `[DONE]`.

use inferometer_model::{Prompt, Request, Sampling, Usage};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect};
use super::json::{Text, parse, tokens};
use super::openai::prompt;
use crate::{ParsedResponse, server_times::of_object};

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

impl Decode for Completion {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let message: Message<'_> = parse(data)?;
        if message.error.is_some() {
            return Err(Undecoded::Error);
        }
        if message.content.is_none() && message.stop.is_none() {
            return Err(Undecoded::NoOutput);
        }
        let content = message.content.as_ref().map_or("", |Text(content)| content);
        let stop = message.stop.unwrap_or(false);
        let new = message.tokens_predicted.and_then(|all| all.checked_sub(self.tokens));
        self.tokens = message.tokens_predicted.unwrap_or(self.tokens);
        // If the server states no count, each message before the last is one token. With counts, a progress
        // report is recognised: it adds no token.
        let is_token = new.map_or(!stop, |new| new > 0);
        if !content.is_empty() || is_token {
            parsed.text(content, new);
        }
        if stop {
            let usage = Usage {
                prompt: message.tokens_evaluated,
                completion: message.tokens_predicted,
                cached: tokens(&message.timings["cache_n"]).unwrap_or(None),
                ..Usage::default()
            };
            parsed.finish(message.stop_type.as_ref().map_or("stop", |Text(reason)| reason));
            parsed.usage(usage);
            parsed.times(of_object(&message.timings));
            parsed.done = true;
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    stop: Option<bool>,
    stop_type: Option<Text<'a>>,
    #[serde(default, deserialize_with = "tokens")]
    tokens_predicted: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    tokens_evaluated: Option<u32>,
    #[serde(default)]
    timings: Value,
    error: Option<IgnoredAny>,
}
