//! Translates the server flags of `vllm bench serve` into keys of a plan.

use serde_json::{Map, Value, json};

use super::{given::GivenFlags, reader::Reader};

/// A backend of vLLM: its names, the dialect of this program, and the request path.
struct Backend {
    names: &'static [&'static str],
    dialect: &'static str,
    path: &'static str,
}

const BACKENDS: [Backend; 3] = [
    Backend { names: &["vllm", "openai"], dialect: "openai-completions", path: "/v1/completions" },
    Backend { names: &["openai-chat"], dialect: "openai-chat", path: "/v1/chat/completions" },
    Backend { names: &["openai-responses"], dialect: "openai-responses", path: "/v1/responses" },
];

/// The name of the requested backend; `openai` if no flag gives it.
pub fn backend<'a>(reader: &Reader<'a>) -> &'a str {
    reader.text("--backend").or_else(|| reader.text("--endpoint-type")).unwrap_or("openai")
}

/// Whether this backend sends prompts as chat messages.
pub fn is_chat(backend: &str) -> bool {
    backend == "openai-chat"
}

/// The default server of `vllm bench serve`.
pub const DEFAULT: &str = "http://127.0.0.1:8000";

/// Whether a flag names the server.
pub fn is_named(given: &GivenFlags) -> bool {
    ["--base-url", "--host", "--port"].iter().any(|flag| given.values(flag).is_some())
}

/// Adds the keys of a plan for the target. `otherwise` is the address if no flag gives one.
pub fn keys(reader: &mut Reader<'_>, keys: &mut Map<String, Value>, otherwise: Option<&str>) {
    let named = url(reader);
    let url = match otherwise.filter(|_| !is_named(reader.given())) {
        Some(url) => url.to_owned(),
        None => named,
    };
    if reader.has("--insecure") {
        match url.starts_with("https://") {
            true => drop(keys.insert("insecure".to_owned(), true.into())),
            false => reader.note("--insecure", "has no effect: the address is not https://"),
        }
    }
    keys.insert("target".to_owned(), url.into());
    dialect(reader, keys);
    if let Some(model) = model(reader) {
        keys.insert("model".to_owned(), model.into());
    }
    if let Some(tokenizer) = reader.text("--tokenizer") {
        keys.insert("tokenizer".to_owned(), tokenizer.into());
    }
    let headers = reader.pairs("--header", '=');
    if !headers.is_empty() {
        let lines = headers.iter().map(|(name, value)| format!("{name}: {value}"));
        keys.insert("header".to_owned(), lines.collect::<Vec<_>>().into());
    }
    let seconds = "a whole number of seconds";
    let wait: Option<u32> = reader.number("--ready-check-timeout-sec", seconds, |_| true);
    if let Some(seconds) = wait.filter(|seconds| *seconds > 0) {
        keys.insert("wait".to_owned(), format!("{seconds}s").into());
    }
}

fn url(reader: &mut Reader<'_>) -> String {
    if let Some(url) = reader.text("--base-url") {
        for flag in ["--host", "--port"] {
            if reader.has(flag) {
                reader.note(flag, "has no effect: --base-url gives the address");
            }
        }
        return url.trim_end_matches('/').to_owned();
    }
    let host = reader.text("--host").unwrap_or("127.0.0.1");
    let is_port = "a port from 1 to 65535";
    let port: u16 = reader.number("--port", is_port, |port| *port > 0).unwrap_or(8000);
    match host.contains(':') && !host.starts_with('[') {
        true => format!("http://[{host}]:{port}"),
        false => format!("http://{host}:{port}"),
    }
}

fn dialect(reader: &mut Reader<'_>, keys: &mut Map<String, Value>) {
    let name = backend(reader);
    let Some(backend) = BACKENDS.iter().find(|backend| backend.names.contains(&name)) else {
        let why = if ["embed", "pooling", "rerank", "audio"].iter().any(|kind| name.contains(kind))
        {
            "embeddings, reranking and audio are not measured"
        } else {
            "it is not one of vllm, openai, openai-chat, openai-responses; `inferometer run \
                --dialect NAME` supports more servers (`inferometer list dialects`)"
        };
        return reader.mistake("--backend", format!("`{name}`: {why}"));
    };
    keys.insert("dialect".to_owned(), backend.dialect.into());
    match reader.text("--endpoint") {
        None => {}
        Some(path) if path == backend.path => {}
        Some(path) => {
            let last = backend.path.trim_start_matches("/v1");
            if path.ends_with(last) {
                keys.insert("endpoint".to_owned(), path.into());
            } else {
                let problem =
                    format!("`{path}` does not end with {last}, which --backend {name} requires");
                reader.mistake("--endpoint", problem);
            }
        }
    }
}

/// The model name in requests.
fn model(reader: &mut Reader<'_>) -> Option<String> {
    match reader.many("--lora-modules") {
        Some([one]) => return Some(one.clone()),
        Some(several) if several.len() > 1 => {
            let problem =
                "several adapters are not supported; use `inferometer run --adapters NAME,...`";
            reader.mistake("--lora-modules", problem);
        }
        Some(_) => reader.mistake("--lora-modules", "names no adapter"),
        None => {}
    }
    let model = reader.text("--served-model-name").or_else(|| reader.text("--model"));
    model.map(str::to_owned)
}

/// Adds the keys of a plan for sampling parameters and other fields of the request body.
pub fn sampling(reader: &mut Reader<'_>, keys: &mut Map<String, Value>) {
    let mut body = Map::new();
    for (flag, field) in [
        ("--top-p", "top_p"),
        ("--min-p", "min_p"),
        ("--frequency-penalty", "frequency_penalty"),
        ("--presence-penalty", "presence_penalty"),
        ("--repetition-penalty", "repetition_penalty"),
    ] {
        let number: Option<f64> =
            reader.number(flag, "a number", |number: &f64| number.is_finite());
        body.extend(number.map(|number| (field.to_owned(), json!(number))));
    }
    let top_k: Option<i64> = reader.number("--top-k", "a whole number", |_| true);
    body.extend(top_k.map(|number| ("top_k".to_owned(), json!(number))));
    let logprobs: Option<u32> = reader.number("--logprobs", "a whole number", |_| true);
    if let Some(number) = logprobs {
        match is_chat(backend(reader)) {
            true => reader.note("--logprobs", "has no effect with openai-chat, as in vLLM"),
            false => drop(body.insert("logprobs".to_owned(), number.into())),
        }
    }
    match reader.text("--extra-body").map(serde_json::from_str) {
        None => {}
        Some(Ok(Value::Object(fields))) => body.extend(fields),
        Some(_) => reader.mistake("--extra-body", "is not a JSON object"),
    }
    let temperature: Option<f64> =
        reader.number("--temperature", "a number of at least 0", |number| *number >= 0.0);
    match temperature.map(Value::from).or_else(|| body.remove("temperature")) {
        Some(temperature) => drop(keys.insert("temperature".to_owned(), temperature)),
        None if reader.has("--temperature") => {}
        None => reader.note(
            "--temperature",
            "is not given: requests contain temperature 1; vllm bench serve sends none, so the server \
                decides",
        ),
    }
    if !body.is_empty() {
        keys.insert("extra_body".to_owned(), body.into());
    }
}
