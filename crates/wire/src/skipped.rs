//! Messages of a stream that are skipped, because they are neither output, error, usage nor end. Servers and gateways
//! send such messages to keep a connection alive, or to state the progress or the result of a content filter.

use serde_json::{Map, Value};

use crate::error::{ErrorSigns, excerpt};
use crate::{ParsedResponse, dialect::Undecoded, error_message};

/// The kind of a message without data, or without any field that tells its kind.
const EMPTY: &str = "empty";
/// Fields that messages with output have. They do not tell the kind of a message.
const USUAL: [&str; 16] = [
    "choices", "content", "created", "delta", "finish_reason", "id", "index", "logprobs", "model",
    "object", "obfuscation", "role", "service_tier", "stop_reason", "system_fingerprint", "usage",
];
/// The most fields that a kind names.
const MAX_FIELDS: usize = 3;

/// Records a message that its dialect did not decode: an error of the server, a message that is skipped, or one that
/// is malformed. `event` is the name of its event, or empty.
#[cold]
pub(crate) fn undecoded(why: Undecoded, event: &str, data: &str, parsed: &mut ParsedResponse) {
    let named = Some(event).filter(|name| !name.is_empty() && *name != "message");
    let value = serde_json::from_str::<Value>(data).ok();
    // Text that does not begin like JSON, in an event with a name of its own, was never meant to be JSON.
    let is_note = named.is_some() && !data.trim_start().starts_with(['{', '[', '"']);
    match (&why, &value) {
        (_, Some(value)) if is_error(value, named.is_some()) => server_error(data, parsed),
        (Undecoded::Wrong(_), None) if data.trim().is_empty() || is_note => {
            parsed.skip(named.unwrap_or(EMPTY));
        }
        (Undecoded::NoOutput | Undecoded::Error, Some(value)) => {
            parsed.skip(named.unwrap_or(&kind(value)));
        }
        _ => malformed(&why, data, parsed),
    }
}

/// Records a whole body that is not an answer.
pub(crate) fn no_answer(why: &Undecoded, data: &str, parsed: &mut ParsedResponse) {
    match serde_json::from_str(data) {
        Ok(value) if is_error(&value, false) => server_error(data, parsed),
        _ => malformed(why, data, parsed),
    }
}

/// Records that a message, or a whole body, is malformed. Only the first one is quoted.
pub(crate) fn malformed(why: &Undecoded, data: &str, parsed: &mut ParsedResponse) {
    if parsed.malformed.is_some() {
        return;
    }
    let what = match why {
        Undecoded::Wrong(what) => what,
        _ => "neither output, finish reason, usage nor error",
    };
    let (number, begins) = (parsed.messages(), excerpt(data, parsed.secrets()));
    parsed.malformed(format!("message {number}: {what}, in {begins}"));
}

fn server_error(data: &str, parsed: &mut ParsedResponse) {
    parsed.server_error(error_message(200, data.as_bytes(), parsed.secrets()));
}

/// Whether a message is an error. In an event with a name of its own, the field `message` alone is none.
fn is_error(value: &Value, is_named: bool) -> bool {
    let signs = ErrorSigns::of(value);
    let message = signs.message && !is_named;
    ErrorSigns { message, ..signs }.is_error() || value["type"] == "error"
}

/// The kind of a message: its field `type`, otherwise the names of the fields that messages with output do not have.
fn kind(message: &Value) -> String {
    if let Some(kind) = message["type"].as_str() {
        return kind.to_owned();
    }
    let choice = &message["choices"][0];
    let objects = [message, choice, &choice["delta"]].into_iter().filter_map(Value::as_object);
    let fields = objects.flat_map(Map::iter).filter(|(_, value)| !value.is_null());
    let names = fields.map(|(name, _)| name.as_str()).filter(|name| !USUAL.contains(name));
    let names: Vec<&str> = names.take(MAX_FIELDS).collect();
    if names.is_empty() { EMPTY.to_owned() } else { names.join(", ") }
}
