//! Completions under another name.

use inferometer_model::request::{Prompt, Request, Sampling};
use serde_json::Value;

use super::decode::Decode;
use super::definition::{DEFAULT, Dialect};
use super::openai::{Api, OpenAi, body, prompt};

/// `/v1/completions`.
pub(super) static DIALECT: Dialect = Dialect {
    name: "plain-completions",
    description: "completions without a chat template",
    source: "https://platform.openai.com/docs/api-reference/completions",
    whole_path: "/v1/completions",
    accepts_token_ids: true,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, model: &str) -> Option<Value> {
    let mut body = body(model, sampling, request.output_tokens);
    body["prompt"] = prompt(&request.prompt)?;
    Some(body)
}

fn decoder(_prompt: &Prompt, _stream: bool) -> Box<dyn Decode> {
    Box::new(OpenAi::new(Api::Completions))
}
