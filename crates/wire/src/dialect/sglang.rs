//! SGLang's native `/generate`: each message repeats the output so far, or brings what is new
//! where the server was started with incremental output; `meta_info` counts the tokens so far.

use inferometer_model::record::Usage;
use inferometer_model::request::{Prompt, Request, Sampling};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::json::{Count, Text, bytes, parse, server_error, unexpected};
use super::{Decode, Dialect, Framing};
use crate::{Answer, WireError};

/// `/generate` of SGLang.
pub(super) struct Sglang;

impl Dialect for Sglang {
    fn name(&self) -> &'static str {
        "sglang"
    }

    fn description(&self) -> &'static str {
        "SGLang's native /generate: cumulative text, token counts in each message"
    }

    fn source(&self) -> &'static str {
        "https://docs.sglang.ai/basic_usage/native_api.html"
    }

    fn path(&self, _stream: bool) -> &'static str {
        "/generate"
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
        _model: &str,
    ) -> Result<Vec<u8>, WireError> {
        let (field, prompt) = match &request.prompt {
            Prompt::Text(text) => ("text", json!(text)),
            Prompt::TokenIds(ids) => ("input_ids", json!(ids)),
            Prompt::Messages(_) => return Err(WireError::prompt(self.name(), &request.prompt)),
        };
        let mut parameters = json!({
            "max_new_tokens": request.output_tokens,
            "temperature": sampling.temperature,
        });
        if sampling.ignore_eos {
            parameters["ignore_eos"] = Value::Bool(true);
        }
        let body =
            json!({ field: prompt, "sampling_params": parameters, "stream": sampling.stream });
        Ok(bytes(body, sampling, request))
    }

    fn decoder(&self, _prompt: &Prompt, stream: bool) -> Box<dyn Decode> {
        Box::new(Generate { stream, output_bytes: 0, tokens: 0 })
    }
}

struct Generate {
    stream: bool,
    /// The length of the output that earlier messages brought.
    output_bytes: usize,
    /// The tokens that earlier messages counted.
    tokens: u32,
}

impl Generate {
    fn take(&mut self, data: &str, answer: &mut Answer) {
        let Some(message) = parse::<Message<'_>>(data, answer) else { return };
        let failed = message.object.is_some_and(|object| object.0 == "error");
        if message.error.is_some() || failed {
            return server_error(data, answer);
        }
        let (Some(Text(text)), Some(meta)) = (&message.text, &message.meta_info) else {
            return unexpected("no text with its meta_info", data, answer);
        };
        let finish = meta.finish_reason.as_ref();
        if let Some(Text(why)) = finish.and_then(|finish| finish.error()) {
            return answer.server_error(why.to_string());
        }
        // A message that lists fewer tokens than it counts brings only what is new.
        let counted = meta.completion_tokens;
        let listed = message.output_ids.as_ref().map(|ids| ids.0);
        let incremental =
            self.stream && listed.zip(counted).is_some_and(|(listed, all)| listed < all);
        let new = if incremental { Some(&text[..]) } else { text.get(self.output_bytes..) };
        let Some(new) = new else {
            return unexpected("the text is shorter than it was", data, answer);
        };
        let tokens = counted.and_then(|all| all.checked_sub(self.tokens));
        if !new.is_empty() || tokens.is_some_and(|tokens| tokens > 0) {
            answer.text(new, tokens);
        }
        self.output_bytes = if incremental { self.output_bytes + new.len() } else { text.len() };
        self.tokens = counted.unwrap_or(self.tokens);
        let usage =
            Usage { prompt: meta.prompt_tokens, completion: counted, cached: meta.cached_tokens };
        match finish {
            None => answer.set_usage(usage),
            Some(finish) => {
                answer.finish(&finish.kind.0);
                answer.usage(usage);
            }
        }
    }
}

impl Decode for Generate {
    fn framing(&self) -> Framing {
        if self.stream { Framing::Sse } else { Framing::WholeBody }
    }

    fn message(&mut self, data: &str, answer: &mut Answer) {
        if data.trim() == "[DONE]" {
            answer.done();
        } else if answer.done {
            unexpected("it comes after [DONE]", data, answer);
        } else {
            self.take(data, answer);
        }
    }

    fn body(&mut self, body: &[u8], answer: &mut Answer) {
        self.take(&String::from_utf8_lossy(body), answer);
    }
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    output_ids: Option<Count>,
    #[serde(borrow)]
    meta_info: Option<Meta<'a>>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct Meta<'a> {
    #[serde(borrow)]
    finish_reason: Option<Finish<'a>>,
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
    cached_tokens: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Finish<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

impl<'a> Finish<'a> {
    /// A request that the server aborts ends with a reason that says why.
    fn error(&self) -> Option<&Text<'a>> {
        (self.kind.0 == "abort").then(|| self.message.as_ref().unwrap_or(&self.kind))
    }
}
