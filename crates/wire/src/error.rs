//! The errors of encoding requests, and the messages in servers' error bodies.

use inferometer_model::{MediaKind, Prompt, Secrets, record};
use serde_json::{Map, Value};

/// The maximum number of bytes of a body that are stored if the body is only quoted in an error message.
pub(crate) const MAX_QUOTED_BYTES: usize = 64 * 1024;

/// Why a request cannot be encoded. A bad response is not an error of this type; see [`crate::exchange`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum WireError {
    /// The dialect does not accept token ids as a prompt.
    #[error(
        "dialect {dialect} does not accept token ids as a prompt: send text, or use another dialect"
    )]
    TokenIds { dialect: &'static str },
    /// The dialect does not accept chat messages as a prompt.
    #[error(
        "dialect {dialect} does not accept chat messages: send text, or use a dialect that accepts \
            them, such as openai-chat"
    )]
    Messages { dialect: &'static str },
    /// The dialect has no part for this kind of medium.
    #[error(
        "dialect {dialect} cannot send {kind}: use one that can, such as openai-chat (--dialect)"
    )]
    Media { dialect: &'static str, kind: &'static str },
}

impl WireError {
    /// The error for a kind of medium that a dialect does not accept.
    pub(crate) fn media(dialect: &'static str, kind: MediaKind) -> Self {
        let kind = match kind {
            MediaKind::Image => "pictures",
            MediaKind::Audio => "sounds",
        };
        Self::Media { dialect, kind }
    }

    /// The error for a prompt that a dialect does not accept.
    pub(crate) fn prompt(dialect: &'static str, prompt: &Prompt) -> Self {
        match prompt {
            Prompt::Messages(_) => Self::Messages { dialect },
            _ => Self::TokenIds { dialect },
        }
    }
}

/// Returns a message for users from the body of an error response. The message is the text of the first of
/// these JSON fields that contains text: `error`, `message`, `detail`, `msg`, `errors`. The field may also be
/// an object with one of these fields, or a list; the texts of a list are joined. If the object also names the
/// wrong field of the request, the name is put before the text. A body without such a text,
/// or of more than 64 KiB, gives the beginning of the body. An empty text gives the status. Secrets are
/// removed before the message is cut.
pub fn error_message(status: u16, body: &[u8], secrets: &Secrets) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_QUOTED_BYTES)]);
    // Of a longer body, `text` is only the beginning. It is quoted without parsing.
    let whole = body.len() <= MAX_QUOTED_BYTES;
    let value = whole.then(|| serde_json::from_str(&text).ok()).flatten();
    let message = value.and_then(|value| in_json(&value));
    let message = message.unwrap_or_else(|| text.trim().to_owned());
    if message.is_empty() {
        return format!("HTTP status {status} without a message");
    }
    record::detail(&secrets.redact(&message))
}

/// The fields that show whether a JSON value is an error instead of an answer. A field that is `null` is
/// absent.
pub(crate) struct ErrorSigns<'a> {
    /// Whether the value has the field `error`.
    pub error: bool,
    /// The value of the field `object`.
    pub object: Option<&'a str>,
    /// Whether the value has the field `message`.
    pub message: bool,
    /// Whether the value has the field `choices`.
    pub choices: bool,
}

impl<'a> ErrorSigns<'a> {
    /// Collects the signs of an error from a JSON value.
    pub(crate) fn of(value: &'a Value) -> Self {
        let has = |name: &str| value.get(name).is_some_and(|field| !field.is_null());
        let object = value.get("object").and_then(Value::as_str);
        Self { error: has("error"), object, message: has("message"), choices: has("choices") }
    }

    /// Whether the value is an error: `{"error": ...}`, SGLang's `{"object": "error", ...}`, or a `message`
    /// without `choices`.
    pub(crate) fn is_error(&self) -> bool {
        self.error || self.object == Some("error") || (self.message && !self.choices)
    }
}

fn in_json(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // FastAPI's list of validation errors: `[{"loc": [...], "msg": "..."}]`.
        Value::Array(errors) => {
            let messages: Vec<String> = errors.iter().filter_map(in_json).collect();
            (!messages.is_empty()).then(|| messages.join("; "))
        }
        Value::Object(fields) => {
            let names = ["error", "message", "detail", "msg", "errors"];
            let text = names.iter().filter_map(|name| fields.get(*name)).find_map(in_json)?;
            let field = wrong_field(fields).filter(|field| !text.contains(field));
            Some(field.map_or_else(|| text.clone(), |field| format!("{field}: {text}")))
        }
        _ => None,
    }
}

/// The name of the request's field that an error is about: `loc` of FastAPI, such as `["body", "ignore_eos"]`, or
/// `param` of OpenAI.
fn wrong_field(error: &Map<String, Value>) -> Option<String> {
    let place = match error.get("loc").or_else(|| error.get("param"))? {
        Value::Array(place) => place.clone(),
        name => vec![name.clone()],
    };
    let names = place.iter().filter_map(|part| match part {
        Value::String(name) => Some(name.clone()),
        Value::Number(index) => Some(index.to_string()),
        _ => None,
    });
    let names = names.skip_while(|name| name == "body").collect::<Vec<_>>();
    // A number alone is a place in the text of the body.
    names.first().is_some_and(|name| name.parse::<u64>().is_err()).then(|| names.join("."))
}

/// Puts the first 80 characters of a text in quotes, for an error message. Secrets are removed first, from no more
/// than [`MAX_QUOTED_BYTES`].
pub(crate) fn excerpt(text: &str, secrets: &Secrets) -> String {
    let begins = secrets.redact(&text[..text.floor_char_boundary(MAX_QUOTED_BYTES)]);
    match begins.char_indices().nth(80) {
        None if text.len() <= MAX_QUOTED_BYTES => format!("{begins:?}"),
        end => format!("{:?}…", &begins[..end.map_or(begins.len(), |(end, _)| end)]),
    }
}
