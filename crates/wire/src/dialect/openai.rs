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

use super::decode::{Decode, Decoded, Undecoded};
use super::delta::Delta;
use super::json::{Choices, Count, Text, parse, tokens, wrong};
use super::template::Template;
use super::usage::UsageBody;
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
    stated: StatedTokens,
    /// Whether a chunk had an empty finish reason. Every chunk is then a token, also the last one.
    last_is_token: bool,
    /// The indices of the answers so far, and how many of these answers have ended.
    answers: Vec<u32>,
    finished: usize,
    /// The event of the finish reason `length` whose chunk had an empty text.
    empty_end: Option<usize>,
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
            stated: StatedTokens::default(),
            last_is_token: false,
            answers: Vec::new(),
            finished: 0,
            empty_end: None,
            template: Template::default(),
            learnt: Learnt::default(),
        }
    }

    /// Decodes one choice of a stream's chunk. Returns whether the chunk had output, a role or a finish reason.
    ///
    /// # Errors
    /// When the choice has the output of the other API.
    fn choice(
        &mut self,
        choice: &Choice<'_>,
        usage: Option<Usage>,
        parsed: &mut ParsedResponse,
    ) -> Result<bool, Undecoded> {
        let index = choice.index.unwrap_or(0);
        let is_first =
            (choice.delta.is_some() || choice.text.is_some()) && !self.answers.contains(&index);
        if is_first {
            self.answers.push(index);
            parsed.choices = self.answers.len() as u32;
        }
        let finish = choice.finish();
        let is_opening = is_first && self.api == Api::Chat;
        let is_role = is_opening && choice.delta.as_ref().is_some_and(Delta::is_only_role);
        let tokens = if is_role { None } else { self.stated.tokens(choice, usage) };
        let bare = (finish.is_none() && usage.is_none()) || self.last_is_token;
        self.last_is_token |= choice.finish_reason.is_some() && finish.is_none();
        let before = parsed.events.len();
        let half_character = tokens.map_or(bare && !is_opening, |tokens| tokens > 0);
        match (self.api, &choice.text, &choice.delta) {
            (Api::Completions, Some(Text(text)), _) if !text.is_empty() || half_character => {
                parsed.text(text, tokens);
            }
            (Api::Completions, Some(_), _) => {}
            (Api::Chat, _, Some(_)) if is_role => parsed.event(EventKind::Role),
            (Api::Chat, _, Some(delta)) => {
                let is_empty = !delta.output(tokens, parsed) && delta.has_empty_text();
                if is_empty && half_character {
                    parsed.text("", tokens);
                }
            }
            // Output that this API has in another field: without an error, it would be lost.
            _ if finish.is_none() && choice.has_output() => {
                return Err(Undecoded::Wrong("it has the output of another API".to_owned()));
            }
            _ => {}
        }
        let has_output = parsed.events.len() > before;
        self.stated.end_of_chunk(has_output && !is_role, usage);
        if let Some(reason) = finish {
            let is_empty = !has_output && choice.text.is_some() && reason == "length";
            self.empty_end = is_empty.then_some(parsed.events.len());
            parsed.finish(reason);
            self.finished += 1;
            parsed.proper_end = self.finished >= self.answers.len();
        }
        let is_known = choice.text.is_some()
            || choice
                .delta
                .as_ref()
                .is_some_and(|delta| delta.has_role() || delta.has_empty_text());
        Ok(has_output || finish.is_some() || is_known)
    }

    /// Sets the template from a chunk that was exactly one output event.
    fn learn(&mut self, data: &str, choice: &Choice<'_>, events: &[Event]) {
        let [Event { kind, tokens, .. }] = *events else { return };
        let text = match (self.api, kind, &choice.delta) {
            (Api::Completions, EventKind::Text, _) => choice.text.as_ref().map(|text| &*text.0),
            (Api::Chat, EventKind::Text, Some(delta)) => delta.content_text(),
            (Api::Chat, EventKind::Reasoning, Some(delta)) => delta.reasoning_text(),
            _ => None,
        };
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.template.learn(data, text);
            self.learnt = Learnt { is_reasoning: kind == EventKind::Reasoning, tokens };
        }
    }

    /// Adds the usage of a chunk. Before any output, only the prompt has been counted: a gateway that sends usage with
    /// the role does not know the number of output tokens.
    fn usage(&self, usage: Usage, parsed: &mut ParsedResponse) {
        if parsed.finish_reason.is_none() && !parsed.has_token() {
            return parsed.set_usage(Usage { completion: None, reasoning: None, ..usage });
        }
        parsed.usage(Usage { completion: self.stated.in_total(usage.completion), ..usage });
    }
}

/// The numbers of tokens that the chunks of a stream state.
#[derive(Debug)]
struct StatedTokens {
    /// The number of completion tokens so far, from usage in mid-stream. `None` after a token without usage:
    /// the next count then covers more than one event.
    counted: Option<u32>,
    /// The number of chunks with output and usage, up to two.
    with_usage: u8,
    /// The sum of the counts if each chunk counts only its own tokens.
    of_each: Option<u32>,
}

