//! The parts of a prompt in a row: tools, system prompt, messages.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::values::{Paths, find};

/// Where the messages of a prompt are in a row.
pub const MESSAGES: Paths = "/messages|/body/messages|/request/messages|/payload/messages|/body/input|/query\
    |/attributes/gen_ai.input.messages|/text_input";
/// Where the definitions of tools are.
pub const TOOLS: Paths = "/tools|/body/tools|/request/tools|/attributes/gen_ai.tool.definitions";
/// Where the system prompt is.
pub const SYSTEM: Paths = "/system|/body/system|/body/instructions|/request/system\
    |/attributes/gen_ai.system_instructions";

/// The tools and the system prompt of a row, each as an object with its name.
pub fn head_parts(row: &Value) -> Vec<Value> {
    let parts = [(TOOLS, "tools"), (SYSTEM, "system")];
    let part =
        |(paths, name): (Paths, &str)| find(row, paths).map(|(value, _)| json!({ name: value }));
    parts.into_iter().filter_map(part).collect()
}

/// The messages of a prompt, which may be one text.
pub fn turns(messages: &Value) -> Vec<Cow<'_, Value>> {
    match messages {
        Value::Array(messages) => messages.iter().map(Cow::Borrowed).collect(),
        text => vec![Cow::Owned(json!({"role": "user", "content": text}))],
    }
}

/// The parts of a request's prompt as texts: tools, system prompt, messages; and the last message. The prompt of a
/// completion is its text, or token ids, each of which is a part.
pub fn prompt_parts(row: &Value) -> Option<(Vec<String>, Value)> {
    if let Some(text) = row.pointer("/body/prompt").and_then(Value::as_str) {
        return (!text.is_empty()).then(|| (vec![text.to_owned()], Value::Null));
    }
    let (messages, _) = find(row, MESSAGES).or_else(|| find(row, "/body/prompt"))?;
    let turns = turns(messages);
    let last = turns.last()?.clone().into_owned();
    let parts = head_parts(row).into_iter().map(Cow::Owned).chain(turns);
    Some((parts.map(|part| unmarked(&part).0).collect(), last))
}

/// The field that marks a cache breakpoint.
const MARK: &str = "cache_control";

/// A message as text, without the marks of cache breakpoints, and whether it had any: clients move them from call to call, and
/// they are no part of the prompt.
pub fn unmarked(message: &Value) -> (String, bool) {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove(MARK);
                fields.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let text = message.to_string();
    if !text.contains(MARK) {
        return (text, false);
    }
    let mut message = message.clone();
    strip(&mut message);
    (message.to_string(), true)
}
