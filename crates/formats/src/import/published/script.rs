//! Imports the six lines that vLLM 0.2's `benchmark_serving.py` prints, as a run. The figures come only from
//! these lines. The load comes from the command above them. The target comes from the headings and the text
//! of the page.

use inferometer_analysis::serving_run::FIELDS;
use inferometer_analysis::table_import::place_of;
use inferometer_analysis::{Cell, ImportedPass, PassFold};
use inferometer_model::{Bound, OpenPlan, OutcomeCounts, OverLimit, PassPlan, load::Level};

use super::{Page, target};
use crate::import::source::{Import, summary};
use crate::{import::error::ImportError, import::finding};

const FORMAT: &str = "benchmark_serving.py of vLLM 0.2";
const SCRIPT: &str = "benchmark_serving.py";
const FIRST: &str = "Total time: ";
const SECOND: &str = "Throughput: ";

/// The default of the script for `--num-prompts`.
const DEFAULT_PROMPTS: u32 = 1000;

/// Why the six lines are not a run.
#[derive(Debug, thiserror::Error)]
enum ScriptError {
    #[error(
        "line {line}: {name}: `{value}` is not valid; --num-prompts is a whole number, and --request-rate is a number \
            above 0"
    )]
    Option { line: usize, name: &'static str, value: String },
    #[error("line {line}: `{text}`, expected `{name}: ` and a number of {unit}")]
    Figure { line: usize, text: String, name: &'static str, unit: &'static str },
    #[error(
        "line {line}: `{}` and `{}` correspond to {:.0} to {:.0} requests, but the command in line {command} sends \
            {prompts} requests: the command belongs to another run",
        texts[0],
        texts[1],
        requests[0],
        requests[1]
    )]
    OtherCommand {
        line: usize,
        texts: [String; 2],
        requests: [f64; 2],
        command: usize,
        prompts: u32,
    },
    #[error(
        "line {line}: the load is unknown, because there is no command of {SCRIPT} above this line"
    )]
    NoCommand { line: usize },
}

/// Returns one run for each group of the six lines.
pub(super) fn runs(page: &Page<'_>) -> Result<Vec<Import>, ImportError> {
    let lines: Vec<&str> = page.text.lines().collect();
    // Other programs also print a line that begins like the first one. Only the script prints the second line.
    let begins = |at: &usize| {
        let next = lines.get(at + 1).is_some_and(|next| next.starts_with(SECOND));
        lines[*at].starts_with(FIRST) && next
    };
    let malformed = |what: ScriptError| ImportError::Malformed {
        file: page.source.file.clone(),
        format: FORMAT,
        what: what.to_string(),
    };
    let blocks = (0..lines.len()).filter(begins);
    blocks.map(|at| run(page, &lines, at).map_err(malformed)).collect()
}

/// Returns the last command above the six lines that calls the script, with its continuation lines, and its
/// line number from 1. Headings, links and sentences that name the script are skipped.
fn command(above: &[&str]) -> Option<(usize, String)> {
    let naming = (0..above.len()).rev().filter(|at| above[*at].contains(SCRIPT));
    let mut commands = naming.map(|at| (at + 1, continued(&above[at..])));
    commands.find(|(_, words)| is_command(words))
}

/// Joins the first line with its continuation lines, and removes backticks.
fn continued(lines: &[&str]) -> String {
    let mut words = String::new();
    for line in lines {
        let (part, continues) = line.strip_suffix('\\').map_or((*line, false), |part| (part, true));
        words += part;
        if !continues {
            break;
        }
        words.push(' ');
    }
    words.replace('`', " ").trim().to_owned()
}

/// Whether a text is a command that calls the script: the word before the script begins with `python`, or the
/// word after it is an option.
fn is_command(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let calls = |at: &usize| {
        if words[*at].contains("://") || name(words[*at]) != SCRIPT {
            return false;
        }
        // Python's own options, such as -u, may be between `python` and the script.
        let before = words[..*at].iter().rfind(|word| !word.starts_with('-'));
        let after = words.get(at + 1).and_then(|word| word.strip_prefix("--"));
        before.is_some_and(|word| name(word).starts_with("python"))
            || after.is_some_and(|option| option.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    (0..words.len()).any(|at| calls(&at))
}

/// Returns the value of an option of a command, if the option is given.
fn option<'a>(command: &'a str, name: &str) -> Option<&'a str> {
    let mut words = command.split_whitespace();
    let word = words.find(|word| *word == name || word.starts_with(&format!("{name}=")))?;
    Some(word.split_once('=').map_or_else(|| words.next().unwrap_or(""), |(_, value)| value))
}

