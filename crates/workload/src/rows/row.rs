//! Converts the columns of a row to the parts of a request. Unusable rows are counted by reason, with the
//! line or row number of the first one.

use std::collections::BTreeSet;

use inferometer_model::{Prompt, calendar::seconds_or_date, request::Message};
use inferometer_plan::{RowsFormat, RowsPlan};
use serde_json::{Map, Value};

use crate::{LeftOut, Reason};

/// The fields of the request body that may be columns. Other fields can be in the column `body`.
const BODY_FIELDS: [&str; 22] = [
    "model", "temperature", "top_p", "top_k", "min_p", "seed", "stop", "presence_penalty",
    "frequency_penalty", "repetition_penalty", "logprobs", "top_logprobs", "logit_bias", "tools",
    "tool_choice", "response_format", "structured_outputs", "guided_json", "guided_regex",
    "guided_choice", "guided_grammar", "ignore_eos",
];

/// The body fields that stay text, even if the text is valid JSON.
const TEXTS: [&str; 3] = ["model", "guided_regex", "guided_grammar"];

/// The column with the arrival time of a row.
const TIMESTAMP: &str = "timestamp";

/// The fields of a request, each with the column names that may contain it. The first column with a value
/// is used.
const NAMES: [(&str, &[&str]); 6] = [
    ("prompt", &["prompt"]),
    ("messages", &["messages"]),
    ("token_ids", &["token_ids", "prompt_token_ids"]),
    ("output_tokens", &["output_tokens", "output_length", "max_tokens", "max_completion_tokens"]),
    ("body", &["body", "extra_body"]),
    (TIMESTAMP, &[TIMESTAMP]),
];

/// A usable row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The prompt.
    pub prompt: Prompt,
    /// The requested number of output tokens.
    pub output_tokens: u32,
    /// Additional fields of the request body.
    pub body: Map<String, Value>,
    /// The arrival time, in nanoseconds from an arbitrary origin; 0 if rows are not replayed.
    pub at_ns: i64,
}

/// Why a row cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RowReason {
    /// Not a JSON object.
    #[error("not a JSON object")]
    NotAnObject,
    /// Quotes of a CSV row that do not end where a field ends.
    #[error("quotes that do not end where a field ends")]
    BrokenQuotes,
    /// A CSV row with a different number of fields than the header.
    #[error("a different number of fields than the first line")]
    Fields,
    /// A value with bytes that are not UTF-8 text, or a map whose keys are not text.
    #[error("bytes that are not text, in a used column")]
    NotText,
    /// A prompt that is neither text nor a list.
    #[error("a prompt that is neither text nor a list")]
    NotAPrompt,
    /// No prompt, messages or token ids.
    #[error("neither prompt, nor messages, nor token ids")]
    NoPrompt,
    /// More than one of prompt, messages and token ids.
    #[error("more than one of prompt, messages and token ids")]
    SeveralPrompts,
    /// An empty text, or an empty list of messages or token ids.
    #[error("an empty prompt")]
    EmptyPrompt,
    /// Messages that are not a list of objects with a role.
    #[error("messages that are not a list of objects with a `role`")]
    NotMessages,
    /// Token ids that are not a list of integers from 0 to 2^32 - 1.
    #[error("token ids that are not a list of whole numbers")]
    NotTokenIds,
    /// No output length in the row, and no default.
    #[error("no output length (give --output-length for rows that have none)")]
    NoOutputLength,
    /// An output length that is not an integer from 1 to 2^32 - 1.
    #[error("an output length that is not a whole number of at least 1")]
    NotALength,
    /// No arrival time, although rows are replayed.
    #[error("no timestamp, which --replay-rows needs")]
    NoInstant,
    /// An arrival time that cannot be parsed.
    #[error("a timestamp that is neither seconds nor a date and a time")]
    NotAnInstant,
    /// A CSV record of more than 8 MiB.
    #[error("a row of more than 8 MiB")]
    TooLarge,
    /// A body that is not an object.
    #[error("a body that is not a JSON object")]
    NotABody,
}

impl Reason for RowReason {}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The usable rows, in the order of the file; after sorting, in the order of their arrival times.
    pub rows: Vec<Row>,
    /// The rows that cannot be used.
    pub left_out: LeftOut<RowReason>,
    /// Whether the numbers of rows that are left out count rows and not lines, because the file has no lines.
    pub in_rows: bool,
    /// The names of the columns that are not used.
    pub unused: BTreeSet<String>,
    /// The number of rows with an arrival time before that of an earlier row of the file; 0 until rows
    /// are sorted.
    pub out_of_order: u64,
}

