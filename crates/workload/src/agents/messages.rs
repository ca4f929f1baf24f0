//! The prompts of a trace with texts and without lengths: its messages, as the chat API has them.

use inferometer_model::request::{Message, message};
use inferometer_model::{Prompt, Request, Tokenizer};
use serde_json::{Map, Value, json};

use super::Recorded;
use crate::jobs::{Content, Trace};
use crate::{History, WorkloadError};

/// The prompt of a call, and the definitions of its tools. The first message begins with `tag`.
pub fn prompt(recorded: &Recorded, at: u32, history: History, tag: &str) -> Request {
    let (mut messages, tools) = read(&recorded.trace, at);
    if let Some(Value::String(text)) =
        messages.first_mut().and_then(|first| first.get_mut("content"))
    {
        *text = format!("{tag}\n{text}");
    }
    let prompt = match history {
        History::Messages => Prompt::Messages(messages),
        History::Text => {
            let texts: Vec<String> = messages.iter().map(content).collect();
            Prompt::Text(texts.join("\n"))
        }
    };
    let mut request = Request::new(prompt, recorded.prompt(at), recorded.output(at));
    if let Some(tools) = tools.filter(|_| history == History::Messages) {
        request.extra_body.insert("tools".to_owned(), tools);
    }
    request
}

/// The tokens of the texts of a prompt.
///
/// # Errors
/// If the tokenizer fails.
pub fn count_prompt(
    recorded: &Recorded,
    at: u32,
    tokenizer: &dyn Tokenizer,
) -> Result<u32, WorkloadError> {
    let (messages, tools) = read(&recorded.trace, at);
    let mut sum = tools.map_or(Ok(0), |tools| tokenizer.count(&tools.to_string()))?;
    for message in &messages {
        sum += tokenizer.count(&content(message))?;
    }
    Ok(sum.max(1))
}

/// The tokens of each recorded answer: the messages of the model that follow a prompt in the next one of its session;
/// `None` if there are none.
///
/// # Errors
/// If the tokenizer fails.
pub fn answers(
    trace: &Trace,
    tokenizer: &dyn Tokenizer,
) -> Result<Vec<Option<u32>>, WorkloadError> {
    let mut found = vec![None; trace.calls.len()];
    for call in &trace.calls {
        let Some(Content::Messages(node)) = call.content.get() else { continue };
        for &parent in &call.parents {
            let before = &trace.calls[parent as usize];
            let Some(Content::Messages(earlier)) = before.content.get() else { continue };
            if before.session != call.session || before.output.get().is_some() {
                continue;
            }
            let depth = trace.messages.depth(earlier) as usize;
            let path = trace.messages.path(node);
            let later = path.iter().skip(depth).map(|node| parse(&trace.texts[*node as usize]));
            let said: Vec<Message> =
                later.flat_map(|value| chat(&value)).take_while(is_models).collect();
            if !said.is_empty() {
                let text: String = said.iter().map(content).collect();
                found[parent as usize] = Some(tokenizer.count(&text)?.max(1));
            }
        }
    }
    Ok(found)
}

fn is_models(message: &Message) -> bool {
    message.get("role").and_then(Value::as_str) == Some("assistant")
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// The messages of a call's prompt, and the definitions of its tools.
fn read(trace: &Trace, at: u32) -> (Vec<Message>, Option<Value>) {
    let Some(Content::Messages(node)) = trace.calls[at as usize].content.get() else {
        return (Vec::new(), None);
    };
    let (mut messages, mut tools) = (Vec::new(), None);
    for node in trace.messages.path(node) {
        let value = parse(&trace.texts[node as usize]);
        match (head(&value, "tools"), head(&value, "system")) {
            (Some(found), _) => tools = Some(Value::Array(definitions(found))),
            (None, Some(system)) => messages.push(message("system", &text(system))),
            (None, None) => messages.extend(chat(&value)),
        }
    }
    (messages, tools)
}

/// The value of the only key of an object, if it is this one: what a reader adds before the messages.
fn head<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|_| value.as_object().is_some_and(|object| object.len() == 1))
}