/// Returns the load model and the number of prompts of a command. Without a rate, the script sends all requests
/// at the beginning.
fn load(command: &(usize, String)) -> Result<(PassPlan, u32), ScriptError> {
    let (number, words) = command;
    let wrong =
        |name, value: &str| ScriptError::Option { line: *number, name, value: value.to_owned() };
    let prompts = match option(words, "--num-prompts") {
        None => DEFAULT_PROMPTS,
        Some(value) => value.parse().map_err(|_| wrong("--num-prompts", value))?,
    };
    let rate = match option(words, "--request-rate") {
        None => f64::INFINITY,
        Some(value) => {
            let rate: Option<f64> = value.parse().ok().filter(|rate| *rate > 0.0);
            rate.ok_or_else(|| wrong("--request-rate", value))?
        }
    };
    let plan = match rate.is_finite() {
        false => PassPlan::saturated(prompts),
        true => PassPlan::Open(OpenPlan {
            rate: Level::Constant(rate),
            arrivals: inferometer_model::load::arrival::Arrivals::default(),
            scaled: false,
            bound: Bound::requests(prompts),
            max_in_flight: None,
            over_limit: OverLimit::default(),
        }),
    };
    Ok((plan, prompts))
}

/// Returns the six figures. `at` is the index of the first line.
fn stated(lines: &[&str], at: usize) -> Result<ImportedPass, ScriptError> {
    let mut stated = ImportedPass::default();
    for (field, number) in FIELDS.iter().zip(at..) {
        let line = lines.get(number).copied().unwrap_or("");
        let rest = line.strip_prefix(field.name).and_then(|rest| rest.strip_prefix(": "));
        let value = rest.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        let value = value.filter(|value| value.is_finite()).ok_or_else(|| ScriptError::Figure {
            line: number + 1,
            text: line.to_owned(),
            name: field.name,
            unit: field.unit,
        })?;
        stated.numbers.insert(format!("{} ({})", field.name, field.unit), value);
    }
    Ok(stated)
}

/// Returns the smallest and the largest value that round to the number in a line.
fn printed(line: &str) -> Option<[f64; 2]> {
    let text = line.split_once(": ")?.1.split(' ').next()?;
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?);
    let value: f64 = text.parse().ok()?;
    Some([value - half, value + half])
}

/// Checks that the six lines are the output of the command: the product of total time and throughput must be the
/// number of prompts, within the rounding of both figures.
fn belongs(lines: &[&str], at: usize, command: usize, prompts: u32) -> Result<(), ScriptError> {
    let both = printed(lines[at]).zip(lines.get(at + 1).and_then(|line| printed(line)));
    let Some(([shortest, longest], [slowest, fastest])) = both else { return Ok(()) };
    let (least, most) = (shortest * slowest, longest * fastest);
    if (least..=most).contains(&f64::from(prompts)) {
        return Ok(());
    }
    Err(ScriptError::OtherCommand {
        line: at + 1,
        texts: [lines[at].to_owned(), lines[at + 1].to_owned()],
        requests: [least.max(0.0).ceil(), most.floor()],
        command,
        prompts,
    })
}

fn run(page: &Page<'_>, lines: &[&str], at: usize) -> Result<Import, ScriptError> {
    let mut stated = stated(lines, at)?;
    let command = command(&lines[..at]).ok_or(ScriptError::NoCommand { line: at + 1 })?;
    let (plan, prompts) = load(&command)?;
    belongs(lines, at, command.0, prompts)?;
    stated.texts.insert("command".to_owned(), command.1);
    let figure = |at: usize| {
        let field = &FIELDS[at];
        stated.numbers.get(&format!("{} ({})", field.name, field.unit)).copied()
    };
    let mut pass = PassFold::new(&plan).finish();
    (pass.planned, pass.duration_s) = (u64::from(prompts), figure(0));
    // The script waits for every request and does not count failures.
    pass.outcomes = OutcomeCounts { complete: u64::from(prompts), ..OutcomeCounts::default() };
    (pass.requests_per_s, pass.output_tokens_per_s) = (figure(1), figure(5));
    let in_ms = |at: usize| figure(at).map(|seconds| seconds * 1e3);
    let cell = Cell {
        requests_per_s: pass.requests_per_s,
        output_tokens_per_s: pass.output_tokens_per_s,
        latency_per_token_ms: in_ms(3),
        latency_per_output_token_ms: in_ms(4),
        passes: vec![pass],
        ..Cell::default()
    };
    let place = place_of(page.text, |line| line == lines[at]).unwrap_or_default();
    let (target, engine_line) = target(page, &place);
    let mut imported = page.source.imported(FORMAT);
    imported.section = [&place.model, &place.card].into_iter().flatten().cloned().collect();
    imported.section.push(SCRIPT.to_owned());
    imported.passes = vec![stated];
    let mut findings = vec![finding::lengths_of_the_data_set()];
    findings.extend(engine_line.map(finding::engine_from_prose));
    Ok(Import { summary: summary(imported, target, vec![cell], findings), records: Vec::new() })
}
