//! Anthropic's messages API, which vLLM, SGLang and llama.cpp serve too. A response has typed events, content
//! blocks of text, thinking and tool use, and token counts at its beginning and at its end.

use inferometer_model::request::Message;
use inferometer_model::{EventKind, Prompt, Request, Sampling, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::definition::{DEFAULT, Decode, Dialect};
use super::json::{Text, parse, server_error, tokens, unexpected, unknown_type};
use crate::ParsedResponse;

/// `/v1/messages` of Anthropic, vLLM, SGLang and llama.cpp.
pub(super) static DIALECT: Dialect = Dialect {
    name: "anthropic",
    description: "Anthropic messages: typed events, content blocks, token counts at the beginning \
        and at the end",
    source: "https://docs.anthropic.com/en/api/messages-streaming",
    whole_path: "/v1/messages",
    headers: &[("anthropic-version", "2023-06-01")],
    key_field: ("x-api-key", ""),
    accepts_messages: true,
    honours_ignore_eos: false,
    applies_chat_template: true,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, model: &str) -> Option<Value> {
    let mut body = json!({
        "model": model,
        "max_tokens": request.output_tokens,
        "temperature": sampling.temperature,
        "stream": sampling.stream,
    });
    match &request.prompt {
        Prompt::Text(text) => body["messages"] = json!([{ "role": "user", "content": text }]),
        Prompt::Messages(messages) => {
            // This API has a separate field for the messages with the role `system` of other APIs.
            let is_system = |message: &&Message| message["role"] == "system";
            let (system, others): (Vec<_>, Vec<_>) = messages.iter().partition(is_system);
            let texts: Vec<&str> =
                system.iter().filter_map(|message| message["content"].as_str()).collect();
            if !texts.is_empty() {
                body["system"] = Value::String(texts.join("\n\n"));
            }
            body["messages"] = json!(others);
        }
        Prompt::TokenIds(_) => return None,
    }
    Some(body)
}

fn decoder(_prompt: &Prompt, _stream: bool) -> Box<dyn Decode> {
    Box::new(Messages)
}

struct Messages;

impl Decode for Messages {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) {
        // Some servers also send `[DONE]`, the end mark of OpenAI's APIs.
        if parsed.done && data.trim() == "[DONE]" {
            return;
        }
        if parsed.done {
            return unexpected("it comes after message_stop", data, parsed);
        }
        let Some(event) = parse::<Event<'_>>(data, parsed) else { return };
        match &*event.kind.0 {
            "message_start" => {
                parsed.event(EventKind::Role);
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    // This message's completion count covers output that has not been sent yet, so it is not
                    // used.
                    parsed.set_usage(Usage { completion: None, ..usage.usage() });
                }
            }
            "content_block_delta" => match event.delta {
                Some(delta) => delta.output(parsed),
                None => unexpected("no delta", data, parsed),
            },
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    parsed.finish(&reason.0);
                }
                if let Some(usage) = event.usage {
                    parsed.usage(usage.usage());
                }
            }
            "message_stop" => parsed.done(),
            "error" => server_error(data, parsed),
            // Events at the beginning and at the end of blocks, and keep-alive events.
            _ => unknown_type(data, parsed),
        }
    }

    fn body(&mut self, body: &[u8], parsed: &mut ParsedResponse) {
        let data = String::from_utf8_lossy(body);
        let Some(whole) = parse::<WholeMessage<'_>>(&data, parsed) else { return };
        if whole.kind.is_some_and(|kind| kind.0 == "error") {
            return server_error(&data, parsed);
        }
        let Some(blocks) = whole.content else { return unexpected("no content", &data, parsed) };
        let counted = whole.usage.and_then(|usage| usage.output_tokens);
        blocks.iter().enumerate().for_each(|(at, block)| {
            // There is one token count for all blocks. The first block gets it, so that the sum is right.
            block.output(if at == 0 { counted } else { counted.map(|_| 0) }, parsed);
        });
        if let Some(Text(reason)) = &whole.stop_reason {
            parsed.finish(reason);
        }
        if let Some(usage) = whole.usage {
            parsed.usage(usage.usage());
        }
        parsed.proper_end = true;
    }
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    message: Option<Started>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
struct Started {
    usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

impl Delta<'_> {
    fn output(&self, parsed: &mut ParsedResponse) {
        if let Some(Text(text)) = &self.thinking {
            parsed.reasoning(text, None);
        }
        if let Some(Text(text)) = &self.text {
            parsed.text(text, None);
        }
        if let Some(Text(text)) = &self.partial_json {
            parsed.tool_call(text, None);
        }
    }
}

#[derive(Debug, Deserialize)]
struct WholeMessage<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Vec<Block<'a>>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    input: Option<Value>,
}

impl Block<'_> {
    fn output(&self, tokens: Option<u32>, parsed: &mut ParsedResponse) {
        if let Some(Text(text)) = &self.thinking {
            parsed.reasoning(text, tokens);
        } else if let Some(Text(text)) = &self.text {
            parsed.text(text, tokens);
        } else if let Some(input) = &self.input {
            parsed.tool_call(&input.to_string(), tokens);
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Counts {
    #[serde(default, deserialize_with = "tokens")]
    input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    output_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    cache_read_input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    cache_creation_input_tokens: Option<u32>,
}

impl Counts {
    /// Adds the tokens that were read from the cache or written to it, because the server's prompt count does
    /// not include them.
    fn usage(self) -> Usage {
        let beside = [self.cache_read_input_tokens, self.cache_creation_input_tokens];
        let beside: u32 = beside.into_iter().flatten().fold(0, u32::saturating_add);
        Usage {
            prompt: self.input_tokens.map(|tokens| tokens.saturating_add(beside)),
            completion: self.output_tokens,
            cached: self.cache_read_input_tokens,
        }
    }
}
