//! What `memory` prints about a model whose layers and modules are described one by one.

use std::fmt::Write as _;

use inferometer_engine::ResolvedConfig;
use inferometer_engine::model::layout::{Layer, Layout, Role};
use serde_json::{Map, Value, json};

/// The weights by module, the kinds of layers, and what is not counted.
pub(super) fn text(resolved: &ResolvedConfig, ranks: u32, layout: &Layout) -> String {
    let other = (resolved.weights != resolved.model.weights).then_some(resolved.weights);
    let cards = f64::from(resolved.tensor_parallel_size);
    let mut text = format!(
        "\n{:<28} {:>10} {:>10} {:>10}  {}\n",
        "weights by module", "parameters", "GB", "each card", "format"
    );
    for module in &layout.modules {
        let bytes = module.bytes_as(other);
        let ranks = module.routed.map_or(1.0, |_| f64::from(ranks));
        let on_card = match (module.role, module.is_split) {
            (Role::Draft, _) => 0.0,
            (_, true) => bytes / (cards * ranks),
            (_, false) => bytes,
        };
        let is_other = other.is_some() && module.role == Role::Product;
        let weights = if is_other { resolved.weights } else { module.weights };
        let parameters = format!("{:.2}e9", module.parameters as f64 * 1e-9);
        let (whole, on_card) = (bytes * 1e-9, on_card * 1e-9);
        let _ = writeln!(
            text,
            "{:<28} {parameters:>10} {whole:>10.2} {on_card:>10.2}  {weights}",
            module.name
        );
    }
    let _ = writeln!(
        text,
        "{:.2}e9 of {:.2}e9 loaded parameters are multiplied with a token",
        layout.active_parameters() * 1e-9,
        layout.parameters() as f64 * 1e-9
    );
    let _ = write!(text, "\nlayers\n{}", layout.describe());
    if let Some(kept) = resolved.kept() {
        let _ = writeln!(text, "\n{:<28} {:>10}", "cache of a sequence, a card", "bytes");
        for (what, bytes) in [
            ("each token".to_owned(), kept.whole),
            (format!("each of the last {} tokens", kept.window), kept.windowed),
            ("state, at any length".to_owned(), kept.state),
        ] {
            if bytes > 0.0 {
                let _ = writeln!(text, "{what:<28} {bytes:>10.0}");
            }
        }
    }
    if layout.modules.iter().any(|module| module.role == Role::Draft) {
        text += "note: layers that draft tokens are loaded only for speculative decoding\n";
    }
    for what in &layout.left_out {
        let _ = writeln!(text, "note: not counted: {what}");
    }
    text
}

/// The same as keys of the JSON document.
pub(super) fn json(resolved: &ResolvedConfig, layout: &Layout) -> Map<String, Value> {
    let kept = resolved.kept().unwrap_or_default();
    let layer = |(count, Layer { attention, feed }): (u32, Layer)| {
        json!({
            "count": count,
            "attention": attention,
            "feed": feed,
            "text": format!("{attention}; {feed}"),
        })
    };
    let keys = json!({
        "parameters": layout.parameters(),
        "active_parameters": layout.active_parameters(),
        "modules": layout.modules,
        "layers": layout.kinds().into_iter().map(layer).collect::<Vec<_>>(),
        "not_counted": layout.left_out,
        "cache_bytes": {
            "per_token": kept.whole,
            "per_token_of_window": kept.windowed,
            "window": kept.window,
            "state": kept.state,
        },
    });
    match keys {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}
