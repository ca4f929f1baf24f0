//! Mistakes in a spec, each with its key. All mistakes are collected before they are reported.

use std::ops::Range;

use inferometer_model::did_you_mean;

use super::{limits::MAX_REQUESTS, values::Value};

/// One mistake in a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}{}: {problem}", flag_of(key))]
pub struct SpecError {
    /// The key of the plan file.
    pub key: &'static str,
    /// The value that was found, what is wrong with it, and how to correct it.
    pub problem: String,
}

/// ` (--flag)` for a key. Empty for the table `server` of a plan file, because it has no flag.
fn flag_of(key: &str) -> String {
    match key {
        "server" => String::new(),
        // Only the flag for the opposite exists.
        "scale" => " (--no-scale)".to_owned(),
        _ => format!(" (--{})", key.replace('_', "-")),
    }
}

/// The second part of the message about a plan file that is not valid TOML, or does not have the expected
/// form. It states the reason and, if they are known, the line, the column, and the key of the value at this
/// place. It does not quote the line, because the line may contain a secret.
pub fn toml_mistake(text: &str, place: Option<Range<usize>>, why: &str) -> String {
    let place = place.and_then(|place| text.get(..place.start)).map(|before| {
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        match key_before(before) {
            Some(key) => format!(" at line {line}, column {column}, in `{key}`"),
            None => format!(" at line {line}, column {column}"),
        }
    });
    format!("{}: {}", place.unwrap_or_default(), without_texts(why))
}

/// The key of the value in which a text ends. The key must be in the last line of the text; otherwise
/// `None`.
fn key_before(text: &str) -> Option<&str> {
    let (key, _) = text.rsplit('\n').next()?.split_once('=')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    Some(key.trim()).filter(|key| !key.is_empty() && key.chars().all(is_key))
}

/// Rewrites the parser's message about a value of the wrong type in simple words. A text value is left
/// out, because it may be a secret. Other messages are returned unchanged.
pub fn without_texts(why: &str) -> String {
    let why = match (why.find("string \""), why.rfind("\", expected")) {
        (Some(from), Some(to)) if from < to => format!("{}text{}", &why[..from], &why[to + 1..]),
        _ => why.to_owned(),
    };
    in_plain_words(&why).or_else(|| no_such_key(&why)).unwrap_or(why)
}

/// Rewrites the parser's message about an unknown key of a table; `None` for another message.
fn no_such_key(why: &str) -> Option<String> {
    let mut names = why.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let (field, known) = (names.next()?, names.collect::<Vec<_>>());
    let advice = did_you_mean(field, known.iter().copied());
    Some(format!("`{field}` is not a key{advice}; there are: {}", known.join(", ")))
}

/// Rewrites the parser's message about a type in simple words; `None` if the message is not about a
/// type, or if this function does not know the type.
fn in_plain_words(why: &str) -> Option<String> {
    let is_range = why.starts_with("invalid value: ");
    let rest =
        why.strip_prefix("invalid type: ").or_else(|| why.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let expected = match expected {
        "u32" if is_range => "a whole number from 0 to 4294967295",
        "u64" if is_range => "a whole number of at least 0",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        _ => return None,
    };
    let quoted = |kind: &str| Some(found.strip_prefix(kind)?.trim_matches('`').to_owned());
    let found = match found {
        "text" | "string" => "a text".to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        "null" | "unit value" => "nothing".to_owned(),
        _ => quoted("integer ")
            .or_else(|| quoted("floating point "))
            .or_else(|| quoted("boolean "))?,
    };
    Some(format!("{found}, where {expected} is expected"))
}

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Mistakes(pub(crate) Vec<SpecError>);

impl Mistakes {
    /// Adds a mistake. A mistake that was already added is not added again: several loads may use one key.
    pub(crate) fn add(&mut self, key: &'static str, problem: impl Into<String>) {
        let mistake = SpecError { key, problem: problem.into() };
        if !self.0.contains(&mistake) {
            self.0.push(mistake);
        }
    }

    /// Parses a value with `read` if the value was given. Adds a mistake if it is invalid.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        value: Option<&Value>,
        read: impl Fn(&Value) -> Result<T, &'static str>,
    ) -> Option<T> {
        match read(value?) {
            Ok(read) => Some(read),
            Err(problem) => {
                self.add(key, format!("`{}` {problem}", value?));
                None
            }
        }
    }

    /// Returns the given number of requests, conversations or repeats, or the default. Adds a mistake if it
    /// is 0 or above [`MAX_REQUESTS`].
    pub(crate) fn count(&mut self, key: &'static str, given: Option<u32>, default: u32) -> u32 {
        let count = given.unwrap_or(default);
        if count == 0 {
            self.add(key, "is 0; give at least 1");
        }
        if count > MAX_REQUESTS {
            self.add(key, format!("{count} are too many; the maximum is {MAX_REQUESTS}"));
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_a_plan_file_is_reported_with_its_position_and_without_its_text() {
        let text = "a = 1\nheader = [\"Authorization: sk-secret]\n";
        let told = toml_mistake(text, Some(16..40), "invalid basic string, expected `\"`");
        assert_eq!(told, " at line 2, column 11, in `header`: invalid basic string, expected `\"`");
        let why = "invalid type: string \"sk-se\\\"cret\", expected u32 at line 1";
        assert_eq!(without_texts(why), "invalid type: text, expected u32 at line 1");
    }

    #[test]
    fn a_key_that_takes_several_kinds_of_values_states_them_for_a_value_of_another_kind() {
        use crate::spec::Spec;
        use serde_json::{Value, from_value, json};

        let told = |keys: Value| from_value::<Spec>(keys).expect_err("a mistake").to_string();
        for (keys, expected) in [
            (json!({"warmup": [1]}), "a number or a text is expected"),
            (json!({"rate": [true]}), "a number or a text is expected"),
            (json!({"stages": 5}), "a text or a list of tables is expected"),
            (json!({"server": {"command": 5}}), "a text or a list of texts is expected"),
            (
                json!({"target": [{"url": "http://a"}]}),
                "an address or a list of addresses is expected; tables [[target]] are several servers, \
                    and this command takes one: leave out the others",
            ),
        ] {
            assert_eq!(without_texts(&told(keys)), expected);
        }
    }

    #[test]
    fn the_message_for_a_value_of_the_wrong_type_is_in_plain_words() {
        for (why, told) in [
            (
                "invalid type: string \"many\", expected u32",
                "a text, where a whole number is expected",
            ),
            ("invalid type: integer `5`, expected a string", "5, where a text is expected"),
            (
                "invalid type: floating point `1.5`, expected u32",
                "1.5, where a whole number is expected",
            ),
            ("invalid type: map, expected a sequence", "a table, where a list is expected"),
            (
                "invalid type: sequence, expected struct ServerSpec",
                "a list, where a table is expected",
            ),
            ("invalid type: boolean `true`, expected f64", "true, where a number is expected"),
            (
                "invalid value: integer `-1`, expected u32",
                "-1, where a whole number from 0 to 4294967295 is expected",
            ),
            ("missing field `a`", "missing field `a`"),
            (
                "unknown field `rats`, expected one of `rate`, `input`",
                "`rats` is not a key (did you mean `rate`?); there are: rate, input",
            ),
        ] {
            assert_eq!(without_texts(why), told);
        }
    }
}
