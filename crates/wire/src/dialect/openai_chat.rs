//! The OpenAI chat completions API: the prompt is one message of the user.

use inferometer_core::request::{Prompt, Request, Sampling};
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
        "OpenAI chat completions: one user message, inside the model's chat template"
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
        let Prompt::Text(text) = &request.prompt else {
            return Err(WireError::TokenIds { dialect: self.name() });
        };
        let mut body = body(model, sampling, request.output_tokens);
        body["messages"] = json!([{ "role": "user", "content": text }]);
        Ok(bytes(body, &sampling.extra_body))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(OpenAi::new(Api::Chat, stream))
    }
}
