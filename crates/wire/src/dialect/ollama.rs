//! Ollama's own chat API: a stream of lines of JSON, each with a part of the answer. The last line has the finish
//! reason, the counts, and times in nanoseconds; Ollama leaves out those that are 0. Without `num_ctx` in `options`, a
//! server uses its own context length, and cuts longer prompts without an error.

use inferometer_model::{Prompt, Request, Sampling, Usage, request::OLLAMA};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect, Framing};
use super::json::{Text, parse, tokens};
use super::media;
use crate::{ParsedResponse, calls::CallPart, server_times::of_object};

/// `/api/chat` of Ollama.
pub(super) static DIALECT: Dialect = Dialect {
    name: OLLAMA,
    description: "Ollama's native /api/chat: lines of JSON, times of load, prefill and decode; sets num_ctx",
    source: "https://docs.ollama.com/api/chat",
    whole_path: "/api/chat",
    stream_framing: Framing::Delimited,
    accepts_messages: true,
    media: Some(&media::OLLAMA),
    honours_ignore_eos: false,
    applies_chat_template: true,
    fields,
    decoder: |_, _| Box::new(Chat),
    ..DEFAULT
};

fn fields(request: &Request, sampling: &Sampling, model: &str) -> Option<Value> {
    let mut messages = match &request.prompt {
        Prompt::Text(text) => json!([{ "role": "user", "content": text }]),
        Prompt::Messages(messages) => json!(messages),
        Prompt::TokenIds(_) => return None,
    };
    let calls = |message: &mut Value| message.get_mut("tool_calls").map(Value::take);
    for message in messages.as_array_mut().into_iter().flatten() {
        let Some(mut calls) = calls(message) else { continue };
        calls.as_array_mut().into_iter().flatten().for_each(with_arguments);
        message["tool_calls"] = calls;
    }
    let options =
        json!({ "temperature": sampling.temperature, "num_predict": request.output_tokens });
    Some(json!({
        "model": model, "messages": messages, "stream": sampling.stream, "options": options,
    }))
}

/// Makes the arguments of a call an object, which OpenAI's API writes as a text.
fn with_arguments(call: &mut Value) {
    if let Some(arguments) = call.pointer_mut("/function/arguments")
        && let Some(object) = arguments.as_str().and_then(|text| serde_json::from_str(text).ok())
    {
        *arguments = object;
    }
}

struct Chat;

impl Decode for Chat {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let line: Line<'_> = parse(data)?;
        if line.error.is_some() {
            return Err(Undecoded::Error);
        }
        if line.message.is_none() && line.done.is_none() {
            return Err(Undecoded::NoOutput);
        }
        let is_last = line.done == Some(true);
        // A whole body has all tokens. They are counted in its first output.
        let is_whole = is_last && !parsed.has_token();
        let mut left = line.eval_count.filter(|_| is_whole);
        let rest = left.map(|_| 0);
        let mut next = || std::mem::replace(&mut left, rest);
        let said = line.message.unwrap_or_default();
        let is_filled = |text: &&Text<'_>| !text.0.is_empty();
        if let Some(Text(text)) = said.thinking.as_ref().filter(is_filled) {
            parsed.reasoning(text, next());
        }
        if let Some(Text(text)) = said.content.as_ref().filter(is_filled) {
            parsed.text(text, next());
        }
        for Call { function } in said.tool_calls.iter().flatten() {
            let (name, arguments) = (&function.name.0, function.arguments.to_string());
            let part = CallPart { name, arguments: &arguments, ..CallPart::default() };
            parsed.tool_call(part, next());
        }
        if is_last {
            parsed.finish(line.done_reason.as_ref().map_or("stop", |Text(reason)| reason));
            let (prompt, completion) = (line.prompt_eval_count, line.eval_count);
            parsed.usage(Usage { prompt, completion, ..Usage::default() });
            parsed.times(of_object(&parse(data)?));
            parsed.done = true;
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    done: Option<bool>,
    done_reason: Option<Text<'a>>,
    #[serde(default, deserialize_with = "tokens")]
    prompt_eval_count: Option<u32>,
    #[serde(default, deserialize_with = "tokens")]
    eval_count: Option<u32>,
    error: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    thinking: Option<Text<'a>>,
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Debug, Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(default)]
    arguments: Value,
}