/// The names of all columns that a plan may use.
pub fn used_columns(plan: &RowsPlan) -> BTreeSet<&str> {
    let is_read = |field: &str| plan.timed || field != TIMESTAMP;
    let fields = NAMES.iter().filter(|(field, _)| is_read(field));
    let fields = fields.flat_map(|(field, _)| columns_of(field, plan));
    fields.chain(BODY_FIELDS).collect()
}

/// The column names that may contain a field, in the order in which they are tried. If the plan names a
/// column for the field, only this name is returned; otherwise, the usual names are returned.
pub fn columns_of<'a>(field: &str, plan: &'a RowsPlan) -> Vec<&'a str> {
    let usual = NAMES.iter().find(|(known, _)| *known == field).map(|(_, names)| *names);
    let named = plan.columns.get(field).map(|name| vec![name.as_str()]);
    named.unwrap_or_else(|| usual.unwrap_or_default().to_vec())
}

impl Loaded {
    /// Sorts rows by their arrival time. Rows with the same arrival time stay in the order of the file.
    pub(super) fn sort(&mut self) {
        let mut latest = i64::MIN;
        for row in &self.rows {
            self.out_of_order += u64::from(row.at_ns < latest);
            latest = latest.max(row.at_ns);
        }
        self.rows.sort_by_key(|row| row.at_ns);
    }

    /// Adds a row, or counts the reason why it cannot be used. `number` is its line or row number in the
    /// file.
    pub(super) fn add(
        &mut self,
        number: u64,
        fields: Result<Map<String, Value>, RowReason>,
        plan: &RowsPlan,
    ) {
        match fields.and_then(|fields| self.row(fields, plan)) {
            Ok(row) => self.rows.push(row),
            Err(reason) => {
                let unit = if self.in_rows { "row" } else { "line" };
                self.left_out.add(reason, || format!("{unit} {number}"));
            }
        }
    }

    fn row(&mut self, mut fields: Map<String, Value>, plan: &RowsPlan) -> Result<Row, RowReason> {
        self.unwrap_body(&mut fields, plan);
        let mut take = |field: &str| -> Option<Value> {
            let names = columns_of(field, plan);
            let found: Vec<Value> =
                names.into_iter().filter_map(|name| fields.shift_remove(name)).collect();
            found.into_iter().find(|value| !value.is_null())
        };
        let structured = |value| structured(value, plan.format);
        let (text, messages, token_ids) = (take("prompt"), take("messages"), take("token_ids"));
        let length = take("output_tokens").map(structured);
        let own_body = take("body").map(structured);
        let at_ns = match plan.timed {
            true => instant(&take(TIMESTAMP).ok_or(RowReason::NoInstant)?)?,
            false => 0,
        };
        let prompt = prompt(text, messages.map(structured), token_ids.map(structured))?;
        let mut body = Map::new();
        for name in BODY_FIELDS {
            if let Some(value) = fields.shift_remove(name).filter(|value| !value.is_null()) {
                let value = if TEXTS.contains(&name) { value } else { structured(value) };
                body.insert(name.to_owned(), value);
            }
        }
        match own_body {
            None => {}
            Some(Value::Object(own)) => body.extend(own),
            Some(_) => return Err(RowReason::NotABody),
        }
        self.unused.extend(fields.into_iter().map(|(name, _)| name));
        let output_tokens = match (length, plan.output_length) {
            (None, default) => default.ok_or(RowReason::NoOutputLength)?,
            (Some(length), _) => whole(&length).ok_or(RowReason::NotALength)?,
        };
        Ok(Row { prompt, output_tokens, body, at_ns })
    }
}

