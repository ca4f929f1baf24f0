//! Pictures and sounds in the bodies of chats: the parts of each API, and the places of the files in a body.
//!
//! A file is not copied into the body. In its place, the body has a mark, and [`split`] returns the texts around
//! the marks. The sender writes each file as base64 between them.

use inferometer_model::{Media, MediaKind};
use serde_json::{Map, Value, json};

/// The parts of messages in one API.
pub(super) struct MediaParts {
    /// The type of a part with text.
    text: &'static str,
    /// Makes the part of a picture with this media type and this mark in the place of its base64.
    image: fn(&str, &str) -> Value,
    /// Makes the part of a sound with this mark; `None` if the API has no sounds.
    audio: Option<fn(&str) -> Value>,
    /// The field of a message that has the media; `None` if they are parts of its content.
    beside: Option<&'static str>,
}

/// OpenAI's chat completions, as vLLM, SGLang and llama.cpp serve them too.
pub(super) static CHAT: MediaParts = MediaParts {
    text: "text",
    image: |of, mark| json!({ "type": "image_url", "image_url": { "url": data_uri(of, mark) } }),
    audio: Some(
        |mark| json!({ "type": "input_audio", "input_audio": { "data": mark, "format": "wav" } }),
    ),
    beside: None,
};

/// OpenAI's responses.
pub(super) static RESPONSES: MediaParts = MediaParts {
    text: "input_text",
    image: |of, mark| json!({ "type": "input_image", "image_url": data_uri(of, mark) }),
    audio: None,
    beside: None,
};

/// Anthropic's messages.
pub(super) static ANTHROPIC: MediaParts = MediaParts {
    text: "text",
    image: |of, mark| {
        let source = json!({ "type": "base64", "media_type": of, "data": mark });
        json!({ "type": "image", "source": source })
    },
    audio: None,
    beside: None,
};

/// Ollama's messages.
pub(super) static OLLAMA: MediaParts = MediaParts {
    text: "",
    image: |_, mark| Value::String(mark.to_owned()),
    audio: None,
    beside: Some("images"),
};

fn data_uri(media_type: &str, mark: &str) -> String {
    format!("data:{media_type};base64,{mark}")
}

/// What stands in a body in the place of a file. JSON writes the character U+0001 only in this form.
const MARK: &str = "\u{1}file\u{1}";
const MARK_IN_JSON: &str = "\\u0001file\\u0001";

impl MediaParts {
    /// Whether the API has parts of this kind.
    pub(super) fn accepts(&self, kind: MediaKind) -> bool {
        kind == MediaKind::Image || self.audio.is_some()
    }

    /// Adds the media after the text of the last message of the user. The messages are the field `messages` or
    /// `input` of a body; an `input` that is a text becomes one message.
    ///
    /// # Errors
    /// The kind of medium for which the API has no part.
    pub(super) fn add_to(
        &self,
        body: &mut Map<String, Value>,
        media: &[Media],
    ) -> Result<(), MediaKind> {
        let field = if body.contains_key("input") { "input" } else { "messages" };
        let Some(messages) = body.get_mut(field) else { return Ok(()) };
        if messages.is_string() {
            *messages = json!([{ "role": "user", "content": messages.take() }]);
        }
        let made: Result<Vec<Value>, MediaKind> = media.iter().map(|one| self.part(one)).collect();
        let made = made?;
        let last = messages.as_array_mut().into_iter().flatten().rfind(|it| it["role"] == "user");
        let Some(message) = last else { return Ok(()) };
        if let Some(field) = self.beside {
            message[field] = made.into();
            return Ok(());
        }
        let Some(content) = message.get_mut("content") else { return Ok(()) };
        if let Value::String(text) = content {
            *content = json!([{ "type": self.text, "text": std::mem::take(text) }]);
        }
        if let Value::Array(parts) = content {
            parts.extend(made);
        }
        Ok(())
    }

    fn part(&self, one: &Media) -> Result<Value, MediaKind> {
        match (one.kind, self.audio) {
            (MediaKind::Image, _) => Ok((self.image)(one.media_type, MARK)),
            (MediaKind::Audio, Some(audio)) => Ok(audio(MARK)),
            (MediaKind::Audio, None) => Err(one.kind),
        }
    }
}

/// The texts before, between and after the files of a body: one more than files. `None` if the body has another number
/// of marks than files: its texts contain the mark, or its messages are not those of the dialect.
pub fn split(body: &[u8], files: usize) -> Option<Vec<&[u8]>> {
    let mark = memchr::memmem::Finder::new(MARK_IN_JSON);
    let (mut texts, mut from) = (Vec::with_capacity(files + 1), 0);
    for at in mark.find_iter(body) {
        texts.push(&body[from..at]);
        from = at + MARK_IN_JSON.len();
    }
    texts.push(&body[from..]);
    (texts.len() == files + 1).then_some(texts)
}
