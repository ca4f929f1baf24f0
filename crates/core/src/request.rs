//! A canonical request: what is asked, before any engine's dialect makes bytes of it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What the model is asked to continue or answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// Text; the server tokenises it.
    Text(String),
    /// Token ids, exact by construction.
    TokenIds(Vec<u32>),
}

/// How output is chosen and how it is delivered; the same for all requests of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Softmax temperature.
    pub temperature: f64,
    /// Ask the server to go on after end-of-text, so that outputs have the length asked for.
    pub ignore_eos: bool,
    /// Ask for a stream of events instead of one body.
    pub stream: bool,
    /// Further fields of the body, as the user gave them; they replace fields of the same name.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
}

/// One canonical request, the same for every dialect and target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What is asked.
    pub prompt: Prompt,
    /// Prompt tokens that the plan asks for.
    pub input_tokens: u32,
    /// Prompt tokens by the tokenizer that made the prompt; absent where none was at hand.
    pub counted_tokens: Option<u32>,
    /// Output tokens that the plan asks for.
    pub output_tokens: u32,
}

/// The identity of a sequence of canonical requests: SHA-256 over prompt, output length,
/// sampling and order.
#[derive(Clone, Debug, Default)]
pub struct WorkloadHasher(Sha256);

impl WorkloadHasher {
    /// A hasher that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a pass: its sampling, then its requests follow by [`WorkloadHasher::request`].
    pub fn pass(&mut self, sampling: &Sampling) {
        let text = serde_json::to_string(sampling).expect("invariant: sampling is plain data");
        self.field(b'S', text.as_bytes());
    }

    /// The next request of the pass; `due_offset_ns` is its offset in an open loop.
    pub fn request(&mut self, request: &Request, due_offset_ns: Option<u64>) {
        match &request.prompt {
            Prompt::Text(text) => self.field(b'T', text.as_bytes()),
            Prompt::TokenIds(ids) => {
                let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
                self.field(b'I', &bytes);
            }
        }
        self.field(b'O', &request.output_tokens.to_le_bytes());
        if let Some(offset) = due_offset_ns {
            self.field(b'D', &offset.to_le_bytes());
        }
    }

    /// The hash, as hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }

    fn field(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update([tag]);
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}

/// SHA-256 of some bytes, as hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The identity of the bytes that a dialect made of a workload: SHA-256 over the bodies in order.
#[derive(Clone, Debug, Default)]
pub struct BodyHasher(Sha256);

impl BodyHasher {
    /// A hasher that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next body.
    pub fn body(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The hash, as hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}
