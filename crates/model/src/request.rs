//! A canonical request: what is asked, before any engine's dialect makes bytes of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// One message of a chat as the API has it: `role`, `content` and whatever else it carries.
pub type Message = Map<String, Value>;

/// What the model is asked to continue or answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// Text; the server tokenises it.
    Text(String),
    /// Token ids, exact by construction.
    TokenIds(Vec<u32>),
    /// A chat, oldest message first; the server puts it into the model's template.
    Messages(Vec<Message>),
}

impl Prompt {
    /// A chat of one message by the user.
    pub fn user(text: &str) -> Vec<Message> {
        vec![message("user", text)]
    }
}

/// A message with this role and this text.
pub fn message(role: &str, text: &str) -> Message {
    let field = |name: &str, value: &str| (name.to_owned(), Value::String(value.to_owned()));
    Map::from_iter([field("role", role), field("content", text)])
}

/// How output is chosen and how it is delivered; the same for all requests of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Sampling temperature.
    pub temperature: f64,
    /// Ask the server to go on after end-of-text, so that outputs have the length asked for.
    pub ignore_eos: bool,
    /// Ask for a stream of events instead of one body.
    pub stream: bool,
    /// Further fields of the body, as the user gave them; they replace fields of the same name.
    pub extra_body: Map<String, Value>,
}

/// The fields of bodies, in all dialects, that limit the output of a choice.
const LENGTH_FIELDS: [&str; 5] =
    ["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict"];
/// Those that ask for several choices. `best_of` lets a server make more than it returns.
const CHOICE_FIELDS: [&str; 3] = ["n", "best_of", "num_return_sequences"];

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
    /// Fields of this request's body, over those of [`Sampling::extra_body`].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra_body: Map<String, Value>,
    /// What kind of request it is within its pass, where the workload has several: `turn 2`,
    /// `cold`. Figures are given for each class; nothing of it reaches the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Box<str>>,
    /// Which requests of its pass it belongs with: those that share a prefix. Turns of a conversation belong
    /// together by the conversation. It decides nothing of what is sent, but where to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
}

impl Request {
    /// The most output tokens that it allows, over all its choices, with the fields that replace its
    /// own in its body; absent where a limit is no number above 0.
    pub fn output_limit(&self, sampling: &Sampling) -> Option<u32> {
        let mut limit = Some(u64::from(self.output_tokens));
        let mut choices = Some(1);
        for (name, value) in sampling.extra_body.iter().chain(&self.extra_body) {
            // Some dialects hold them in an object, such as `parameters` or `sampling_params`.
            let inner = value.as_object().into_iter().flatten();
            for (name, value) in inner.chain([(name, value)]) {
                match name.as_str() {
                    name if LENGTH_FIELDS.contains(&name) => limit = value.as_u64(),
                    name if CHOICE_FIELDS.contains(&name) => choices = choices.max(value.as_u64()),
                    _ => {}
                }
            }
        }
        u32::try_from(limit?.checked_mul(choices?)?).ok().filter(|limit| *limit > 0)
    }

    /// A request of no class, with nothing to add to its body, whose prompt nobody has counted.
    pub fn new(prompt: Prompt, input_tokens: u32, output_tokens: u32) -> Self {
        Self {
            prompt,
            input_tokens,
            counted_tokens: None,
            output_tokens,
            extra_body: Map::new(),
            class: None,
            session: None,
        }
    }
}

/// The identity of a sequence of canonical requests: SHA-256 over prompt, output length,
/// sampling and order.
#[derive(Clone, Debug, Default)]
pub struct WorkloadHasher(Sha256);

impl WorkloadHasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a pass: its sampling, then its requests follow by [`WorkloadHasher::request`].
    pub fn pass(&mut self, sampling: &Sampling) {
        self.json(b'S', sampling);
    }

    /// A conversation of so many turns: the requests that follow are what its user says, without
    /// the answers, which are the server's. The offset of a later turn is its think time.
    pub fn conversation(&mut self, turns: u32) {
        self.field(b'C', &turns.to_le_bytes());
    }

    /// The next request of the pass; `due_offset_ns` is its offset in an open loop.
    pub fn request(&mut self, request: &Request, due_offset_ns: Option<u64>) {
        match &request.prompt {
            Prompt::Text(text) => self.field(b'T', text.as_bytes()),
            Prompt::TokenIds(ids) => {
                let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
                self.field(b'I', &bytes);
            }
            Prompt::Messages(messages) => self.json(b'M', messages),
        }
        self.field(b'O', &request.output_tokens.to_le_bytes());
        if !request.extra_body.is_empty() {
            self.json(b'E', &request.extra_body);
        }
        if let Some(offset) = due_offset_ns {
            self.field(b'D', &offset.to_le_bytes());
        }
    }

    /// The hash, as hexadecimal digits.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }

    fn json(&mut self, tag: u8, value: &impl Serialize) {
        let text = serde_json::to_vec(value).expect("invariant: it is plain data");
        self.field(tag, &text);
    }

    fn field(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update([tag]);
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}

/// SHA-256 of some bytes, as hexadecimal digits.
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
    pub fn new() -> Self {
        Self::default()
    }

    /// The next body.
    pub fn body(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The hash, as hexadecimal digits.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}
