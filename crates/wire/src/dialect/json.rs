//! JSON helpers of the dialects: borrowed strings, counted lists, merged objects.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use inferometer_model::record::EventKind;
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

/// Reads a token count that a server states. A count that does not fit becomes `u32::MAX`. No output has so
/// many tokens, so this count is later reported as impossible. The result is `None` unless the value is a
/// whole number of at least 0. Neither case makes the message malformed.
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

/// Parses a message. If the message does not have the form of `T`, this function records that in the response
/// and returns `None`. An error message is then recorded as an error of the server.
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

/// Records in the response that a message is not what the dialect expects. If the message is an error, but
/// not in the dialect's own form, it is recorded as an error of the server.
pub(super) fn unexpected(what: &str, data: &str, parsed: &mut ParsedResponse) {
    if is_error(data) {
        return server_error(data, parsed);
    }
    let number = parsed.messages();
    let begins = excerpt(data, parsed.secrets());
    parsed.malformed(format!("message {number}: {what}, in {begins}"));
}

/// Records a message of a type that the dialect does not know. It is an error, or an event without output.
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

/// Adds the user's fields to a body. They replace fields of the same name; objects are merged.
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
