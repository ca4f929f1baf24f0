//! Avoids the JSON parser for streams whose messages differ in one string only.
//!
//! From a message that was parsed in full it keeps the bytes before and after the text. A later message with
//! the same bytes around a string without escapes is the same JSON except for that string, so it has the same
//! meaning. A message that differs in any other byte is parsed in full: the template never guesses.

/// What surrounds the text of a stream's messages.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// The message up to the text, with the opening quote, then the rest from the closing quote on.
    around: Vec<u8>,
    /// The length of the first part, in bytes; zero before anything was learnt.
    before: usize,
}

impl Template {
    /// Sets the template from a parsed message and the text that was found in it. A text that the parser had
    /// to unescape is not a part of the message; then the template is empty.
    pub fn learn(&mut self, message: &str, text: &str) {
        self.before = 0;
        let offset = (text.as_ptr() as usize).wrapping_sub(message.as_ptr() as usize);
        let Some(end) = offset.checked_add(text.len()).filter(|&end| end < message.len()) else {
            return;
        };
        let bytes = message.as_bytes();
        if offset == 0 || bytes[offset - 1] != b'"' || bytes[end] != b'"' {
            return;
        }
        self.around.clear();
        self.around.extend_from_slice(&bytes[..offset]);
        self.around.extend_from_slice(&bytes[end..]);
        self.before = offset;
    }

    /// The text of a message that differs from the learnt one only in its text. An empty text is left to the
    /// parser and its caller, because it may not be a token.
    pub fn text<'a>(&self, message: &'a str) -> Option<&'a str> {
        if self.before == 0 || message.len() <= self.around.len() {
            return None;
        }
        let bytes = message.as_bytes();
        let (before, after) = self.around.split_at(self.before);
        let end = bytes.len() - after.len();
        if &bytes[end..] != after || &bytes[..self.before] != before {
            return None;
        }
        // The part before ends with a quote and the part after begins with one, so both cuts are between
        // characters.
        let text = message.get(self.before..end)?;
        let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        text.bytes().all(plain).then_some(text)
    }
}

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
    fn a_message_that_differs_in_its_text_only_gives_the_text() {
        let template = learnt(r#"{"t":"abc","n":1}"#, "abc");
        assert_eq!(template.text(r#"{"t":"d","n":1}"#), Some("d"));
        assert_eq!(template.text(r#"{"t":" héllo 👋","n":1}"#), Some(" héllo 👋"));
    }

    #[test]
    fn whatever_else_differs_is_left_to_the_parser() {
        let template = learnt(r#"{"t":"abc","n":1}"#, "abc");
        for message in [
            r#"{"t":"","n":1}"#,
            r#"{"t":"a","n":2}"#,
            r#"{"t":"a\n","n":1}"#,
            r#"{"t":"a","n":1} "#,
            r#" {"t":"a","n":1}"#,
            r#"{"t":"a","u":"b","n":1}"#,
            "{\"t\":\"a\tb\",\"n\":1}",
            r#"{"u":"a","n":1}"#,
            r#"{"t":""#,
            r#""n":1}"#,
            "",
        ] {
            assert_eq!(template.text(message), None, "{message}");
        }
    }

    #[test]
    fn a_text_that_does_not_lie_in_the_message_teaches_nothing() {
        let mut template = learnt(r#"{"t":"abc"}"#, "abc");
        template.learn(r#"{"t":"a\nb"}"#, "a\nb");
        assert_eq!(template.text(r#"{"t":"abc"}"#), None);
    }
}
