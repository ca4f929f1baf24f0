//! Presets: `[server]` tables in TOML that describe how to start known engines. A new preset needs a file in the
//! folder `presets` and a line in `PRESETS`. This module starts no server.

use std::path::Path;

use inferometer_model::did_you_mean;
use inferometer_plan::spec::{ServerSpec, toml_mistake};

use crate::launch::error::LaunchError;

/// The built-in presets: the name of each, and the text of its file.
const PRESETS: [(&str, &str); 16] = [
    ("inferometer", include_str!("../../presets/inferometer.toml")),
    ("vllm", include_str!("../../presets/vllm.toml")),
    ("vllm-0.2", include_str!("../../presets/vllm-0.2.toml")),
    ("sglang", include_str!("../../presets/sglang.toml")),
    ("tgi", include_str!("../../presets/tgi.toml")),
    ("llama-cpp", include_str!("../../presets/llama-cpp.toml")),
    ("llama-cpp-python", include_str!("../../presets/llama-cpp-python.toml")),
    ("mlx-lm", include_str!("../../presets/mlx-lm.toml")),
    ("max", include_str!("../../presets/max.toml")),
    ("tensorrt-llm", include_str!("../../presets/tensorrt-llm.toml")),
    ("triton", include_str!("../../presets/triton.toml")),
    ("lmdeploy", include_str!("../../presets/lmdeploy.toml")),
    ("mistral-rs", include_str!("../../presets/mistral-rs.toml")),
    ("ollama", include_str!("../../presets/ollama.toml")),
    ("transformers-serve", include_str!("../../presets/transformers-serve.toml")),
    ("litellm", include_str!("../../presets/litellm.toml")),
];

/// The name of the preset that starts the embedded engine of this program.
pub const EMBEDDED: &str = PRESETS[0].0;

/// The built-in presets: the name of each, and the text of its file.
pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.into_iter()
}

/// The built-in preset of this name. If there is none and `name` ends with `.toml`, the preset in this file, which
/// has the keys of `[server]`.
///
/// # Errors
/// When there is neither such a preset nor such a file, or when the file is invalid.
pub fn preset(name: &str) -> Result<ServerSpec, LaunchError> {
    if let Some((_, text)) = PRESETS.iter().find(|(known, _)| *known == name) {
        return parse(name, text);
    }
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        let text = std::fs::read_to_string(name)
            .map_err(|error| LaunchError::Preset(format!("{name}: cannot be read: {error}")))?;
        return parse(name, &text);
    }
    let names = PRESETS.map(|(name, _)| name);
    Err(LaunchError::Preset(format!(
        "there is no preset `{name}`{}; the presets are {}; a TOML file is also accepted",
        did_you_mean(name, names),
        names.join(", ")
    )))
}

fn parse(name: &str, text: &str) -> Result<ServerSpec, LaunchError> {
    let spec: ServerSpec = toml::from_str(text).map_err(|error| {
        let mistake = toml_mistake(text, error.span(), error.message());
        LaunchError::Preset(format!("{name}: is invalid{mistake}"))
    })?;
    if spec.preset.is_some() {
        return Err(LaunchError::Preset(format!(
            "{name}: has the key `preset`, but a preset must not use another preset"
        )));
    }
    Ok(spec)
}

/// Fills the absent keys of a `[server]` table from its preset. If the command has the placeholder `{model}`, the
/// server is started with the first of these models that is given:
///
/// - the model of the table
/// - the model of the preset, if the preset is a file of the user
/// - `model`: the model of the plan or of its target
/// - the model of the preset, if the preset is built in
///
/// # Errors
/// The same errors as [`preset`].
pub fn complete(spec: ServerSpec, model: Option<&str>) -> Result<ServerSpec, LaunchError> {
    let preset = spec.preset.as_deref().map(preset).transpose()?.unwrap_or_default();
    let is_built_in = PRESETS.iter().any(|(name, _)| spec.preset.as_deref() == Some(*name));
    let own = spec.model.clone();
    let mut complete = spec.over(&preset);
    if complete.has_place_for_model() {
        let of_file = preset.model.filter(|_| !is_built_in);
        let of_plan = model.map(str::to_owned);
        complete.model = own.or(of_file).or(of_plan).or(complete.model);
    }
    Ok(complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_gives_a_server_with_an_address_to_listen_on_and_a_test_of_readiness() {
        for (name, _) in presets() {
            let spec = preset(name).unwrap();
            assert!(spec.description.is_some() && spec.notes.is_some(), "{name}");
            let own = ServerSpec {
                preset: Some(name.to_owned()),
                model: spec.has_place_for_model().then(|| "m".to_owned()),
                ..ServerSpec::default()
            };
            let plan =
                complete(own, None).unwrap().resolve().unwrap_or_else(|e| panic!("{name}: {e:?}"));
            let text = format!("{:?} {:?}", plan.command, plan.environment);
            assert!(text.contains("{port}") && text.contains("{host}"), "{name}: {text}");
            assert!(plan.ready_url.is_some() || plan.ready_line.is_some(), "{name}");
        }
    }

    #[test]
    fn an_unknown_preset_is_refused_with_a_suggestion() {
        let message = preset("vlm").unwrap_err().to_string();
        assert!(message.contains("did you mean `vllm`?"), "{message}");
        assert!(preset("no-such-file.toml").unwrap_err().to_string().contains("cannot be read"));
    }

    #[test]
    fn a_file_of_the_user_can_be_used_as_a_preset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, "command = ['serve']\nready_line = 'up'\n").unwrap();
        let spec = ServerSpec { preset: Some(path.display().to_string()), ..ServerSpec::default() };
        assert_eq!(complete(spec, None).unwrap().resolve().unwrap().command, ["serve"]);
        // The model of the file has precedence over the model of the plan. The latter may be only the name that
        // requests use, and not a model that the server can load.
        std::fs::write(&path, "command = ['serve', '{model}']\nmodel = 'a'\n").unwrap();
        let spec = ServerSpec { preset: Some(path.display().to_string()), ..ServerSpec::default() };
        let of_file = complete(spec, Some("b")).unwrap();
        assert_eq!(of_file.resolve().unwrap().command, ["serve", "a"]);
        std::fs::write(&path, "comand = ['serve']\n").unwrap();
        assert!(preset(&path.display().to_string()).unwrap_err().to_string().contains("comand"));
    }
}
