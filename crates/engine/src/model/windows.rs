//! Reads from a `config.json` which layers have sliding-window attention, by the same rules as the transformers library
//! and vLLM.

use serde_json::{Map, Value};

use super::spec::Windows;

/// Why the windows of a configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum WindowsError {
    /// The list of layers does not fit the number of layers.
    #[error("`layer_types` has {types} entries for {layers} layers")]
    LayerTypes { types: usize, layers: u32 },
    /// A value has the wrong type.
    #[error("`{key}` must be {write}")]
    WrongType { key: &'static str, write: &'static str },
}

/// The layers with sliding-window attention. `None` if there are none.
pub(super) fn windows(
    config: &Map<String, Value>,
    model_type: &str,
    layers: u32,
) -> Result<Option<Windows>, WindowsError> {
    let number = |key: &'static str| {
        let whole = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        typed(config, key, whole, "a whole number without quotation marks, such as 4096")
    };
    let Some(tokens) = number("sliding_window")? else { return Ok(None) };
    let uses = typed(config, "use_sliding_window", Value::as_bool, "true or false")?;
    // The configurations of Qwen contain a window that is used only if `use_sliding_window` is true.
    if tokens == 0 || uses == Some(false) || uses.is_none() && model_type.starts_with("qwen") {
        return Ok(None);
    }
    let types = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|kind| kind.as_str().map(str::to_owned)).collect()
    };
    let types = typed(config, "layer_types", types, "a list with a text for each layer")?;
    let windowed = if let Some(types) = types {
        if types.len() != layers as usize {
            return Err(WindowsError::LayerTypes { types: types.len(), layers });
        }
        types.iter().filter(|kind| *kind == "sliding_attention").count() as u32
    } else if let Some(every) =
        number("sliding_window_pattern")?.or(number("_sliding_window_pattern")?)
    {
        // In each group of `every` layers, the last layer reads the whole sequence.
        layers - layers.checked_div(every).unwrap_or(0)
    } else {
        match model_type {
            "gemma2" | "gpt_oss" => layers.div_ceil(2),
            "gemma3" | "gemma3_text" => layers - layers / 6,
            kind if kind.starts_with("qwen") => {
                layers - number("max_window_layers")?.map_or(layers, |whole| whole.min(layers))
            }
            _ => layers,
        }
    };
    Ok((windowed > 0).then_some(Windows { tokens, layers: windowed }))
}

/// The value of a key, converted by `read`. `None` if the file has no such key, or if the value is `null`. `write`
/// describes the allowed values in the error message.
fn typed<T>(
    config: &Map<String, Value>,
    key: &'static str,
    read: impl Fn(&Value) -> Option<T>,
    write: &'static str,
) -> Result<Option<T>, WindowsError> {
    let Some(value) = config.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
    read(value).map(Some).ok_or(WindowsError::WrongType { key, write })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(
        config: Value,
        model_type: &str,
        layers: u32,
    ) -> Result<Option<(u32, u32)>, WindowsError> {
        let config = config.as_object().expect("an object");
        let found = windows(config, model_type, layers)?;
        Ok(found.map(|Windows { tokens, layers }| (tokens, layers)))
    }

    #[test]
    fn the_windowed_layers_follow_from_layer_types_a_pattern_or_the_type_of_the_model() {
        let types = ["sliding_attention", "full_attention", "sliding_attention"];
        for (config, model_type, layers, expected) in [
            (json!({}), "mistral", 32, None),
            (json!({ "sliding_window": null }), "mistral", 32, None),
            (json!({ "sliding_window": 4096 }), "mistral", 32, Some((4096, 32))),
            (json!({ "sliding_window": 128, "layer_types": types }), "gpt_oss", 3, Some((128, 2))),
            (json!({ "sliding_window": 128 }), "gpt_oss", 36, Some((128, 18))),
            (
                json!({ "sliding_window": 1024, "sliding_window_pattern": 6 }),
                "gemma3_text",
                62,
                Some((1024, 52)),
            ),
            (json!({ "sliding_window": 1024 }), "gemma3_text", 34, Some((1024, 29))),
            (json!({ "sliding_window": 4096 }), "gemma2", 26, Some((4096, 13))),
            (json!({ "sliding_window": 4096, "use_sliding_window": false }), "mistral", 32, None),
            (json!({ "sliding_window": 4096 }), "qwen2", 28, None),
            (
                json!({ "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 21 }),
                "qwen2",
                28,
                Some((4096, 7)),
            ),
            (json!({ "sliding_window": 9, "layer_types": ["full_attention"] }), "mistral", 1, None),
        ] {
            let found = of(config.clone(), model_type, layers).expect("windows");
            assert_eq!(found, expected, "{config}");
        }
        let wrong = of(json!({ "sliding_window": 9, "layer_types": types }), "mistral", 2);
        assert!(wrong.unwrap_err().to_string().contains("3 entries for 2 layers"));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_an_error_and_null_is_an_absent_value() {
        for (key, value, model_type) in [
            ("sliding_window", json!("4096"), "mistral"),
            ("sliding_window", json!(-5), "mistral"),
            ("sliding_window", json!(4096.5), "mistral"),
            ("use_sliding_window", json!("false"), "mistral"),
            ("layer_types", json!("x"), "mistral"),
            ("layer_types", json!([1, 2]), "mistral"),
            ("sliding_window_pattern", json!("6"), "gemma3_text"),
            ("_sliding_window_pattern", json!([6]), "gemma3_text"),
            ("max_window_layers", json!(-1), "qwen2"),
        ] {
            let with = |value: &Value| {
                let mut config = json!({ "sliding_window": 9 });
                if model_type == "qwen2" {
                    config["use_sliding_window"] = true.into();
                }
                config[key] = value.clone();
                of(config, model_type, 2)
            };
            let why = with(&value).expect_err("a value of the wrong type").to_string();
            assert!(why.starts_with(&format!("`{key}` must be ")), "{value}: {why}");
            assert!(with(&Value::Null).is_ok(), "{key}");
        }
    }
}
