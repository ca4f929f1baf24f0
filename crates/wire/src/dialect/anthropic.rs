//! Anthropic's messages API, which vLLM, SGLang and llama.cpp serve too. A response has typed events, content
//! blocks of text, thinking and tool use, and token counts at its beginning and at its end.

use inferometer_model::{EventKind, Prompt, Request, Sampling, Usage, request::Message};
use serde::Deserialize;
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect};
use super::json::{Named, Text, parse, wrong};
use super::{media, usage::UsageBody};
use crate::{ParsedResponse, calls::CallPart};

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
    media: Some(&media::ANTHROPIC),
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

/// The kinds of events with output, usage, a finish reason or an error.
const WITH_CONTENT: [&str; 4] = ["message_start", "content_block_delta", "message_delta", "error"];

struct Messages;

impl Decode for Messages {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let event: Event<'_> = match parse(data) {
            Ok(event) => event,
            // In an event of an unknown kind, the fields may have other forms.
            Err(why) => {
                let Kind { kind } = parse(data)?;
                let is_known = kind.is_none_or(|Text(kind)| WITH_CONTENT.contains(&&*kind));
                return Err(if is_known { why } else { Undecoded::NoOutput });
            }
        };
        match (event.kind.as_ref().map_or("", |Text(kind)| kind), event.delta) {
            ("message_start", _) => {
                parsed.event(EventKind::Role);
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    // This message's completion count covers output that has not been sent yet, so it is not
                    // used.
                    parsed.set_usage(Usage { completion: None, ..usage.of_anthropic() });
                }
            }
            ("content_block_delta", Some(delta)) => delta.output(event.index, parsed),
            ("message_delta", delta) => {
                if let Some(reason) = delta.and_then(|delta| delta.stop_reason) {
                    parsed.finish(&reason.0);
                }
                if let Some(usage) = event.usage {
                    parsed.usage(usage.of_anthropic());
                }
            }
            ("message_stop", _) => parsed.done(),
            ("error", _) => return Err(Undecoded::Error),
            ("content_block_start" | "content_block_stop" | "ping", _) => {
                parsed.event(EventKind::Comment);
                if let Some(Text(name)) =
                    event.content_block.as_ref().and_then(|it| it.name.as_ref())
                {
                    parsed.begin_call(CallPart { key: event.index, name, ..CallPart::default() });
                }
            }
            _ => return Err(Undecoded::NoOutput),
        }
        Ok(())
    }

    fn body(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let whole: WholeMessage<'_> = parse(data)?;
        if whole.kind.is_some_and(|kind| kind.0 == "error") {
            return Err(Undecoded::Error);
        }
        let Some(blocks) = whole.content else { return wrong("no content") };
        let usage = whole.usage.map(UsageBody::of_anthropic);
        let counted = usage.and_then(|usage| usage.completion);
        blocks.iter().enumerate().for_each(|(at, block)| {
            // There is one token count for all blocks. The first block gets it, so that the sum is right.
            block.output(if at == 0 { counted } else { counted.map(|_| 0) }, parsed);
        });
        if let Some(Text(reason)) = &whole.stop_reason {
            parsed.finish(reason);
        }
        if let Some(usage) = usage {
            parsed.usage(usage);
        }
        parsed.proper_end = true;
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    message: Option<Started>,
    delta: Option<Delta<'a>>,
    usage: Option<UsageBody>,
    /// The place of the event's block in the answer.
    index: Option<u64>,
    content_block: Option<Named<'a>>,
}

#[derive(Debug, Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct Started {
    usage: Option<UsageBody>,
}

#[derive(Debug, Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    thinking: Option<Text<'a>>,
    partial_json: Option<Text<'a>>,
    stop_reason: Option<Text<'a>>,
}

impl Delta<'_> {
    fn output(&self, index: Option<u64>, parsed: &mut ParsedResponse) {
        if let Some(Text(text)) = &self.thinking {
            parsed.reasoning(text, None);
        }
        if let Some(Text(text)) = &self.text {
            parsed.text(text, None);
        }
        if let Some(Text(text)) = &self.partial_json {
            parsed.tool_call(CallPart { key: index, arguments: text, ..CallPart::default() }, None);
        }
    }
}

#[derive(Debug, Deserialize)]
struct WholeMessage<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    content: Option<Vec<Block<'a>>>,
    stop_reason: Option<Text<'a>>,
    usage: Option<UsageBody>,
}

#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    thinking: Option<Text<'a>>,
    name: Option<Text<'a>>,
    input: Option<Value>,
}

impl Block<'_> {
    fn output(&self, tokens: Option<u32>, parsed: &mut ParsedResponse) {
        if let Some(Text(text)) = &self.thinking {
            parsed.reasoning(text, tokens);
        } else if let Some(Text(text)) = &self.text {
            parsed.text(text, tokens);
        } else if let Some(input) = &self.input {
            let name = self.name.as_ref().map_or("", |text| &text.0);
            let part = CallPart { name, arguments: &input.to_string(), ..CallPart::default() };
            parsed.tool_call(part, tokens);
        }
    }
}
