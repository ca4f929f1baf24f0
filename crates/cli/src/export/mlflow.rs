//! Exports a run for MLflow. The plan becomes parameters. The figures of each cell and pass become metrics, with a step
//! for each repeat. The files of the report become artifacts.

use std::{collections::BTreeSet, io, path::Path};

use inferometer_analysis::{Cell, PassSummary, Summary};
use inferometer_formats::export::mlflow::{Metric, Run, Status, distinct_part, part};
use inferometer_plan::Plan;
use inferometer_report::csv::{self, Value};
use inferometer_report::{PlotFiles, Traces};
use inferometer_run::{Outputs, RunError, summarise_log};
use inferometer_store::{RunKind, RunState, StoredRun};

use super::{job::Job, rows::summary_of};
use crate::{stored::plan_of, stored_error::StoredRunError};

/// The default folder of MLflow's runs.
const DEFAULT_STORE: &str = "mlruns";

/// Writes the run into MLflow's file store.
pub fn write(job: &Job<'_>) -> Result<(), StoredRunError> {
    let run = job.run;
    let summary = summary_of(run, job.say)?;
    // An imported run has no plan of this program, so only its figures are written as artifacts.
    let plan = match run.row.kind {
        RunKind::Imported => None,
        RunKind::Measured | RunKind::Predicted => Some(plan_of(run)?),
    };
    let traced = |plan| Ok::<_, StoredRunError>((plan, traces(job, plan)?));
    let drawn = plan.as_ref().map(traced).transpose()?;
    let store = job.out.unwrap_or(Path::new(DEFAULT_STORE));
    let of_mlflow = Run {
        experiment: format!("inferometer {}", summary.target.model),
        name: run.row.id.to_string(),
        started_unix_ms: run.started_unix_ns / 1_000_000,
        ended_unix_ms: run.finished_unix_ns.map(|at| at / 1_000_000),
        status: match run.row.state {
            RunState::Running => Status::Running,
            RunState::Complete => Status::Finished,
            RunState::Failed => Status::Failed,
            RunState::Killed | RunState::Interrupted => Status::Killed,
        },
        params: params(run, plan.as_ref(), &summary),
        tags: tags(run, job, &summary),
        metrics: metrics(&summary),
    };
    let artifacts = |folder: &Path| {
        Outputs::prepare(Some(folder))
            .and_then(|outputs| match &drawn {
                Some((plan, traces)) => {
                    outputs.write_all(&summary, plan, &run.row.id, traces, PlotFiles::default())
                }
                None => outputs.write_figures(&summary, &run.row.id),
            })
            .map(drop)
            .map_err(Failed::Artifacts)
    };
    let folder = of_mlflow.write(store, artifacts).map_err(|failed| match failed {
        Failed::Artifacts(error) => error.into(),
        Failed::Io(error) => {
            StoredRunError::write(format!("{}: cannot be written: {error}", store.display()))
        }
    })?;
    (job.say)(&format!(
        "{}: run {}; look at it with mlflow ui --backend-store-uri {}",
        folder.display(),
        run.row.id,
        store.display()
    ));
    Ok(())
}

/// The traces of single requests for the charts of the report. The summary does not contain them, so they are computed
/// from the log.
fn traces(job: &Job<'_>, plan: &Plan) -> Result<Traces, StoredRunError> {
    let made = summarise_log(job.run, plan)?;
    made.cut.iter().for_each(|error| (job.say)(&format!("warning: {error}")));
    Ok(made.traces)
}

#[derive(derive_more::From)]
enum Failed {
    Io(io::Error),
    Artifacts(RunError),
}

/// The parameters of the run: the target and its facts, the tokenizer, the host and two hashes. If the run has a plan,
/// also the workload, and the keys of the plan with the prefix `plan.`.
fn params(run: &StoredRun, plan: Option<&Plan>, summary: &Summary) -> Vec<(String, String)> {
    let target = &summary.target;
    let mut params = vec![
        ("model".to_owned(), target.model.clone()),
        ("dialect".to_owned(), target.dialect.clone()),
        ("plan_hash".to_owned(), summary.plan_hash.clone()),
        ("workload_hash".to_owned(), summary.workload_hash.clone().unwrap_or_default()),
    ];
    let known = [
        ("engine", &target.engine),
        ("engine_version", &target.engine_version),
        ("profile", &target.profile),
        ("card", &run.row.card),
        ("tokenizer", &summary.environment.tokenizer),
        ("host", &summary.environment.host),
    ];
    let given = |(name, value): (&str, &Option<String>)| Some((name.to_owned(), value.clone()?));
    params.extend(known.into_iter().filter_map(given));
    let facts = target.facts.texts().into_iter();
    params.extend(facts.map(|(name, fact)| (format!("fact.{}", part(&name)), fact)));
    let Some(plan) = plan else { return params };
    params.push(("workload".to_owned(), plan.workload.name().to_owned()));
    for (key, value) in plan.spec.keys() {
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::String(text) => params.push((format!("plan.{key}"), text)),
            other => params.push((format!("plan.{key}"), other.to_string())),
        }
    }
    params
}

