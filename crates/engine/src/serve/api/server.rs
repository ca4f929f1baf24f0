//! The responses about the server: health, version, models, metrics and tokenizer.

use serde_json::json;

use super::{Host, Reply, body::Body};
use crate::{Stats, serve::latencies::Latencies};

/// `/health`
pub(super) fn health() -> Reply {
    Reply { status: 200, content_type: "text/plain", body: Vec::new() }
}

/// `/version`
pub(super) fn version(host: &Host) -> Reply {
    Reply::json(200, &json!({ "version": host.version }))
}

/// `/v1/models`
pub(super) fn models(host: &Host) -> Reply {
    Reply::json(
        200,
        &json!({ "object": "list", "data": [{
            "id": host.model, "object": "model", "created": host.created,
            "owned_by": "inferometer", "root": host.model, "parent": null,
            "max_model_len": host.max_model_len, "simulated": host.simulated
        }] }),
    )
}

/// `/metrics`, under vLLM's names.
pub(super) fn metrics(host: &Host, stats: &Stats, latencies: &Latencies) -> Reply {
    let used = f64::from(stats.kv_blocks_used) / f64::from(stats.kv_blocks_total);
    let mut text = String::new();
    let model = host.model.replace('\\', "\\\\").replace('"', "\\\"");
    let (queries, hits) = (stats.prefix_queries as f64, stats.prefix_hits as f64);
    let old = ["gpu_cache_usage_perc"];
    let new = ["prefix_cache_queries_total", "prefix_cache_hits_total"];
    for (name, kind, help, value) in [
        ("num_requests_running", "gauge", "Running sequences.", f64::from(stats.running)),
        ("num_requests_waiting", "gauge", "Waiting sequences.", f64::from(stats.waiting)),
        ("gpu_cache_usage_perc", "gauge", "Share of the KV blocks in use (vLLM 0.2 to 0.9).", used),
        ("kv_cache_usage_perc", "gauge", "Share of the KV blocks in use (vLLM since 0.10).", used),
        (
            "prefix_cache_queries_total",
            "counter",
            "Prompt tokens looked up in the prefix cache.",
            queries,
        ),
        ("prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.", hits),
        (
            "num_preemptions_total", "counter", "Preempted sequences so far.",
            stats.preemptions as f64,
        ),
        (
            "prompt_tokens_total",
            "counter",
            "Prompt tokens processed so far.",
            stats.prompt_tokens as f64,
        ),
        (
            "generation_tokens_total",
            "counter",
            "Output tokens generated so far.",
            stats.generation_tokens as f64,
        ),
    ] {
        if (host.is_v1 && old.contains(&name)) || (!host.is_v1 && new.contains(&name)) {
            continue;
        }
        text.push_str(&format!(
            "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}\n\
             vllm:{name}{{model_name=\"{model}\"}} {value}\n"
        ));
    }
    latencies.write(&mut text, &model, host.is_v1);
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    Reply { status: 200, content_type, body: text.into_bytes() }
}

/// `/tokenize` of a `prompt`; `messages` are not supported.
pub(super) fn tokenize(host: &Host, body: &[u8]) -> Result<Reply, Reply> {
    let body = Body::parse(body)?;
    if body.get("model").is_some() {
        body.check_model(host)?;
    }
    let failed =
        |error: inferometer_model::tokenizer::TokenizerError| Reply::error(500, &error.to_string());
    let tokens = host.tokenizer.encode(body.text("prompt")?).map_err(failed)?;
    Ok(Reply::json(
        200,
        &json!({ "count": tokens.len(), "max_model_len": host.max_model_len, "tokens": tokens }),
    ))
}

/// `/detokenize`
pub(super) fn detokenize(host: &Host, body: &[u8]) -> Result<Reply, Reply> {
    let body = Body::parse(body)?;
    if body.get("model").is_some() {
        body.check_model(host)?;
    }
    let ids = body.token_ids("tokens")?;
    match host.tokenizer.decode(&ids) {
        Ok(text) => Ok(Reply::json(200, &json!({ "prompt": text }))),
        Err(error) => Err(Reply::error(400, &error.to_string())),
    }
}
