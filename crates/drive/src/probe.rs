//! Asks a server what it is: engine, version, model, and the dialect to speak with it.

use std::collections::BTreeMap;
use std::time::Duration;

use inferometer_net::tls::Trust;
use inferometer_plan::Url;
use serde_json::Value;

use crate::control::{Answer, ControlError, Server};

/// Ports on which engines usually listen.
pub const USUAL_PORTS: [u16; 7] = [8000, 8080, 30000, 3000, 11434, 1234, 23333];

/// What a server says of itself. What it does not say is absent, never guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Engine, such as `vllm`.
    pub engine: Option<&'static str>,
    /// Its version.
    pub version: Option<String>,
    /// The models that it serves.
    pub models: Vec<String>,
    /// The dialect to speak, if one is known to fit.
    pub dialect: Option<&'static str>,
    /// Whether it is the embedded engine: every figure is then a simulation's.
    pub simulated: bool,
    /// Further facts, by the server's own names.
    pub facts: BTreeMap<String, String>,
}

impl Found {
    /// `vllm 0.32.0, model tiny`: what was found, in a line.
    #[must_use]
    pub fn line(&self) -> String {
        let engine = match (self.engine, &self.version) {
            (Some(engine), Some(version)) => format!("{engine} {version}"),
            (Some(engine), None) => engine.to_owned(),
            (None, _) => "a server of unknown make".to_owned(),
        };
        match self.models.as_slice() {
            [] => engine,
            models => format!("{engine}, model {}", models.join(", ")),
        }
    }
}

/// Asks a server what it is.
///
/// # Errors
/// When the server stops to answer. An answer that says nothing is no error.
pub fn probe(server: &Server) -> Result<Found, ControlError> {
    let mut found = Found::default();
    let models = json_of(server.get("/v1/models"))?;
    if let Some((answer, models)) = models {
        note_models(&mut found, &models, answer.server.as_deref());
    }
    if let Some((_, version)) = json_of(server.get("/version"))?
        && let Some(version) = version["version"].as_str()
    {
        // Others have such a path too: who it is must be known from the list of models.
        found.version = Some(version.to_owned());
    } else if let Some((_, info)) = json_of(server.get("/info"))?
        && info["model_id"].is_string()
    {
        note_tgi(&mut found, &info);
    } else if let Some((_, info)) = json_of(server.get("/get_model_info"))?
        && info["model_path"].is_string()
    {
        note_sglang(&mut found, &info);
    } else if let Some((_, props)) = json_of(server.get("/props"))?
        && props["default_generation_settings"].is_object()
    {
        note_llama_cpp(&mut found, &props);
    } else if found.dialect.is_none()
        && let Some((_, api)) = json_of(server.get("/openapi.json"))?
    {
        note_paths(&mut found, &api);
    }
    Ok(found)
}

