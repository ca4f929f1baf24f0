//! The HTTP APIs of serving engines: parses requests into jobs and formats their responses. This module uses no sockets
//! and no clock.

mod body;
mod media;
mod openai;
mod pooled;
mod server;
mod tgi;
mod vllm;

use std::sync::Arc;

use inferometer_model::{Tokenizer, TokenizerError};
use inferometer_wire::http::Request;
use media::MediaTokens;
use serde_json::{Value, json};

use super::{FrontConfig, latencies::Latencies, words::seed};
use crate::{Engine, Stats, prefix_cache::block_hashes};

/// The properties of the server that responses contain.
pub(super) struct Host {
    /// The model's name in requests and responses.
    pub(super) model: String,
    /// The engine's version.
    pub(super) version: String,
    /// Maximum tokens of a sequence.
    pub(super) max_model_len: u32,
    /// Tokens that a chat template adds.
    pub(super) chat_overhead_tokens: u32,
    /// See [`FrontConfig::end_of_text_within`].
    pub(super) end_of_text_within: Option<u32>,
    /// When the server started, in seconds since 1970.
    pub(super) created: u64,
    /// The simulated hardware and engine: profile, card and the resolved arguments of the engine.
    pub(super) simulated: Value,
    /// The tokenizer that counts prompt tokens.
    pub(super) tokenizer: Arc<dyn Tokenizer>,
    /// The number of tokens in a block, if the engine caches prefixes.
    pub(super) shared_block: Option<u32>,
    /// Whether metrics have the names of vLLM 0.8 and later.
    pub(super) is_v1: bool,
}

impl Host {
    pub(super) fn new(
        engine: &Engine,
        config: &FrontConfig,
        tokenizer: Arc<dyn Tokenizer>,
        created: u64,
    ) -> Self {
        let resolved = engine.config();
        Self {
            model: config.served_model_name.clone(),
            version: engine.config().profile.engine_version.clone(),
            max_model_len: engine.config().limits.max_model_len,
            chat_overhead_tokens: config.chat_overhead_tokens,
            end_of_text_within: config.end_of_text_within,
            created,
            simulated: simulated(engine, config),
            tokenizer,
            shared_block: resolved.prefix_caching.then_some(resolved.block_size),
            is_v1: engine.scheduler().has_v1_metrics(),
        }
    }
}

/// The properties of the simulation. Clients can thus recognise that the figures are not those of a real card.
fn simulated(engine: &Engine, config: &FrontConfig) -> Value {
    let resolved = engine.config();
    let limits = &resolved.limits;
    let mut facts = json!({
        "profile": resolved.profile.name,
        "card": resolved.card.name,
        "weights": resolved.weights.name(),
        "max_num_seqs": limits.max_num_seqs,
        "max_num_batched_tokens": limits.max_num_batched_tokens,
        "block_size": resolved.block_size,
        "prefix_caching": resolved.prefix_caching,
        "kv_blocks": engine.stats().kv_blocks_total,
        "gpu_memory_utilization": resolved.gpu_memory_utilization,
        "tensor_parallel_size": resolved.tensor_parallel_size,
        "pipeline_parallel_size": resolved.pipeline_parallel_size,
        "speed": config.speed,
    });
    for (name, value) in resolved.further_settings() {
        facts[name] = value.into();
    }
    if let Some(noise) = resolved.noise {
        facts["noise"] = noise.to_string().into();
    }
    facts
}

/// A complete response.
#[derive(Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, content_type: "application/json", body: body.to_string().into_bytes() }
    }

    /// An error in vLLM's format.
    pub(super) fn error(status: u16, message: &str) -> Self {
        let kind = if status < 500 { "invalid_request_error" } else { "internal_error" };
        Self::json(
            status,
            &json!({
                "object": "error", "message": message, "type": kind, "param": null, "code": status
            }),
        )
    }
}

/// How to respond to a request.
pub(super) enum Call {
    /// Send this response immediately.
    Reply(Reply),
    /// Send the accounts of finished requests.
    Accounts,
    /// Let the engine generate tokens.
    Generate(Job),
}

/// An output that the engine has to generate.
pub(super) struct Job {
    pub(super) prompt_tokens: u32,
    /// One hash for each complete block of the prompt; empty if the engine does not cache prefixes.
    pub(super) block_hashes: Vec<u64>,
    pub(super) max_tokens: u32,
    /// The finish reason if the output reaches `max_tokens`.
    pub(super) finish_reason: &'static str,
    pub(super) stream: bool,
    /// The seed of the output text.
    pub(super) seed: u64,
    /// Formats the response.
    pub(super) form: Box<dyn ResponseFormat>,
}

impl Job {
    /// A job whose output has the requested length, or is shorter if the model ends the text earlier.
    fn new(
        host: &Host,
        prompt: &Prompt,
        options: OutputOptions,
        form: Box<dyn ResponseFormat>,
    ) -> Self {
        let seed = seed(&prompt.key);
        let natural_length = host.end_of_text_within.filter(|_| !options.ignore_eos);
        let natural_length =
            natural_length.map(|within| 1 + (super::words::mix(seed) % u64::from(within)) as u32);
        let (max_tokens, finish_reason) = match natural_length {
            Some(length) if length < options.max_tokens => (length, "stop"),
            _ => (options.max_tokens, "length"),
        };
        let (prompt_tokens, stream) = (prompt.tokens, options.stream);
        let block_hashes = host.shared_block.map(|size| block_hashes(&prompt.ids, size));
        let block_hashes = block_hashes.unwrap_or_default();
        Self { prompt_tokens, block_hashes, max_tokens, finish_reason, stream, seed, form }
    }
}

