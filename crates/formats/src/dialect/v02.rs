//! The six lines of vLLM 0.2's `benchmark_serving.py`. This script uses the requested lengths instead of the
//! actual ones.

use inferometer_analysis::serving_run::{FIELDS, ServingRunFold};
use inferometer_model::Timeline;

use super::layout::{TableLine, ToolTable, Value};
use super::tool::{Definition, Pass, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "v0.2",
    origin: "measured from the start of sending the request",
    definitions: &DEFINITIONS,
    printed,
    stated: None,
};

static DEFINITIONS: [Definition; 6] = inferometer_model::table! { Definition { name, unit, formula }
    ("Total time", "s", "last end - first send")
    ("Throughput", "requests/s", "completed requests / total time")
    ("Average latency", "s", "mean of E2E")
    ("Average latency per token", "s", "mean of (E2E / (requested prompt tokens + requested output tokens))")
    ("Average latency per output token", "s", "mean of (E2E / requested output tokens)")
    ("Completion tokens per second", "tokens/s", "requested output tokens of the completed requests / total time")
};

fn printed(pass: &Pass<'_>) -> ToolTable {
    let mut fold = ServingRunFold::default();
    for record in pass.records {
        fold.add(&Timeline::new(record));
    }
    let run = fold.finish();
    let lines = FIELDS.iter().filter_map(|field| {
        let value = (field.value)(&run, &run.script)?;
        let value = match field.decimals {
            Some(_) => Value::Number(value),
            None => Value::Exact(value),
        };
        let label = format!("{} ({}):", field.name, field.unit);
        Some(TableLine::Figure { label, key: field.name.to_owned(), value })
    });
    let lines = lines.collect();
    ToolTable::new("benchmark_serving.py, vLLM 0.2", lines)
}
