//! Escapes text from outside of the program, such as the model name that a server reports. In a page or a
//! Markdown file, such text must not act as markup.

use inferometer_model::visible;

use crate::MISSING;

/// A text, escaped for the content and the attributes of XML and HTML elements. Control characters for
/// terminals and for text direction are shown as escapes. Other characters that XML does not allow are
/// replaced by U+FFFD.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible::line(text).chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// A text, escaped for Markdown: one line in which no character is inline markup.
pub(crate) fn markdown(text: &str) -> String {
    let text = visible::line(text);
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_inside = |beside: Option<char>| beside.is_some_and(char::is_alphanumeric);
        let is_markup = match character {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '~' | '&' => true,
            // Within a word, as in `max_tokens`, an underscore is not markup.
            '_' => !(is_inside(before) && is_inside(characters.peek().copied())),
            _ => false,
        };
        if is_markup {
            out.push('\\');
        }
        out.push(character);
        before = Some(character);
    }
    out
}

/// A text, escaped for a heading in Markdown: one line, or `-` if the text is empty.
pub(crate) fn heading(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { MISSING.to_owned() } else { markdown(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_markdown_has_no_inline_markup_and_words_with_underscores_stay_as_they_are() {
        for (text, expected) in [
            ("_x_", "\\_x\\_"),
            ("max_tokens", "max_tokens"),
            ("a _ b", "a \\_ b"),
            ("a&lt;b", "a\\&lt;b"),
            ("*a* [b](c)", "\\*a\\* \\[b\\](c)"),
            ("模_型", "模_型"),
        ] {
            assert_eq!(markdown(text), expected);
        }
    }
}
