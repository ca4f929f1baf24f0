//! Imports results of llama-bench in JSON, JSON lines or Markdown. llama-bench measures the engine without
//! a server, so none of its figures has our definition. All figures, except those in lists, are stored under
//! llama-bench's own names.

use std::collections::BTreeMap;

use inferometer_analysis::{Cell, Imported, ImportedPass, table_import::TableForm};
use inferometer_model::{Bound, Finding, OutcomeCounts, PassPlan, Target, code};
use serde_json::Value;

use super::document::{Document, target, without_folders};
use crate::import::error::ImportError;
use crate::import::source::{Import, Source, summary};

pub(super) const FORMAT: &str = "llama-bench";

pub(super) fn is(document: &Value) -> bool {
    let first = document.as_array().map_or(Some(document), |rows| rows.first());
    let has = |key: &str| first.is_some_and(|row| row.get(key).is_some());
    has("n_prompt") && has("n_gen") && has("avg_ts")
}

/// A test: its prompt and output tokens, and its stated figures.
struct Test {
    prompt: u32,
    output: u32,
    repetitions: u64,
    stated: ImportedPass,
}

pub(super) fn runs(source: &Source, documents: &[Value]) -> Result<Vec<Import>, ImportError> {
    let rows: Vec<&Value> = documents
        .iter()
        .flat_map(|document| {
            document.as_array().map_or(vec![document], |rows| rows.iter().collect())
        })
        .collect();
    let mut tests = Vec::new();
    for row in &rows {
        let row = Document { source, format: FORMAT, value: row };
        let count = |key: &str| -> Result<u32, ImportError> {
            u32::try_from(row.need_count(key)?)
                .map_err(|_| row.malformed(format!("`{key}` is too large")))
        };
        let samples = row.list("samples_ts").map_or(0, <[Value]>::len) as u64;
        let (prompt, output) = (count("n_prompt")?, count("n_gen")?);
        row.need("avg_ts")?;
        tests.push(Test { prompt, output, repetitions: samples, stated: row.stated(&[]) });
    }
    let first = Document { source, format: FORMAT, value: rows[0] };
    let mut target = engine(first.words("model_type").or(first.words("model_filename")));
    target.engine_version = first.words("build_commit").map(str::to_owned);
    let card = first.words("gpu_info").filter(|info| !info.is_empty()).or(first.words("cpu_info"));
    target.facts.card = card.map(|card| card.trim().to_owned());
    if let Some(file) = first.words("model_filename") {
        target.facts.others.insert("model file".to_owned(), without_folders(file));
    }
    let mut imported = source.imported(FORMAT);
    imported.measured_at = first.words("test_time").map(str::to_owned);
    Ok(vec![run(imported, target, tests)])
}

fn engine(model: Option<&str>) -> Target {
    let mut target = target(model.unwrap_or("unknown"), None, "none");
    target.engine = Some("llama.cpp".to_owned());
    target
}

fn run(mut imported: Imported, target: Target, tests: Vec<Test>) -> Import {
    let findings = vec![Finding::of(
        code::IMPORTED_NO_SERVER,
        "llama-bench measures the engine in its own process, without a server, requests or \
            arrivals. `pp` tests process a prompt, and `tg` tests generate tokens without a \
            prompt, so the tokens/s are stored under the tool's names, not under ours",
    )];
    let cell = |test: &Test| {
        let requests = u32::try_from(test.repetitions).unwrap_or(u32::MAX);
        let plan = PassPlan::one_by_one(Bound::requests(requests));
        let mut pass = inferometer_analysis::fold::PassFold::new(&plan).finish();
        pass.planned = test.repetitions;
        pass.outcomes = OutcomeCounts { complete: test.repetitions, ..OutcomeCounts::default() };
        Cell {
            input_length: test.prompt,
            output_length: test.output,
            passes: vec![pass],
            ..Cell::default()
        }
    };
    let cells = tests.iter().map(cell).collect();
    imported.passes = tests.into_iter().map(|test| test.stated).collect();
    Import { summary: summary(imported, target, cells, findings), records: Vec::new() }
}

/// Whether a text contains a table of llama-bench.
pub(crate) fn is_table(text: &str) -> bool {
    text.lines().any(|line| {
        let names: Vec<&str> = line.split('|').map(str::trim).collect();
        line.starts_with('|') && names.contains(&"test") && names.contains(&"t/s")
    })
}

/// Imports a Markdown table of llama-bench. Its tests have names such as `pp512`, `tg128` or
/// `pp512+tg128 @ d4096`.
pub(super) fn of_markdown(source: &Source, text: &str) -> Result<Vec<Import>, ImportError> {
    let malformed =
        |what: String| ImportError::Malformed { file: source.file.clone(), format: FORMAT, what };
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| is_table(line)).unwrap_or(0);
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let names = cells(lines[head]);
    let mut imported = source.imported(FORMAT);
    let rows: Vec<&&str> =
        lines.iter().skip(head + 2).take_while(|line| line.starts_with('|')).collect();
    let rule = lines.get(head + 1).copied().unwrap_or("");
    let table: Vec<&str> = rows.iter().map(|row| **row).collect();
    imported.tables = vec![TableForm::of_lines(lines[head], rule, &table)];
    let (mut tests, mut model) = (Vec::new(), None);
    for (number, row) in (head + 3..).zip(&rows) {
        let fields: BTreeMap<String, String> = names.iter().cloned().zip(cells(row)).collect();
        let test = fields.get("test").map_or("", String::as_str);
        let (prompt, output) = lengths(test).ok_or_else(|| {
            malformed(format!("line {number}: `{test}` is not a test name such as pp512 or tg128"))
        })?;
        let rate = fields.get("t/s").map_or("", String::as_str);
        let (mean, deviation) = rate.split_once('±').unwrap_or((rate, "0"));
        let number_of = |text: &str| {
            let rate_of = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
            rate_of.ok_or_else(|| malformed(format!("line {number}: `{rate}` is not a number")))
        };
        let numbers = BTreeMap::from([
            ("avg_ts".to_owned(), number_of(mean)?),
            ("stddev_ts".to_owned(), number_of(deviation)?),
        ]);
        model = model.or_else(|| fields.get("model").cloned());
        let stated = ImportedPass { numbers, texts: fields, ..ImportedPass::default() };
        tests.push(Test { prompt, output, repetitions: 0, stated });
    }
    let build = lines.iter().find_map(|line| line.strip_prefix("build: "));
    let mut target = engine(model.as_deref());
    target.engine_version = build.map(|build| build.trim().to_owned());
    Ok(vec![run(imported, target, tests)])
}

/// Returns the prompt and output tokens of a test from its name.
fn lengths(test: &str) -> Option<(u32, u32)> {
    let (tests, _depth) = test.split_once(" @ ").unwrap_or((test, ""));
    let (mut prompt, mut output) = (0, 0);
    for part in tests.split('+') {
        match (part.strip_prefix("pp"), part.strip_prefix("tg")) {
            (Some(tokens), _) => prompt = tokens.trim().parse().ok()?,
            (_, Some(tokens)) => output = tokens.trim().parse().ok()?,
            _ => return None,
        }
    }
    Some((prompt, output))
}