/// The options of a request that concern the output.
struct OutputOptions {
    max_tokens: u32,
    ignore_eos: bool,
    stream: bool,
}

/// A prompt with its number of tokens.
#[derive(Default)]
struct Prompt {
    tokens: u32,
    /// The bytes from which the seed of the output is computed.
    key: Vec<u8>,
    /// The token ids of the prompt; may be empty if the engine does not cache prefixes.
    ids: Vec<u32>,
    /// Those of `tokens` that are of pictures and sounds.
    media: MediaTokens,
}

impl Prompt {
    fn of_ids(ids: Vec<u32>) -> Self {
        let key = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        Self { tokens: ids.len() as u32, key, ids, ..Self::default() }
    }

    fn text(host: &Host, text: &str) -> Result<Self, Reply> {
        let failed = |error: TokenizerError| Reply::error(500, &error.to_string());
        let key = text.as_bytes().to_vec();
        if host.shared_block.is_none() {
            let tokens = host.tokenizer.count(text).map_err(failed)?;
            return Ok(Self { tokens, key, ..Self::default() });
        }
        let ids = host.tokenizer.encode(text).map_err(failed)?;
        Ok(Self { tokens: ids.len() as u32, key, ids, ..Self::default() })
    }
}

/// The output so far, for a response.
pub(super) struct Output<'a> {
    /// The request's id.
    pub(super) id: &'a str,
    /// The text since the previous event; all text if the response is not streamed.
    pub(super) news: &'a str,
    /// All text so far.
    pub(super) text: &'a str,
    /// The last token.
    pub(super) token: u32,
    /// Prompt tokens.
    pub(super) prompt_tokens: u32,
    /// Prompt tokens that were found in the prefix cache; absent without such a cache.
    pub(super) cached_tokens: Option<u32>,
    /// Output tokens so far.
    pub(super) output_tokens: u32,
    /// The reason for the end of the output; absent if the output is not complete.
    pub(super) finish_reason: Option<&'a str>,
}

/// The format of a response. Each event of a stream is sent as one HTTP chunk.
pub(super) trait ResponseFormat {
    /// The prefix of the request's id.
    fn id_prefix(&self) -> &'static str;
    /// The content type of a stream.
    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }
    /// The start of a stream, before the first token.
    fn opening(&self, _id: &str) -> Option<Vec<u8>> {
        None
    }
    /// The event of new tokens.
    fn event(&self, output: &Output<'_>) -> Vec<u8>;
    /// The events after the last token's event.
    fn closing(&self, _output: &Output<'_>) -> Vec<Vec<u8>> {
        Vec::new()
    }
    /// An error in the middle of a stream, and the events after it.
    fn error(&self, message: &str) -> Vec<Vec<u8>>;
    /// The body of a response that is not streamed.
    fn whole(&self, output: &Output<'_>) -> Value;
}

/// Determines how to respond to a request.
pub(super) fn call(host: &Host, stats: &Stats, latencies: &Latencies, request: &Request) -> Call {
    let path = request.target.split('?').next().unwrap_or_default();
    let get = request.method == "GET";
    let post = request.method == "POST";
    let result = match path {
        "/health" if get => Ok(Call::Reply(server::health())),
        "/version" if get => Ok(Call::Reply(server::version(host))),
        "/v1/models" if get => Ok(Call::Reply(server::models(host))),
        "/metrics" if get => Ok(Call::Reply(server::metrics(host, stats, latencies))),
        "/info" if get => Ok(Call::Reply(tgi::info(host))),
        "/engine/accounts" if get => Ok(Call::Accounts),
        "/tokenize" if post => server::tokenize(host, &request.body).map(Call::Reply),
        "/detokenize" if post => server::detokenize(host, &request.body).map(Call::Reply),
        "/v1/completions" if post => openai::completions(host, &request.body).map(Call::Generate),
        "/v1/chat/completions" if post => openai::chat(host, &request.body).map(Call::Generate),
        "/v1/embeddings" if post => pooled::embeddings(host, &request.body).map(Call::Generate),
        "/v1/rerank" if post => pooled::rerank(host, &request.body).map(Call::Generate),
        "/generate" if post => generate(host, &request.body).map(Call::Generate),
        "/generate_stream" if post => tgi::generate(host, &request.body, true).map(Call::Generate),
        "/health"
        | "/version"
        | "/v1/models"
        | "/metrics"
        | "/info"
        | "/engine/accounts"
        | "/tokenize"
        | "/detokenize"
        | "/v1/completions"
        | "/v1/chat/completions"
        | "/v1/embeddings"
        | "/v1/rerank"
        | "/generate"
        | "/generate_stream" => Err(Reply::json(405, &json!({ "detail": "Method Not Allowed" }))),
        _ => Err(Reply::json(404, &json!({ "detail": "Not Found" }))),
    };
    result.unwrap_or_else(Call::Reply)
}

/// Handles `/generate`: TGI's API if the body has `inputs`, otherwise vLLM's.
fn generate(host: &Host, body: &[u8]) -> Result<Job, Reply> {
    let is_tgi = serde_json::from_slice::<Value>(body).is_ok_and(|v| v.get("inputs").is_some());
    if is_tgi { tgi::generate(host, body, false) } else { vllm::generate(host, body) }
}

/// One server-sent event.
fn sse(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}
