//! The OpenAI completions API: a prompt as text or token ids, continued.

use inferometer_model::request::{Prompt, Request, Sampling};

use super::json::bytes;
use super::openai::{Api, OpenAi, body, prompt};
use super::{Decode, Dialect};
use crate::WireError;

/// `/v1/completions`.
pub(super) struct OpenAiCompletions;

impl Dialect for OpenAiCompletions {
    fn name(&self) -> &'static str {
        "openai-completions"
    }

    fn description(&self) -> &'static str {
        "OpenAI completions (vLLM, SGLang, llama.cpp, TGI, ...): a prompt continued, no template"
    }

    fn source(&self) -> &'static str {
        "https://platform.openai.com/docs/api-reference/completions"
    }

    fn path(&self, _stream: bool) -> &'static str {
        "/v1/completions"
    }

    fn accepts_token_ids(&self) -> bool {
        true
    }

    fn honours_ignore_eos(&self) -> bool {
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
        let mut body = body(model, sampling, request.output_tokens);
        body["prompt"] = prompt(&request.prompt)
            .ok_or_else(|| WireError::prompt(self.name(), &request.prompt))?;
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(OpenAi::new(Api::Completions, stream))
    }
}
