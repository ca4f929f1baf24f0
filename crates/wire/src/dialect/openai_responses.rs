//! The OpenAI responses API: typed events without `[DONE]`. The last event has the token counts.

use inferometer_model::{EventKind, Prompt, Request, Sampling, record::ServerTimes};
use serde::Deserialize;
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect};
use super::delta::{Content, Kind};
use super::json::{Named, Text, parse, wrong};
use super::{media, usage::UsageBody};
use crate::{ParsedResponse, calls::CallPart, server_times::times};

/// `/v1/responses`.
pub(super) static DIALECT: Dialect = Dialect {
    name: "openai-responses",
    description: "OpenAI responses: typed events; the server applies the model's chat template",
    source: "https://platform.openai.com/docs/api-reference/responses-streaming",
    whole_path: "/v1/responses",
    accepts_messages: true,
    media: Some(&media::RESPONSES),
    honours_ignore_eos: false,
    ignore_eos_with: &["vllm"],
    applies_chat_template: true,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, model: &str) -> Option<Value> {
    let input = match &request.prompt {
        Prompt::Text(text) => json!(text),
        Prompt::Messages(messages) => json!(messages),
        Prompt::TokenIds(_) => return None,
    };
    let mut body = json!({
        "model": model,
        "input": input,
        "max_output_tokens": request.output_tokens,
        "temperature": sampling.temperature,
        "stream": sampling.stream,
    });
    if sampling.ignore_eos {
        body["ignore_eos"] = Value::Bool(true);
    }
    Some(body)
}

fn decoder(_prompt: &Prompt, _stream: bool) -> Box<dyn Decode> {
    Box::new(Responses)
}

struct Responses;

impl Decode for Responses {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let event: Event<'_> = parse(data)?;
        let delta = event.delta.as_ref().and_then(Content::text).unwrap_or("");
        match event.kind.as_ref().map_or("", |Text(kind)| kind) {
            "response.output_text.delta" | "response.refusal.delta" => parsed.text(delta, None),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                parsed.reasoning(delta, None);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let part =
                    CallPart { key: event.output_index, arguments: delta, ..CallPart::default() };
                parsed.tool_call(part, None);
            }
            "response.completed" | "response.incomplete" => {
                parsed.times(event.timings);
                event.response.unwrap_or_default().end(parsed);
            }
            kind @ ("response.failed" | "response.cancelled") => {
                let error = event.response.and_then(|response| response.error);
                let message = error.and_then(|error| error.message);
                parsed.server_error(
                    message.map_or_else(|| format!("the server sent {kind}"), |Text(m)| m.into()),
                );
            }
            "error" => return Err(Undecoded::Error),
            // Events at the beginning and at the end of items and parts.
            kind if kind.starts_with("response.") => {
                parsed.event(EventKind::Comment);
                let begun = event.item.filter(|_| kind.ends_with("output_item.added"));
                if let Some(Text(name)) = begun.and_then(|item| item.name) {
                    let part =
                        CallPart { key: event.output_index, name: &name, ..CallPart::default() };
                    parsed.begin_call(part);
                }
            }
            _ => return Err(Undecoded::NoOutput),
        }
        Ok(())
    }

    fn body(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let whole: Response<'_> = parse(data)?;
        if whole.error.as_ref().is_some_and(|error| error.message.is_some()) {
            return Err(Undecoded::Error);
        }
        parsed.times(whole.timings);
        let Some(items) = &whole.output else { return wrong("no output") };
        let counted = whole.usage.and_then(|usage| usage.usage().completion);
        let mut left = counted;
        for item in items {
            item.output(&mut || std::mem::replace(&mut left, counted.map(|_| 0)), parsed);
        }
        whole.end(parsed);
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    delta: Option<Content<'a>>,
    response: Option<Response<'a>>,
    /// The place of the event's item in the answer.
    output_index: Option<u64>,
    item: Option<Named<'a>>,
    /// llama.cpp's times.
    #[serde(default, deserialize_with = "times")]
    timings: ServerTimes,
}

#[derive(Debug, Default, Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    status: Option<Text<'a>>,
    incomplete_details: Option<Incomplete<'a>>,
    usage: Option<UsageBody>,
    error: Option<Failed<'a>>,
    output: Option<Vec<Item<'a>>>,
    #[serde(default, deserialize_with = "times")]
    timings: ServerTimes,
}

impl Response<'_> {
    fn end(&self, parsed: &mut ParsedResponse) {
        let reason = self.incomplete_details.as_ref().and_then(|details| details.reason.as_ref());
        let reason = reason.or(self.status.as_ref()).map_or("completed", |Text(reason)| reason);
        parsed.finish(reason);
        if let Some(usage) = self.usage {
            parsed.usage(usage.usage());
        }
        parsed.done = true;
    }
}

#[derive(Debug, Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct Failed<'a> {
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    content: Option<Content<'a>>,
    /// The reasoning in short, from servers that hide the reasoning itself.
    summary: Option<Content<'a>>,
    name: Option<Text<'a>>,
    arguments: Option<Value>,
}

impl Item<'_> {
    fn output(&self, tokens: &mut dyn FnMut() -> Option<u32>, parsed: &mut ParsedResponse) {
        let is_reasoning = self.kind.0 == "reasoning";
        let kind = if is_reasoning { Kind::Reasoning } else { Kind::Answer };
        let mut any = false;
        for content in [&self.content, &self.summary].into_iter().flatten() {
            if !any {
                content.each(kind, &mut |output| {
                    output.add_to(parsed, tokens());
                    any = true;
                });
            }
        }
        if let Some(arguments) = self.arguments.as_ref().and_then(Value::as_str) {
            let name = self.name.as_ref().map_or("", |text| &text.0);
            parsed.tool_call(CallPart { name, arguments, ..CallPart::default() }, tokens());
        }
    }
}
