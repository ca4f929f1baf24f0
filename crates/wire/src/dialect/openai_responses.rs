//! The OpenAI responses API: typed events without `[DONE]`. The last event has the token counts.

use inferometer_model::{EventKind, Prompt, Request, Sampling, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::definition::{DEFAULT, Decode, Dialect};
use super::json::{Text, parse, server_error, tokens, unexpected, unknown_type};
use crate::ParsedResponse;

/// `/v1/responses`.
pub(super) static DIALECT: Dialect = Dialect {
    name: "openai-responses",
    description: "OpenAI responses: typed events; the server applies the model's chat template",
    source: "https://platform.openai.com/docs/api-reference/responses-streaming",
    whole_path: "/v1/responses",
    accepts_messages: true,
    honours_ignore_eos: false,
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
    let body = json!({
        "model": model,
        "input": input,
        "max_output_tokens": request.output_tokens,
        "temperature": sampling.temperature,
        "stream": sampling.stream,
    });
    Some(body)
}

fn decoder(_prompt: &Prompt, _stream: bool) -> Box<dyn Decode> {
    Box::new(Responses)
}

struct Responses;

impl Decode for Responses {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) {
        // Some servers also send `[DONE]`, the end mark of the other APIs.
        if data.trim() == "[DONE]" && parsed.proper_end {
            return parsed.done();
        }
        let Some(event) = parse::<Event<'_>>(data, parsed) else { return };
        let delta = event.delta.as_ref().map_or("", |Text(delta)| delta);
        match &*event.kind.0 {
            "response.output_text.delta" | "response.refusal.delta" => parsed.text(delta, None),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                parsed.reasoning(delta, None);
            }
            "response.function_call_arguments.delta" => {
                parsed.tool_call(delta, None);
            }
            "response.completed" | "response.incomplete" => match &event.response {
                Some(response) => response.end(parsed),
                None => unexpected("no response", data, parsed),
            },
            kind @ ("response.failed" | "response.cancelled") => {
                let error = event.response.and_then(|response| response.error);
                let message = error.and_then(|error| error.message);
                parsed.server_error(
                    message.map_or_else(|| format!("the server sent {kind}"), |Text(m)| m.into()),
                );
            }
            "error" => server_error(data, parsed),
            // Events at the beginning and at the end of items and parts.
            kind if kind.starts_with("response.") => parsed.event(EventKind::Comment),
            _ => unknown_type(data, parsed),
        }
    }

    fn body(&mut self, body: &[u8], parsed: &mut ParsedResponse) {
        let data = String::from_utf8_lossy(body);
        let Some(whole) = parse::<Response<'_>>(&data, parsed) else { return };
        if whole.error.as_ref().is_some_and(|error| error.message.is_some()) {
            return server_error(&data, parsed);
        }
        let Some(items) = &whole.output else { return unexpected("no output", &data, parsed) };
        let counted = whole.usage.and_then(|usage| usage.output_tokens);
        let mut left = counted;
        for item in items {
            item.output(&mut || std::mem::replace(&mut left, counted.map(|_| 0)), parsed);
        }
        whole.end(parsed);
    }
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

#[derive(Debug, Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    incomplete_details: Option<Incomplete<'a>>,
    usage: Option<Counts>,
    #[serde(borrow)]
    error: Option<Failed<'a>>,
    #[serde(borrow)]
    output: Option<Vec<Item<'a>>>,
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
    #[serde(borrow)]
    content: Option<Vec<Part<'a>>>,
    arguments: Option<Value>,
}

impl Item<'_> {
    fn output(&self, tokens: &mut dyn FnMut() -> Option<u32>, parsed: &mut ParsedResponse) {
        for Text(text) in self.content.iter().flatten().filter_map(|part| part.text.as_ref()) {
            match &*self.kind.0 {
                "reasoning" => parsed.reasoning(text, tokens()),
                _ => parsed.text(text, tokens()),
            }
        }
        if let Some(arguments) = self.arguments.as_ref().and_then(Value::as_str) {
            parsed.tool_call(arguments, tokens());
        }
    }
}

#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Counts {
    #[serde(default, deserialize_with = "tokens")]
    input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    output_tokens: Option<u32>,
    input_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "tokens")]
    cached_tokens: Option<u32>,
}

impl Counts {
    fn usage(self) -> Usage {
        Usage {
            prompt: self.input_tokens,
            completion: self.output_tokens,
            cached: self.input_tokens_details.and_then(|details| details.cached_tokens),
        }
    }
}
