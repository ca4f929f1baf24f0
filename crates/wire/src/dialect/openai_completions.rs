//! The OpenAI completions API, which continues a prompt of text or token ids.

use inferometer_model::{Prompt, Request, Sampling};
use serde_json::Value;

use super::decode::Decode;
use super::definition::{DEFAULT, Dialect};
use super::openai::{Api, OpenAi, body, prompt};

/// `/v1/completions`.
pub(super) static DIALECT: Dialect = Dialect {
    name: "openai-completions",
    description: "OpenAI completions (vLLM, SGLang, llama.cpp, TGI, ...): the model continues a \
        prompt, no chat template",
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