impl Loaded {
    /// If the prompt is in the body, as in batch files of OpenAI: moves the fields of the request from the body
    /// to the columns. Whether the answer is a stream depends on the plan.
    fn unwrap_body(&mut self, fields: &mut Map<String, Value>, plan: &RowsPlan) {
        let has = |fields: &Map<String, Value>, field: &str| {
            let names = columns_of(field, plan);
            names.iter().any(|name| fields.get(*name).is_some_and(|value| !value.is_null()))
        };
        let has_prompt = |fields: &Map<String, Value>| {
            ["prompt", "messages", "token_ids"].iter().any(|field| has(fields, field))
        };
        let columns = columns_of("body", plan);
        let Some(column) = columns.into_iter().find(|name| fields.contains_key(*name)) else {
            return;
        };
        let body = structured(fields[column].clone(), plan.format);
        let Value::Object(mut body) = body else { return };
        if has_prompt(fields) || !has_prompt(&body) {
            return;
        }
        let of_request = NAMES.iter().take_while(|(field, _)| *field != "body");
        for (field, names) in of_request {
            for name in *names {
                let Some(value) = body.shift_remove(*name) else { continue };
                if columns_of(field, plan).contains(name) {
                    fields.insert((*name).to_owned(), value);
                } else {
                    self.unused.insert(format!("{column}.{name}"));
                }
            }
        }
        for name in ["stream", "stream_options"] {
            if body.shift_remove(name).is_some() {
                self.unused.insert(format!("{column}.{name}"));
            }
        }
        fields.insert(column.to_owned(), Value::Object(body));
    }
}

/// Parses a text as JSON, because some file formats store structured values as text. In CSV, all values
/// are parsed. In Parquet, only texts that are JSON objects or arrays are replaced. Other texts stay
/// texts.
fn structured(value: Value, format: RowsFormat) -> Value {
    let Value::String(text) = &value else { return value };
    let read = || serde_json::from_str::<Value>(text).ok();
    let found = match format {
        RowsFormat::Jsonl => None,
        RowsFormat::Csv => read(),
        RowsFormat::Parquet => read().filter(|read| read.is_object() || read.is_array()),
    };
    found.unwrap_or(value)
}

/// Parses an arrival time: a number of seconds, or a date and a time of day. Returns nanoseconds.
fn instant(value: &Value) -> Result<i64, RowReason> {
    let found = match value {
        Value::Number(seconds) => seconds_or_date(&seconds.to_string()),
        Value::String(text) => seconds_or_date(text),
        _ => None,
    };
    found.ok_or(RowReason::NotAnInstant)
}

/// Parses an integer from 1 to 2^32 - 1. `3.0` is accepted too, because some programs write integers in
/// this form if other values of the column are missing.
fn whole(value: &Value) -> Option<u32> {
    let real = || value.as_f64().filter(|real| real.fract() == 0.0 && *real > 0.0);
    let count = value.as_u64().or_else(|| real().map(|real| real as u64));
    count.and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0)
}

fn prompt(
    text: Option<Value>,
    messages: Option<Value>,
    token_ids: Option<Value>,
) -> Result<Prompt, RowReason> {
    match (text, messages, token_ids) {
        (None, None, None) => Err(RowReason::NoPrompt),
        (Some(Value::String(text)), None, None) => match text.is_empty() {
            true => Err(RowReason::EmptyPrompt),
            false => Ok(Prompt::Text(text)),
        },
        // The column `prompt` may also contain a list of messages or of token ids.
        (Some(Value::Array(list)), None, None) => match list.first() {
            Some(Value::Object(_)) => chat(Value::Array(list)),
            _ => ids(&Value::Array(list)),
        },
        (None, Some(messages), None) => chat(messages),
        (None, None, Some(token_ids)) => ids(&token_ids),
        (Some(_), None, None) => Err(RowReason::NotAPrompt),
        _ => Err(RowReason::SeveralPrompts),
    }
}

fn chat(messages: Value) -> Result<Prompt, RowReason> {
    let messages: Vec<Message> =
        serde_json::from_value(messages).map_err(|_| RowReason::NotMessages)?;
    if messages.is_empty() {
        return Err(RowReason::EmptyPrompt);
    }
    let has_role = |message: &Message| message.get("role").is_some_and(Value::is_string);
    if messages.iter().all(has_role) {
        Ok(Prompt::Messages(messages))
    } else {
        Err(RowReason::NotMessages)
    }
}

fn ids(list: &Value) -> Result<Prompt, RowReason> {
    let ids: Option<Vec<u32>> = list.as_array().and_then(|list| {
        list.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok())).collect()
    });
    match ids {
        Some(ids) if ids.is_empty() => Err(RowReason::EmptyPrompt),
        Some(ids) => Ok(Prompt::TokenIds(ids)),
        None => Err(RowReason::NotTokenIds),
    }
}
