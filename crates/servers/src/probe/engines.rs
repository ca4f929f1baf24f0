//! Functions that read information about a server from its answers. This module sends no requests.

use serde_json::Value;

use super::{answer::ProbeClient, found::ServerInfo};

/// Owners of models in a server's list of models (`owned_by`), and the engines that they identify.
const OWNERS: [(&str, &str); 10] = [
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("llamacpp", "llama.cpp"),
    ("inferometer", "vllm"),
    ("lmdeploy", "lmdeploy"),
    ("library", "ollama"),
    ("infinity", "infinity"),
    ("Triton Inference Server", "triton"),
    ("TensorRT-LLM", "tensorrt-llm"),
    ("tensorrt_llm", "tensorrt-llm"),
];

/// Owners that several engines report: the title of the API distinguishes these engines.
pub(super) const SHARED_OWNERS: [&str; 3] = ["", "me", "openai"];

/// Titles in descriptions of APIs, and the engines that they identify.
const TITLES: [(&str, &str); 3] = [
    ("MAX Serve", "max"),
    ("llama.cpp Python API", "llama-cpp-python"),
    ("LiteLLM API", "litellm"),
];

pub(super) fn note_models(found: &mut ServerInfo, models: &Value, server: Option<&str>) {
    let Some(list) = models["data"].as_array() else { return };
    found.dialect = Some("openai-completions");
    found.models = list.iter().filter_map(|m| m["id"].as_str().map(str::to_owned)).collect();
    let owner = list.first().and_then(|model| model["owned_by"].as_str());
    let known = OWNERS.iter().find(|(name, _)| owner == Some(name));
    found.engine = match (known, server) {
        (Some((_, engine)), _) => Some(engine),
        (None, Some("llama.cpp")) => Some("llama.cpp"),
        (None, _) => None,
    };
    if found.engine == Some("infinity") {
        found.serves_only = Some("embeddings");
    }
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

/// Whether the last answer shows that the server is mlx_lm. For an unknown path, mlx_lm sends plain text that is
/// declared as JSON, through the HTTP server of Python's standard library.
pub(super) fn is_mlx_lm(probe_client: &ProbeClient<'_>) -> bool {
    let is = |name, value: &str| {
        probe_client.last_header(name).is_some_and(|had| had.starts_with(value))
    };
    is("server", "BaseHTTP/")
        && is("content-type", "application/json")
        && probe_client.last().is_some_and(|last| last.status == 404 && last.body == b"Not Found")
}

/// Reads the answer at `/info` of TGI, or of Text Embeddings Inference, which has the same path.
pub(super) fn note_tgi(found: &mut ServerInfo, info: &Value) {
    let kinds = [
        ("embedding", "embeddings"),
        ("reranker", "scores of a reranker"),
        ("classifier", "classifications"),
    ];
    let kind = kinds
        .iter()
        .find(|(kind, _)| info["model_type"][*kind].is_object() || info["model_type"] == **kind);
    found.engine = Some(if kind.is_some() { "text-embeddings-inference" } else { "tgi" });
    found.serves_only = kind.map(|(_, serves)| *serves);
    found.dialect = kind.is_none().then_some("tgi");
    found.version = info["version"].as_str().map(str::to_owned);
    if let Some(model) = info["model_id"].as_str() {
        found.models = vec![model.to_owned()];
    }
    for key in [
        "model_dtype", "model_device_type", "max_concurrent_requests", "max_input_tokens",
        "max_input_length", "max_total_tokens", "max_batch_total_tokens",
        "max_batch_prefill_tokens", "waiting_served_ratio", "sha", "docker_label",
    ] {
        note(found, key, &info[key]);
    }
}

pub(super) fn note_sglang(found: &mut ServerInfo, info: &Value) {
    found.engine = Some("sglang");
    found.dialect.get_or_insert("openai-completions");
    found.version = info["version"].as_str().map(str::to_owned);
    if info["is_generation"] == false {
        found.serves_only = Some("embeddings or scores");
    }
    for key in ["model_path", "model_type", "load_format"] {
        note(found, key, &info[key]);
    }
}

pub(super) fn note_sglang_server(found: &mut ServerInfo, info: &Value) {
    if let Some(version) = info["version"].as_str() {
        found.version = Some(version.to_owned());
    }
}

pub(super) fn note_llama_cpp(found: &mut ServerInfo, props: &Value) {
    found.engine = Some("llama.cpp");
    found.dialect.get_or_insert("openai-completions");
    found.version = props["build_info"].as_str().map(str::to_owned);
    for key in ["total_slots", "model_path", "n_ctx"] {
        note(found, key, &props[key]);
    }
    note(found, "n_ctx_slot", &props["default_generation_settings"]["n_ctx"]);
}

/// Reads a server's description of its API. The title may identify the engine. If the dialect is not known yet, the
/// paths show the dialect, or what the server serves instead of generated text.
pub(super) fn note_api(found: &mut ServerInfo, api: &Value) {
    let title = api["info"]["title"].as_str().unwrap_or_default();
    if let Some((_, engine)) = TITLES.iter().find(|(known, _)| title.contains(known)) {
        found.engine = Some(engine);
        // MAX states its own version at `/version`. Its API description has the version of its web framework.
        if found.version.is_none() && *engine != "max" {
            found.version = api["info"]["version"].as_str().map(str::to_owned);
        }
    }
    if found.dialect.is_some() {
        return;
    }
    let has = |path: &str| api["paths"][path].is_object();
    if has("/v1/completions") {
        found.dialect = Some("openai-completions");
    } else if has("/v1/chat/completions") {
        found.dialect = Some("openai-chat");
    } else if has("/v1/embeddings") || has("/embeddings") || has("/embed") {
        found.serves_only = Some("embeddings");
    } else if has("/v1/rerank") || has("/rerank") {
        found.serves_only = Some("scores of a reranker");
    }
    // Among the known engines, only `transformers serve` has these two paths.
    if found.dialect.is_some() && has("/load_model") && has("/reset") {
        found.engine = Some("transformers");
    }
}

/// Reads an answer in Triton's own protocol.
pub(super) fn note_triton(found: &mut ServerInfo, server: &Value) {
    found.engine = Some("triton");
    found.dialect = Some("triton");
    found.version = server["version"].as_str().map(str::to_owned);
}

/// Reads the names of the models that are ready on a Triton server.
pub(super) fn note_triton_models(found: &mut ServerInfo, index: &Value) {
    let ready = index.as_array().into_iter().flatten().filter(|model| model["state"] == "READY");
    found.models = ready.filter_map(|model| model["name"].as_str().map(str::to_owned)).collect();
}

fn note(found: &mut ServerInfo, key: &str, value: &Value) {
    let text = match value {
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    found.facts.insert(key.to_owned(), text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_without_a_model_list_is_recognised_by_its_api_paths() {
        for (paths, engine, dialect, serves_only) in [
            (
                vec!["/v1/chat/completions", "/v1/completions", "/load_model", "/reset"],
                Some("transformers"),
                Some("openai-completions"),
                None,
            ),
            (vec!["/v1/chat/completions"], None, Some("openai-chat"), None),
            (vec!["/load_model", "/reset"], None, None, None),
            (vec!["/v1/embeddings"], None, None, Some("embeddings")),
            (vec!["/rerank"], None, None, Some("scores of a reranker")),
        ] {
            let paths: serde_json::Map<String, Value> =
                paths.into_iter().map(|path| (path.to_owned(), json!({}))).collect();
            let mut found = ServerInfo::default();
            note_api(&mut found, &json!({ "paths": paths }));
            let is = (found.engine, found.dialect, found.serves_only);
            assert_eq!(is, (engine, dialect, serves_only));
        }
    }
}
