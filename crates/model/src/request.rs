//! A canonical request: its content, before a dialect encodes it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CellPlan, Media, record::JobCall, sha256::Sha256};

/// One message of a chat, as in the API: `role`, `content` and other fields.
pub type Message = Map<String, Value>;

/// The input that the model continues or answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// Text, which the server tokenizes.
    Text(String),
    /// Token ids, which the server does not have to tokenize.
    TokenIds(Vec<u32>),
    /// A chat, oldest message first. The server puts it into the model's template.
    Messages(Vec<Message>),
}

/// A message with this role and this text.
pub fn message(role: &str, text: &str) -> Message {
    let field = |name: &str, value: &str| (name.to_owned(), Value::String(value.to_owned()));
    Map::from_iter([field("role", role), field("content", text)])
}

/// The fields of bodies that ask for a form of the answer, of all dialects: tools and structured outputs.
pub const FORM_FIELDS: [&str; 17] = [
    "tools", "functions", "tool_choice", "function_call", "response_format", "text", "format",
    "structured_outputs", "guided_json", "guided_choice", "guided_regex", "guided_grammar",
    "json_schema", "regex", "grammar", "ebnf", "parameters",
];

/// Whether fields of a body ask for a form of the answer. Such an answer has its own end: a server that ignores the
/// end-of-text token would break the form.
pub fn asks_for_form(fields: &Map<String, Value>) -> bool {
    let is_plain = |value: &Value| value.is_null() || value["type"] == "text";
    let asks = |field: &&str| fields.get(*field).is_some_and(|value| !is_plain(value));
    !fields.is_empty() && FORM_FIELDS.iter().any(asks)
}

/// How output is sampled and delivered; the same for all requests of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Sampling temperature.
    pub temperature: f64,
    /// Whether the server should continue after the end-of-text token, so that outputs have the
    /// requested length.
    pub ignore_eos: bool,
    /// Whether to request a stream of events instead of one body.
    pub stream: bool,
    /// Additional fields of the body, as the user wrote them. They replace fields of the same name, null
    /// removes them, and objects are merged.
    pub extra_body: Map<String, Value>,
}

/// The name of Ollama's dialect. Its requests set the context length of the model.
pub const OLLAMA: &str = "ollama";

impl Sampling {
    /// The context length in tokens that requests ask Ollama for; `None` if they ask for none.
    pub fn num_ctx(&self) -> Option<u64> {
        self.extra_body.get("options")?.get("num_ctx")?.as_u64()
    }

    /// Asks for a context length, unless the user sets one.
    pub fn set_num_ctx(&mut self, tokens: u64) {
        let options = self.extra_body.entry("options").or_insert_with(|| Map::new().into());
        if let Value::Object(options) = options {
            options.entry("num_ctx").or_insert(tokens.into());
        }
    }

    /// Whether requests ask the server to continue after end-of-text: the plan asks for it, and the additional fields of
    /// the body do not take it back.
    pub fn asks_to_ignore_eos(&self) -> bool {
        let own = self.extra_body.get("ignore_eos");
        self.ignore_eos && !matches!(own, Some(Value::Null | Value::Bool(false)))
    }
}

/// How the text of an answer is split into reasoning and answer, if the server does not split it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitThink {
    /// The text is reasoning up to `</think>` if it begins with `<think>`.
    Tagged,
    /// The text is reasoning up to `</think>`: the prompt ends with `<think>`.
    Opened,
}

crate::names!(SplitThink { Tagged => "tagged", Opened => "opened" });

/// The fields of request bodies that limit the output tokens of one choice, in all dialects.
const LENGTH_FIELDS: [&str; 5] =
    ["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict"];
/// Fields that request several choices. With `best_of`, a server may generate more choices than it returns.
const CHOICE_FIELDS: [&str; 3] = ["n", "best_of", "num_return_sequences"];

