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

use inferometer_model::record::{Event, ServerTimes};
use inferometer_model::{EventKind, Prompt, Sampling, Usage};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::json::{Choices, Count, Text, parse, tokens, wrong};
use super::{delta::Delta, stated_tokens::StatedTokens, template::Template, usage::UsageBody};
use crate::{ParsedResponse, error::ErrorSigns, server_times::times};

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

/// The maximum number of answers in one stream.
const MAX_ANSWERS: usize = 1_024;

/// Decodes the responses of both APIs.
#[derive(Debug)]
pub(super) struct OpenAi {
    api: Api,
    stated: StatedTokens,
    /// Whether a chunk had an empty finish reason. Every chunk is then a token, also the last one.
    last_is_token: bool,
    /// The indices of the answers so far, at most [`MAX_ANSWERS`], each with whether the answer has ended.
    answers: Vec<(u32, bool)>,
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

impl Learnt {
    /// Adds the output of a chunk with this text. Returns false if the text is not UTF-8; then nothing has changed.
    fn output(self, text: &[u8], is_ascii: bool, parsed: &mut ParsedResponse) -> bool {
        let Self { is_reasoning, tokens } = self;
        if is_ascii && !parsed.keeps_text() && !parsed.seeks_think_tags() {
            // Only the number of its characters is needed.
            let kind = if is_reasoning { EventKind::Reasoning } else { EventKind::Text };
            parsed.begin_message();
            parsed.token(kind, text.len() as u32, tokens);
            return true;
        }
        let Ok(text) = str::from_utf8(text) else { return false };
        parsed.begin_message();
        if is_reasoning {
            parsed.reasoning(text, tokens)
        } else {
            parsed.text(text, tokens)
        }
        true
    }
}

impl OpenAi {
    pub(super) fn new(api: Api) -> Self {
        Self {
            api,
            stated: StatedTokens::default(),
            last_is_token: false,
            answers: Vec::new(),
            empty_end: None,
            template: Template::default(),
            learnt: Learnt::default(),
        }
    }

    /// Decodes one choice of a stream's chunk. Returns whether the chunk had output, a role or a finish reason.
    ///
    /// # Errors
    /// When the choice has the output of the other API, or there are too many answers.
    fn choice(
        &mut self,
        choice: &Choice<'_>,
        usage: Option<Usage>,
        parsed: &mut ParsedResponse,
    ) -> Result<bool, Undecoded> {
        let index = choice.index.unwrap_or(0);
        let is_first = (choice.delta.is_some() || choice.text.is_some())
            && !self.answers.iter().any(|answer| answer.0 == index);
        if is_first {
            self.begin(index, parsed)?;
        }
        let finish = choice.finish();
        let is_opening = is_first && self.api == Api::Chat;
        let is_role = is_opening && choice.delta.as_ref().is_some_and(Delta::is_only_role);
        let tokens = if is_role { None } else { self.stated_tokens(choice, usage, parsed) };
        let bare = (finish.is_none() && usage.is_none()) || self.last_is_token;
        self.last_is_token |= choice.finish_reason.is_some() && finish.is_none();
        let before = parsed.events.len();
        let half_character = tokens.map_or(bare && !is_opening, |tokens| tokens > 0);
        match (self.api, &choice.text, &choice.delta) {
            // Output that this API has in another field: without an error, it would be lost.
            _ if finish.is_none() && choice.is_of_another(self.api) => {
                return Err(Undecoded::Wrong("it has the output of another API".to_owned()));
            }
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
            _ => {}
        }
        let has_output = parsed.events.len() > before;
        self.stated.end_of_chunk(has_output && !is_role, usage);
        if let Some(reason) = finish {
            let is_empty = !has_output && choice.text.is_some() && reason == "length";
            self.empty_end = is_empty.then_some(parsed.events.len());
            parsed.finish(reason);
            if let Some(answer) = self.answers.iter_mut().find(|answer| answer.0 == index) {
                answer.1 = true;
            }
            parsed.proper_end = self.answers.iter().all(|answer| answer.1);
        }
        let is_known = (self.api == Api::Completions && choice.text.is_some())
            || choice
                .delta
                .as_ref()
                .is_some_and(|delta| delta.has_role() || delta.has_empty_text());
        Ok(has_output || finish.is_some() || is_known)
    }

    /// Begins an answer. The response has then not ended, even if earlier answers have.
    ///
    /// # Errors
    /// When there are too many answers.
    fn begin(&mut self, index: u32, parsed: &mut ParsedResponse) -> Result<(), Undecoded> {
        if self.answers.len() == MAX_ANSWERS {
            return Err(Undecoded::Wrong(format!("it has more than {MAX_ANSWERS} answers")));
        }
        self.answers.push((index, false));
        parsed.choices = self.answers.len() as u32;
        parsed.proper_end = false;
        Ok(())
    }

