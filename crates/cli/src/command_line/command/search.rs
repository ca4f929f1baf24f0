//! `search`: finds the highest load that meets the objectives. Its flags are those of `run`, the keys of `[search]` in
//! a plan, and those of [`SearchArgs`].

use crate::command_line::{Failure, files, print, screen, tell, variable};
use crate::plan_file;
use clap::Args;
use inferometer_analysis::{SearchAnswer, search::load_text};
use inferometer_engine::profile::profile;
use inferometer_plan::spec::{PlanCommand, SearchSpec, Spec};
use inferometer_plan::{Plan, Procedure};
use inferometer_predict::{check_plan, expected_answers, search as predict_search};
use inferometer_report::{json, terminal};
use inferometer_run::{Clock, PlanInputs, dry_run, judge_results, resolve, resolve_with};
use inferometer_store::Store;
use serde_json::Value;

use super::engine_flags::{EngineFlags, config};
use super::run::{MeasuredRuns, begin_junit, conclude, form, run_applied, run_with};
use super::run_flags::{RunArgs, given};
use super::settings::{Applied, Settings};

/// The flags of `search`.
#[derive(Args)]
pub struct SearchArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    search: SearchSpec,
    /// Search with the embedded engine in virtual time, which takes seconds and contacts no server.
    /// --model, --profile and the flags under Engine describe the engine
    #[arg(long, help_heading = "Search")]
    predict: bool,
    /// Choose the first load from the answer of a stored search, or from a prediction with this
    /// profile (and --model). This saves trials and does not bias the answer [default: a
    /// prediction, if the target is the embedded engine without --speed]
    #[arg(long, value_name = "RUN|PROFILE", help_heading = "Search")]
    bracket_from: Option<String>,
    #[command(flatten)]
    engine: EngineFlags,
}

/// Runs the search.
pub fn search(mut arguments: SearchArgs) -> Result<(), Failure> {
    let settings = Settings::read()?;
    arguments.run = settings.switched(arguments.run, PlanCommand::Search);
    let arguments = &arguments;
    let mut keys = arguments.run.keys()?;
    keys.insert("search".to_owned(), given(&arguments.search)?.into());
    if arguments.run.resume.is_some() {
        arguments.only_resumes()?;
        return run_with(&arguments.run, &settings, keys);
    }
    let Applied { mut keys, origins } =
        settings.apply(arguments.run.plan(), keys, &arguments.run, None)?;
    let (spec, multi) = plan_file::merge_multi_target(
        arguments.run.plan(),
        keys.clone(),
        plan_file::OverrideOrigin::Flags,
    )?;
    let is_one = multi.targets.is_empty();
    if arguments.predict {
        if !is_one || arguments.bracket_from.is_some() {
            return Err(Failure::usage(
                "--predict: simulates one embedded engine, and needs no first load; leave out \
                    [[target]] and --bracket-from",
            ));
        }
        if let Some(file) = &arguments.run.junit {
            files::is_no_stdout("--junit", file)?;
        }
        begin_junit(&arguments.run)?;
        let played = in_virtual_time(&spec, &arguments.run, &arguments.engine);
        return conclude(&arguments.run, played).map_err(Failure::judged);
    }
    if !arguments.engine.given().is_empty() && arguments.bracket_from.is_none() {
        return Err(Failure::usage(
            "engine flags (--max-num-seqs, ...) apply to the embedded engine in virtual time: add \
                --predict, or --bracket-from PROFILE",
        ));
    }
    let has_start = spec.search.as_ref().is_some_and(|search| search.start.is_some());
    if has_start && arguments.bracket_from.is_some() {
        return Err(Failure::usage(
            "--bracket-from: the first load is already given (--start, or start in [search]); \
                leave out one of them",
        ));
    }
    if !has_start
        && let Some(load) = bracket(arguments, &spec, is_one)?
        && let Some(Value::Object(search)) = keys.get_mut("search")
    {
        search.insert("start".to_owned(), load.into());
        search.entry("stride").or_insert_with(|| NEAR.into());
    }
    run_applied(&arguments.run, Applied { keys, origins }, None, None)
}