/// One canonical request, the same for every dialect and target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The prompt.
    pub prompt: Prompt,
    /// The inputs after the first one, for requests without output tokens. If documents are ranked, the prompt is the
    /// query, and these are the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Prompt>,
    /// The pictures and sounds after the text of the prompt. They are not written with the request: a plan makes them again.
    #[serde(skip)]
    pub media: Vec<Media>,
    /// Prompt tokens that the plan requests, of all inputs together. They do not include those of media.
    pub input_tokens: u32,
    /// Prompt tokens, counted by the tokenizer that made the prompt; `None` without a tokenizer.
    pub counted_tokens: Option<u32>,
    /// Output tokens that the plan requests.
    pub output_tokens: u32,
    /// Additional fields of this request's body. They replace those of [`Sampling::extra_body`].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra_body: Map<String, Value>,
    /// The class of the request within its pass, if the workload has several, such as `turn 2` or `cold`.
    /// Each class has its own figures. The class is not sent to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Box<str>>,
    /// The place of the request in its job, if it belongs to one. It is not sent to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<JobCall>>,
    /// The session of the request: requests with the same prefix have the same session. Requests of a
    /// conversation have `None`, because the conversation is their session. The session determines only
    /// the server to which the request is sent, and the session header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
}

impl Request {
    /// The maximum number of output tokens that the request allows, over all its choices. If a field of
    /// `extra_body` replaces the request's own limit, that field is used. `None` if a limit is not a
    /// number above 0, or if null removes the request's own limit and no field replaces it.
    pub fn output_limit(&self, sampling: &Sampling) -> Option<u32> {
        let (mut limit, mut is_removed) = (None, false);
        let mut choices = Some(1);
        let added = sampling.extra_body.iter().chain(&self.extra_body);
        for (name, value) in added {
            // Some dialects have these fields in an object, such as `parameters` or `sampling_params`.
            let inner = value.as_object().into_iter().flatten();
            for (name, value) in inner.chain([(name, value)]) {
                match name.as_str() {
                    name if LENGTH_FIELDS.contains(&name) && value.is_null() => is_removed = true,
                    name if LENGTH_FIELDS.contains(&name) => limit = Some(value.as_u64()),
                    name if CHOICE_FIELDS.contains(&name) => choices = choices.max(value.as_u64()),
                    _ => {}
                }
            }
        }
        let own = (!is_removed).then_some(u64::from(self.output_tokens));
        let limit = limit.unwrap_or(own);
        u32::try_from(limit?.checked_mul(choices?)?).ok().filter(|limit| *limit > 0)
    }

    /// Whether the request asks the server not to send the reasoning, which the server may count nevertheless:
    /// `include_reasoning` of vLLM, `reasoning.exclude` of OpenRouter, `reasoning_format` of Groq.
    pub fn hides_reasoning(&self, sampling: &Sampling) -> bool {
        let field = |name| self.extra_body.get(name).or_else(|| sampling.extra_body.get(name));
        field("include_reasoning") == Some(&Value::Bool(false))
            || field("reasoning").is_some_and(|reasoning| reasoning["exclude"] == true)
            || field("reasoning_format").is_some_and(|format| format == "hidden")
    }

    /// The planned lengths of the request.
    pub fn lengths(&self) -> CellPlan {
        CellPlan { input_length: self.input_tokens, output_length: self.output_tokens }
    }

    /// A request without class, session and additional fields. The tokens of its prompt are not counted.
    pub fn new(prompt: Prompt, input_tokens: u32, output_tokens: u32) -> Self {
        Self {
            prompt,
            further: Vec::new(),
            media: Vec::new(),
            input_tokens,
            counted_tokens: None,
            output_tokens,
            extra_body: Map::new(),
            class: None,
            job: None,
            session: None,
        }
    }
}

/// Computes the hash that identifies a sequence of canonical requests: SHA-256 over prompts, media, output lengths,
/// additional fields, start times or think times, conversations, sampling and order.
#[derive(Clone, Debug, Default)]
pub struct WorkloadHasher(Sha256);

impl WorkloadHasher {
    /// A hasher that has no input yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a pass with this sampling. Calls of [`WorkloadHasher::request`] for its requests follow.
    pub fn pass(&mut self, sampling: &Sampling) {
        self.json(b'S', sampling);
    }

