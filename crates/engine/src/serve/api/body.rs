//! Reads the fields of request bodies with their types. Errors name the field; unknown fields are allowed.

use serde_json::{Map, Value};

use super::{Host, Prompt, Reply, media};

/// The fields of a JSON body.
pub(super) struct Body(Map<String, Value>);

impl Body {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Reply> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(Reply::error(400, "The body is not a JSON object.")),
            Err(error) => Err(Reply::error(400, &format!("The body is not JSON: {error}"))),
        }
    }

    /// A field; `null` counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Reply> {
        match self.get(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| wrong(name, "a boolean")),
        }
    }

    /// A whole number of at least 1, if the field exists.
    pub(super) fn count(&self, name: &str) -> Result<Option<u32>, Reply> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number {
            Some(0) | None => Err(wrong(name, "a whole number of at least 1")),
            Some(number) => Ok(Some(number)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, Reply> {
        let value = self.get(name).ok_or_else(|| wrong(name, "given"))?;
        value.as_str().ok_or_else(|| wrong(name, "a string"))
    }

    /// The fields of an object; empty if the field is absent.
    pub(super) fn object(&self, name: &str) -> Result<Self, Reply> {
        match self.get(name) {
            None => Ok(Self(Map::new())),
            Some(Value::Object(fields)) => Ok(Self(fields.clone())),
            Some(_) => Err(wrong(name, "an object")),
        }
    }

    /// Rejects a model that is not served.
    pub(super) fn check_model(&self, host: &Host) -> Result<(), Reply> {
        let model = self.text("model")?;
        if model == host.model {
            return Ok(());
        }
        Err(Reply::error(404, &format!("The model `{model}` does not exist.")))
    }

    /// A list of token ids.
    pub(super) fn token_ids(&self, name: &str) -> Result<Vec<u32>, Reply> {
        let value = self.get(name).ok_or_else(|| wrong(name, "given"))?;
        ids(value).ok_or_else(|| wrong(name, "a list of token ids"))
    }

    /// One or several texts, or lists of token ids.
    pub(super) fn inputs(&self, host: &Host, name: &str) -> Result<Vec<Prompt>, Reply> {
        let value = self.get(name).ok_or_else(|| wrong(name, "given"))?;
        let expected = || wrong(name, "texts or lists of token ids, of at least one token each");
        let one = |value: &Value| match value {
            Value::String(text) => Prompt::text(host, text),
            other => ids(other).map(Prompt::of_ids).ok_or_else(expected),
        };
        let inputs = match value {
            Value::Array(items) if items.iter().any(|item| !item.is_u64()) => {
                items.iter().map(one).collect::<Result<Vec<_>, Reply>>()?
            }
            value => vec![one(value)?],
        };
        let is_empty = inputs.is_empty() || inputs.iter().any(|input| input.tokens == 0);
        if is_empty { Err(expected()) } else { Ok(inputs) }
    }

    /// One prompt: a text or a list of token ids, possibly as the only element of a list.
    pub(super) fn prompt(&self, host: &Host) -> Result<Prompt, Reply> {
        let name = "prompt";
        let value = self.get(name).ok_or_else(|| wrong(name, "given"))?;
        let value = match value {
            Value::Array(items) if items.iter().any(|item| item.is_string() || item.is_array()) => {
                match items.as_slice() {
                    [one] => one,
                    _ => {
                        let message = "multiple prompts in a batch is not currently supported";
                        return Err(Reply::error(400, message));
                    }
                }
            }
            other => other,
        };
        let prompt = match value {
            Value::String(text) => Prompt::text(host, text)?,
            other => {
                let ids = ids(other).ok_or_else(|| wrong(name, "a text or a list of token ids"))?;
                Prompt::of_ids(ids)
            }
        };
        if prompt.tokens == 0 {
            return Err(wrong(name, "of at least one token"));
        }
        Ok(prompt)
    }

    /// The prompt of a chat: the tokens of the chat template, and the contents of all messages.
    pub(super) fn messages(&self, host: &Host) -> Result<Prompt, Reply> {
        let name = "messages";
        let value = self.get(name).ok_or_else(|| wrong(name, "given"))?;
        let messages = value.as_array().filter(|list| !list.is_empty());
        let messages = messages.ok_or_else(|| wrong(name, "a list of messages"))?;
        let overhead = host.shared_block.map_or(0, |_| host.chat_overhead_tokens as usize);
        // The template adds the same tokens to every chat, so their ids do not matter.
        let (tokens, ids) = (host.chat_overhead_tokens, vec![0; overhead]);
        let mut all = Prompt { tokens, ids, ..Prompt::default() };
        for message in messages {
            let text = Prompt::text(host, &content(message)?)?;
            let parts = message["content"].as_array().into_iter().flatten();
            let media = parts.filter(|part| !part["text"].is_string()).map(media::part);
            for part in [Ok(text)].into_iter().chain(media) {
                let part = part?;
                all.tokens += part.tokens;
                all.key.extend(part.key);
                all.ids.extend(part.ids);
                all.media.image += part.media.image;
                all.media.audio += part.media.audio;
            }
        }
        if all.tokens == 0 {
            return Err(wrong(name, "of at least one token"));
        }
        Ok(all)
    }
}

/// The text of one message: a string, or the parts with `text` of a list. Calls of tools follow it; with them, there may be no
/// text.
fn content(message: &Value) -> Result<String, Reply> {
    let calls = message.get("tool_calls").filter(|calls| calls.is_array());
    let calls = calls.map_or(String::new(), Value::to_string);
    match &message["content"] {
        Value::String(text) => Ok(text.clone() + &calls),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .chain((!calls.is_empty()).then_some(calls.as_str()))
            .map(Ok)
            .collect(),
        Value::Null if !calls.is_empty() => Ok(calls),
        _ => Err(wrong("messages", "a list of messages with a role and a content")),
    }
}

fn ids(value: &Value) -> Option<Vec<u32>> {
    let id = |item: &Value| item.as_u64().and_then(|id| u32::try_from(id).ok());
    value.as_array()?.iter().map(id).collect()
}

fn wrong(name: &str, expected: &str) -> Reply {
    Reply::error(400, &format!("`{name}` must be {expected}."))
}
