//! `show`: prints everything that is stored about one run, or the plan file that repeats it.

use std::path::{Path, PathBuf};
use std::{fmt::Write, fs};

use crate::command_line::{Failure, print, screen, tell};
use crate::report::Report;
use crate::stored::{plan_of, row_json};
use clap::Args;
use inferometer_plan::{Plan, TargetPlan, shell, spec::PriceKeys};
use inferometer_report::{plan_toml, startup, terminal};
use inferometer_run::results::outputs::DEFAULT_FOLDER;
use inferometer_store::{Note, RunKind, Store, StoredRun};
use serde_json::{Value, json};

use super::{engine_flags::EngineFlags, runs::what};

/// The flags of `show`.
#[derive(Args)]
pub struct ShowArgs {
    /// A run: its name, a part of the name, a tag, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Compute the results again from the records, and also report percentiles of TTFT and E2E over
    /// all planned requests, in which each failed request counts as infinity
    #[arg(long, conflicts_with = "plan")]
    failures_as_inf: bool,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
    /// Print only a plan file that repeats this measurement
    #[arg(long, conflicts_with = "json")]
    plan: bool,
}

/// The run to print, with its notes, the size of its log in bytes, the folder of its reports, and the commands that
/// repeat it.
struct Shown<'a> {
    run: &'a StoredRun,
    notes: &'a [Note],
    log_bytes: Option<u64>,
    reports: Option<PathBuf>,
    again: Option<String>,
}

/// Prints a run or its plan file.
pub fn show(arguments: &ShowArgs) -> Result<(), Failure> {
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let mut run = store.run(&arguments.run).map_err(Failure::usage)?;
    if arguments.failures_as_inf {
        let report = Report::with(&run, true, &PriceKeys::default())?;
        report.cut.iter().for_each(|error| tell(&format!("warning: {error}")));
        run.summary = Some(report.summary);
    }
    // The plan of another version of this program may be unreadable. Everything else is then still printed.
    let plan = plan_of(&run);
    if arguments.plan && run.row.kind == RunKind::Imported {
        return Err(Failure::usage(format!(
            "--plan: run {} was imported, so it has no plan",
            run.row.id
        )));
    }
    if arguments.plan {
        return print(&plan_toml(
            &plan.map_err(Failure::run_failed)?,
            run.environment.salt.as_deref(),
        ));
    }
    let notes = store.notes(&run.row.id).map_err(Failure::run_failed)?;
    let out = plan.as_ref().ok().and_then(|plan| plan.spec.out.as_deref());
    let default = || Path::new(DEFAULT_FOLDER).join(run.row.id.as_str());
    let reports = out.map_or_else(default, PathBuf::from);
    let shown = Shown {
        run: &run,
        notes: &notes,
        log_bytes: run.log.metadata().ok().map(|metadata| metadata.len()),
        reports: holds_report(&reports, run.row.id.as_str()).then_some(reports),
        again: plan.ok().and_then(|plan| again(&run, &plan, &arguments.store)),
    };
    if arguments.json {
        return print(&format!("{:#}\n", shown.json()?));
    }
    print(&shown.text())
}

/// Whether a folder contains the report of the run `id`. A later run may have replaced it with its own report.
fn holds_report(folder: &Path, id: &str) -> bool {
    fs::read_to_string(folder.join("summary.json")).is_ok_and(|summary| summary.contains(id))
}

/// The commands that repeat the run. None for an imported run, and for a side of an `ab` comparison.
fn again(run: &StoredRun, plan: &Plan, store: &Path) -> Option<String> {
    let id = &run.row.id;
    let place = match store {
        store if store == Path::new("inferometer.db") => String::new(),
        store => format!(" --store {}", store.display()),
    };
    let command = match run.row.kind {
        // One side of a comparison cannot be repeated separately.
        _ if plan.procedure.ab().is_some() => return None,
        RunKind::Measured => "run",
        RunKind::Predicted if plan.procedure.sweep().is_some() => "sweep --predict",
        RunKind::Predicted if plan.procedure.search().is_some() => "search --predict",
        RunKind::Predicted => "predict",
        RunKind::Imported => return None,
    };
    let flags: String = match &plan.target {
        TargetPlan::Embedded { engine_flags, .. } => {
            // The noise of the run states its seed; the noise of the plan may leave the seed to the salt of the run.
            let noise = run.target.facts.noise.as_ref();
            let value = |name: &str, value| match noise {
                Some(noise) if name == "noise" => noise,
                _ => value,
            };
            let words =
                engine_flags.iter().map(|(name, own)| EngineFlags::word(name, value(name, own)));
            words.map(|word| format!(" {}", shell::word(&word))).collect()
        }
        // The values of headers may be secrets, so they were not stored.
        TargetPlan::Server { header_names, .. } => {
            header_names.iter().map(|name| format!(" --header '{name}: ...'")).collect()
        }
    };
    Some(format!(
        "inferometer show {id}{place} --plan > {id}.toml; inferometer {command} {id}.toml{flags}"
    ))
}

