//! The common part of OpenAI's completions and chat dialects: it decodes the chunks of a stream and whole
//! bodies, as real servers send them.
//!
//! A server that sends one message per token sends an empty text for a token that does not complete a
//! character. If a message states its number of tokens (usage in mid-stream, token ids), this number decides
//! whether an empty text is a token. Otherwise an empty text is a token, with two exceptions. The first
//! exception is a chunk with a finish reason or usage, because llama.cpp and transformers end streams with
//! such a chunk. The second exception is the first chunk of a chat, because servers announce the role in it.
//!
//! In the completions API, TGI sends the finish reason `""` in every chunk except the last, and its last chunk
//! contains a token too. One case is ambiguous: the first chunk of TGI's chat may be an incomplete character.
//! This token is then missing from the events, but present in the usage.

use inferometer_model::record::Event;
use inferometer_model::{EventKind, Prompt, Sampling, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::definition::Decode;
use super::json::{AtMostOne, Count, Text, parse, server_error, tokens, unexpected};
use super::template::Template;
use crate::ParsedResponse;
use crate::error::ErrorSigns;

/// The fields that the bodies of both APIs have.
pub(super) fn body(model: &str, sampling: &Sampling, output_tokens: u32) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": output_tokens,
        "temperature": sampling.temperature,
        "stream": sampling.stream,
    });
    if sampling.stream {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if sampling.ignore_eos {
        body["ignore_eos"] = Value::Bool(true);
    }
    body
}

/// A prompt in the form of the completions API: text or token ids; `None` for messages.
pub(super) fn prompt(prompt: &Prompt) -> Option<Value> {
    match prompt {
        Prompt::Text(text) => Some(Value::String(text.clone())),
        Prompt::TokenIds(ids) => Some(json!(ids)),
        Prompt::Messages(_) => None,
    }
}

/// One of OpenAI's two APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Completions,
    Chat,
}

/// Decodes the responses of both APIs.
#[derive(Debug)]
pub(super) struct OpenAi {
    api: Api,
    /// Whether an earlier chunk had the delta of a chat.
    opened: bool,
    /// The number of completion tokens so far, from usage in mid-stream. `None` after a token without usage:
    /// the next count then covers more than one event.
    counted: Option<u32>,
    /// Whether a chunk had an empty finish reason. Every chunk is then a token, also the last one.
    last_is_token: bool,
    /// The latest chunk that was exactly one output event, without its text.
    template: Template,
    learnt: Learnt,
}

/// The output event of the chunk in the template. If a later chunk has the same bytes around its text, its
/// event has the same kind and the same number of tokens. Such a chunk has neither finish reason nor usage.
#[derive(Clone, Copy, Debug, Default)]
struct Learnt {
    is_reasoning: bool,
    tokens: Option<u32>,
}

impl OpenAi {
    pub(super) fn new(api: Api) -> Self {
        Self {
            api,
            opened: false,
            counted: Some(0),
            last_is_token: false,
            template: Template::default(),
            learnt: Learnt::default(),
        }
    }

    /// Decodes one choice of a stream's chunk. Returns whether the chunk had output, a finish reason or usage.
    fn choice(
        &mut self,
        choice: &Choice<'_>,
        usage: Option<Usage>,
        parsed: &mut ParsedResponse,
    ) -> bool {
        let finish = choice.finish();
        let tokens = self.tokens(choice, usage);
        let bare = (finish.is_none() && usage.is_none()) || self.last_is_token;
        self.last_is_token |= choice.finish_reason.is_some() && finish.is_none();
        let before = parsed.events.len();
        let known = match self.api {
            Api::Completions => {
                if let Some(Text(text)) = &choice.text
                    && (!text.is_empty() || tokens.map_or(bare, |tokens| tokens > 0))
                {
                    parsed.text(text, tokens);
                }
                choice.text.is_some()
            }
            Api::Chat => {
                if let Some(delta) = &choice.delta {
                    self.delta(delta, tokens, bare, parsed);
                }
                choice.delta.is_some()
            }
        };
        if usage.is_none() && parsed.events[before..].iter().any(|event| event.kind.is_token()) {
            self.counted = None;
        }
        if let Some(reason) = finish {
            parsed.finish(reason);
        }
        known || finish.is_some() || usage.is_some()
    }

    /// Sets the template from a chunk that was exactly one output event.
    fn learn(&mut self, data: &str, choice: &Choice<'_>, events: &[Event]) {
        let [Event { kind, tokens, .. }] = *events else { return };
        let text = match (self.api, kind, &choice.delta) {
            (Api::Completions, EventKind::Text, _) => choice.text.as_ref().map(|text| &*text.0),
            (Api::Chat, EventKind::Text, Some(delta)) => {
                delta.content.as_ref().map(|text| &*text.0)
            }
            (Api::Chat, EventKind::Reasoning, Some(delta)) => delta.reasoning_text(),
            _ => None,
        };
        if let Some(text) = text {
            self.template.learn(data, text);
            self.learnt = Learnt { is_reasoning: kind == EventKind::Reasoning, tokens };
        }
    }

    /// The number of tokens that a message states: from usage in mid-stream, otherwise from its token ids.
    fn tokens(&mut self, choice: &Choice<'_>, usage: Option<Usage>) -> Option<u32> {
        if let (Some(before), Some(now)) = (self.counted, usage.and_then(|usage| usage.completion))
        {
            self.counted = Some(now);
            return now.checked_sub(before);
        }
        choice.token_ids.as_ref().map(|ids| ids.0)
    }

