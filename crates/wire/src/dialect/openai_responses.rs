//! The OpenAI responses API: typed events, the counts in the last one, no `[DONE]`.

use inferometer_model::record::{EventKind, Usage};
use inferometer_model::request::{Prompt, Request, Sampling};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json::{Text, bytes, parse, server_error, unexpected};
use super::{Decode, Dialect, Framing};
use crate::{Answer, WireError};

/// `/v1/responses`.
pub(super) struct OpenAiResponses;

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn description(&self) -> &'static str {
        "OpenAI responses: typed events, inside the model's chat template"
    }

    fn source(&self) -> &'static str {
        "https://platform.openai.com/docs/api-reference/responses-streaming"
    }

    fn path(&self, _stream: bool) -> &'static str {
        "/v1/responses"
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
        let input = match &request.prompt {
            Prompt::Text(text) => json!(text),
            Prompt::Messages(messages) => json!(messages),
            Prompt::TokenIds(_) => return Err(WireError::prompt(self.name(), &request.prompt)),
        };
        let body = json!({
            "model": model,
            "input": input,
            "max_output_tokens": request.output_tokens,
            "temperature": sampling.temperature,
            "stream": sampling.stream,
        });
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(Responses { stream })
    }
}

struct Responses {
    stream: bool,
}

impl Decode for Responses {
    fn framing(&self) -> Framing {
        if self.stream { Framing::Sse } else { Framing::WholeBody }
    }

    fn message(&mut self, data: &str, answer: &mut Answer) {
        // Some servers end with the mark of the other APIs.
        if data.trim() == "[DONE]" && answer.proper_end {
            return answer.done();
        }
        let Some(event) = parse::<Event<'_>>(data, answer) else { return };
        let delta = event.delta.as_ref().map_or("", |Text(delta)| delta);
        match &*event.kind.0 {
            "response.output_text.delta" | "response.refusal.delta" => answer.text(delta, None),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                answer.reasoning(delta, None);
            }
            "response.function_call_arguments.delta" => {
                answer.token(EventKind::ToolCall, chars(delta), None);
            }
            "response.completed" | "response.incomplete" => match &event.response {
                Some(response) => response.end(answer),
                None => unexpected("no response", data, answer),
            },
            "response.failed" => {
                let error = event.response.and_then(|response| response.error);
                let message = error.and_then(|error| error.message);
                answer.server_error(
                    message.map_or_else(|| "the response failed".to_owned(), |Text(m)| m.into()),
                );
            }
            "error" => server_error(data, answer),
            // Items and parts that begin and end.
            _ => answer.event(EventKind::Comment),
        }
    }

    fn body(&mut self, body: &[u8], answer: &mut Answer) {
        let data = String::from_utf8_lossy(body);
        let Some(whole) = parse::<Response<'_>>(&data, answer) else { return };
        if whole.error.as_ref().is_some_and(|error| error.message.is_some()) {
            return server_error(&data, answer);
        }
        let Some(items) = &whole.output else { return unexpected("no output", &data, answer) };
        let counted = whole.usage.and_then(|usage| usage.output_tokens);
        let mut left = counted;
        for item in items {
            item.output(&mut || std::mem::replace(&mut left, counted.map(|_| 0)), answer);
        }
        whole.end(answer);
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
    fn end(&self, answer: &mut Answer) {
        let reason = self.incomplete_details.as_ref().and_then(|details| details.reason.as_ref());
        let reason = reason.or(self.status.as_ref()).map_or("completed", |Text(reason)| reason);
        answer.finish(reason);
        if let Some(usage) = self.usage {
            answer.usage(usage.usage());
        }
        answer.done = true;
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
    fn output(&self, tokens: &mut dyn FnMut() -> Option<u32>, answer: &mut Answer) {
        for Text(text) in self.content.iter().flatten().filter_map(|part| part.text.as_ref()) {
            match &*self.kind.0 {
                "reasoning" => answer.reasoning(text, tokens()),
                _ => answer.text(text, tokens()),
            }
        }
        if let Some(arguments) = self.arguments.as_ref().and_then(Value::as_str) {
            answer.token(EventKind::ToolCall, chars(arguments), tokens());
        }
    }
}

#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

fn chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Counts {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    input_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Details {
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
