//! The six lines that vLLM 0.2's `benchmark_serving.py` prints, as a run. Only what the lines and
//! the command above them say.

use inferometer_core::fold::PassFold;
use inferometer_core::imported::Stated;
use inferometer_core::load::Level;
use inferometer_core::outcome::OutcomeCounts;
use inferometer_core::plan::{Bound, OverLimit, PassPlan};
use inferometer_core::prediction::CellPrediction;
use inferometer_core::serving_run::FIELDS;
use inferometer_core::summary::Cell;
use inferometer_core::table_import::place_of;

use super::{Page, target};
use crate::finding;
use crate::source::{Import, summary};

const FORMAT: &str = "benchmark_serving.py of vLLM 0.2";
const FIRST: &str = "Total time: ";

/// A run for each block of the six lines.
pub(super) fn runs(page: &Page<'_>) -> Vec<Import> {
    let lines: Vec<&str> = page.text.lines().collect();
    let begins = lines.iter().enumerate().filter(|(_, line)| line.starts_with(FIRST));
    begins.filter_map(|(at, _)| run(page, &lines, at)).collect()
}

fn run(page: &Page<'_>, lines: &[&str], at: usize) -> Option<Import> {
    let mut stated = Stated::default();
    for (field, line) in FIELDS.iter().zip(lines.get(at..)?) {
        let value = line.strip_prefix(field.name)?.strip_prefix(": ")?.split(' ').next()?;
        stated.numbers.insert(format!("{} ({})", field.name, field.unit), value.parse().ok()?);
    }
    let command = lines[..at].iter().rev().find(|line| line.contains("benchmark_serving.py"));
    if let Some(command) = command {
        stated.words.insert("command".to_owned(), (*command).to_owned());
    }
    let option = |name: &str| -> Option<f64> {
        command?.split_once(name)?.1.split_whitespace().next()?.parse().ok()
    };
    let (rate, prompts) = (option("--request-rate")?, option("--num-prompts")? as u32);
    let plan = PassPlan::Open {
        rate: Level::Constant(rate),
        arrivals: inferometer_core::arrival::Arrivals::default(),
        bound: Bound::requests(prompts),
        max_in_flight: None,
        over_limit: OverLimit::default(),
    };
    let figure = |at: usize| {
        let field = &FIELDS[at];
        stated.numbers.get(&format!("{} ({})", field.name, field.unit)).copied()
    };
    let mut pass = PassFold::new(&plan, false, 0).finish();
    (pass.planned, pass.duration_s) = (u64::from(prompts), figure(0));
    // The script waits for every request and counts no failure.
    pass.outcomes = OutcomeCounts { complete: u64::from(prompts), ..OutcomeCounts::default() };
    (pass.requests_per_s, pass.output_tokens_per_s) = (figure(1), figure(5));
    let in_ms = |at: usize| figure(at).map(|seconds| seconds * 1e3);
    let cell = Cell {
        input_length: 0,
        output_length: 0,
        requests_per_s: pass.requests_per_s,
        output_tokens_per_s: pass.output_tokens_per_s,
        latency_per_token_ms: in_ms(3),
        latency_per_output_token_ms: in_ms(4),
        over_repeats: None,
        passes: vec![pass],
        prediction: CellPrediction::default(),
    };
    let place = place_of(page.text, |line| line == lines[at]).unwrap_or_default();
    let (target, engine_line) = target(page, &place);
    let mut imported = page.source.imported(FORMAT);
    imported.section = [&place.model, &place.card].into_iter().flatten().cloned().collect();
    imported.section.push("benchmark_serving.py".to_owned());
    imported.passes = vec![stated];
    let mut findings = vec![finding::lengths_of_the_data_set()];
    findings.extend(engine_line.map(finding::engine_from_prose));
    Some(Import { summary: summary(imported, target, vec![cell], findings), records: Vec::new() })
}
