//! The OpenAI chat completions API: messages, or a text as one message of the user.

use inferometer_model::request::{Prompt, Request, Sampling};
use serde_json::json;

use super::json::bytes;
use super::openai::{Api, OpenAi, body};
use super::{Decode, Dialect};
use crate::WireError;

/// `/v1/chat/completions`.
pub(super) struct OpenAiChat;

impl Dialect for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn description(&self) -> &'static str {
        "OpenAI chat completions: messages, inside the model's chat template"
    }

    fn source(&self) -> &'static str {
        "https://platform.openai.com/docs/api-reference/chat"
    }

    fn path(&self, _stream: bool) -> &'static str {
        "/v1/chat/completions"
    }

    fn accepts_token_ids(&self) -> bool {
        false
    }

    fn honours_ignore_eos(&self) -> bool {
        true
    }

    fn accepts_messages(&self) -> bool {
        true
    }

    fn applies_chat_template(&self) -> bool {
        true
    }

    fn reports_usage(&self, _stream: bool) -> bool {
        true
    }

    fn body(
        &self,
        request: &Request,
        sampling: &Sampling,
        model: &str,
    ) -> Result<Vec<u8>, WireError> {
        let messages = match &request.prompt {
            Prompt::Text(text) => json!([{ "role": "user", "content": text }]),
            Prompt::Messages(messages) => json!(messages),
            Prompt::TokenIds(_) => return Err(WireError::prompt(self.name(), &request.prompt)),
        };
        let mut body = body(model, sampling, request.output_tokens);
        body["messages"] = messages;
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(OpenAi::new(Api::Chat, stream))
    }
}
