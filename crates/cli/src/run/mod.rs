//! One run: resolve the plan, find or start the server, carry out the passes, write what was
//! found. Each step is a file; the order is here.

pub mod board;
mod bound;
pub mod cells;
pub mod child;
mod converse;
mod enough;
mod estimate;
mod group;
pub mod identity;
mod in_parts;
pub mod interrupt;
mod observe;
pub mod outputs;
mod overhead;
pub mod pass;
pub mod places;
mod precision;
mod prefix_cache;
mod progress;
pub mod prompts;
pub mod recording;
pub mod resume;
pub mod searched;
mod servers;
pub mod session;
mod target;
pub mod traces;
mod watch;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use inferometer_analysis::summary::Summary;
use inferometer_analysis::verdict::Validity;
use inferometer_load::PassPlan;
use inferometer_load::Recording;
use inferometer_model::cell::CellPlan;
use inferometer_net::tls::Trust;
use inferometer_plan::Plan;
use inferometer_plan::spec::{Known, Spec, SpecError};
use inferometer_plan::template::Template;
use inferometer_report::{json, spec_toml, terminal};

use crate::exit::{Failure, print, tell};
use crate::exposed::Exposed;
use crate::plan_file::Several;
use board::Board;
use resume::{Earlier, EarlierGroup, Kept};
use servers::Servers;

/// How the run is shown, which changes nothing of what it measures.
#[derive(Clone)]
pub struct Options {
    /// Resolve the plan and stop.
    pub dry_run: bool,
    /// One JSON document on standard output.
    pub json: bool,
    /// Nothing on standard error but errors, and what nobody could know of `metrics` otherwise.
    pub quiet: bool,
    /// Bars on a terminal.
    pub progress: bool,
    /// The whole terminal shows the run.
    pub tui: bool,
    /// A suspect run is a failure.
    pub strict: bool,
    /// Ask a person before a long run begins.
    pub ask: bool,
    /// Where the run in progress is exposed to scrapers.
    pub metrics: Option<SocketAddr>,
    /// What is shown of it, by whomever.
    pub board: Board,
}

/// A plan, and what a run needs beside it that is no part of what it measures.
pub struct Resolved {
    /// What to measure.
    pub plan: Plan,
    /// Keeps this run's prompts apart from every other's.
    pub salt: String,
    /// Further headers with their values, which may be secrets.
    pub headers: Vec<(String, String)>,
    /// Whom to take for the server under TLS.
    pub trust: Trust,
    /// The database.
    pub store: PathBuf,
    /// The folder for reports; absent: one by the run's name.
    pub out: Option<PathBuf>,
    /// Which of the servers of a plan it is, as facts of the target.
    pub facts: BTreeMap<String, String>,
    /// Cells that an earlier run of this plan has measured whole.
    pub kept: Vec<(CellPlan, Vec<Kept>)>,
    /// A file for the requests as they are sent.
    pub dump: Option<PathBuf>,
}

/// Resolves a spec: every mistake at once.
///
/// # Errors
/// When the spec has mistakes, or names a key that is not in the environment.
pub fn resolve(spec: &Spec) -> Result<Resolved, Failure> {
    let mut plan = known(|known| spec.resolve(known)).map_err(told)?;
    inferometer_workload::prepare(&mut plan)
        .map_err(|error| Failure::usage(format!("workload (--workload): {error}")))?;
    plan.passes
        .iter_mut()
        .filter_map(PassPlan::recording_mut)
        .filter(|recording| !recording.is_read())
        .try_for_each(read_recording)?;
    plan.passes.iter_mut().for_each(PassPlan::count_what_is_due);
    plan.workload.template_mut().map_or(Ok(()), read_template)?;
    inferometer_observe::Names::with(&plan.observe.names)
        .map_err(|told| Failure::usage(format!("metrics_names: {told}")))?;
    check_counts(spec, &plan)?;
    let mut headers = spec.headers().map_err(told)?;
    headers.extend(target::authorization(spec)?);
    Ok(Resolved {
        plan,
        salt: spec.salt.clone().unwrap_or_else(fresh_salt),
        headers,
        trust: target::trust(spec)?,
        store: spec.store.clone().unwrap_or_else(|| "inferometer.db".to_owned()).into(),
        out: spec.out.clone().map(PathBuf::from),
        facts: BTreeMap::new(),
        kept: Vec::new(),
        dump: spec.dump_workload.clone().map(PathBuf::from),
    })
}

