//! The server's own tokenizer, reached through its paths `/tokenize` and `/detokenize`, or similar paths. It is never
//! used while a pass runs.

use std::sync::OnceLock;

use inferometer_model::{Tokenizer, TokenizerError, tokenizer::PlainWords};
use inferometer_net::http::client::{Client, KeepAliveClient};
use serde_json::{Value, json};

/// The form of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    /// `{"model", "prompt", "add_special_tokens"}`: vLLM, SGLang, and the embedded engine.
    Vllm,
    /// `{"content", "add_special"}`: llama.cpp.
    LlamaCpp,
    /// `{"model", "input"}`: llama-cpp-python, which always adds special tokens.
    LlamaCppPython,
}

impl Api {
    /// The paths for encoding and for decoding.
    fn paths(self) -> (&'static str, &'static str) {
        match self {
            Self::Vllm | Self::LlamaCpp => ("/tokenize", "/detokenize"),
            Self::LlamaCppPython => ("/extras/tokenize", "/extras/detokenize"),
        }
    }
}

/// A tokenizer inside the server under test. Each call sends a request, so the tokenizer is used only before or after a
/// pass.
pub struct ServerTokenizer {
    client: KeepAliveClient,
    model: String,
    api: Api,
    /// Tokens that the server adds before each text, and that are not part of the text.
    lead: Vec<u32>,
    plain: OnceLock<Plain>,
}

/// The vocabulary of random prompts.
#[derive(Default)]
struct Plain {
    ids: Vec<u32>,
    words: Option<PlainWords>,
}

/// Requests in flight at the same time: enough to keep the server busy.
const CONCURRENT_CALLS: usize = 16;
/// If fewer words than this are single tokens, random prompts use all tokens of [`WORDS`].
const MIN_WORDS: usize = 64;

/// Text whose words become the vocabulary of random prompts.
const WORDS: &str = include_str!("words.txt");

impl ServerTokenizer {
    /// The tokenizer of a server, if it has one that both encodes and decodes.
    pub fn of(client: &Client, model: &str) -> Option<Self> {
        [Api::Vllm, Api::LlamaCpp, Api::LlamaCppPython].into_iter().find_map(|api| {
            let mut candidate = Self {
                client: KeepAliveClient::new(client),
                model: model.to_owned(),
                api,
                lead: Vec::new(),
                plain: OnceLock::new(),
            };
            if api == Api::LlamaCppPython {
                candidate.lead = candidate.encode("").ok()?;
            }
            let ids = candidate.encode(" the quick brown fox").ok()?;
            let text = candidate.decode(&ids).ok()?;
            (!ids.is_empty() && text.trim() == "the quick brown fox").then_some(candidate)
        })
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, TokenizerError> {
        self.client
            .post(path, body)
            .and_then(|response| self.client.client().json(path, &response))
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, message: impl ToString) -> TokenizerError {
        TokenizerError { tokenizer: self.name(), message: message.to_string() }
    }

    fn plain(&self) -> &Plain {
        self.plain.get_or_init(|| self.find_plain().unwrap_or_default())
    }

    /// Finds the words that are one token each. A prompt of these words can be built as text on the client, so the
    /// server is asked only to count its tokens, not to decode it. If there are few such words, returns all tokens of
    /// the text, without words.
    fn find_plain(&self) -> Result<Plain, TokenizerError> {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        // Some tokenizers add a space before the first word themselves, so the words are also tried without this space.
        for lead in [" ", ""] {
            let mut found = Vec::new();
            self.single_tokens(lead, &words, &mut found)?;
            found.sort_unstable();
            found.dedup_by_key(|(id, _)| *id);
            if found.len() >= MIN_WORDS {
                let texts = |lead: &str| {
                    found.iter().map(|(_, word)| format!("{lead}{word}").into()).collect()
                };
                let (first, behind) = (texts(lead), texts(" "));
                let words = Some(PlainWords { first, behind, ..PlainWords::default() });
                return Ok(Plain { ids: found.into_iter().map(|(id, _)| id).collect(), words });
            }
        }
        let text: String = words.iter().map(|word| format!(" {word}")).collect();
        let mut ids = self.encode(&text)?;
        ids.sort_unstable();
        ids.dedup();
        Ok(Plain { ids, words: None })
    }

    /// Finds the words that are one token each. If n words together are n tokens, each of these words counts
    /// as one token.
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

impl Tokenizer for ServerTokenizer {
    fn name(&self) -> String {
        format!("{}{}", self.client.client().url, self.api.paths().0)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let body = match self.api {
            Api::Vllm => {
                json!({"model": self.model, "prompt": text, "add_special_tokens": false})
            }
            Api::LlamaCpp => json!({"content": text, "add_special": false}),
            Api::LlamaCppPython => json!({"model": self.model, "input": text}),
        };
        let response = self.post(self.api.paths().0, &body)?;
        let ids = response["tokens"].as_array().map(|ids| ids.iter().map(id).collect());
        let ids: Option<Vec<u32>> = ids.flatten();
        let mut ids = ids.ok_or_else(|| self.failed("the answer contains no list of token ids"))?;
        if ids.starts_with(&self.lead) {
            ids.drain(..self.lead.len());
        }
        Ok(ids)
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        let body = match self.api {
            Api::Vllm | Api::LlamaCppPython => json!({"model": self.model, "tokens": ids}),
            Api::LlamaCpp => json!({"tokens": ids}),
        };
        let response = self.post(self.api.paths().1, &body)?;
        // The keys of vLLM, of llama.cpp, and of SGLang and llama-cpp-python, in this order.
        let text = ["prompt", "content", "text"].iter().find_map(|key| response[*key].as_str());
        let text = text.map(str::to_owned);
        text.ok_or_else(|| self.failed("the answer contains no text"))
    }

    fn plain_ids(&self) -> &[u32] {
        &self.plain().ids
    }

    fn plain_words(&self) -> Option<&PlainWords> {
        self.plain().words.as_ref()
    }

    fn calls_at_once(&self) -> Option<usize> {
        Some(CONCURRENT_CALLS)
    }
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}
