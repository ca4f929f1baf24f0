//! The server's own tokenizer, by its `/tokenize` and `/detokenize`.

use std::sync::OnceLock;

use inferometer_core::traits::{Tokenizer, TokenizerError};
use serde_json::{Value, json};

use crate::control::Server;

/// How a server wants to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// `{"model", "prompt", "add_special_tokens"}`: vLLM, and the embedded engine.
    Vllm,
    /// `{"content", "add_special"}`: llama.cpp.
    LlamaCpp,
}

/// A tokenizer that lives in the server under test. Each call is a request, so it serves to shape
/// prompts before a pass and never while one runs.
pub struct ServerTokenizer {
    server: Server,
    model: String,
    manner: Manner,
    plain_ids: OnceLock<Vec<u32>>,
}

/// Text whose words become the vocabulary of random prompts.
const WORDS: &str = include_str!("words.txt");

impl ServerTokenizer {
    /// The tokenizer of a server, if it has one that both encodes and decodes.
    #[must_use]
    pub fn of(server: &Server, model: &str) -> Option<Self> {
        [Manner::Vllm, Manner::LlamaCpp].into_iter().find_map(|manner| {
            let candidate = Self {
                server: server.clone(),
                model: model.to_owned(),
                manner,
                plain_ids: OnceLock::new(),
            };
            let ids = candidate.encode(" the quick brown fox").ok()?;
            let text = candidate.decode(&ids).ok()?;
            (!ids.is_empty() && text.trim() == "the quick brown fox").then_some(candidate)
        })
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, TokenizerError> {
        self.server
            .post(path, body)
            .and_then(|answer| self.server.json(path, &answer))
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, message: impl ToString) -> TokenizerError {
        TokenizerError { tokenizer: self.name(), message: message.to_string() }
    }
}

impl Tokenizer for ServerTokenizer {
    fn name(&self) -> String {
        format!("{}/tokenize", self.server.url)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let body = match self.manner {
            Manner::Vllm => {
                json!({"model": self.model, "prompt": text, "add_special_tokens": false})
            }
            Manner::LlamaCpp => json!({"content": text, "add_special": false}),
        };
        let answer = self.post("/tokenize", &body)?;
        let ids = answer["tokens"].as_array().map(|ids| ids.iter().map(id).collect());
        ids.flatten().ok_or_else(|| self.failed("the answer holds no list of token ids"))
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        let (body, key) = match self.manner {
            Manner::Vllm => (json!({"model": self.model, "tokens": ids}), "prompt"),
            Manner::LlamaCpp => (json!({"tokens": ids}), "content"),
        };
        let answer = self.post("/detokenize", &body)?;
        let text = answer[key].as_str().map(str::to_owned);
        text.ok_or_else(|| self.failed("the answer holds no text"))
    }

    fn plain_ids(&self) -> &[u32] {
        self.plain_ids.get_or_init(|| {
            // The words of a text, tokenised in one go: ids that stand in ordinary text.
            let text: String = WORDS.split_whitespace().map(|word| format!(" {word}")).collect();
            let mut ids = self.encode(&text).unwrap_or_default();
            ids.sort_unstable();
            ids.dedup();
            ids
        })
    }
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}