/// Calls with the names that a spec may use.
fn known<T>(with: impl FnOnce(&Known<'_>) -> T) -> T {
    let dialects: Vec<&str> =
        inferometer_wire::dialect::dialects().iter().map(|dialect| dialect.name).collect();
    let models: Vec<&str> =
        inferometer_engine::model::models().iter().map(|model| model.name.as_str()).collect();
    with(&Known { dialects: &dialects, models: &models })
}

fn told(mistakes: Vec<SpecError>) -> Failure {
    Failure::Usage(mistakes.iter().map(ToString::to_string).collect())
}

/// Refuses what is made for a known number of requests where a pass has none.
fn check_counts(spec: &Spec, plan: &Plan) -> Result<(), Failure> {
    let Some(pass) = plan.passes.iter().find(|pass| pass.requests().is_none()) else {
        return Ok(());
    };
    let mut mistakes = Vec::new();
    let is_missing = format!("give --requests: the pass {pass} has no number of requests");
    if plan.workload.prefix_length() > 0 {
        mistakes.push(format!(
            "workload (--workload): prompts with a shared beginning are made for a counted pass; \
             {is_missing}"
        ));
    }
    if spec.dump_workload.is_some() {
        mistakes.push(format!(
            "dump_workload (--dump-workload): requests that are made while a pass runs are not \
             written; {is_missing}"
        ));
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Failure::Usage(mistakes)) }
}

/// Reads a template that is none of our own, and checks it.
fn read_template(template: &mut Template) -> Result<(), Failure> {
    let wrong =
        |told: &dyn std::fmt::Display| Failure::usage(format!("template (--template): {told}"));
    if template.text.is_empty() {
        let file = &template.name;
        template.text = std::fs::read_to_string(file)
            .map_err(|error| wrong(&format!("{file}: cannot be read: {error}")))?;
    }
    template.check().map_err(|error| wrong(&format!("{} {error}", template.name)))
}

/// Reads the instants of a replay.
fn read_recording(recording: &mut Recording) -> Result<(), Failure> {
    let file = recording.file.clone();
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Failure::usage(format!("replay (--replay): {file}: {error}")))?;
    recording
        .read(&text)
        .map_err(|error| Failure::usage(format!("replay (--replay): {file}: {error}")))
}

/// Carries out a plan and prints its results.
///
/// # Errors
/// As the exit codes say; what was recorded is kept.
pub fn run(
    spec: &Spec,
    several: &Several,
    earlier: Option<&Earlier>,
    group: Option<&EarlierGroup>,
    options: &Options,
) -> Result<(), Failure> {
    let mut variants = group::variants(spec, several)?;
    let _exposed = expose(options)?;
    if earlier.is_none() && (variants.len() > 1 || several.rounds > 1) {
        if spec.dump_workload.is_some() {
            return Err(Failure::usage(
                "dump_workload (--dump-workload): is one file, which each of several runs would \
                 write anew; give it where one server is measured once",
            ));
        }
        // Its later runs begin when nobody is there to be asked.
        let options = Options { ask: false, ..options.clone() };
        return group::run(&variants, several.rounds, group, &options);
    }
    if let Some(group) = group {
        return Err(Failure::usage(format!(
            "--resume: {} is of a plan with several servers; give that plan file",
            group.name
        )));
    }
    let only = variants.pop().ok_or_else(|| Failure::usage("target: there is none"))?;
    let mut resolved = resolve(&only.spec)?;
    if let Some(earlier) = earlier {
        resolved.kept = earlier.kept(&resolved.plan)?;
        resolved.facts = earlier.facts.clone();
    }
    if options.dry_run {
        return dry_run(&resolved, options, Clock::Real);
    }
    let finished = session::carry_out(&resolved, options, &mut Servers::default())?;
    let summary = &finished.summary;
    let text = if options.json {
        json::summary(summary) + "\n"
    } else {
        terminal::text(std::slice::from_ref(summary), outputs::colour())
            + &finished.files
            + &searched::answers(&summary.searches)
    };
    print(&text)?;
    judge(&resolved, &finished, options)
}

/// Answers scrapers from now on, if that is wanted, so that an address that is taken is told before
/// anything is sent.
fn expose(options: &Options) -> Result<Option<Exposed>, Failure> {
    let Some(at) = options.metrics.filter(|_| !options.dry_run) else { return Ok(None) };
    let exposed = Exposed::open(at, options.board.clone())?;
    exposed.announced(options.quiet).iter().for_each(|line| tell(line));
    Ok(Some(exposed))
}

