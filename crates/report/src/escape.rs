//! Escapes texts from outside: what a server states about itself must not become markup.

use inferometer_model::visible;

use crate::number::MISSING;

/// A text for the content and the attributes of XML and HTML elements. Control characters for terminals
/// and for text direction are shown as escapes; characters that XML does not allow are replaced.
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

/// A text for Markdown: one line in which nothing is markup.
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

/// A heading of Markdown: one line, without markup from outside.
pub(crate) fn heading(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { MISSING.to_owned() } else { markdown(&text) }
}
