//! TGI's `/generate`, `/generate_stream` and `/info` (version 1.3).

use serde_json::{Value, json};

use super::{Host, Job, Output, OutputOptions, Prompt, Reply, ResponseFormat, body::Body, sse};

/// The default output length, in tokens.
const DEFAULT_MAX_NEW_TOKENS: u32 = 20;

/// `/info`
pub(super) fn info(host: &Host) -> Reply {
    let limit = host.max_model_len;
    Reply::json(
        200,
        &json!({
            "model_id": host.model, "model_sha": null, "model_dtype": "torch.float16",
            "model_device_type": "cuda", "model_pipeline_tag": "text-generation",
            "max_concurrent_requests": 1024, "max_best_of": 1, "max_stop_sequences": 4,
            "max_input_length": limit.saturating_sub(1), "max_total_tokens": limit,
            "version": host.version, "sha": null,
        }),
    )
}

/// `/generate` with `inputs`, and `/generate_stream`. TGI cannot ignore the end-of-text token.
pub(super) fn generate(host: &Host, body: &[u8], stream: bool) -> Result<Job, Reply> {
    let (prompt, parameters) = read(host, body).map_err(as_validation)?;
    let requested = parameters.count("max_new_tokens").map_err(as_validation)?;
    let max_tokens = requested.unwrap_or(DEFAULT_MAX_NEW_TOKENS);
    let (limit, tokens) = (host.max_model_len, prompt.tokens);
    if u64::from(tokens) + u64::from(max_tokens) > u64::from(limit) {
        return Err(validation(&format!(
            "`inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {tokens} `inputs` \
             tokens and {max_tokens} `max_new_tokens`"
        )));
    }
    let details = parameters.flag("details").map_err(as_validation)?;
    let options = OutputOptions { max_tokens, ignore_eos: false, stream };
    Ok(Job::new(host, &prompt, options, Box::new(Tgi { details })))
}

fn read(host: &Host, body: &[u8]) -> Result<(Prompt, Body), Reply> {
    let body = Body::parse(body)?;
    let prompt = Prompt::text(host, body.text("inputs")?)?;
    if prompt.tokens == 0 {
        return Err(Reply::error(400, "`inputs` must have at least one token."));
    }
    Ok((prompt, body.object("parameters")?))
}

fn validation(message: &str) -> Reply {
    let error = format!("Input validation error: {message}");
    Reply::json(422, &json!({ "error": error, "error_type": "validation" }))
}

/// Converts an error into TGI's format. For TGI, a failure of its tokenizer is a validation error, too.
fn as_validation(reply: Reply) -> Reply {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    validation(body["message"].as_str().unwrap_or_default())
}

struct Tgi {
    details: bool,
}

impl ResponseFormat for Tgi {
    fn id_prefix(&self) -> &'static str {
        "tgi-"
    }

    fn event(&self, output: &Output<'_>) -> Vec<u8> {
        let token = json!({
            "id": output.token, "text": output.news, "logprob": -1.0, "special": false
        });
        let ended = output.finish_reason.map(|reason| {
            json!({
                "finish_reason": reason, "generated_tokens": output.output_tokens, "seed": null,
                "input_length": output.prompt_tokens
            })
        });
        let text = ended.as_ref().map(|_| output.text);
        sse(&json!({ "token": token, "generated_text": text, "details": ended }))
    }

    fn error(&self, message: &str) -> Vec<Vec<u8>> {
        vec![sse(&json!({ "error": message, "error_type": "generation" }))]
    }

    fn whole(&self, output: &Output<'_>) -> Value {
        let mut body = json!({ "generated_text": output.text });
        if self.details {
            body["details"] = json!({
                "finish_reason": output.finish_reason, "generated_tokens": output.output_tokens,
                "seed": null, "prefill": [], "tokens": []
            });
        }
        body
    }
}
