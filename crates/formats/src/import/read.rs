//! Reads a file of results. The format is recognised by the content, never by the file's name.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::bundle::{GZIP, Limits};
use crate::import::error::ImportError;
use crate::import::source::{Import, Source};
use crate::import::{published, tool};

/// Returns the runs that a file of results contains. `file` is the file's name without its folder.
///
/// # Errors
/// [`ImportError::Unknown`] if the format is not recognised; [`ImportError::Malformed`] if a part of the file
/// does not follow the recognised format.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Import>, ImportError> {
    let mut runs = match bytes.starts_with(&GZIP) {
        true => parse_runs(file, &unzipped(file, bytes)?)?,
        false => parse_runs(file, bytes)?,
    };
    for run in &mut runs {
        run.summary.target = std::mem::take(&mut run.summary.target).with_short_names();
    }
    // A run is identified by its section of the file. Runs of equal sections are numbered.
    let sections: Vec<Vec<String>> = runs.iter().map(section).collect();
    for (index, run) in runs.iter_mut().enumerate() {
        let is_same = |other: &&Vec<String>| **other == sections[index];
        if sections.iter().filter(is_same).count() > 1
            && let Some(imported) = &mut run.summary.imported
        {
            let number = sections[..=index].iter().filter(is_same).count();
            imported.section.push(format!("part {number}"));
        }
    }
    Ok(runs)
}

/// Unpacks a file that is compressed with gzip.
fn unzipped(file: &str, bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
    let limit = Limits::of(bytes.len() as u64, 0).unpacked;
    let mut unpacked = Vec::new();
    let read = GzDecoder::new(bytes).take(limit + 1).read_to_end(&mut unpacked);
    let what = match read {
        Ok(_) if unpacked.len() as u64 > limit => "is too large when it is unpacked".to_owned(),
        Ok(_) => return Ok(unpacked),
        Err(error) => format!("cannot be unpacked: {error}"),
    };
    Err(ImportError::Unknown { file: file.to_owned(), what, known: "gzip".to_owned() })
}

/// Returns the section of the file that contains the run: the headings above the run, or its name in the
/// file.
fn section(run: &Import) -> Vec<String> {
    run.summary.imported.as_ref().map_or_else(Vec::new, |imported| imported.section.clone())
}

/// Recognises the format of a file and parses its runs. Runs of equal sections are not numbered here.
fn parse_runs(file: &str, bytes: &[u8]) -> Result<Vec<Import>, ImportError> {
    let source = Source::new(file, bytes);
    let unknown = |what: &str| ImportError::Unknown {
        file: file.to_owned(),
        what: what.to_owned(),
        known: format!(
            "published Markdown tables, text-block logs, benchmark_serving.py of vLLM 0.2, {}",
            tool::names()
        ),
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| unknown(&format!("is not UTF-8 text (byte {})", error.valid_up_to())))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        let documents = documents(text).map_err(|what| unknown(&what.to_string()))?;
        return tool::runs(&source, &documents)
            .unwrap_or_else(|| Err(unknown("is JSON, but not of a known format")));
    }
    if tool::is_llama_bench_table(text) {
        return tool::llama_bench_table(&source, text);
    }
    let runs = published::runs(&source, text)?;
    match runs.is_empty() {
        false => Ok(runs),
        true => Err(unknown(
            "has no log of text blocks, and no table with the known columns (an output length, and \
             requests/s, output tokens/s, latency per token or latency per output token)",
        )),
    }
}

/// Why a text is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("is neither a JSON document ({of_document}) nor JSON lines (line {number}: {of_line})")]
struct NoJson {
    of_document: String,
    number: u32,
    of_line: serde_json::Error,
}

/// Parses a text that is one JSON document, or that has one JSON document per line.
fn documents(text: &str) -> Result<Vec<Value>, NoJson> {
    let text = quote_python_numbers(text);
    let document_error = match serde_json::from_str(&text) {
        Ok(document) => return Ok(vec![document]),
        Err(error) => error,
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|of_line| NoJson {
                of_document: document_error.to_string(),
                number,
                of_line,
            })
        })
        .collect()
}

/// Puts `NaN`, `Infinity` and `-Infinity` in quotes, because Python writes them but JSON does not allow them.
/// Text inside JSON strings is not changed.
fn quote_python_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_string, mut escaped) = (text, false, false);
    while let Some(c) = rest.chars().next() {
        if !in_string {
            let word =
                ["-Infinity", "Infinity", "NaN"].iter().find(|word| rest.starts_with(**word));
            if let Some(word) = word {
                out += &format!("\"{word}\"");
                rest = &rest[word.len()..];
                continue;
            }
        }
        in_string ^= c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}