/// Definitions of tools as the chat API has them.
fn definitions(tools: &Value) -> Vec<Value> {
    let definition = |tool: &Value| match tool.get("input_schema") {
        Some(schema) => json!({"type": "function", "function":
            {"name": tool["name"], "description": tool["description"], "parameters": schema}}),
        None => tool.clone(),
    };
    tools.as_array().map_or(&[][..], Vec::as_slice).iter().map(definition).collect()
}

/// A recorded message as messages of the chat API: results of tools in a message of a user become messages of their own.
fn chat(value: &Value) -> Vec<Message> {
    let role = value["role"].as_str().or_else(|| value["source"].as_str());
    match (value["type"].as_str(), role) {
        (Some("function_call" | "custom_tool_call"), _) => {
            let arguments = value.get("arguments").or_else(|| value.get("input"));
            vec![calling(vec![call(&value["call_id"], &value["name"], arguments)], "")]
        }
        (Some("function_call_output" | "custom_tool_call_output"), _) => {
            vec![result(&value["call_id"], &value["output"])]
        }
        (Some("reasoning"), None) => Vec::new(),
        (_, role) => spoken(role.unwrap_or("user"), value),
    }
}

fn spoken(role: &str, value: &Value) -> Vec<Message> {
    let role = match role {
        "model" | "agent" => "assistant",
        "developer" => "system",
        role => role,
    };
    if role == "tool"
        && let Some(results) = value["tool_results"].as_array()
    {
        return results.iter().map(|one| result(&one["tool_call_id"], &one["content"])).collect();
    }
    let body = value.get("content").or_else(|| value.get("parts")).or_else(|| value.get("text"));
    let body = body.unwrap_or(&Value::Null);
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for part in body.as_array().into_iter().flatten() {
        match part["type"].as_str() {
            Some("tool_use" | "tool_call") => {
                let arguments = part.get("input").or_else(|| part.get("arguments"));
                calls.push(call(&part["id"], &part["name"], arguments));
            }
            Some("tool_result") => results.push(result(&part["tool_use_id"], &part["content"])),
            Some("tool_call_response") => {
                let said = part.get("response").or_else(|| part.get("result"));
                results.push(result(&part["id"], said.unwrap_or(&Value::Null)));
            }
            _ => {}
        }
    }
    calls.extend(value["tool_calls"].as_array().into_iter().flatten().cloned());
    let text = text(body);
    match role {
        _ if !calls.is_empty() => vec![calling(calls, &text)],
        "tool" if results.is_empty() => vec![result(&value["tool_call_id"], body)],
        _ if text.is_empty() && !results.is_empty() => results,
        role => results.into_iter().chain([message(role, &text)]).collect(),
    }
}

/// A message of the model with calls of tools.
fn calling(calls: Vec<Value>, text: &str) -> Message {
    let mut said = message("assistant", text);
    if text.is_empty() {
        said.insert("content".to_owned(), Value::Null);
    }
    said.insert("tool_calls".to_owned(), calls.into());
    said
}

fn call(id: &Value, name: &Value, arguments: Option<&Value>) -> Value {
    let arguments = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "{}".to_owned(),
    };
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn result(id: &Value, said: &Value) -> Message {
    let mut result = message("tool", &text(said));
    result.insert("tool_call_id".to_owned(), id.clone());
    result
}

/// The texts of a value: a text, or the texts of its parts.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(parts) => {
            let of = |part: &Value| match part {
                Value::String(text) => Some(text.clone()),
                part => {
                    ["text", "content"].iter().find_map(|key| part[key].as_str()).map(str::to_owned)
                }
            };
            parts.iter().filter_map(of).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// What counts of a message: its text, and the calls of tools.
fn content(message: &Map<String, Value>) -> String {
    let calls = message.get("tool_calls").map_or(String::new(), Value::to_string);
    message.get("content").map_or(String::new(), text) + &calls
}
