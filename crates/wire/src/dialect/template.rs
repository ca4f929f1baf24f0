//! Avoids the JSON parser for streams whose messages differ only in one string.
//!
//! The template stores the bytes before and after the text of a message that the parser has read. If a later
//! message has the same bytes around a string without escapes, only this string differs, so the message has
//! the same meaning. Every other message goes to the parser.

use memchr::memchr2;

/// The bytes around the text in a stream's messages.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// The message up to the text, with the opening quote, followed by the rest from the closing quote on.
    around: Vec<u8>,
    /// The length of the first part, in bytes; zero without a template.
    before: usize,
}

impl Template {
    /// Sets the template from a parsed message and its text. The template becomes empty if the text is not a
    /// slice of the message, because the parser had to unescape it, or if the message is not one line.
    pub fn learn(&mut self, message: &str, text: &str) {
        self.before = 0;
        let offset = (text.as_ptr() as usize).wrapping_sub(message.as_ptr() as usize);
        let Some(end) = offset.checked_add(text.len()).filter(|&end| end < message.len()) else {
            return;
        };
        let bytes = message.as_bytes();
        let is_line = memchr2(b'\n', b'\r', bytes).is_none();
        if offset == 0 || bytes[offset - 1] != b'"' || bytes[end] != b'"' || !is_line {
            return;
        }
        self.around.clear();
        self.around.extend_from_slice(&bytes[..offset]);
        self.around.extend_from_slice(&bytes[end..]);
        self.before = offset;
    }

    /// The text of a message that differs from the template only in its text, and whether it is ASCII; `None` for other
    /// messages. Also `None` for an empty text: only the parser's caller can decide whether an empty text is a token. The
    /// bytes need not be UTF-8.
    pub fn text<'a>(&self, message: &'a [u8]) -> Option<(&'a [u8], bool)> {
        if self.before == 0 || message.len() <= self.around.len() {
            return None;
        }
        let (before, after) = self.around.split_at(self.before);
        let end = message.len() - after.len();
        if &message[end..] != after || &message[..self.before] != before {
            return None;
        }
        let text = &message[self.before..end];
        let found = text.iter().fold(0, |found, byte| found | CLASSES[usize::from(*byte)]);
        (found & SPECIAL == 0).then_some((text, found & NOT_ASCII == 0))
    }
}

/// A byte that ends a JSON string or begins an escape, or that must not be in one.
const SPECIAL: u8 = 1;
const NOT_ASCII: u8 = 2;

/// The class of each byte. Texts of tokens are so short that a look into a table is faster than comparing 16 bytes at once.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            0..b' ' | b'"' | b'\\' => SPECIAL,
            128.. => NOT_ASCII,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(message: &'static str, text: &str) -> Template {
        let at = message.find(text).expect("the text");
        let mut template = Template::default();
        template.learn(message, &message[at..at + text.len()]);
        template
    }

    #[test]
    fn a_message_that_differs_from_the_template_only_in_its_text_yields_the_text() {
        let template = learnt(r#"{"t":"abc","n":1}"#, "abc");
        assert_eq!(template.text(br#"{"t":"d","n":1}"#), Some((&b"d"[..], true)));
        assert_eq!(
            template.text(r#"{"t":" héllo 👋","n":1}"#.as_bytes()),
            Some((" héllo 👋".as_bytes(), false))
        );
    }

    #[test]
    fn a_message_with_any_other_difference_is_left_to_the_parser() {
        let template = learnt(r#"{"t":"abc","n":1}"#, "abc");
        for message in [
            r#"{"t":"","n":1}"#, r#"{"t":"a","n":2}"#, r#"{"t":"a\n","n":1}"#,
            r#"{"t":"a","n":1} "#, r#" {"t":"a","n":1}"#, r#"{"t":"a","u":"b","n":1}"#,
            "{\"t\":\"a\tb\",\"n\":1}", r#"{"u":"a","n":1}"#, r#"{"t":""#, r#""n":1}"#, "",
        ] {
            assert_eq!(template.text(message.as_bytes()), None, "{message}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_slice_of_the_message_clears_the_template() {
        let mut template = learnt(r#"{"t":"abc"}"#, "abc");
        template.learn(r#"{"t":"a\nb"}"#, "a\nb");
        assert_eq!(template.text(br#"{"t":"abc"}"#), None);
    }

    #[test]
    fn a_template_of_several_lines_is_left_to_the_parser() {
        let lines = learnt("{\"t\":\"abc\",\n\"n\":1}", "abc");
        assert_eq!(lines.text(b"{\"t\":\"d\",\n\"n\":1}"), None);
    }
}
