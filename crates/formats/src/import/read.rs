//! Reads a file of results. The format is recognised by the content, never by the file's name.

use serde_json::Value;

use crate::import::error::ImportError;
use crate::import::source::{Import, Source};
use crate::import::{published, tool};

/// Returns the runs that a file holds; `file` is its name without a folder.
///
/// # Errors
/// [`ImportError::Unknown`] if the format is not recognised, [`ImportError::Malformed`] if it is
/// recognised and a part of the file does not follow it.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Import>, ImportError> {
    let mut runs = parts(file, bytes)?;
    // The section identifies a run of the file, so equal sections get a number.
    let sections: Vec<Vec<String>> = runs.iter().map(section).collect();
    for (at, run) in runs.iter_mut().enumerate() {
        let is_same = |known: &&Vec<String>| **known == sections[at];
        if sections.iter().filter(is_same).count() > 1
            && let Some(imported) = &mut run.summary.imported
        {
            let number = sections[..=at].iter().filter(is_same).count();
            imported.section.push(format!("part {number}"));
        }
    }
    Ok(runs)
}

fn section(run: &Import) -> Vec<String> {
    run.summary.imported.as_ref().map_or_else(Vec::new, |imported| imported.section.clone())
}

fn parts(file: &str, bytes: &[u8]) -> Result<Vec<Import>, ImportError> {
    let source = Source::new(file, bytes);
    let unknown = |what: &str| ImportError::Unknown {
        file: file.to_owned(),
        what: what.to_owned(),
        known: format!("published Markdown tables and text-block logs, {}", tool::names()),
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| unknown(&format!("is no UTF-8 text (byte {})", error.valid_up_to())))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        let documents = documents(text).map_err(|what| unknown(&what))?;
        return tool::runs(&source, &documents)
            .unwrap_or_else(|| Err(unknown("its JSON has none of the fields of a known form")));
    }
    if tool::is_llama_bench_table(text) {
        return tool::llama_bench_table(&source, text);
    }
    let runs = published::runs(&source, text)?;
    match runs.is_empty() {
        false => Ok(runs),
        true => Err(unknown(
            "has no table with the known columns (an output length, and requests/s, output \
             tokens/s, latency per token or per output token), and no log of text blocks",
        )),
    }
}

/// Parses one JSON document, or one per line.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    let text = python_numbers(text);
    let whole = match serde_json::from_str(&text) {
        Ok(document) => return Ok(vec![document]),
        Err(error) => error,
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| {
                format!(
                    "is neither a JSON document ({whole}) nor JSON lines (line {number}: {error})"
                )
            })
        })
        .collect()
}

/// Puts `NaN`, `Infinity` and `-Infinity`, which Python writes and JSON does not have, in quotes;
/// those that stand within a string are left.
fn python_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut quoted, mut escaped) = (text, false, false);
    while let Some(c) = rest.chars().next() {
        if !quoted {
            let word =
                ["-Infinity", "Infinity", "NaN"].iter().find(|word| rest.starts_with(**word));
            if let Some(word) = word {
                out += &format!("\"{word}\"");
                rest = &rest[word.len()..];
                continue;
            }
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}
