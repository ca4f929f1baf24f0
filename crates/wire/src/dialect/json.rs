//! JSON helpers of the dialects: borrowed strings, counted lists, merged objects.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use inferometer_model::EventKind;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{ErrorSigns, excerpt};
use crate::{ParsedResponse, error_message};

/// A string that is borrowed from the message unless it contains escapes. It has its own type, because serde
/// does not borrow inside an `Option<Cow<str>>`.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The number of elements of a list; the elements themselves are skipped.
#[derive(Debug)]
pub(super) struct Count(pub(super) u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counts;
        impl<'de> Visitor<'de> for Counts {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }
        deserializer.deserialize_seq(Counts)
    }
}

/// Reads a token count that a server states. A value that is not a whole number of at least 0 gives `None`. A
/// count above `u32::MAX` becomes `u32::MAX`. No output has so many tokens, so this count is later reported as
/// impossible. Neither of these values makes the message malformed.
pub(super) fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let stated = Option::<Value>::deserialize(deserializer)?;
    let is_count = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
    // The conversion limits a number to the range of `u32`.
    Ok(stated.and_then(|value| value.as_f64()).filter(is_count).map(|number| number as u32))
}

/// A list of at most one element, parsed without allocating a list. A request asks for one answer. A message
/// with several answers is an error, because their texts would be mixed.
#[derive(Debug)]
pub(super) struct AtMostOne<T>(pub(super) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AtMostOne<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct First<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for First<T> {
            type Value = AtMostOne<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of at most one answer")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let first = list.next_element()?;
                if first.is_some() && list.next_element::<IgnoredAny>()?.is_some() {
                    return Err(serde::de::Error::invalid_length(2, &self));
                }
                Ok(AtMostOne(first))
            }
        }
        deserializer.deserialize_seq(First(PhantomData))
    }
}

/// Parses a message. If the message does not have the form of `T`, calls [`unexpected`] and returns `None`.
pub(super) fn parse<'a, T: Deserialize<'a>>(
    data: &'a str,
    parsed: &mut ParsedResponse,
) -> Option<T> {
    match serde_json::from_str(data) {
        Ok(value) => Some(value),
        Err(error) => {
            unexpected(&error.to_string(), data, parsed);
            None
        }
    }
}

/// Records in the response that a message does not have the form that the dialect expects. A message that is
/// an error in the form of another API is recorded as an error of the server, any other as malformed.
pub(super) fn unexpected(what: &str, data: &str, parsed: &mut ParsedResponse) {
    if is_error(data) {
        return server_error(data, parsed);
    }
    let number = parsed.messages();
    let begins = excerpt(data, parsed.secrets());
    parsed.malformed(format!("message {number}: {what}, in {begins}"));
}

/// Records a message of a type that the dialect does not define. A message in the form of an error is recorded
/// as an error of the server, any other message as an event without output.
pub(super) fn unknown_type(data: &str, parsed: &mut ParsedResponse) {
    match is_error(data) {
        true => server_error(data, parsed),
        false => parsed.event(EventKind::Comment),
    }
}

fn is_error(data: &str) -> bool {
    serde_json::from_str::<Value>(data).is_ok_and(|value| ErrorSigns::of(&value).is_error())
}

/// Records in the response that the server sent an error message.
pub(super) fn server_error(data: &str, parsed: &mut ParsedResponse) {
    parsed.server_error(error_message(200, data.as_bytes(), parsed.secrets()));
}

/// Adds the user's fields to a body. A field of the user replaces the field of the same name. If both values
/// are objects, they are merged instead.
pub(super) fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (name, value) in extra {
        match (body.get_mut(name), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => merge(ours, theirs),
            _ => {
                body.insert(name.clone(), value.clone());
            }
        }
    }
}