    /// Begins a conversation with this many turns. The requests that follow contain only the user's texts,
    /// without the server's answers. The offset of a later turn is its think time.
    pub fn conversation(&mut self, turns: u32) {
        self.field(b'C', &turns.to_le_bytes());
    }

    /// Adds the next request of the pass. `due_offset_ns` is its offset from the start of an open loop, or
    /// the think time of a turn.
    pub fn request(&mut self, request: &Request, due_offset_ns: Option<u64>) {
        for prompt in [&request.prompt].into_iter().chain(&request.further) {
            match prompt {
                Prompt::Text(text) => self.field(b'T', text.as_bytes()),
                Prompt::TokenIds(ids) => {
                    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
                    self.field(b'I', &bytes);
                }
                Prompt::Messages(messages) => self.json(b'M', messages),
            }
        }
        for media in &request.media {
            self.field(b'V', media.id.as_bytes());
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
        self.0.finish_hex()
    }

    fn json(&mut self, tag: u8, value: &impl Serialize) {
        let text = serde_json::to_vec(value)
            .expect("invariant: parts of a request can always be written as JSON");
        self.field(tag, &text);
    }

    fn field(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update(&[tag]);
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
}

/// Computes the hash that identifies the encoded bodies of a workload: SHA-256 over the bodies in order.
#[derive(Clone, Debug, Default)]
pub struct BodyHasher(Sha256);

impl BodyHasher {
    /// A hasher that has no input yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next body.
    pub fn body(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The hash, as hexadecimal digits.
    pub fn finish(self) -> String {
        self.0.finish_hex()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn extra_fields_take_back_ignore_eos_and_hide_the_reasoning() {
        for (of_plan, of_request, ignores_eos, hides) in [
            (json!({}), json!({}), true, false),
            (json!({"ignore_eos": false, "include_reasoning": true}), json!({}), false, false),
            (json!({"ignore_eos": null, "include_reasoning": false}), json!({}), false, true),
            (json!({"include_reasoning": false}), json!({"include_reasoning": true}), true, false),
            (json!({}), json!({"reasoning": {"exclude": true}}), true, true),
            (json!({"reasoning_format": "hidden"}), json!({}), true, true),
        ] {
            let shown = format!("{of_plan} {of_request}");
            let (Value::Object(extra_body), Value::Object(own)) = (of_plan, of_request) else {
                panic!("{shown}")
            };
            let sampling =
                Sampling { temperature: 0.0, ignore_eos: true, stream: true, extra_body };
            let mut request = Request::new(Prompt::Text(String::new()), 1, 8);
            request.extra_body = own;
            assert_eq!(sampling.asks_to_ignore_eos(), ignores_eos, "{shown}");
            assert_eq!(request.hides_reasoning(&sampling), hides, "{shown}");
        }
    }

    #[test]
    fn extra_fields_replace_or_remove_the_output_limit() {
        let fields = |value: Value| value.as_object().expect("an object").clone();
        for (of_plan, of_request, limit) in [
            (json!({}), json!({}), Some(8)),
            (json!({"max_tokens": null}), json!({}), None),
            (json!({"parameters": {"max_new_tokens": null}}), json!({"n": 2}), None),
            (json!({"max_completion_tokens": 20, "max_tokens": null}), json!({}), Some(20)),
            (json!({"max_tokens": null}), json!({"max_tokens": 5}), Some(5)),
            (json!({"max_tokens": "x"}), json!({}), None),
            (json!({"n": null}), json!({"best_of": 3}), Some(24)),
        ] {
            let shown = format!("{of_plan} {of_request}");
            let extra_body = fields(of_plan);
            let sampling =
                Sampling { temperature: 0.0, ignore_eos: false, stream: true, extra_body };
            let mut request = Request::new(Prompt::Text(String::new()), 1, 8);
            request.extra_body = fields(of_request);
            assert_eq!(request.output_limit(&sampling), limit, "{shown}");
        }
    }
}