impl Default for StatedTokens {
    fn default() -> Self {
        Self { counted: Some(0), with_usage: 0, of_each: None }
    }
}

impl StatedTokens {
    /// The number of tokens that a chunk states: from usage in mid-stream, otherwise from its token ids.
    fn tokens(&mut self, choice: &Choice<'_>, usage: Option<Usage>) -> Option<u32> {
        let now = usage.and_then(|usage| usage.completion);
        if let (Some(sum), Some(now)) = (self.of_each, now) {
            let own = if choice.has_output() { now } else { 0 };
            self.of_each = Some(sum.saturating_add(own));
            return Some(own);
        }
        if let (Some(before), Some(now)) = (self.counted, now) {
            self.counted = Some(now);
            // A count of all tokens so far grows with each output.
            if self.with_usage == 1 && now > 0 && now <= before && choice.has_output() {
                self.of_each = Some(before.saturating_add(now));
                return Some(now);
            }
            return now.checked_sub(before);
        }
        choice.token_ids.as_ref().map(|ids| ids.0)
    }

    fn end_of_chunk(&mut self, has_output: bool, usage: Option<Usage>) {
        match (has_output, usage) {
            (true, None) => self.counted = None,
            (true, Some(_)) => self.with_usage = (self.with_usage + 1).min(2),
            (false, _) => {}
        }
    }

    /// The completion tokens of the whole answer so far, from the count that a chunk states.
    fn in_total(&self, stated: Option<u32>) -> Option<u32> {
        stated.max(self.of_each)
    }
}

impl Decode for OpenAi {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        if !parsed.done
            && let Some(text) = self.template.text(data)
        {
            let Learnt { is_reasoning, tokens } = self.learnt;
            if is_reasoning {
                parsed.reasoning(text, tokens);
            } else {
                parsed.text(text, tokens);
            }
            return Ok(());
        }
        let chunk: Chunk<'_> = parse(data)?;
        if chunk.is_error() {
            return Err(Undecoded::Error);
        }
        let usage = chunk.usage.map(UsageBody::usage);
        let before = parsed.events.len();
        let mut known = usage.is_some();
        for choice in chunk.choices.iter().flat_map(Choices::iter) {
            known |= self.choice(choice, usage, parsed)?;
        }
        if let (None, Some(Choices { first: Some(choice), others })) = (usage, &chunk.choices)
            && others.is_empty()
        {
            self.learn(data, choice, &parsed.events[before..]);
        }
        if let Some(usage) = usage {
            self.usage(usage, parsed);
        }
        if known { Ok(()) } else { Err(Undecoded::NoOutput) }
    }

    fn body(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let chunk: Chunk<'_> = parse(data)?;
        if chunk.is_error() {
            return Err(Undecoded::Error);
        }
        let usage = chunk.usage.map(UsageBody::usage);
        let Some(choices @ Choices { first: Some(_), .. }) = &chunk.choices else {
            return wrong("no choices");
        };
        // There is one token count for all choices. The first output gets it, so that the sum is right.
        let counted = usage.and_then(|usage| usage.completion);
        let mut tokens = counted;
        for choice in choices.iter() {
            let before = parsed.events.len();
            match (self.api, &choice.text, &choice.message) {
                (Api::Completions, Some(Text(text)), _) if !text.is_empty() => {
                    parsed.text(text, tokens);
                }
                (Api::Completions, Some(_), _) => {}
                (Api::Chat, _, Some(message)) => {
                    message.output(tokens, parsed);
                }
                _ => return wrong("a choice without output"),
            }
            if parsed.events.len() > before {
                tokens = counted.map(|_| 0);
            }
            parsed.choices += 1;
        }
        if tokens.is_some_and(|tokens| tokens > 0) {
            parsed.text("", tokens);
        }
        if let Some(reason) = choices.iter().find_map(Choice::finish) {
            parsed.finish(reason);
        }
        if let Some(usage) = usage {
            parsed.usage(usage);
        }
        parsed.proper_end = true;
        Ok(())
    }

    /// A server that sends one message per token may send the last token, whose text is empty, with the finish reason
    /// `length`. Usage counts this token. Without usage, the message is a token if the request allows one more.
    fn end(&mut self, parsed: &mut ParsedResponse) {
        let Some(at) = self.empty_end.take() else { return };
        let came = parsed.events.iter().filter(|event| event.kind.is_token()).count();
        let has_room = parsed.output_limit.is_none_or(|limit| came < limit as usize);
        if parsed.usage.completion.is_none() && has_room && at < parsed.events.len() {
            parsed.events.insert(at, Event { kind: EventKind::EmptyText, ..parsed.events[at] });
        }
    }
}

#[derive(Debug, Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Choices<Choice<'a>>>,
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
    #[serde(default, deserialize_with = "tokens")]
    index: Option<u32>,
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

    /// Whether the choice has output that is not empty.
    fn has_output(&self) -> bool {
        let messages = [&self.delta, &self.message].into_iter().flatten();
        self.text.as_ref().is_some_and(|text| !text.0.is_empty())
            || messages.into_iter().any(Delta::has_output)
    }
}
