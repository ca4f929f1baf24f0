//! The OpenAI chat completions API. A prompt is messages, or a text that becomes one message of the role
//! `user`.

use inferometer_model::{Prompt, Request, Sampling};
use serde_json::{Value, json};

use super::decode::Decode;
use super::definition::{DEFAULT, Dialect};
use super::media;
use super::openai::{Api, OpenAi, body};

/// `/v1/chat/completions`.
pub(super) static DIALECT: Dialect = Dialect {
    name: "openai-chat",
    description: "OpenAI chat completions: messages; the server applies the model's chat template",
    source: "https://platform.openai.com/docs/api-reference/chat",
    whole_path: "/v1/chat/completions",
    accepts_messages: true,
    media: Some(&media::CHAT),
    applies_chat_template: true,
    fields,
    decoder,
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, model: &str) -> Option<Value> {
    let messages = match &request.prompt {
        Prompt::Text(text) => json!([{ "role": "user", "content": text }]),
        Prompt::Messages(messages) => json!(messages),
        Prompt::TokenIds(_) => return None,
    };
    let mut body = body(model, sampling, request.output_tokens);
    body["messages"] = messages;
    Some(body)
}

fn decoder(_prompt: &Prompt, _stream: bool) -> Box<dyn Decode> {
    Box::new(OpenAi::new(Api::Chat))
}