/// The JSON of an answer; nothing if the server has no such path or answers something else.
fn json_of(answer: Result<Answer, ControlError>) -> Result<Option<(Answer, Value)>, ControlError> {
    match answer {
        Ok(answer) if answer.status == 200 => {
            let value = serde_json::from_slice(&answer.body).ok();
            Ok(value.map(|value| (answer, value)))
        }
        Ok(_) | Err(ControlError::Garbled { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn note_models(found: &mut Found, models: &Value, server: Option<&str>) {
    let Some(list) = models["data"].as_array() else { return };
    found.dialect = Some("openai-completions");
    found.models = list.iter().filter_map(|m| m["id"].as_str().map(str::to_owned)).collect();
    let owner = list.first().and_then(|model| model["owned_by"].as_str());
    found.engine = match (owner, server) {
        (Some("vllm"), _) => Some("vllm"),
        (Some("sglang"), _) => Some("sglang"),
        (Some("llamacpp"), _) | (_, Some("llama.cpp")) => Some("llama.cpp"),
        (Some("inferometer"), _) => Some("vllm"),
        _ => None,
    };
    found.simulated = owner == Some("inferometer");
    if let Some(model) = list.first() {
        for key in ["max_model_len", "root"] {
            note(found, key, &model[key]);
        }
        for key in ["n_ctx", "n_ctx_train", "n_params", "size", "ftype"] {
            note(found, key, &model["meta"][key]);
        }
        if let Some(profile) = model["simulated"].as_object() {
            for (key, value) in profile {
                note(found, key, value);
            }
        }
    }
}

fn note_tgi(found: &mut Found, info: &Value) {
    found.engine = Some("tgi");
    found.dialect = Some("tgi");
    found.version = info["version"].as_str().map(str::to_owned);
    if let Some(model) = info["model_id"].as_str() {
        found.models = vec![model.to_owned()];
    }
    for key in [
        "model_dtype",
        "model_device_type",
        "max_concurrent_requests",
        "max_input_tokens",
        "max_input_length",
        "max_total_tokens",
        "max_batch_total_tokens",
        "max_batch_prefill_tokens",
        "waiting_served_ratio",
        "sha",
        "docker_label",
    ] {
        note(found, key, &info[key]);
    }
}

fn note_sglang(found: &mut Found, info: &Value) {
    found.engine = Some("sglang");
    found.dialect.get_or_insert("openai-completions");
    found.version = info["version"].as_str().map(str::to_owned);
    for key in ["model_path", "model_type", "load_format"] {
        note(found, key, &info[key]);
    }
}

fn note_llama_cpp(found: &mut Found, props: &Value) {
    found.engine = Some("llama.cpp");
    found.dialect.get_or_insert("openai-completions");
    found.version = props["build_info"].as_str().map(str::to_owned);
    for key in ["total_slots", "model_path", "n_ctx"] {
        note(found, key, &props[key]);
    }
    note(found, "n_ctx_slot", &props["default_generation_settings"]["n_ctx"]);
}

/// A server that does not list its models may still say which paths it has.
fn note_paths(found: &mut Found, api: &Value) {
    let has = |path: &str| api["paths"][path].is_object();
    if has("/v1/completions") {
        found.dialect = Some("openai-completions");
    } else if has("/v1/chat/completions") {
        found.dialect = Some("openai-chat");
    }
    // Two paths that `transformers serve` has and nobody else was seen to have.
    if found.dialect.is_some() && has("/load_model") && has("/reset") {
        found.engine = Some("transformers");
    }
}

fn note(found: &mut Found, key: &str, value: &Value) {
    let text = match value {
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    found.facts.insert(key.to_owned(), text);
}

/// Looks for servers on the usual ports of this machine; only asks them what they are.
#[must_use]
pub fn find_local() -> Vec<(Url, Found)> {
    let timeout = Duration::from_millis(300);
    let ask = |port: u16| {
        let url = Url::plain("127.0.0.1", port);
        let server = Server::reach(&url, Vec::new(), timeout, &Trust::Known).ok()?;
        let found = probe(&server).ok()?;
        found.engine.is_some().then_some((url, found))
    };
    USUAL_PORTS.into_iter().filter_map(ask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_a_list_of_models_is_known_by_its_paths() {
        for (paths, engine, dialect) in [
            (
                vec!["/v1/chat/completions", "/v1/completions", "/load_model", "/reset"],
                Some("transformers"),
                Some("openai-completions"),
            ),
            (vec!["/v1/chat/completions"], None, Some("openai-chat")),
            (vec!["/load_model", "/reset"], None, None),
        ] {
            let paths: serde_json::Map<String, Value> =
                paths.into_iter().map(|path| (path.to_owned(), serde_json::json!({}))).collect();
            let mut found = Found::default();
            note_paths(&mut found, &serde_json::json!({ "paths": paths }));
            assert_eq!((found.engine, found.dialect), (engine, dialect));
        }
    }
}
