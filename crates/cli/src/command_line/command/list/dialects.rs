//! `list dialects`: the supported APIs of servers.

use std::fmt::Write;

use inferometer_wire::dialect::dialects as all;

use super::named;
use crate::command_line::Failure;

/// The dialects as text.
pub fn dialects(names: &[String]) -> Result<String, Failure> {
    let mut text = String::new();
    for dialect in named("dialects", all(), |it| it.name, names)? {
        let ids = if dialect.accepts_token_ids { "text or token ids" } else { "text" };
        let eos = match (dialect.honours_ignore_eos, dialect.ignore_eos_with) {
            (true, _) => "yes".to_owned(),
            (false, []) => "no".to_owned(),
            (false, engines) => format!("only with {}", engines.join(", ")),
        };
        let paths = match (dialect.path(true), dialect.path(false)) {
            (stream, whole) if stream == whole => format!("POST {whole}"),
            (stream, whole) => format!("POST {stream} (streaming), {whole} (not streaming)"),
        };
        let _ = writeln!(
            text,
            "{}\n    {}\n    {paths}\n    prompts: {ids}; ignore_eos: {eos}\n    source: {}\n",
            dialect.name, dialect.description, dialect.source
        );
    }
    Ok(text)
}
