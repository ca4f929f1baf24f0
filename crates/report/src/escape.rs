//! Escapes text from outside of the program, such as the model name that a server reports. Such text must not
//! become markup.

use inferometer_model::visible;

use crate::number::MISSING;

/// A text, escaped for the content and the attributes of XML and HTML elements. Control characters for
/// terminals and for text direction are shown as escapes. Characters that XML does not allow are
/// replaced.
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

/// A text, escaped for Markdown: one line in which no character is markup.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible::line(text).chars() {
        match character {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '~' => {
                out.push('\\');
                out.push(character);
            }
            c => out.push(c),
        }
    }
    out
}

/// A text, escaped for a heading in Markdown: one line, or `-` if the text is empty.
pub(crate) fn heading(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { MISSING.to_owned() } else { markdown(&text) }
}
