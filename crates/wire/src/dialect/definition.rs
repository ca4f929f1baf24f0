//! The definition of a dialect: properties of a kind of server, and functions that make its request bodies
//! and decode its responses. This file does not depend on a particular dialect.

use inferometer_model::{MediaKind, Prompt, Request, Sampling, request::asks_for_form};
use serde_json::Value;

use super::{decode::Decode, json::merge, media::MediaParts};
use crate::WireError;

/// The API of one kind of server.
pub struct Dialect {
    /// The name on the command line and in results.
    pub name: &'static str,
    /// A description in one line.
    pub description: &'static str,
    /// The `https` address of the API's specification.
    pub source: &'static str,
    /// The path for responses in one body, and for streams if `stream_path` is empty. `{model}` in the path
    /// is replaced by the model's name.
    pub whole_path: &'static str,
    /// The path for streams; empty if streams have the same path as whole bodies.
    pub stream_path: &'static str,
    /// How the messages of a stream are separated.
    pub stream_framing: Framing,
    /// Header fields that every request needs.
    pub headers: &'static [(&'static str, &'static str)],
    /// The header field for an API key, and the text before the key in the field's value.
    pub key_field: (&'static str, &'static str),
    /// Whether a prompt may be token ids.
    pub accepts_token_ids: bool,
    /// Whether a prompt may be the messages of a chat.
    pub accepts_messages: bool,
    /// Whether a request can make the server continue after the end-of-text token. If not, outputs may be
    /// shorter than requested.
    pub honours_ignore_eos: bool,
    /// The engines that accept the field `ignore_eos`, although the API does not define it.
    pub ignore_eos_with: &'static [&'static str],
    /// Whether the server wraps the prompt in the model's chat template before it counts tokens.
    pub applies_chat_template: bool,
    /// Whether responses contain the server's own token counts.
    pub reports_usage: bool,
    /// The number of vectors or scores that a request asks for; `None` if its answer is generated text.
    pub(super) results: fn(&Request, &Sampling) -> Option<u32>,
    /// How a message has pictures and sounds; `None` if it cannot.
    pub(super) media: Option<&'static MediaParts>,
    /// Makes the body of a request to a model; `None` if the dialect does not accept this kind of prompt.
    pub(super) fields: fn(&Request, &Sampling, &str) -> Option<Value>,
    /// Makes the decoder of one response to this prompt, streamed or not.
    pub(super) decoder: fn(&Prompt, bool) -> Box<dyn Decode>,
}

/// A change to the fields of a body, because a server rejects a field that the dialect sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// The name of the field, which is left out.
    pub field: &'static str,
    /// The name of the field that has its value instead; `None` if there is none.
    pub instead: Option<&'static str>,
}

/// The values that most dialects share. A dialect sets the fields that differ: `Dialect { name: ..., fields,
/// decoder, ..DEFAULT }`.
pub(super) const DEFAULT: Dialect = Dialect {
    name: "",
    description: "",
    source: "",
    whole_path: "",
    stream_path: "",
    stream_framing: Framing::Sse,
    headers: &[],
    key_field: ("authorization", "Bearer "),
    accepts_token_ids: false,
    accepts_messages: false,
    honours_ignore_eos: true,
    ignore_eos_with: &[],
    applies_chat_template: false,
    reports_usage: true,
    results: |_, _| None,
    media: None,
    fields: |_, _, _| None,
    decoder: |_, _| unreachable!("invariant: each dialect sets its own decoder"),
};

impl Dialect {
    /// The path to which requests are sent with the method POST. The caller must replace `{model}` in the path
    /// with the model's name.
    pub fn path(&self, stream: bool) -> &'static str {
        if stream && !self.stream_path.is_empty() { self.stream_path } else { self.whole_path }
    }

    /// The header field for an API key, and its value.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        let (name, before) = self.key_field;
        (name, format!("{before}{key}"))
    }

    /// The body of a request, as JSON, with `changes` to the dialect's own fields. If the request's own fields ask for a form
    /// of the answer, and do not set `ignore_eos`, then it is left out, except in calls of recorded jobs: their lengths are recorded. Fields of the plan's
    /// `extra_body` replace the dialect's fields of the same name; null removes them. Fields of the request's
    /// `extra_body` replace both. If both values are objects, they are merged instead.
    ///
    /// If the request has media, the body has marks in the places of their files: see [`super::media::split`].
    ///
    /// # Errors
    /// When the dialect does not accept this kind of prompt (token ids or messages) or of medium.
    pub fn body(
        &self,
        request: &Request,
        sampling: &Sampling,
        model: &str,
        changes: &[FieldChange],
    ) -> Result<Vec<u8>, WireError> {
        let fields = (self.fields)(request, sampling, model);
        let mut body = fields.ok_or_else(|| WireError::prompt(self.name, &request.prompt))?;
        if let Value::Object(fields) = &mut body {
            if let Some(first) = request.media.first() {
                let added =
                    self.media.map_or(Err(first.kind), |it| it.add_to(fields, &request.media));
                added.map_err(|kind| WireError::media(self.name, kind))?;
            }
            for change in changes {
                let value = fields.remove(change.field);
                if let (Some(value), Some(name)) = (value, change.instead) {
                    fields.insert(name.to_owned(), value);
                }
            }
            let own = &request.extra_body;
            if asks_for_form(own) && request.job.is_none() && !own.contains_key("ignore_eos") {
                fields.remove("ignore_eos");
            }
            merge(fields, &sampling.extra_body);
            merge(fields, &request.extra_body);
        }
        Ok(serde_json::to_vec(&body).expect("invariant: a JSON value can be written"))
    }

    /// Whether the body of a request names the model.
    pub fn names_model(&self, sampling: &Sampling) -> bool {
        let request = Request::new(Prompt::Text(String::new()), 1, 1);
        (self.fields)(&request, sampling, "").is_some_and(|body| body.get("model").is_some())
    }

    /// Why no request can have this kind of medium; `None` if requests can.
    pub fn refuses(&self, kind: MediaKind) -> Option<WireError> {
        let accepts = self.media.is_some_and(|parts| parts.accepts(kind));
        (!accepts).then(|| WireError::media(self.name, kind))
    }

    /// The number of vectors or scores that a request asks for; `None` if its answer is generated text.
    pub fn expected_results(&self, request: &Request, sampling: &Sampling) -> Option<u32> {
        (self.results)(request, sampling)
    }

    /// Makes the decoder for the response to a request with this prompt.
    pub(crate) fn decoder(&self, prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        (self.decoder)(prompt, stream)
    }

    /// How the messages of a response are separated.
    pub(crate) fn framing(&self, stream: bool) -> Framing {
        if stream { self.stream_framing } else { Framing::WholeBody }
    }
}

/// How the messages of a response are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// Messages that end with NUL or LF, such as one JSON object per line. The last message may end with the
    /// body. A stream of the media type `application/json` is malformed, because a response of this type is
    /// one JSON value.
    Delimited,
    /// One message: the whole body.
    WholeBody,
}
