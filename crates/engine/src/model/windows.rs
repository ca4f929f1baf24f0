//! Reads from a `config.json` which layers have sliding-window attention, as the transformers library and vLLM read it.

use serde_json::{Map, Value};

use super::spec::Windows;

/// The layers with sliding-window attention. `None` if there are none.
pub(super) fn windows(
    config: &Map<String, Value>,
    model_type: &str,
    layers: u32,
) -> Result<Option<Windows>, String> {
    let number = |key: &str| config.get(key).and_then(Value::as_u64);
    let Some(tokens) = number("sliding_window").and_then(|tokens| u32::try_from(tokens).ok())
    else {
        return Ok(None);
    };
    let uses = config.get("use_sliding_window").and_then(Value::as_bool);
    // The configurations of Qwen contain a window that is used only if they say so.
    if tokens == 0 || uses == Some(false) || uses.is_none() && model_type.starts_with("qwen") {
        return Ok(None);
    }
    let every = number("sliding_window_pattern").or_else(|| number("_sliding_window_pattern"));
    let windowed = if let Some(types) = config.get("layer_types").and_then(Value::as_array) {
        if types.len() != layers as usize {
            return Err(format!("`layer_types` has {} entries for {layers} layers", types.len()));
        }
        types.iter().filter(|kind| kind.as_str() == Some("sliding_attention")).count() as u32
    } else if let Some(every) = every.and_then(|every| u32::try_from(every).ok()) {
        // The last layer of each group reads the whole sequence.
        layers - layers.checked_div(every).unwrap_or(0)
    } else {
        match model_type {
            "gemma2" | "gpt_oss" => layers.div_ceil(2),
            "gemma3" | "gemma3_text" => layers - layers / 6,
            kind if kind.starts_with("qwen") => {
                let whole = number("max_window_layers").unwrap_or(u64::from(layers));
                layers - u32::try_from(whole).map_or(layers, |whole| whole.min(layers))
            }
            _ => layers,
        }
    };
    Ok((windowed > 0).then_some(Windows { tokens, layers: windowed }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(config: Value, model_type: &str, layers: u32) -> Result<Option<(u32, u32)>, String> {
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
            assert_eq!(of(config.clone(), model_type, layers), Ok(expected), "{config}");
        }
        let wrong = of(json!({ "sliding_window": 9, "layer_types": types }), "mistral", 2);
        assert!(wrong.unwrap_err().contains("3 entries for 2 layers"));
    }
}