impl Shown<'_> {
    fn json(&self) -> Result<Value, Failure> {
        let Self { run, notes, log_bytes, reports, again } = self;
        let plan: Value = serde_json::from_str(&run.plan_json).map_err(|error| {
            Failure::run_failed(format!("run {}: its plan is not JSON: {error}", run.row.id))
        })?;
        let notes: Vec<Value> =
            notes.iter().map(|note| json!({ "at": note.at, "text": note.text })).collect();
        Ok(json!({
            "schema": "inferometer.run/1",
            "run": row_json(&run.row),
            "tool_version": run.tool_version,
            "plan_hash": run.plan_hash,
            "plan": plan,
            "target": run.target,
            "environment": run.environment,
            "notes": notes,
            "files": { "log": run.log, "log_bytes": log_bytes, "reports": reports },
            "again": again,
            "summary": run.summary,
        }))
    }

    fn text(&self) -> String {
        let run = self.run;
        let row = &run.row;
        let mut out = String::new();
        let validity = row.validity.as_deref().unwrap_or("no results");
        let missing = row.missing.as_ref().map(|missing| format!(", {missing}"));
        let failures = row.failures().map(|failures| format!(", {failures}"));
        let _ = writeln!(
            out,
            "{} · {} · {}{} · {validity}{}",
            row.id,
            row.kind.name(),
            row.state.name(),
            missing.unwrap_or_default(),
            failures.unwrap_or_default()
        );
        let mut fact = |name: &str, value: &str| {
            // Control characters in a text from a server could otherwise change the state of the terminal.
            let value: String =
                value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            if !value.is_empty() {
                let _ = writeln!(out, "{name:<12} {value}");
            }
        };
        let is_imported = row.kind == RunKind::Imported;
        if is_imported {
            fact("imported", &row.started_at);
        } else {
            fact("began", &row.started_at);
            fact("ended", row.finished_at.as_deref().unwrap_or("-"));
        }
        fact("model", &what(row));
        fact("target", &target(run));
        fact("facts", &facts(run));
        if let Some(start) = &run.target.startup {
            fact("start", &format!("ready {}", startup(start)));
        }
        fact("environment", &environment(run));
        fact("tokenizer", run.environment.tokenizer.as_deref().unwrap_or(""));
        fact("salt", run.environment.salt.as_deref().unwrap_or(""));
        fact("plan", &run.plan_hash);
        if let Some(summary) = &run.summary {
            fact("workload", summary.workload_hash.as_deref().unwrap_or(""));
            fact("bodies", summary.body_hash.as_deref().unwrap_or(""));
        }
        let imported = run.summary.as_ref().and_then(|summary| summary.imported.as_ref());
        if let Some(imported) = imported {
            fact("source", &format!("{} ({})", imported.place(), imported.format));
            fact("sha256", &imported.sha256);
            fact("measured", imported.measured_at.as_deref().unwrap_or("not stated by the source"));
        }
        let by = if is_imported { "imported by" } else { "made by" };
        fact(by, &format!("inferometer {}", run.tool_version));
        fact("tags", &row.tags.join(" "));
        for note in self.notes {
            let mut lines = note.text.lines();
            fact("note", &format!("{} {}", note.at, lines.next().unwrap_or("")));
            lines.for_each(|line| fact("", line));
        }
        match self.log_bytes {
            Some(bytes) => fact("log", &format!("{} ({bytes} bytes)", run.log.display())),
            None => fact("log", &format!("{} (missing)", run.log.display())),
        }
        if let Some(reports) = &self.reports {
            fact("reports", &reports.display().to_string());
        }
        fact("repeat with", self.again.as_deref().unwrap_or(""));
        out.push('\n');
        match &run.summary {
            Some(summary) => out += &terminal::text(std::slice::from_ref(summary), screen()),
            None => {
                let _ = writeln!(
                    out,
                    "the run has no results; `inferometer report {}` computes them from its records",
                    row.id
                );
            }
        }
        out
    }
}

fn target(run: &StoredRun) -> String {
    let target = &run.target;
    let profile = target.profile.as_ref().map(|name| format!("profile {name}"));
    let url = Some(target.url.clone()).filter(|url| !url.is_empty());
    let dialect = Some(target.dialect.clone()).filter(|name| name != "none");
    [url, dialect, profile].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn facts(run: &StoredRun) -> String {
    let facts = run.target.facts.texts().into_iter();
    facts.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

fn environment(run: &StoredRun) -> String {
    let environment = &run.environment;
    let cards = environment.cards.iter().filter_map(|card| card.name.clone());
    let known = [&environment.host, &environment.cpu, &environment.kernel];
    let known = known.into_iter().flatten().cloned();
    let memory =
        environment.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0));
    let cpus = environment.cpus.map(|cpus| format!("{cpus} processors"));
    known.chain(cpus).chain(memory).chain(cards).collect::<Vec<_>>().join(", ")
}
