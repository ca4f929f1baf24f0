//! The message of a chat's choice, whole or as one delta of a stream: answer, reasoning, refusal, tool calls.

use std::{borrow::Cow, fmt};

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, de::value::MapAccessDeserializer};

use super::json::Text;
use crate::{ParsedResponse, calls::CallPart};

#[derive(Debug, Deserialize)]
pub(super) struct Delta<'a> {
    role: Option<IgnoredAny>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    reasoning_content: Option<Text<'a>>,
    reasoning: Option<Text<'a>>,
    /// OpenRouter's parts of the reasoning, usually beside `reasoning`.
    reasoning_details: Option<Vec<Part<'a>>>,
    /// The name of the reasoning behind some gateways, as in Ollama's own API.
    thinking: Option<Content<'a>>,
    refusal: Option<Text<'a>>,
    tool_calls: Option<Vec<ToolCall<'a>>>,
    /// The form of a tool call before `tool_calls`.
    function_call: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct ToolCall<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    arguments: Option<Text<'a>>,
}

impl ToolCall<'_> {
    fn part(&self) -> CallPart<'_> {
        let id = self.id.as_ref().map_or("", |text| &text.0);
        let function = self.function.as_ref().map(Function::part).unwrap_or_default();
        CallPart { key: self.index, id, ..function }
    }
}

impl Function<'_> {
    fn part(&self) -> CallPart<'_> {
        let [name, arguments] =
            [&self.name, &self.arguments].map(|it| it.as_ref().map_or("", |text| &*text.0));
        CallPart { name, arguments, ..CallPart::default() }
    }
}

impl Delta<'_> {
    /// The text of the answer, unless it comes in parts.
    pub(super) fn content_text(&self) -> Option<&str> {
        self.content.as_ref().and_then(Content::text)
    }

    /// The reasoning text from either field; vLLM sends the same text in both.
    pub(super) fn reasoning_text(&self) -> Option<&str> {
        let [first, second] = [&self.reasoning_content, &self.reasoning];
        let filled = first.as_ref().filter(|text| !text.0.is_empty());
        filled.or(second.as_ref()).or(first.as_ref()).map(|text| &*text.0)
    }

    pub(super) fn has_role(&self) -> bool {
        self.role.is_some()
    }

    /// Whether the delta announces the role, without output.
    pub(super) fn is_only_role(&self) -> bool {
        self.has_role() && !self.has_output()
    }

    /// Whether the delta has a text that is empty.
    pub(super) fn has_empty_text(&self) -> bool {
        self.content_text() == Some("") || self.reasoning_text() == Some("")
    }

    /// Whether the delta has text that is not empty, or a tool call.
    pub(super) fn has_output(&self) -> bool {
        let mut any = false;
        self.each(&mut |_| any = true);
        any
    }

    /// Adds an event for each text that is not empty and for each tool call, and returns whether there was one.
    /// All tokens are counted in the first of these events, so that their sum is right.
    pub(super) fn output(&self, tokens: Option<u32>, parsed: &mut ParsedResponse) -> bool {
        let mut left = tokens;
        let mut any = false;
        self.each(&mut |output| {
            output.add_to(parsed, std::mem::replace(&mut left, tokens.map(|_| 0)));
            any = true;
        });
        any
    }

    /// Calls `found` for each text that is not empty and for each tool call, in order.
    fn each(&self, found: &mut Found<'_>) {
        match self.reasoning_text() {
            Some(text) if !text.is_empty() => found(Output::Text(Kind::Reasoning, text)),
            _ => match (&self.reasoning_details, &self.thinking) {
                (None, Some(thinking)) => thinking.each(Kind::Reasoning, found),
                (details, _) => parts(details.as_deref(), Kind::Reasoning, found),
            },
        }
        if let Some(content) = &self.content {
            content.each(Kind::Answer, found);
        }
        if let Some(Text(text)) = self.refusal.as_ref().filter(|text| !text.0.is_empty()) {
            found(Output::Text(Kind::Answer, text));
        }
        let calls = self.tool_calls.iter().flatten().map(ToolCall::part);
        for part in calls.chain(self.function_call.as_ref().map(Function::part)) {
            found(Output::Call(part));
        }
    }
}

/// A part of the output.
#[derive(Clone, Copy, Debug)]
pub(super) enum Output<'a> {
    Text(Kind, &'a str),
    Call(CallPart<'a>),
}

/// What a text is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Answer,
    Reasoning,
}

impl Output<'_> {
    /// Adds the part to a response, with its number of tokens.
    pub(super) fn add_to(self, parsed: &mut ParsedResponse, tokens: Option<u32>) {
        match self {
            Self::Text(Kind::Answer, text) => parsed.text(text, tokens),
            Self::Text(Kind::Reasoning, text) => parsed.reasoning(text, tokens),
            Self::Call(part) => parsed.tool_call(part, tokens),
        }
    }
}

/// Is called for each part of the output.
type Found<'f> = dyn FnMut(Output<'_>) + 'f;

fn parts(parts: Option<&[Part<'_>]>, kind: Kind, found: &mut Found<'_>) {
    for part in parts.unwrap_or_default() {
        for content in [&part.thinking, &part.summary].into_iter().flatten() {
            content.each(Kind::Reasoning, found);
        }
        for content in [&part.text, &part.refusal].into_iter().flatten() {
            content.each(kind, found);
        }
    }
}

/// A text, or a list of parts as Mistral sends it. An object is a list of one part.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

/// A part of a content: a text, or the reasoning before it.
#[derive(Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    text: Option<Content<'a>>,
    refusal: Option<Content<'a>>,
    thinking: Option<Content<'a>>,
    summary: Option<Content<'a>>,
}

impl Content<'_> {
    /// The text, unless it comes in parts.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(_) => None,
        }
    }

    /// Calls `found` for each text that is not empty. A text is output of this kind.
    pub(super) fn each(&self, kind: Kind, found: &mut Found<'_>) {
        match self {
            Self::Text(text) if text.is_empty() => {}
            Self::Text(text) => found(Output::Text(kind, text)),
            Self::Parts(list) => parts(Some(list), kind, found),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Ok(Content::Parts(vec![Part::deserialize(MapAccessDeserializer::new(map))?]))
            }
            // A switch, and no text.
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Content::Parts(Vec::new()))
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
