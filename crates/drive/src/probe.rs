//! Finds out what a server is: engine, version, models, and the dialect to speak with it. What the
//! server does not state stays unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use inferometer_http::client::{Client, ClientError, ClientResponse};
use inferometer_model::visible;
use inferometer_net::tls::Trust;
use inferometer_plan::Url;
use serde_json::Value;

/// Ports that engines listen on by default.
pub const USUAL_PORTS: [u16; 7] = [8000, 8080, 30000, 3000, 11434, 1234, 23333];

/// What a server states about itself. What it does not state is absent, never guessed.
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
    /// Whether it is the embedded engine, so that every figure comes from a simulation.
    pub simulated: bool,
    /// Further facts, under the server's own names.
    pub facts: BTreeMap<String, String>,
}

impl Found {
    /// One line for people: `vllm 0.32.0, model tiny`.
    pub fn line(&self) -> String {
        let engine = match (self.engine, &self.version) {
            (Some(engine), Some(version)) => format!("{engine} {}", visible::name(version)),
            (Some(engine), None) => engine.to_owned(),
            (None, _) => "a server of unknown make".to_owned(),
        };
        match self.models.as_slice() {
            [] => engine,
            models => format!("{engine}, model {}", visible::names(models)),
        }
    }
}

/// Requests the paths by which engines can be told apart.
///
/// # Errors
/// When the server stops responding. A response without information is no error.
pub fn probe(client: &Client) -> Result<Found, ClientError> {
    let mut found = Found::default();
    let models = json_of(client.get("/v1/models"))?;
    if let Some((response, models)) = models {
        note_models(&mut found, &models, response.server.as_deref());
    }
    if let Some((_, version)) = json_of(client.get("/version"))?
        && let Some(version) = version["version"].as_str()
    {
        // Other engines have this path too: which one it is, the list of models tells.
        found.version = Some(version.to_owned());
    } else if let Some((_, info)) = json_of(client.get("/info"))?
        && info["model_id"].is_string()
    {
        note_tgi(&mut found, &info);
    } else if let Some((_, info)) = json_of(client.get("/get_model_info"))?
        && info["model_path"].is_string()
    {
        note_sglang(&mut found, &info);
    } else if let Some((_, props)) = json_of(client.get("/props"))?
        && props["default_generation_settings"].is_object()
    {
        note_llama_cpp(&mut found, &props);
    } else if found.dialect.is_none()
        && let Some((_, api)) = json_of(client.get("/openapi.json"))?
    {
        note_paths(&mut found, &api);
    }
    Ok(found)
}

/// The JSON of a response; `None` if the server has no such path or the response is no JSON.
fn json_of(
    response: Result<ClientResponse, ClientError>,
) -> Result<Option<(ClientResponse, Value)>, ClientError> {
    match response {
        Ok(response) if response.status == 200 => {
            let value = serde_json::from_slice(&response.body).ok();
            Ok(value.map(|value| (response, value)))
        }
        Ok(_) | Err(ClientError::Garbled { .. }) => Ok(None),
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

/// A server that does not list its models may still list its paths.
fn note_paths(found: &mut Found, api: &Value) {
    let has = |path: &str| api["paths"][path].is_object();
    if has("/v1/completions") {
        found.dialect = Some("openai-completions");
    } else if has("/v1/chat/completions") {
        found.dialect = Some("openai-chat");
    }
    // Of the engines that we have seen, only `transformers serve` has these two paths.
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

/// Probes the usual ports of this machine.
pub fn find_local() -> Vec<(Url, Found)> {
    let timeout = Duration::from_millis(300);
    let probe_port = |port: u16| {
        let url = Url::plain("127.0.0.1", port);
        let client = Client::reach(&url, Vec::new(), timeout, &Trust::Known).ok()?;
        let found = probe(&client).ok()?;
        found.engine.is_some().then_some((url, found))
    };
    USUAL_PORTS.into_iter().filter_map(probe_port).collect()
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