/// Simulates a search or a sweep in virtual time, and prints the answers.
pub(super) fn in_virtual_time(
    spec: &Spec,
    run: &RunArgs,
    engine: &EngineFlags,
) -> Result<MeasuredRuns, Failure> {
    if run.metrics_listen.is_some() {
        return Err(Failure::usage(
            "--metrics-listen: with --predict there is no run in progress to scrape; leave out \
             --metrics-listen",
        ));
    }
    if run.tui {
        return Err(Failure::usage(
            "--tui: with --predict there is no run in progress to show; leave out --tui",
        ));
    }
    if spec.target.is_some() || spec.server.is_some() {
        return Err(Failure::usage(
            "--predict: no server is contacted; leave out target and [server]",
        ));
    }
    let learned = PlanInputs { engine_flags: engine.given(), ..PlanInputs::default() };
    let (plan, context) = resolve_with(spec, learned, &variable)?;
    let config = config(spec.model.as_deref(), spec.profile.as_deref(), engine)?;
    if run.dry_run && plan.procedure.chooses_loads() {
        check_plan(&plan)?;
        return print(&dry_run(&plan, form(run), Clock::Virtual)?)
            .map(|()| MeasuredRuns::default());
    }
    let found = predict_search(&plan, &context, &config)?;
    if !run.quiet {
        eprintln!("{}", found.time);
    }
    let summary = &found.summary;
    if run.json {
        print(&json::summary(summary))?;
    } else {
        let places = format!(
            "\nreport: {0}/report.html, {0}/report.md{1}\n\
             store:  {2}, run {3} (predicted)\n",
            found.folder.display(),
            context.plots.place(&found.folder),
            context.store.display(),
            found.run
        );
        print(&terminal::of_run(summary, screen(), &places))?;
    }
    // The results are judged in the same way as those of `run`.
    let judged = judge_results(summary, plan.max_failures, run.strictness());
    let failures = judged.err().map(|why| (String::new(), why.into()));
    Ok(MeasuredRuns { failures: failures.into_iter().collect(), runs: vec![found.summary] })
}

/// The predicted answers of a search with the embedded engine. Nothing is stored.
fn expected(spec: &Spec, flags: &EngineFlags) -> Result<Vec<SearchAnswer>, Failure> {
    let (plan, context) = resolve(spec, &variable)?;
    let config = config(spec.model.as_deref(), spec.profile.as_deref(), flags)?;
    Ok(expected_answers(&plan, &context, config)?)
}

/// The default factor between successive loads if the first load comes from a stored search or a prediction.
const NEAR: f64 = 1.25;

