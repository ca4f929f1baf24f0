//! JSON helpers of the dialects: borrowed strings, counted lists, merged objects.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::decode::{Decoded, Undecoded};

/// A string that is borrowed from the message unless it contains escapes. It has its own type, because serde
/// does not borrow inside an `Option<Cow<str>>`. A struct that has texts marks one of them with `borrow`, which holds
/// for all of them.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// An item of an answer that begins, such as a call of a tool.
#[derive(Debug, Deserialize)]
pub(super) struct Named<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
}

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

/// Reads a token count that a server states, as a number or as the text of a number. A value that is not a whole
/// number of at least 0 gives `None`. A count above `u32::MAX` becomes `u32::MAX`. No output has so many tokens,
/// so this count is later reported as impossible. Neither of these values makes the message malformed.
pub(super) fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let stated = Option::<Value>::deserialize(deserializer)?;
    let is_count = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
    // The conversion limits a number to the range of `u32`.
    let number = stated.and_then(|value| value.as_f64().or_else(|| value.as_str()?.parse().ok()));
    Ok(number.filter(is_count).map(|number| number as u32))
}

/// The answers of a message. Nearly every message has at most one, which is stored without allocating a list.
#[derive(Debug)]
pub(super) struct Choices<T> {
    pub(super) first: Option<T>,
    pub(super) others: Vec<T>,
}

impl<T> Choices<T> {
    /// All answers, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.others)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choices<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for All<T> {
            type Value = Choices<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of answers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut choices = Choices { first: list.next_element()?, others: Vec::new() };
                while let Some(other) = list.next_element()? {
                    choices.others.push(other);
                }
                Ok(choices)
            }
        }
        deserializer.deserialize_seq(All(PhantomData))
    }
}

/// Parses a message.
///
/// # Errors
/// When the message does not have the form of `T`.
pub(super) fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Undecoded> {
    serde_json::from_str(data).map_err(|error| Undecoded::Wrong(error.to_string()))
}

/// The error for a message that contradicts the form of its dialect, or earlier messages.
pub(super) fn wrong(what: &str) -> Decoded {
    Err(Undecoded::Wrong(what.to_owned()))
}

/// Adds the user's fields to a body. A field of the user replaces the field of the same name; null removes
/// it. If both values are objects, they are merged instead.
pub(crate) fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (name, value) in extra {
        match (body.get_mut(name), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => merge(ours, theirs),
            (_, Value::Null) => {
                body.remove(name);
            }
            _ => {
                body.insert(name.clone(), value.clone());
            }
        }
    }
}
