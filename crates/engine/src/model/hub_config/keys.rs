//! The keys of a `config.json`: numbers, texts and lists, some of them under several names.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::ConfigError;

/// The keys of the text model of a `config.json`.
pub(super) struct Config(pub Map<String, Value>);

impl Config {
    /// The value of a key, unless it is absent or `null`.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    /// The first of these keys that is a whole number.
    pub fn number(&self, keys: &[&str]) -> Option<u32> {
        let value = keys.iter().find_map(|key| self.0.get(*key)?.as_u64())?;
        u32::try_from(value).ok()
    }

    pub fn required(&self, keys: &[&'static str]) -> Result<u32, ConfigError> {
        self.number(keys).filter(|&value| value > 0).ok_or(ConfigError::NoNumber(keys[0]))
    }

    pub fn is_true(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// A list of texts, one for each layer.
    ///
    /// # Errors
    /// If the list is shorter than the model, or has other contents.
    pub fn kinds(
        &self,
        key: &'static str,
        layers: u32,
    ) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let texts = value.as_array().map(|it| it.iter().filter_map(Value::as_str));
        let texts: Vec<String> = texts.into_iter().flatten().map(str::to_owned).collect();
        self.fits(key, layers, texts).map(Some)
    }

    /// A list of whole numbers, one for each layer. Entries after the last layer are for layers that draft tokens.
    ///
    /// # Errors
    /// As [`Self::kinds`].
    pub fn numbers(&self, key: &'static str, layers: u32) -> Result<Vec<u32>, ConfigError> {
        self.fits(key, layers, self.all_numbers(key))
    }

    /// A list of whole numbers of any length; empty if there is none.
    pub fn all_numbers(&self, key: &str) -> Vec<u32> {
        let list = self.value(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_u64).filter_map(|it| u32::try_from(it).ok()).collect()
    }

    fn fits<T>(&self, key: &'static str, layers: u32, list: Vec<T>) -> Result<Vec<T>, ConfigError> {
        if list.len() < layers as usize {
            let found = list.len();
            return Err(ConfigError::PerLayer { key, found, layers });
        }
        Ok(list)
    }

    /// The number of key and value heads, by vLLM's rules (`get_total_num_kv_heads`).
    pub fn kv_heads(&self, heads: u32) -> u32 {
        if self.is_true("multi_query_attention") {
            return self.number(&["multi_query_group_num"]).unwrap_or(1);
        }
        // Falcon's configurations keep `multi_query`, but its new architecture has groups of heads.
        if self.is_true("multi_query") && !self.is_true("new_decoder_architecture") {
            return 1;
        }
        self.number(&["num_key_value_heads", "num_kv_heads", "n_head_kv"]).unwrap_or(heads)
    }
}

/// The text with `null` in place of `NaN` and of `Infinity`. Python writes these literals, but they are not JSON, and no
/// size is one of them.
pub(super) fn without_literals(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest, mut is_quoted) = (String::with_capacity(text.len()), text, false);
    while let Some(next) = rest.chars().next() {
        let literal = ["-Infinity", "Infinity", "NaN"].into_iter().find(|it| rest.starts_with(it));
        let length = match (is_quoted, next, literal) {
            (false, _, Some(literal)) => {
                out += "null";
                rest = &rest[literal.len()..];
                continue;
            }
            (true, '\\', _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => next.len_utf8(),
        };
        is_quoted ^= next == '"';
        out += &rest[..length];
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_that_are_not_json_become_null_unless_they_are_part_of_a_text() {
        for (text, expected) in [
            (r#"{"a": [0.0, Infinity], "b": NaN}"#, r#"{"a": [0.0, null], "b": null}"#),
            (r#"{"a": -Infinity}"#, r#"{"a": null}"#),
            (r#"{"NaN\"": "Infinity é", "b": NaN}"#, r#"{"NaN\"": "Infinity é", "b": null}"#),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
        ] {
            assert_eq!(without_literals(text), expected);
        }
    }

    #[test]
    fn falcon_has_one_key_value_head_only_in_its_old_architecture() {
        // Falcon-40B: 60 layers of 8 key-value heads of 64 numbers, Falcon-7B: one head.
        for (config, heads, expected) in [
            (
                r#"{"multi_query": true, "new_decoder_architecture": true, "num_kv_heads": 8}"#,
                128,
                8,
            ),
            (r#"{"multi_query": true, "num_kv_heads": 71}"#, 71, 1),
            (r#"{"multi_query_attention": true, "multi_query_group_num": 2}"#, 32, 2),
            (r#"{"num_key_value_heads": null}"#, 32, 32),
        ] {
            let config = Config(serde_json::from_str(config).expect("an object"));
            assert_eq!(config.kv_heads(heads), expected);
        }
    }
}