    fn delta(
        &mut self,
        delta: &Delta<'_>,
        tokens: Option<u32>,
        bare: bool,
        parsed: &mut ParsedResponse,
    ) {
        let opening = !std::mem::replace(&mut self.opened, true);
        if delta.output(tokens, parsed) {
            return;
        }
        let empty = delta.content.is_some() || delta.reasoning_text().is_some();
        let half_character = tokens.map_or(bare && !opening, |tokens| tokens > 0);
        if empty && half_character {
            parsed.text("", tokens);
        } else if opening && delta.role.is_some() {
            parsed.event(EventKind::Role);
        }
    }
}

impl Decode for OpenAi {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) {
        if !parsed.done
            && let Some(text) = self.template.text(data)
        {
            let Learnt { is_reasoning, tokens } = self.learnt;
            return if is_reasoning {
                parsed.reasoning(text, tokens)
            } else {
                parsed.text(text, tokens)
            };
        }
        if data.trim() == "[DONE]" {
            parsed.done();
            return;
        }
        if parsed.done {
            return unexpected("it comes after [DONE]", data, parsed);
        }
        let Some(chunk) = parse::<Chunk<'_>>(data, parsed) else { return };
        if chunk.is_error() {
            return server_error(data, parsed);
        }
        let usage = chunk.usage.map(UsageBody::usage);
        let known = match chunk.choices {
            Some(AtMostOne(Some(choice))) => {
                let before = parsed.events.len();
                let known = self.choice(&choice, usage, parsed);
                if usage.is_none() {
                    self.learn(data, &choice, &parsed.events[before..]);
                }
                known
            }
            // A message with an empty list of choices contains usage, or a notice that is not output.
            Some(AtMostOne(None)) => true,
            None => usage.is_some(),
        };
        if let Some(usage) = usage {
            parsed.usage(usage);
        }
        if !known {
            unexpected("neither output, finish reason, usage nor error", data, parsed);
        }
    }

    fn body(&mut self, body: &[u8], parsed: &mut ParsedResponse) {
        let data = String::from_utf8_lossy(body);
        let Some(chunk) = parse::<Chunk<'_>>(&data, parsed) else { return };
        if chunk.is_error() {
            return server_error(&data, parsed);
        }
        let usage = chunk.usage.map(UsageBody::usage);
        let Some(AtMostOne(Some(choice))) = chunk.choices else {
            return unexpected("no choices", &data, parsed);
        };
        let tokens = usage.and_then(|usage| usage.completion);
        let stated_output = tokens.is_some_and(|tokens| tokens > 0);
        let known = match (self.api, &choice.text, &choice.message) {
            (Api::Completions, Some(Text(text)), _) => {
                if !text.is_empty() || stated_output {
                    parsed.text(text, tokens);
                }
                true
            }
            (Api::Chat, _, Some(message)) => {
                if !message.output(tokens, parsed) && stated_output {
                    parsed.text("", tokens);
                }
                true
            }
            _ => false,
        };
        if let Some(reason) = choice.finish() {
            parsed.finish(reason);
        }
        if let Some(usage) = usage {
            parsed.usage(usage);
        }
        if known {
            parsed.proper_end = true;
        } else {
            unexpected("a choice without output", &data, parsed);
        }
    }
}

#[derive(Debug, Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<AtMostOne<Choice<'a>>>,
    usage: Option<UsageBody>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
    message: Option<IgnoredAny>,
}

impl Chunk<'_> {
    fn is_error(&self) -> bool {
        let signs = ErrorSigns {
            error: self.error.is_some(),
            object: self.object.as_ref().map(|object| &*object.0),
            message: self.message.is_some(),
            choices: self.choices.is_some(),
        };
        signs.is_error()
    }
}

#[derive(Debug, Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    token_ids: Option<Count>,
}

impl Choice<'_> {
    /// The finish reason; `None` for `""`, which TGI sends in chunks before the end.
    fn finish(&self) -> Option<&str> {
        self.finish_reason.as_ref().map(|reason| &*reason.0).filter(|reason| !reason.is_empty())
    }
}

#[derive(Debug, Deserialize)]
struct Delta<'a> {
    role: Option<IgnoredAny>,
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Debug, Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

impl Delta<'_> {
    /// The reasoning text from either field; vLLM sends the same text in both.
    fn reasoning_text(&self) -> Option<&str> {
        self.reasoning_content.as_ref().or(self.reasoning.as_ref()).map(|text| &*text.0)
    }

    /// Adds an event for each text that is not empty and for each tool call, and returns whether there was one.
    /// All tokens are counted in the first of these events, so that their sum is right.
    fn output(&self, tokens: Option<u32>, parsed: &mut ParsedResponse) -> bool {
        let mut left = tokens;
        let mut next = || std::mem::replace(&mut left, tokens.map(|_| 0));
        let mut any = false;
        if let Some(text) = self.reasoning_text().filter(|text| !text.is_empty()) {
            parsed.reasoning(text, next());
            any = true;
        }
        if let Some(Text(text)) = self.content.as_ref().filter(|text| !text.0.is_empty()) {
            parsed.text(text, next());
            any = true;
        }
        for call in self.tool_calls.iter().flatten() {
            let arguments = call.function.as_ref().and_then(|call| call.arguments.as_ref());
            parsed.tool_call(arguments.map_or("", |text| &text.0), next());
            any = true;
        }
        any
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct UsageBody {
    #[serde(default, deserialize_with = "tokens")]
    prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    completion_tokens: Option<u32>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "tokens")]
    cached_tokens: Option<u32>,
}

impl UsageBody {
    fn usage(self) -> Usage {
        Usage {
            prompt: self.prompt_tokens,
            completion: self.completion_tokens,
            cached: self.prompt_tokens_details.and_then(|details| details.cached_tokens),
        }
    }
}