    /// The number of tokens that a chunk states: from usage in mid-stream, otherwise from its token ids.
    fn stated_tokens(
        &mut self,
        choice: &Choice<'_>,
        usage: Option<Usage>,
        parsed: &mut ParsedResponse,
    ) -> Option<u32> {
        let ids = choice.token_ids.as_ref().map(|ids| ids.0);
        let Some(now) = usage.and_then(|usage| usage.completion) else { return ids };
        self.stated.tokens(now, choice.has_output(), &mut parsed.events, ids)
    }

    /// Sets the template from a chunk that was exactly one output event.
    fn learn(&mut self, data: &str, choice: &Choice<'_>, events: &[Event]) {
        let [Event { kind: EventKind::Text | EventKind::Reasoning, tokens, .. }] = *events else {
            return;
        };
        // Text may be an event with reasoning, too: see `ParsedResponse::text`.
        let delta = choice.delta.as_ref();
        let [text, reasoning] = match self.api {
            Api::Completions => [choice.text.as_ref().map(|text| &*text.0), None],
            Api::Chat => {
                [delta.and_then(Delta::content_text), delta.and_then(Delta::reasoning_text)]
            }
        };
        let is_filled = |text: &&str| !text.is_empty();
        let (text, reasoning) = (text.filter(is_filled), reasoning.filter(is_filled));
        if let Some(text) = text.or(reasoning) {
            self.template.learn(data, text);
            self.learnt = Learnt { is_reasoning: reasoning.is_some(), tokens };
        }
    }

    /// Adds the usage of a chunk. Before any output, only the prompt has been counted: a gateway that sends usage with
    /// the role does not know the number of output tokens.
    fn usage(&self, usage: Usage, parsed: &mut ParsedResponse) {
        if parsed.finish_reason.is_none() && !parsed.has_token() {
            return parsed.set_usage(Usage { completion: None, reasoning: None, ..usage });
        }
        let completion = self.stated.in_total(usage.completion, parsed.message_has_token());
        parsed.usage(Usage { completion, ..usage });
    }
}

impl Decode for OpenAi {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let chunk: Chunk<'_> = parse(data)?;
        if chunk.is_error() {
            return Err(Undecoded::Error);
        }
        let usage = chunk.usage.map(UsageBody::usage);
        chunk.state_times(parsed);
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

    fn again(&mut self, data: &[u8], parsed: &mut ParsedResponse) -> bool {
        let found = self.template.text(data).filter(|_| !parsed.done);
        found.is_some_and(|(text, is_ascii)| self.learnt.output(text, is_ascii, parsed))
    }

    fn body(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let chunk: Chunk<'_> = parse(data)?;
        if chunk.is_error() {
            return Err(Undecoded::Error);
        }
        let usage = chunk.usage.map(UsageBody::usage);
        chunk.state_times(parsed);
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
    /// vLLM's times.
    #[serde(default, deserialize_with = "times")]
    metrics: ServerTimes,
    /// llama.cpp's times.
    #[serde(default, deserialize_with = "times")]
    timings: ServerTimes,
    error: Option<IgnoredAny>,
    object: Option<Text<'a>>,
    message: Option<IgnoredAny>,
}

impl Chunk<'_> {
    fn state_times(&self, parsed: &mut ParsedResponse) {
        parsed.times(self.metrics.and(self.timings));
    }

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
    delta: Option<Delta<'a>>,
    message: Option<Delta<'a>>,
    finish_reason: Option<Text<'a>>,
    token_ids: Option<Count>,
}

impl Choice<'_> {
    /// The finish reason; `None` for `""`, which TGI sends in chunks before the end.
    fn finish(&self) -> Option<&str> {
        self.finish_reason.as_ref().map(|reason| &*reason.0).filter(|reason| !reason.is_empty())
    }

    /// Whether the choice has output, but not in the field of this API.
    fn is_of_another(&self, api: Api) -> bool {
        let has_text = self.text.as_ref().is_some_and(|text| !text.0.is_empty());
        let delta_has_output = || self.delta.as_ref().is_some_and(Delta::has_output);
        match api {
            Api::Completions if has_text => false,
            Api::Completions if self.text.is_some() => delta_has_output(),
            Api::Completions => self.has_output(),
            Api::Chat if self.delta.is_some() => has_text && !delta_has_output(),
            Api::Chat => self.has_output(),
        }
    }

    /// Whether the choice has output that is not empty.
    fn has_output(&self) -> bool {
        let messages = [&self.delta, &self.message].into_iter().flatten();
        self.text.as_ref().is_some_and(|text| !text.0.is_empty())
            || messages.into_iter().any(Delta::has_output)
    }
}