fn tags(run: &StoredRun, job: &Job<'_>, summary: &Summary) -> Vec<(String, String)> {
    let findings: Vec<String> =
        summary.findings.iter().map(|finding| format!("- {}", finding.message)).collect();
    let notes = job.notes.iter().map(|note| note.text.clone());
    let note: Vec<String> = notes.chain(summary.verdict.reasons.clone()).chain(findings).collect();
    let mut tags: Vec<(String, String)> = [
        ("mlflow.runName", run.row.id.as_str()),
        ("mlflow.source.name", "inferometer"),
        ("mlflow.source.type", "LOCAL"),
        ("mlflow.note.content", &note.join("\n")),
        ("inferometer.run_id", run.row.id.as_str()),
        ("inferometer.version", &run.tool_version),
        ("inferometer.kind", run.row.kind.name()),
        ("inferometer.state", run.row.state.name()),
        ("inferometer.validity", run.row.validity.as_deref().unwrap_or("unknown")),
        ("inferometer.simulated", if summary.target.simulated { "true" } else { "false" }),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let own = run.row.tags.iter();
    tags.extend(own.map(|tag| (format!("tag.{}", distinct_part(tag)), tag.clone())));
    tags
}

/// The metrics: `128x32/requests_per_s` for the columns of the published tables, and `128x32/saturated/ttft_p99_ms` for
/// the figures of each pass, with the repeat as step.
fn metrics(summary: &Summary) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut rows = csv::rows(summary).into_iter();
    for cell in &summary.cells {
        let place = place(cell);
        let figures = [
            ("requests_per_s", cell.requests_per_s),
            ("output_tokens_per_s", cell.output_tokens_per_s),
            ("latency_per_token_ms", cell.latency_per_token_ms),
            ("latency_per_output_token_ms", cell.latency_per_output_token_ms),
        ];
        metrics.extend(figures.into_iter().filter_map(|(name, value)| {
            Some(Metric { key: format!("{place}/{name}"), value: value?, step: 1 })
        }));
        let mut taken = BTreeSet::new();
        for (pass, row) in cell.passes.iter().zip(&mut rows) {
            let load = load(pass);
            // Different passes with the same load get a number after the name, in order: `closed_8`, `closed_8_2`.
            let mut names =
                std::iter::once(load.clone()).chain((2..).map(|number| format!("{load}_{number}")));
            let name = names
                .find(|name| taken.insert((name.clone(), pass.repeat)))
                .expect("invariant: the iterator of names has no end");
            metrics.extend(row.iter().filter_map(|(figure, value)| {
                let key = format!("{place}/{name}/{figure}");
                Some(Metric { key, value: shown(figure, value)?, step: pass.repeat })
            }));
        }
    }
    metrics
}

/// The value of a figure as a metric. None if the figure has no value, for the ends of intervals, for texts and flags,
/// and for counts of anything other than requests.
fn shown(figure: &str, value: &Value) -> Option<f64> {
    match value {
        Value::Number(Some(_)) if figure.contains("_lo_") || figure.contains("_hi_") => None,
        Value::Number(value) => *value,
        Value::Integer(Some(count)) if figure.ends_with("_requests") => Some(*count as f64),
        _ => None,
    }
}

fn place(cell: &Cell) -> String {
    part(&cell.plan().to_string().replace(" x ", "x"))
}

/// The name of a load: `one_by_one`, `closed_8`, `open_2.5`; for a load with several levels, its description.
fn load(pass: &PassSummary) -> String {
    match (pass.concurrency, pass.rate) {
        (Some(level), _) => format!("{}_{level}", pass.kind.name()),
        (None, Some(rate)) => format!("{}_{rate}", pass.kind.name()),
        (None, None) if pass.load.is_empty() => pass.kind.name().to_owned(),
        (None, None) => part(&pass.load),
    }
}
