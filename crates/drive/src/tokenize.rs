//! The server's own tokenizer, by its `/tokenize` and `/detokenize`.

use std::sync::OnceLock;

use inferometer_model::tokenizer::{PlainWords, Tokenizer, TokenizerError};
use serde_json::{Value, json};

use crate::control::{KeptServer, Server};

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
    server: KeptServer,
    model: String,
    manner: Manner,
    plain: OnceLock<Plain>,
}

/// What random prompts are made of.
#[derive(Default)]
struct Plain {
    ids: Vec<u32>,
    words: Option<PlainWords>,
}

/// Questions that are worth having open at once: enough that the server never waits for us.
const AT_ONCE: usize = 16;
/// With fewer words than this, prompts are made of all tokens that the text has.
const FEWEST_WORDS: usize = 64;

/// Text whose words become the vocabulary of random prompts.
const WORDS: &str = include_str!("words.txt");

impl ServerTokenizer {
    /// The tokenizer of a server, if it has one that both encodes and decodes.
    #[must_use]
    pub fn of(server: &Server, model: &str) -> Option<Self> {
        [Manner::Vllm, Manner::LlamaCpp].into_iter().find_map(|manner| {
            let candidate = Self {
                server: KeptServer::of(server),
                model: model.to_owned(),
                manner,
                plain: OnceLock::new(),
            };
            let ids = candidate.encode(" the quick brown fox").ok()?;
            let text = candidate.decode(&ids).ok()?;
            (!ids.is_empty() && text.trim() == "the quick brown fox").then_some(candidate)
        })
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, TokenizerError> {
        self.server
            .post(path, body)
            .and_then(|answer| self.server.server().json(path, &answer))
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, message: impl ToString) -> TokenizerError {
        TokenizerError { tokenizer: self.name(), message: message.to_string() }
    }
}

impl Tokenizer for ServerTokenizer {
    fn name(&self) -> String {
        format!("{}/tokenize", self.server.server().url)
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
        &self.plain().ids
    }

    fn plain_words(&self) -> Option<&PlainWords> {
        self.plain().words.as_ref()
    }

    fn calls_at_once(&self) -> Option<usize> {
        Some(AT_ONCE)
    }
}

impl ServerTokenizer {
    fn plain(&self) -> &Plain {
        self.plain.get_or_init(|| self.plain_of_words().unwrap_or_default())
    }

    /// The words of a text that are one token each, with their text: a prompt is written without
    /// asking, and asked for its count alone. Where these are few, whatever tokens the text has.
    fn plain_of_words(&self) -> Result<Plain, TokenizerError> {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        // Some tokenizers put a space before the first word themselves.
        for lead in [" ", ""] {
            let mut found = Vec::new();
            self.single_tokens(lead, &words, &mut found)?;
            found.sort_unstable();
            found.dedup_by_key(|(id, _)| *id);
            if found.len() >= FEWEST_WORDS {
                let texts = |lead: &str| {
                    found.iter().map(|(_, word)| format!("{lead}{word}").into()).collect()
                };
                let (first, behind) = (texts(lead), texts(" "));
                let words = Some(PlainWords { first, behind, apart: false });
                return Ok(Plain { ids: found.into_iter().map(|(id, _)| id).collect(), words });
            }
        }
        let text: String = words.iter().map(|word| format!(" {word}")).collect();
        let mut ids = self.encode(&text)?;
        ids.sort_unstable();
        ids.dedup();
        Ok(Plain { ids, words: None })
    }

    /// Finds the words that are a token each: where a text of n words has n tokens, they are those.
    fn single_tokens<'w>(
        &self,
        lead: &str,
        words: &[&'w str],
        found: &mut Vec<(u32, &'w str)>,
    ) -> Result<(), TokenizerError> {
        let ids = self.encode(&format!("{lead}{}", words.join(" ")))?;
        if ids.len() == words.len() {
            found.extend(ids.into_iter().zip(words.iter().copied()));
        } else if words.len() > 1 {
            let (left, right) = words.split_at(words.len() / 2);
            self.single_tokens(lead, left, found)?;
            self.single_tokens(lead, right, found)?;
        }
        Ok(())
    }
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}
