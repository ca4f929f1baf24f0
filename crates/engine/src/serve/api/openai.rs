//! `/v1/completions` and `/v1/chat/completions`, as vLLM formats them.

use serde_json::{Value, json};

use super::media::MediaTokens;
use super::{Host, Job, Output, OutputOptions, Prompt, Reply, ResponseFormat, body::Body, sse};

/// The default output length of completions, in tokens.
const DEFAULT_MAX_TOKENS: u32 = 16;

/// `/v1/completions`
pub(super) fn completions(host: &Host, body: &[u8]) -> Result<Job, Reply> {
    let body = Body::parse(body)?;
    body.check_model(host)?;
    let prompt = body.prompt(host)?;
    let max_tokens = body.count("max_tokens")?.unwrap_or(DEFAULT_MAX_TOKENS);
    job(host, &body, &prompt, max_tokens, Kind::Completions)
}

/// `/v1/chat/completions`
pub(super) fn chat(host: &Host, body: &[u8]) -> Result<Job, Reply> {
    let body = Body::parse(body)?;
    body.check_model(host)?;
    let prompt = body.messages(host)?;
    let requested = match body.count("max_completion_tokens")? {
        Some(tokens) => Some(tokens),
        None => body.count("max_tokens")?,
    };
    let rest = host.max_model_len.saturating_sub(prompt.tokens).max(1);
    job(host, &body, &prompt, requested.unwrap_or(rest), Kind::Chat)
}

fn job(
    host: &Host,
    body: &Body,
    prompt: &Prompt,
    max_tokens: u32,
    kind: Kind,
) -> Result<Job, Reply> {
    if body.count("n")?.is_some_and(|n| n > 1) {
        return Err(Reply::error(400, "`n` must be 1: one output per request is simulated."));
    }
    let (limit, tokens) = (host.max_model_len, prompt.tokens);
    let total = u64::from(tokens) + u64::from(max_tokens);
    if total > u64::from(limit) {
        let message = format!(
            "This model's maximum context length is {limit} tokens. However, you requested \
             {total} tokens ({tokens} in the messages, {max_tokens} in the completion). Please \
             reduce the length of the messages or completion."
        );
        return Err(Reply::error(400, &message));
    }
    let options = OutputOptions {
        max_tokens,
        ignore_eos: body.flag("ignore_eos")?,
        stream: body.flag("stream")?,
    };
    let include_usage = body.object("stream_options")?.flag("include_usage")?;
    let (model, created) = (host.model.clone(), host.created);
    let form = OpenAi { kind, model, created, include_usage, media: prompt.media };
    Ok(Job::new(host, prompt, options, Box::new(form)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Completions,
    Chat,
}

struct OpenAi {
    kind: Kind,
    model: String,
    created: u64,
    include_usage: bool,
    media: MediaTokens,
}

impl OpenAi {
    /// A JSON message with these choices and the fields that all messages have.
    fn message(&self, id: &str, object: &str, choices: Value) -> Value {
        let (created, model) = (self.created, &self.model);
        json!({
            "id": id, "object": object, "created": created, "model": model, "choices": choices
        })
    }

    fn chunk(&self, id: &str, choices: Value) -> Value {
        let object = match self.kind {
            Kind::Completions => "text_completion",
            Kind::Chat => "chat.completion.chunk",
        };
        self.message(id, object, choices)
    }
}

fn usage(output: &Output<'_>, media: MediaTokens) -> Value {
    let mut usage = json!({
        "prompt_tokens": output.prompt_tokens,
        "total_tokens": output.prompt_tokens + output.output_tokens,
        "completion_tokens": output.output_tokens,
    });
    if let Some(cached) = output.cached_tokens {
        usage["prompt_tokens_details"] = json!({ "cached_tokens": cached });
    }
    for (kind, tokens) in [("image", media.image), ("audio", media.audio)] {
        if tokens > 0 {
            usage["prompt_tokens_details"]["multimodal_tokens"][kind] = tokens.into();
        }
    }
    usage
}

const DONE: &[u8] = b"data: [DONE]\n\n";

impl ResponseFormat for OpenAi {
    fn id_prefix(&self) -> &'static str {
        match self.kind {
            Kind::Completions => "cmpl-",
            Kind::Chat => "chatcmpl-",
        }
    }

    fn opening(&self, id: &str) -> Option<Vec<u8>> {
        let choice =
            json!([{ "index": 0, "delta": { "role": "assistant" }, "finish_reason": null }]);
        (self.kind == Kind::Chat).then(|| sse(&self.chunk(id, choice)))
    }

    fn event(&self, output: &Output<'_>) -> Vec<u8> {
        let (text, reason) = (output.news, output.finish_reason);
        let choice = match self.kind {
            Kind::Completions => {
                json!([{ "index": 0, "text": text, "logprobs": null, "finish_reason": reason }])
            }
            Kind::Chat => {
                json!([{ "index": 0, "delta": { "content": text }, "finish_reason": reason }])
            }
        };
        sse(&self.chunk(output.id, choice))
    }

    fn closing(&self, output: &Output<'_>) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        if self.include_usage {
            let mut chunk = self.chunk(output.id, json!([]));
            chunk["usage"] = usage(output, self.media);
            events.push(sse(&chunk));
        }
        events.push(DONE.to_vec());
        events
    }

    fn error(&self, message: &str) -> Vec<Vec<u8>> {
        let error = json!({ "error": {
            "object": "error", "message": message, "type": "InternalServerError", "param": null,
            "code": 500
        } });
        vec![sse(&error), DONE.to_vec()]
    }

    fn whole(&self, output: &Output<'_>) -> Value {
        let (text, reason) = (output.text, output.finish_reason);
        let (object, key, content) = match self.kind {
            Kind::Completions => ("text_completion", "text", json!(text)),
            Kind::Chat => {
                let message = json!({ "role": "assistant", "content": text });
                ("chat.completion", "message", message)
            }
        };
        let mut choice = json!({ "index": 0, "logprobs": null, "finish_reason": reason });
        choice[key] = content;
        let mut message = self.message(output.id, object, json!([choice]));
        message["usage"] = usage(output, self.media);
        message
    }
}
