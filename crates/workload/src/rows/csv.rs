//! Tables with commas (RFC 4180): fields may stand in quotes, and then hold commas, line ends and
//! doubled quotes. The first record names the columns.

/// Takes records off a text, each with the line on which it begins.
pub struct Records<'a> {
    rest: &'a str,
    line: u64,
}

/// A record that cannot be read: a quote that does not end, or that ends inside a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenQuotes;

impl<'a> Records<'a> {
    /// The records of a text.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 }
    }
}

impl Iterator for Records<'_> {
    type Item = (u64, Result<Vec<String>, BrokenQuotes>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.starts_with(['\n', '\r']) {
            self.line += u64::from(self.rest.starts_with('\n'));
            self.rest = &self.rest[1..];
        }
        if self.rest.is_empty() {
            return None;
        }
        let line = self.line;
        let (fields, used) = record(self.rest);
        self.line += self.rest[..used].matches('\n').count() as u64;
        self.rest = &self.rest[used..];
        Some((line, fields))
    }
}

/// The fields of the first record, and its bytes with the line end.
fn record(text: &str) -> (Result<Vec<String>, BrokenQuotes>, usize) {
    let mut fields = Vec::new();
    let mut field = String::new();
    let (mut quoted, mut was_quoted, mut broken) = (false, false, false);
    let mut characters = text.char_indices().peekable();
    let mut used = text.len();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' if quoted && characters.peek().is_some_and(|(_, next)| *next == '"') => {
                characters.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.is_empty() && !was_quoted => (quoted, was_quoted) = (true, true),
            ',' if !quoted => {
                fields.push(std::mem::take(&mut field));
                was_quoted = false;
            }
            '\n' if !quoted => {
                used = at + 1;
                break;
            }
            '\r' if !quoted => {}
            _ => {
                broken |= was_quoted && !quoted;
                field.push(character);
            }
        }
    }
    fields.push(field);
    (if quoted || broken { Err(BrokenQuotes) } else { Ok(fields) }, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_commas_line_ends_and_quotes() {
        let text = "\u{feff}a,b\r\n\"1, \"\"one\"\"\",\"two\nlines\"\n\nä,\n";
        let found: Vec<_> = Records::new(text).collect();
        let record = |fields: &[&str]| Ok(fields.iter().map(|field| (*field).to_owned()).collect());
        assert_eq!(
            found,
            [
                (1, record(&["a", "b"])),
                (2, record(&["1, \"one\"", "two\nlines"])),
                (5, record(&["ä", ""])),
            ]
        );
    }

    #[test]
    fn quotes_that_do_not_end_where_a_field_ends_are_broken() {
        for text in ["\"never ends, a\n", "\"ends\" early,b\n"] {
            assert_eq!(Records::new(text).next().unwrap().1, Err(BrokenQuotes), "{text}");
        }
    }
}
