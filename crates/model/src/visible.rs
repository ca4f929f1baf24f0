//! Makes texts from outside safe to show. The texts can then not control a terminal, change the writing
//! direction, or hide characters. Long names are cut.

use std::borrow::Cow;

/// The longest name (of a model, a version, a property of a server) that is stored, in characters. A longer
/// name is cut and ends with an ellipsis.
pub const MAX_NAME_CHARS: usize = 200;

/// Whether a character is replaced by an escape sequence. These are control characters (ESC is one),
/// separators of lines and paragraphs, marks that change the writing direction, and invisible characters.
pub fn is_escaped(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The text as one line, with the escape sequences of JSON, such as `\u001b` for ESC. A line break and a tab
/// become a space.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The same as `line`, but for a text of several lines: line feeds remain.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

fn escaped(text: &str, is_kept: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(|c| is_escaped(c) && !is_kept(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_kept(c) => out.push(c),
            '\n' | '\r' | '\t' => out.push(' '),
            c => push(&mut out, c),
        }
    }
    Cow::Owned(out)
}

fn push(out: &mut String, c: char) {
    if is_escaped(c) {
        out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
    } else {
        out.push(c);
    }
}

/// A name from outside, cut to [`MAX_NAME_CHARS`] characters.
pub fn name(text: &str) -> String {
    cut(text, MAX_NAME_CHARS)
}

/// A text for a cell of a spreadsheet. It gets a leading quote if a spreadsheet would read it as a
/// formula.
pub fn no_formula(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// The first 20 names of a list, separated by commas, and the number of the remaining ones.
pub fn names(all: &[String]) -> String {
    /// The maximum number of names that are listed.
    const MOST: usize = 20;
    let mut text = all.iter().take(MOST).map(|text| name(text)).collect::<Vec<_>>().join(", ");
    if all.len() > MOST {
        text += &format!(" and {} more", all.len() - MOST);
    }
    text
}

/// The first `most` characters of a text, with an ellipsis if there are more.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidirectional_characters_are_shown_as_escapes() {
        for (text, shown) in [
            ("qwen-7b 书生 é", "qwen-7b 书生 é"),
            ("\u{1b}[2Jm", "\\u001b[2Jm"),
            ("a\r\nb\tc", "a  b c"),
            ("a\u{202e}b\u{2066}", "a\\u202eb\\u2066"),
            ("a\u{2028}b\u{2029}c\0", "a\\u2028b\\u2029c\\u0000"),
            ("\u{9b}31m", "\\u009b31m"),
        ] {
            assert_eq!(line(text), shown);
        }
        assert_eq!(lines("a\nb\u{1b}\u{e0001}"), "a\nb\\u001b\\udb40\\udc01");
    }

    #[test]
    fn text_that_a_spreadsheet_would_read_as_a_formula_gets_a_leading_quote() {
        for text in ["=1+2", "+1", "-1", "@SUM(A1)", "\tx", "\rx"] {
            assert_eq!(no_formula(text), format!("'{text}"));
        }
        assert_eq!(no_formula("qwen=7b"), "qwen=7b");
    }

    #[test]
    fn a_long_name_is_cut_and_a_long_list_ends_with_the_number_of_further_names() {
        assert_eq!(name(&"é".repeat(1 << 20)).chars().count(), MAX_NAME_CHARS + 1);
        let all: Vec<String> = (0..1_000).map(|n| format!("m{n}")).collect();
        let text = names(&all);
        assert!(text.ends_with("m19 and 980 more"), "{text}");
    }
}
