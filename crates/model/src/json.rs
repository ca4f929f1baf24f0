//! Reads values that have one of several kinds, and estimates the memory of a parsed JSON text before it is parsed.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Deserializes a value that has one of several kinds, such as a number or a text. `read` tells them apart, and
/// `expected` names them in the message about a value of another kind.
///
/// # Errors
/// If `read` returns `None`.
pub fn one_of<'de, T, D: Deserializer<'de>>(
    from: D,
    expected: &str,
    read: impl FnOnce(Value) -> Option<T>,
) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    read(value).ok_or_else(|| D::Error::custom(format!("{expected} is expected")))
}

/// The value as this type; `None` if it has another form.
pub fn form<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

/// An upper bound, in bytes, of the memory that a JSON text needs after parsing into a value or a list
/// of small structs. The bound assumes that each byte of the text is stored. Outside of strings, it
/// assumes that each opening bracket begins a list or an object, and that each comma precedes another
/// element.
pub fn parsed_bytes(text: &[u8]) -> usize {
    let mut size = ParsedSize::default();
    size.add(text);
    size.bytes()
}

/// The bound of [`parsed_bytes`] for a text that is read in parts. A part may begin inside a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParsedSize {
    bytes: usize,
    in_string: bool,
    is_escaped: bool,
}

impl ParsedSize {
    /// Adds the next part of the text.
    pub fn add(&mut self, part: &[u8]) {
        let Self { mut bytes, mut in_string, mut is_escaped } = *self;
        for byte in part {
            bytes += match byte {
                b'{' if !in_string => 512,
                b'[' if !in_string => 256,
                b',' if !in_string => 32,
                _ => 1,
            };
            in_string ^= *byte == b'"' && !is_escaped;
            is_escaped = in_string && *byte == b'\\' && !is_escaped;
        }
        *self = Self { bytes, in_string, is_escaped };
    }

    /// The bound for the parts so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the bound to 0. The next part still begins inside a string if the last part ended inside one.
    pub fn clear(&mut self) {
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_same_bound_in_parts_as_in_one_piece() {
        let text = br#"{"a": "x\"{[,", "b": [1, "{"]}"#;
        for at in 0..=text.len() {
            let mut size = ParsedSize::default();
            size.add(&text[..at]);
            size.add(&text[at..]);
            assert_eq!(size.bytes(), parsed_bytes(text), "{at}");
        }
    }

    #[test]
    fn brackets_and_commas_add_more_to_the_estimated_memory_than_text() {
        assert_eq!(parsed_bytes(b"\"word\""), 6);
        assert!(parsed_bytes(b"[[],[]]") > 800);
        assert!(parsed_bytes(br#"{"a":{}}"#) > 1_000);
        assert_eq!(
            parsed_bytes(br#""\"{,[""#),
            7,
            "in a string, brackets and commas count as text"
        );
    }
}
