//! Flags of other benchmarks, and what to give here instead: where an argument is not known, somebody
//! may have brought it from another tool. Its tables are data, one for each tool.

mod values;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::command::bench::FLAGS;

/// Another tool, with its flags.
pub struct Tool {
    /// Its name, as its users know it.
    pub name: &'static str,
    /// The page for people who come from it, if it has one.
    pub page: Option<&'static str>,
    /// Each flag with what `run` has for it.
    pub flags: Vec<(&'static str, &'static str)>,
}

/// Every tool whose flags are known.
pub static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let of_vllm = FLAGS.iter().map(|flag| (flag.name, flag.here)).collect();
    let tables = [
        ("GuideLLM", Some("guidellm.md"), include_str!("../../data/other-tools/guidellm.txt")),
        ("AIPerf", Some("aiperf.md"), include_str!("../../data/other-tools/aiperf.txt")),
        (
            "llama-bench",
            Some("llama-bench.md"),
            include_str!("../../data/other-tools/llama-bench.txt"),
        ),
        ("SGLang's bench_serving", None, include_str!("../../data/other-tools/sglang.txt")),
        ("inference-perf", None, include_str!("../../data/other-tools/inference-perf.txt")),
        ("oha, hey, ab, wrk or k6", None, include_str!("../../data/other-tools/http.txt")),
    ];
    let others = tables.map(|(name, page, text)| Tool { name, page, flags: rows(text) });
    let vllm = Tool { name: "vllm bench serve", page: Some("vllm.md"), flags: of_vllm };
    std::iter::once(vllm).chain(others).collect()
});

impl Tool {
    /// What `run` has for a flag of it.
    fn meaning(&self, flag: &str) -> Option<&'static str> {
        let same = |known: &str| known == flag || known == dashed(flag);
        let found = self.flags.iter().find(|(known, _)| same(known));
        found.map(|(_, here)| *here)
    }
}

fn rows(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let rows = text.lines().filter(|line| line.starts_with('-'));
    let cells = rows.filter_map(|row| row.split_once('|'));
    cells.map(|(flag, here)| (flag.trim(), here.trim())).collect()
}

/// What to write instead of a value of another tool behind a flag that we have too.
pub fn advice_on_values(arguments: &[OsString]) -> Option<String> {
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    values::advice(&words)
}

/// What to give instead of an argument that is not known, where it is the flag of another tool.
pub fn advice(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(refused)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let flag = whole(refused, &words);
    let is_bench = words.get(1) == Some(&"bench");
    let meant = meanings(flag);
    if meant.is_empty() || is_bench || is_ours(flag) {
        return None;
    }
    let mut text = format!("{flag}: is no flag of this command");
    for (here, tools) in meant {
        let what = match here.starts_with("--") {
            true => format!("`inferometer run` has {here}"),
            false => here.to_owned(),
        };
        let _ = write!(text, "\n  of {}: {what}", tools.join(" and "));
    }
    let of_vllm = FLAGS.iter().any(|known| known.name == dashed(flag));
    if of_vllm {
        text += "\n  `inferometer bench serve` takes the flags of vllm bench serve as they are";
    }
    let pages = pages(flag).map(|page| format!("docs/coming-from/{page}"));
    let pages = pages.collect::<Vec<_>>().join(", ");
    if !pages.is_empty() {
        let _ = write!(text, "\n  flag by flag: {pages}");
    }
    Some(text)
}

/// The argument that was typed: the parser names `-n` where `-ngl` stands.
fn whole<'a>(refused: &'a str, words: &[&'a str]) -> &'a str {
    let name = refused.split(['=', ' ']).next().unwrap_or(refused);
    let is_short = name.len() == 2 && !name.starts_with("--");
    let longer = words.iter().filter(|word| is_short && word.starts_with(name));
    longer.copied().find(|word| !meanings(word).is_empty()).unwrap_or(name)
}

/// Whether `run` has a flag of this name, so that it was not brought from another tool.
fn is_ours(flag: &str) -> bool {
    let command = super::command();
    let run = command.find_subcommand("run");
    let mut longs =
        run.into_iter().flat_map(|run| run.get_arguments()).filter_map(|a| a.get_long());
    longs.any(|long| flag.strip_prefix("--") == Some(long))
}

/// The pages of the tools that have a flag.
fn pages(flag: &str) -> impl Iterator<Item = &'static str> {
    let having = TOOLS.iter().filter(move |tool| tool.meaning(flag).is_some());
    having.filter_map(|tool| tool.page)
}

/// A name with dashes, however it was written.
fn dashed(flag: &str) -> String {
    flag.replace('_', "-")
}

/// What a flag means here, each meaning with the tools that have it.
fn meanings(flag: &str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for tool in TOOLS.iter() {
        let Some(here) = tool.meaning(flag) else { continue };
        match found.iter_mut().find(|(known, _)| *known == here) {
            Some((_, tools)) => tools.push(tool.name),
            None => found.push((here, vec![tool.name])),
        }
    }
    found
}

#[cfg(test)]
mod tests;
