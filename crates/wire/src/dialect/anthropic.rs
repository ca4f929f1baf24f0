//! Anthropic's messages API, which vLLM, SGLang and llama.cpp serve too: typed events, content
//! blocks of text, thinking and tool use, counts at the start and at the end.

use inferometer_model::record::{EventKind, Usage};
use inferometer_model::request::{Message, Prompt, Request, Sampling};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json::{Text, bytes, parse, server_error, unexpected};
use super::{Decode, Dialect, Framing};
use crate::{Answer, WireError};

/// `/v1/messages`.
pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn description(&self) -> &'static str {
        "Anthropic messages: typed events, content blocks, counts at both ends"
    }

    fn source(&self) -> &'static str {
        "https://docs.anthropic.com/en/api/messages-streaming"
    }

    fn path(&self, _stream: bool) -> &'static str {
        "/v1/messages"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    fn accepts_token_ids(&self) -> bool {
        false
    }

    fn accepts_messages(&self) -> bool {
        true
    }

    fn honours_ignore_eos(&self) -> bool {
        false
    }

    fn applies_chat_template(&self) -> bool {
        true
    }

    fn reports_usage(&self, _stream: bool) -> bool {
        true
    }

    fn body(
        &self,
        request: &Request,
        sampling: &Sampling,
        model: &str,
    ) -> Result<Vec<u8>, WireError> {
        let mut body = json!({
            "model": model,
            "max_tokens": request.output_tokens,
            "temperature": sampling.temperature,
            "stream": sampling.stream,
        });
        match &request.prompt {
            Prompt::Text(text) => body["messages"] = json!([{ "role": "user", "content": text }]),
            Prompt::Messages(messages) => {
                // What other APIs have as a message of the system is a field here.
                let is_system = |message: &&Message| message["role"] == "system";
                let (system, others): (Vec<_>, Vec<_>) = messages.iter().partition(is_system);
                let said: Vec<&str> =
                    system.iter().filter_map(|message| message["content"].as_str()).collect();
                if !said.is_empty() {
                    body["system"] = Value::String(said.join("\n\n"));
                }
                body["messages"] = json!(others);
            }
            Prompt::TokenIds(_) => return Err(WireError::prompt(self.name(), &request.prompt)),
        }
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(Messages { stream })
    }
}

struct Messages {
    stream: bool,
}

impl Decode for Messages {
    fn framing(&self) -> Framing {
        if self.stream { Framing::Sse } else { Framing::WholeBody }
    }

    fn message(&mut self, data: &str, answer: &mut Answer) {
        // Some servers end with OpenAI's mark.
        if answer.done && data.trim() == "[DONE]" {
            return;
        }
        if answer.done {
            return unexpected("it comes after message_stop", data, answer);
        }
        let Some(event) = parse::<Event<'_>>(data, answer) else { return };
        match &*event.kind.0 {
            "message_start" => {
                answer.event(EventKind::Role);
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    // The output that it counts is none that was sent.
                    answer.set_usage(Usage { completion: None, ..usage.usage() });
                }
            }
            "content_block_delta" => match event.delta {
                Some(delta) => delta.output(answer),
                None => unexpected("no delta", data, answer),
            },
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    answer.finish(&reason.0);
                }
                if let Some(usage) = event.usage {
                    answer.usage(usage.usage());
                }
            }
            "message_stop" => answer.done(),
            "error" => server_error(data, answer),
            // Blocks that begin and end, and what keeps the connection alive.
            _ => answer.event(EventKind::Comment),
        }
    }

    fn body(&mut self, body: &[u8], answer: &mut Answer) {
        let data = String::from_utf8_lossy(body);
        let Some(whole) = parse::<Whole<'_>>(&data, answer) else { return };
        if whole.kind.is_some_and(|kind| kind.0 == "error") {
            return server_error(&data, answer);
        }
        let Some(blocks) = whole.content else { return unexpected("no content", &data, answer) };
        let counted = whole.usage.and_then(|usage| usage.output_tokens);
        blocks.iter().enumerate().for_each(|(at, block)| {
            // One count for all blocks: it is told once, so that the sum is right.
            block.output(if at == 0 { counted } else { counted.map(|_| 0) }, answer);
        });
        if let Some(Text(reason)) = &whole.stop_reason {
            answer.finish(reason);
        }
        if let Some(usage) = whole.usage {
            answer.usage(usage.usage());
        }
        answer.proper_end = true;
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
    fn output(&self, answer: &mut Answer) {
        if let Some(Text(text)) = &self.thinking {
            answer.reasoning(text, None);
        }
        if let Some(Text(text)) = &self.text {
            answer.text(text, None);
        }
        if let Some(Text(text)) = &self.partial_json {
            answer.token(EventKind::ToolCall, chars(text), None);
        }
    }
}

#[derive(Debug, Deserialize)]
struct Whole<'a> {
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
    fn output(&self, tokens: Option<u32>, answer: &mut Answer) {
        if let Some(Text(text)) = &self.thinking {
            answer.reasoning(text, tokens);
        } else if let Some(Text(text)) = &self.text {
            answer.text(text, tokens);
        } else if let Some(input) = &self.input {
            answer.token(EventKind::ToolCall, chars(&input.to_string()), tokens);
        }
    }
}

fn chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Counts {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    cache_read_input_tokens: Option<u32>,
    cache_creation_input_tokens: Option<u32>,
}

impl Counts {
    /// The prompt's count leaves out what came from the cache or went into it.
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