/// The load of the first trial, from the answer of a stored search or from a prediction. None if neither is available.
/// The load only determines where the search begins; it does not bias the answer.
fn bracket(arguments: &SearchArgs, spec: &Spec, is_one: bool) -> Result<Option<f64>, Failure> {
    let problem = |why: String| Failure::usage(format!("--bracket-from: {why}"));
    let (found, origin) = match arguments.bracket_from.as_deref() {
        Some(name) => match of_stored(name, spec) {
            Some((answers, plan)) => (answers, format!("run {name}{}", likeness(&plan, spec)?)),
            None if profile(name).is_ok() => {
                if spec.model.is_none() {
                    return Err(problem("a prediction with a profile needs --model".to_owned()));
                }
                let modelled = as_embedded(spec, Some(name));
                (expected(&modelled, &arguments.engine)?, format!("profile {name}"))
            }
            None => {
                return Err(problem(format!(
                    "`{name}` is neither a stored search nor a profile of the embedded engine"
                )));
            }
        },
        // The embedded engine behaves the same in real time and in virtual time, so a prediction is a good start.
        None if spec.target.is_none()
            && spec.server.is_none()
            && spec.speed.is_none()
            && is_one
            && is_predictable(spec)? =>
        {
            (expected(spec, &arguments.engine)?, "a prediction for the embedded engine".to_owned())
        }
        None => return Ok(None),
    };
    let Some(over) = spec.searched_over() else { return Ok(None) };
    if let Some(other) = found.iter().find(|answer| answer.over != over) {
        return Err(problem(format!(
            "{origin} varies {}, but this search varies {over}",
            other.over
        )));
    }
    let loads = found.iter().filter_map(|answer| answer.best().or(answer.low).or(answer.high));
    let Some(load) = loads.min_by(f64::total_cmp) else { return Ok(None) };
    let load = match over.is_rate() {
        false => load.round().max(1.0),
        // Few digits are enough for the start of a search, and they are easier to read.
        true => format!("{load:.2e}").parse().unwrap_or(load),
    };
    let load = within(load, spec)?;
    if !arguments.run.quiet {
        tell(&format!("the search starts at {}, from {origin}", load_text(load)));
    }
    Ok(Some(load))
}

/// Whether the engine can simulate the plan.
fn is_predictable(spec: &Spec) -> Result<bool, Failure> {
    Ok(check_plan(&resolve(spec, &variable)?.0).is_ok())
}

/// A spec with the same workload and objectives, and with the embedded engine as the target.
fn as_embedded(spec: &Spec, profile: Option<&str>) -> Spec {
    Spec {
        endpoint: None,
        dialect: None,
        profile: profile.map(str::to_owned),
        ..spec.clone().without_server()
    }
}

/// The answers of a stored search, and its plan as JSON. None if there is no such run, or if the run has no answers of
/// a search.
fn of_stored(name: &str, spec: &Spec) -> Option<(Vec<SearchAnswer>, String)> {
    let path = spec.store.as_deref().unwrap_or("inferometer.db");
    let stored = Store::open_existing(path).ok()?.run(name).ok()?;
    let answers = stored.summary.map(|summary| summary.searches);
    Some((answers.filter(|answers| !answers.is_empty())?, stored.plan_json))
}

/// A remark for the user if the stored plan equals this plan, apart from the limits of the search and the seed. Empty
/// if anything else differs, or if an incompatible version of this program wrote the stored plan.
fn likeness(stored: &str, spec: &Spec) -> Result<&'static str, Failure> {
    let bare = |plan: Plan| {
        let search = plan.procedure.search().map(|search| (search.over, search.criteria.clone()));
        let (passes, procedure) = (Vec::new(), Procedure::Passes);
        (Plan { seed: 0, passes, procedure, ..plan }.hash(), search)
    };
    let same = match Plan::from_json(stored) {
        Ok(stored) => bare(stored) == bare(resolve(spec, &variable)?.0),
        Err(_) => false,
    };
    Ok(if same { ", a search of the same plan with other limits" } else { "" })
}

/// Limits a first load to the requested lowest and highest load.
fn within(load: f64, spec: &Spec) -> Result<f64, Failure> {
    let plan = resolve(spec, &variable)?.0;
    let Some(search) = plan.procedure.search() else { return Ok(load) };
    let from = spec.search.as_ref().and_then(|asked| asked.from.as_ref()).map(|_| search.lowest);
    Ok(load.min(search.highest.unwrap_or(f64::INFINITY)).max(from.unwrap_or(0.0)))
}

impl SearchArgs {
    /// Rejects flags that conflict with resuming a run, which already has its plan and its first load.
    fn only_resumes(&self) -> Result<(), Failure> {
        let flags = [
            ("--predict", self.predict),
            ("--bracket-from", self.bracket_from.is_some()),
            ("the embedded engine's own flags", !self.engine.given().is_empty()),
        ];
        match flags.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "--resume: continues a search with its own plan; leave out {flag}"
            ))),
        }
    }
}
