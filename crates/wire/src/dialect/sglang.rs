//! SGLang's native `/generate`. Each message repeats the output so far. If the server was started with
//! incremental output, a message contains only new text. `meta_info` counts the tokens so far.

use inferometer_model::{Prompt, Request, Sampling, Usage};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect};
use super::json::{Count, Text, parse, tokens, wrong};
use crate::{ParsedResponse, server_times::of_object};

/// `/generate` of SGLang.
pub(super) static DIALECT: Dialect = Dialect {
    name: "sglang",
    description: "SGLang's native /generate: cumulative text, token counts in each message",
    source: "https://docs.sglang.ai/basic_usage/native_api.html",
    whole_path: "/generate",
    accepts_token_ids: true,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, _model: &str) -> Option<Value> {
    let (field, prompt) = match &request.prompt {
        Prompt::Text(text) => ("text", json!(text)),
        Prompt::TokenIds(ids) => ("input_ids", json!(ids)),
        Prompt::Messages(_) => return None,
    };
    let mut parameters = json!({
        "max_new_tokens": request.output_tokens,
        "temperature": sampling.temperature,
    });
    if sampling.ignore_eos {
        parameters["ignore_eos"] = Value::Bool(true);
    }
    let body = json!({ field: prompt, "sampling_params": parameters, "stream": sampling.stream });
    Some(body)
}

fn decoder(_prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
    Box::new(Generate { stream, output_bytes: 0, tokens: 0 })
}

struct Generate {
    stream: bool,
    /// The length of the output in earlier messages, in bytes.
    output_bytes: usize,
    /// The number of tokens after the previous message, as the server counts them.
    tokens: u32,
}

impl Decode for Generate {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let message: Message<'_> = parse(data)?;
        let failed = message.object.is_some_and(|object| object.0 == "error");
        if message.error.is_some() || failed {
            return Err(Undecoded::Error);
        }
        if message.text.is_none() && message.meta_info.is_none() {
            return Err(Undecoded::NoOutput);
        }
        // A server without a tokenizer sends only counts.
        let text = message.text.as_ref().map(|Text(text)| &**text);
        let meta = message.meta_info.unwrap_or_default();
        let finish = meta.finish_reason.as_ref();
        if let Some(Text(why)) = finish.and_then(|finish| finish.error()) {
            parsed.server_error(why.to_string());
            return Ok(());
        }
        // A message that lists fewer tokens than it counts contains only the new text.
        let counted = meta.completion_tokens;
        let listed = message.output_ids.as_ref().map(|ids| ids.0);
        let incremental =
            self.stream && listed.zip(counted).is_some_and(|(listed, all)| listed < all);
        let new = match text {
            Some(text) if !incremental => text.get(self.output_bytes..),
            text => Some(text.unwrap_or("")),
        };
        let Some(new) = new else {
            return wrong("it does not continue the previous message's text");
        };
        let tokens = counted.and_then(|all| all.checked_sub(self.tokens));
        if !new.is_empty() || tokens.is_some_and(|tokens| tokens > 0) {
            parsed.text(new, tokens);
        }
        self.output_bytes += new.len();
        self.tokens = counted.unwrap_or(self.tokens);
        let usage = Usage {
            prompt: meta.prompt_tokens,
            completion: counted,
            cached: meta.cached_tokens,
            reasoning: meta.reasoning_tokens,
            ..Usage::default()
        };
        match finish {
            None => parsed.set_usage(usage),
            Some(finish) => {
                parsed.finish(&finish.kind.0);
                parsed.usage(usage);
                parsed.times(of_object(&parse::<Value>(data)?["meta_info"]));
            }
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    output_ids: Option<Count>,
    meta_info: Option<Meta<'a>>,
    error: Option<IgnoredAny>,
    object: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow)]
    finish_reason: Option<Finish<'a>>,
    #[serde(default, deserialize_with = "tokens")]
    prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    completion_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    cached_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    reasoning_tokens: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Finish<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    message: Option<Text<'a>>,
}

impl<'a> Finish<'a> {
    /// The server's message if it aborted the request; `None` for other finish reasons.
    fn error(&self) -> Option<&Text<'a>> {
        (self.kind.0 == "abort").then(|| self.message.as_ref().unwrap_or(&self.kind))
    }
}
