//! Foreign texts made harmless: what a server says of itself must not become markup.

/// A text for the content and the attributes of XML and HTML elements. Characters that XML does not
/// have are replaced.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// A text for Markdown: one line in which nothing is markup.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '~' => {
                out.push('\\');
                out.push(character);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
