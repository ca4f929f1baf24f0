//! The formats: how each is recognised, and the reader of its rows. A new format has its line in `FORMATS`.

mod dynamo;
mod logs;
mod mooncake;
mod otel;
mod trajectories;
mod turns;
mod weka;

use serde_json::Value;

use super::builder::Builder;
use super::error::{Fault, JobsError, Problem};
use super::values::{MS, S};

/// Reads the rows of a format: gets each row and its line, and None after the last one.
pub type Rows = Box<dyn FnMut(Option<&Value>, u64, &mut Builder) -> Result<(), Fault>>;

/// A format: its name as the value of `--format`, the paths that only its rows have (separated by `|`; none if it is not
/// recognised), and the reader of its rows.
pub type Format = (&'static str, &'static str, fn(&mut Builder) -> Rows);

/// The formats. The first one that fits the first row is that of the file.
const FORMATS: &[Format] = &[
    ("weka", "/requests|/block_size", weka::rows),
    ("dynamo", "/event/event_type", dynamo::dynamo),
    ("agentic-mooncake", "/input_length|/wait_for", mooncake::agentic),
    ("bailian", "/input_length|/parent_chat_id", mooncake::bailian),
    ("ragpulse", "/hash_ids/sys_prompt", |_| calls(S)),
    ("mooncake", "/output_length", |builder| mooncake::rows(builder, None)),
    ("mooncake-cumulative", "", |builder| mooncake::rows(builder, Some(true))),
    ("mooncake-delta", "", |builder| mooncake::rows(builder, Some(false))),
    ("azure", "/ContextTokens", |_| calls(S)),
    ("burstgpt", "/Request tokens", |_| calls(S)),
    ("litellm", "/call_type|/startTime", |_| calls(S)),
    ("evalscope", "/body/messages|/timestamp", |_| calls(S)),
    ("anthropic", "/request/messages|/response/usage/input_tokens", |_| calls(S)),
    ("openai", "/request/messages", |_| calls(S)),
    ("tracelab", "/newly_append_tokens", dynamo::tracelab),
    ("trie", "/input_prompt_length", turns::trie),
    ("otel", "/spans", otel::rows),
    ("otel", "/resourceSpans", otel::rows),
    ("otel", "/attributes", otel::rows),
    ("aiperf", "/turns", turns::aiperf),
    ("sglang", "/conversations", turns::sglang),
    ("mlperf", "/conversation_id|/role", turns::messages),
    ("atif", "/schema_version|/steps", trajectories::atif),
    ("swe-agent", "/trajectory", trajectories::swe_agent),
    ("codex", "/type|/payload", logs::codex),
    ("claude-code", "/sessionId|/type", logs::claude),
    ("claude-code", "/type|/summary", logs::claude),
    ("claude-code", "/type|/messageId|/snapshot", logs::claude),
    ("servegen", "/0/input_tokens", distributions),
    ("servegen", "/3|/5", distributions),
    ("vllm-generate", "/filetype|/prompt_input", distributions),
    ("openai", "/body/model", |_| calls(S)),
    ("openai", "/model|/messages", |_| calls(S)),
    ("vllm", "/id|/messages", turns::messages),
];

/// A reader of rows that are calls. Times that are numbers have the unit `unit_ns`.
fn calls(unit_ns: i64) -> Rows {
    each(move |row, line, builder| builder.add(row, line, unit_ns).map(drop))
}

/// The reader of a format that has no calls.
fn distributions(_: &mut Builder) -> Rows {
    each(|_, _, _| Err(Problem::Distributions.into()))
}

/// A reader that needs nothing but the rows.
fn each(mut read: impl FnMut(&Value, u64, &mut Builder) -> Result<(), Fault> + 'static) -> Rows {
    Box::new(move |row, line, builder| row.map_or(Ok(()), |row| read(row, line, builder)))
}

/// Formats that are recognised, but have no calls.
const WITHOUT_CALLS: [&str; 2] = ["servegen", "vllm-generate"];

/// The names of all formats with calls, joined with commas.
pub fn names() -> String {
    let names = FORMATS.iter().map(|format| format.0);
    let mut names: Vec<&str> = names.filter(|name| !WITHOUT_CALLS.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// The format with this name.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> Result<&'static Format, JobsError> {
    let unknown = || {
        JobsError::UnknownFormat("--format".to_owned(), format!("there is no `{name}`"), names())
    };
    FORMATS.iter().find(|format| format.0 == name).ok_or_else(unknown)
}

/// The format of a file with this first row.
///
/// # Errors
/// If none fits.
pub fn of(row: &Value, file: &str) -> Result<&'static Format, JobsError> {
    let fits =
        |paths: &str| !paths.is_empty() && paths.split('|').all(|path| row.pointer(path).is_some());
    FORMATS.iter().find(|format| fits(format.1)).ok_or_else(|| {
        let keys = row.as_object().into_iter().flatten().take(8).map(|(key, _)| key.as_str());
        let keys = keys.collect::<Vec<_>>().join(", ");
        let found = format!(
            "its format is not recognised, because its first row has only the keys `{keys}`"
        );
        JobsError::UnknownFormat(file.to_owned(), found, names())
    })
}
