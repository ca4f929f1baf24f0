//! `list metrics`: every metric with its definition.

use std::fmt::Write;

use inferometer_analysis::{blocks, serving_run};
use inferometer_formats::dialect;
use inferometer_model::metrics::{Direction, Origin, definitions};

use super::named;
use crate::command_line::Failure;

/// The definitions as text. Without names, the text also has the figures of text block logs and of vLLM 0.2's
/// benchmark_serving.py, and the definitions of other tools.
pub fn metrics(names: &[String]) -> Result<String, Failure> {
    let mut text = String::new();
    for definition in named("metrics", definitions(), |it| it.name, names)? {
        let origin = match definition.origin {
            Some(Origin::Sent) => ", from the send",
            Some(Origin::Due) => ", from the due time",
            None => "",
        };
        let better = match definition.direction {
            Some(Direction::Lower) => ", lower is better",
            Some(Direction::Higher) => ", higher is better",
            None => "",
        };
        let _ = writeln!(
            text,
            "{} ({}{origin}{better}; version {})\n    = {}\n    {}\n    source: {}\n",
            definition.name,
            definition.unit,
            definition.version,
            definition.formula,
            definition.notes,
            definition.source
        );
    }
    if !names.is_empty() {
        return Ok(text);
    }
    text += "Text blocks: the figures of the log, and how answers are counted\n\n";
    for field in &blocks::FIELDS {
        let _ = writeln!(text, "{}\n    = {}\n", field.name, field.formula);
    }
    for rule in &blocks::RULES {
        let _ = writeln!(text, "{}\n    = {}\n", rule.name, rule.definition);
    }
    text += "ShareGPT with its own lengths: the figures of vLLM 0.2's benchmark_serving.py\n\n";
    for field in &serving_run::FIELDS {
        let _ = writeln!(text, "{} ({})\n    = {}\n", field.name, field.unit, field.formula);
    }
    for (tool, definitions) in dialect::definitions() {
        let name = tool.name;
        let _ = writeln!(
            text,
            "Metrics that `report --dialect {name}` prints, by the definitions of that tool; {}\n",
            tool.origin
        );
        for definition in definitions {
            let _ = writeln!(
                text,
                "{name}: {} ({})\n    = {}\n",
                definition.name, definition.unit, definition.formula
            );
        }
    }
    Ok(text)
}
