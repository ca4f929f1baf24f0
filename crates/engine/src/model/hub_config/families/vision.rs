//! The layers for images. Their matrices have sixteen bits. Only towers with a known form are counted.

use serde_json::Value;

use super::super::ConfigError;
use super::super::keys::Config;
use super::super::modules::{Matrix, Modules};
use crate::model::layout::Role;

/// Adds the layers for images; returns what is not counted.
pub(super) fn add(
    config: &Config,
    hidden: u32,
    modules: &mut Modules,
) -> Result<Vec<String>, ConfigError> {
    let mut left_out = Vec::new();
    if config.value("audio_config").is_some() {
        left_out.push("the layers for sound (audio_config)".to_owned());
    }
    let Some(vision) = config.value("vision_config").and_then(Value::as_object) else {
        return Ok(left_out);
    };
    let vision = Config(vision.clone());
    let kind = vision.text("model_type").unwrap_or_default();
    let counted = if kind.starts_with("qwen3_5") {
        qwen(&vision)
    } else if vision.value("vt_hidden_size").is_some() {
        kimi(&vision)
    } else if kind == "gemma4_vision" {
        gemma(&vision, hidden)
    } else if kind == "deepseek_v41_vision" {
        deepseek(&vision, hidden)
    } else {
        left_out.push(format!("the layers for images (vision_config of type \"{kind}\")"));
        return Ok(left_out);
    }?;
    modules.add(Matrix::of("layers for images", "vision", (counted as u64, 1)).plain(Role::Vision));
    Ok(left_out)
}

/// The sizes of a tower.
struct Tower {
    layers: f64,
    width: f64,
    intermediate: f64,
}

impl Tower {
    fn of(vision: &Config, keys: [&'static str; 3]) -> Result<Self, ConfigError> {
        let of = |key| vision.required(&[key]).map(f64::from);
        Ok(Self { layers: of(keys[0])?, width: of(keys[1])?, intermediate: of(keys[2])? })
    }

    /// Parameters of the layers: four matrices of attention, and `matrices` of the block behind it. With biases, each
    /// matrix has one for each output, and each of the two norms has a weight and a bias.
    fn layers(&self, matrices: f64, has_biases: bool) -> f64 {
        let Self { layers, width, intermediate } = *self;
        let biases =
            if has_biases { 4.0 * width + intermediate + width + 4.0 * width } else { 2.0 * width };
        layers * (4.0 * width * width + matrices * width * intermediate + biases)
    }
}

/// `Qwen3_5VisionModel`: patches of two images, a table of positions, and a merger of 2 x 2 patches.
fn qwen(vision: &Config) -> Result<f64, ConfigError> {
    let tower = Tower::of(vision, ["depth", "hidden_size", "intermediate_size"])?;
    let of = |key| vision.required(&[key]).map(f64::from);
    let patch = of("in_channels")? * of("temporal_patch_size")? * of("patch_size")?.powi(2);
    let merged = tower.width * of("spatial_merge_size")?.powi(2);
    let ends = tower.width * (patch + 1.0 + of("num_position_embeddings")?);
    let merger =
        merged * (merged + 1.0) + of("out_hidden_size")? * (merged + 1.0) + 2.0 * tower.width;
    Ok(tower.layers(2.0, true) + ends + merger)
}

/// `MoonViT3d` of Kimi K2.5: as above, with patches of one image.
fn kimi(vision: &Config) -> Result<f64, ConfigError> {
    let keys = ["vt_num_hidden_layers", "vt_hidden_size", "vt_intermediate_size"];
    let tower = Tower::of(vision, keys)?;
    let of = |key| vision.required(&[key]).map(f64::from);
    let positions = of("init_pos_emb_height")? * of("init_pos_emb_width")?;
    let ends = tower.width * (3.0 * of("patch_size")?.powi(2) + 1.0 + positions + 2.0);
    let sides = vision.all_numbers("merge_kernel_size").into_iter().map(f64::from);
    let merged = tower.width * sides.product::<f64>();
    let merger =
        merged * (merged + 1.0) + of("text_hidden_size")? * (merged + 1.0) + 2.0 * tower.width;
    Ok(tower.layers(2.0, true) + ends + merger)
}

/// `Gemma4VisionModel`: gated blocks without biases, a table of positions for both directions, and a projection.
fn gemma(vision: &Config, hidden: u32) -> Result<f64, ConfigError> {
    let tower = Tower::of(vision, ["num_hidden_layers", "hidden_size", "intermediate_size"])?;
    let of = |key| vision.required(&[key]).map(f64::from);
    let patch = 3.0 * of("patch_size")?.powi(2);
    let ends = tower.width * (patch + 2.0 * of("position_embedding_size")? + f64::from(hidden));
    Ok(tower.layers(3.0, false) + ends)
}

/// The tower of DeepSeek V4.1: gated blocks, and a projection of 3 x 3 patches.
fn deepseek(vision: &Config, hidden: u32) -> Result<f64, ConfigError> {
    let tower = Tower::of(vision, ["num_hidden_layers", "hidden_size", "intermediate_size"])?;
    let of = |key| vision.required(&[key]).map(f64::from);
    let patch = tower.width * 3.0 * of("patch_size")?.powi(2);
    let merged = tower.width * of("downsample_ratio")?.powi(2);
    Ok(tower.layers(3.0, false) + patch + merged * f64::from(hidden))
}