/// In which time a plan is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Against a server.
    Real,
    /// By the embedded engine's own arithmetic, which takes seconds.
    Virtual,
}

/// Prints a plan as it was resolved, and how long it will take.
pub(crate) fn dry_run(resolved: &Resolved, options: &Options, clock: Clock) -> Result<(), Failure> {
    let plan = &resolved.plan;
    prompts::check_dataset(plan)?;
    let longest = bound::Longest::of(plan);
    let estimate = match clock {
        Clock::Real => estimate::of_plan(&longest.plan)?.and_then(|once| longest.time(once)),
        Clock::Virtual => None,
    };
    if options.json {
        let seconds = estimate.map(|span| span.as_secs_f64());
        let (estimate_s, at_most_s) =
            if plan.search.is_some() { (None, seconds) } else { (seconds, None) };
        let document = serde_json::json!({
            "plan": plan,
            "plan_hash": plan.hash(),
            "estimate_s": estimate_s,
            "at_most_s": at_most_s,
        });
        return print(&format!("{document:#}\n"));
    }
    let asked = known(|known| plan.asked.spelled_out(known)).map_err(told)?;
    let toml = spec_toml(&Spec { seed: Some(plan.seed), ..asked });
    let said = match &plan.search {
        None => estimate::words(estimate),
        Some(search) => bound::words(plan, search, estimate),
    };
    let advice = match clock {
        Clock::Real if plan.search.is_some() => bound::advice(plan),
        Clock::Real => None,
        Clock::Virtual => Some("in virtual time, which takes seconds: nothing is sent"),
    };
    let advice = advice.map_or_else(String::new, |advice| format!("# {advice}\n"));
    print(&format!("{toml}\n# plan_hash {}\n# {said}\n{advice}", plan.hash()))
}

/// The exit code of a run that was carried out.
fn judge(
    resolved: &Resolved,
    finished: &session::Finished,
    options: &Options,
) -> Result<(), Failure> {
    let summary = &finished.summary;
    if finished.interrupted {
        return Err(Failure::Interrupted(format!(
            "interrupted; what was recorded is kept as run {}; to go on: {}",
            summary.run_id,
            resume::command(resolved, &summary.run_id)
        )));
    }
    if let Some(died) = summary.findings.iter().find(|f| f.code == session::SERVER_DIED) {
        let place = died.place.as_deref().unwrap_or("the run");
        return Err(Failure::NotCarriedOut(format!("{place}: {}", died.message)));
    }
    let failed = match &resolved.plan.search {
        Some(_) => searched::nothing_completed(summary),
        None => too_many_failures(summary, resolved.plan.max_failures),
    };
    if let Some(told) = failed {
        return Err(Failure::NotCarriedOut(told));
    }
    searched::judge(&summary.searches)?;
    let missed: Vec<String> = summary
        .verdict
        .slo
        .iter()
        .filter(|objective| !objective.met)
        .map(|objective| format!("{} ({})", objective.objective, objective.place))
        .collect();
    if !missed.is_empty() {
        return Err(Failure::Objective(format!("not met: {}", missed.join("; "))));
    }
    if options.strict && summary.verdict.validity == Validity::Suspect {
        return Err(Failure::Suspect(format!(
            "the run is suspect: {}",
            summary.verdict.reasons.join("; ")
        )));
    }
    Ok(())
}

/// Why the run counts as failed: a pass without a completed request, or with too many others.
pub fn too_many_failures(summary: &Summary, limit: f64) -> Option<String> {
    for cell in &summary.cells {
        for pass in &cell.passes {
            let place = format!("{}, {}", cell.plan(), pass.kind.name().replace('_', " "));
            let outcomes = &pass.outcomes;
            if outcomes.complete == 0 {
                return Some(format!("{place}: no request completed ({outcomes})"));
            }
            let share = outcomes.failed() as f64 / outcomes.total() as f64;
            if share > limit {
                return Some(format!(
                    "{place}: {} of {} requests failed, more than --max-failures {}% ({outcomes})",
                    outcomes.failed(),
                    outcomes.total(),
                    limit * 100.0
                ));
            }
        }
    }
    None
}

/// A salt that no other run has: the wall clock and the process, in few characters.
fn fresh_salt() -> String {
    let text = format!("{}-{}", inferometer_net::wall_clock_ns(), std::process::id());
    inferometer_model::request::sha256_hex(text.as_bytes())[..8].to_owned()
}
