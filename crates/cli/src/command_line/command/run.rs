//! `run`: measures a plan on one or several servers, and prints the results.

use std::path::Path;

use crate::command_line::{
    Failure, Kind, View, files, first_of, print, screen, show, tell, tui, variable,
};
use crate::plan_file::{self, MultiTarget};
use crate::{command_line::console::secrets, command_line::prometheus::Exposed};
use inferometer_analysis::Summary;
use inferometer_cluster::launcher::RankPlace;
use inferometer_plan::spec::{PlanCommand, Spec, Variant};
use inferometer_report::judgement::{Judgement, Verdict};
use inferometer_report::{comparison, json, junit, terminal};
use inferometer_run::resume::{EarlierGroup, EarlierRun, GROUP};
use inferometer_run::{
    Clock, Context, Events, Finished, FinishedGroup, Group, Host, PlanFormat, RunRequest, Servers,
    carry_out, dry_run, judge, resolve, variants,
};
use serde_json::{Map, Value};

use super::prediction_of_run::{of_run, warn_of_unknown_cards};
use super::settings::{Applied, Origins, Settings};
use super::{ranks, run_flags::RunArgs};

/// Applies the settings to the flags, measures the plan, and prints the results.
pub fn run(arguments: RunArgs) -> Result<(), Failure> {
    let settings = Settings::read()?;
    let arguments = settings.switched(arguments, PlanCommand::Run);
    run_with(&arguments, &settings, arguments.keys()?)
}

/// Like [`run`], but with settings that were already read, and with plan keys that were already taken from the flags.
pub fn run_with(
    arguments: &RunArgs,
    settings: &Settings,
    keys: Map<String, Value>,
) -> Result<(), Failure> {
    let group = arguments.resume.as_deref().filter(|name| name.starts_with(GROUP));
    let run = arguments.resume.as_deref().filter(|_| group.is_none());
    let earlier = match run {
        Some(_) if arguments.plan().is_some() => {
            return Err(Failure::usage(
                "--resume: a stored run contains its plan, so leave out the plan file; only a group of runs needs a plan \
                 file (--resume group-...)",
            ));
        }
        Some(run) => {
            let store = keys.get("store").and_then(Value::as_str).or(settings.store());
            Some(EarlierRun::find(store_of(store), run)?)
        }
        None => None,
    };
    let earlier_keys = earlier.as_ref().map(|earlier| &earlier.keys);
    let mut applied = settings.apply(arguments.plan(), keys, arguments, earlier_keys)?;
    if let Some(earlier) = earlier_keys {
        let given = std::mem::replace(&mut applied.keys, earlier.clone());
        plan_file::override_with(&mut applied.keys, given);
    }
    run_applied(arguments, applied, earlier.as_ref(), group)
}

/// Like [`run_with`], but the settings were already applied to the keys. `earlier` is the run to resume, and `group`
/// the name of the group to resume.
pub fn run_applied(
    arguments: &RunArgs,
    Applied { keys, origins }: Applied,
    earlier: Option<&EarlierRun>,
    group: Option<&str>,
) -> Result<(), Failure> {
    if arguments.tui {
        tui::check()?;
    }
    let (spec, multi) =
        plan_file::merge_multi_target(arguments.plan(), keys, plan_file::OverrideOrigin::Flags)?;
    // The plan may name the store that contains the runs of the group.
    let store = store_of(spec.store.as_deref());
    let group = group.map(|name| EarlierGroup::find(store, name)).transpose()?;
    measure(arguments, &spec, &multi, earlier, group, &origins)
}

fn store_of(given: Option<&str>) -> &Path {
    Path::new(given.unwrap_or("inferometer.db"))
}

fn measure(
    arguments: &RunArgs,
    spec: &Spec,
    multi: &MultiTarget,
    earlier: Option<&EarlierRun>,
    group: Option<EarlierGroup>,
    origins: &Origins,
) -> Result<(), Failure> {
    let variants = variants(spec, &multi.targets)?;
    let place = if arguments.dry_run { None } else { ranks::place()? };
    if let Some(place) = &place {
        let [only] = variants.as_slice() else { return Err(only_one_server()) };
        if multi.rounds > 1 || group.is_some() {
            return Err(only_one_server());
        }
        if place.rank > 0 {
            return ranks::measure_share(&arguments.ranks, place, only);
        }
    }
    warn_of_unknown_cards(&variants);
    let has_objectives =
        variants.iter().any(|one| one.spec.slo.is_some() || one.spec.search.is_some());
    if arguments.junit.is_some() && !has_objectives {
        return Err(Failure::usage(
            "--junit: there are no objectives to report; give --slo, or use `inferometer search`",
        ));
    }
    if let Some(file) = &arguments.junit {
        files::is_no_stdout("--junit", file)?;
    }
    begin_junit(arguments)?;
    let measured =
        measure_variants(arguments, variants, multi, (earlier, group), origins, place.as_ref());
    let concluded = conclude(arguments, measured);
    concluded.map_err(|failure| if has_objectives { failure.judged() } else { failure })
}

/// The measured runs, and their failures. Each failure has the name of its server; the name is empty if there is only
/// one server.
#[derive(Default)]
pub(super) struct MeasuredRuns {
    pub runs: Vec<Summary>,
    pub failures: Vec<(String, Failure)>,
}

fn measure_variants(
    arguments: &RunArgs,
    mut variants: Vec<Variant>,
    multi: &MultiTarget,
    (earlier, group): (Option<&EarlierRun>, Option<EarlierGroup>),
    origins: &Origins,
    place: Option<&RankPlace>,
) -> Result<MeasuredRuns, Failure> {
    let is_group = earlier.is_none() && (variants.len() > 1 || multi.rounds > 1);
    // Several runs need no confirmation, because the user may be away when a later run begins.
    let view = View { ask: arguments.view().ask && !is_group, ..arguments.view() };
    let (events, host) = show(view);
    let _exposed = expose(arguments, &events)?;
    if is_group {
        arguments.asked(true).of_several()?;
        if variants.iter().any(|one| one.spec.dump_workload.is_some()) {
            return Err(Failure::usage(
                "dump_workload (--dump-workload): several runs would overwrite the same file; use \
                    it with one server and one round",
            ));
        }
        let group = Group::resolve(variants, multi.rounds, group, &host, &variable)?;
        return measure_group(arguments, group, &events, origins);
    }
    if let Some(group) = group {
        return Err(Failure::usage(format!(
            "--resume: {} belongs to a plan with several servers; give that plan file",
            group.name
        )));
    }
    let only = variants.pop().ok_or_else(|| Failure::usage("target: the plan has no server"))?;
    measure_one(arguments, &only, (earlier, place), &events, host, origins)
}

fn only_one_server() -> Failure {
    Failure::usage(
        "[[target]], rounds: one process measures several servers one after the other, but a \
            launcher started several processes; start only one process",
    )
}

fn measure_one(
    arguments: &RunArgs,
    only: &Variant,
    (earlier, place): (Option<&EarlierRun>, Option<&RankPlace>),
    events: &Events,
    host: Host,
    origins: &Origins,
) -> Result<MeasuredRuns, Failure> {
    let mut servers = Servers::default();
    let events = &events.without_repeated_introduction();
    let budget = arguments.asked(place.is_some() || earlier.is_some());
    let spec = budget.spec(&only.spec, arguments.dry_run, &host, events, &mut servers)?;
    let (plan, mut context) = resolve(&spec, &variable)?;
    context.host = host;
    if let Some(earlier) = earlier {
        context.resumed = earlier.completed_passes(&plan)?;
        context.origin = earlier.origin.clone();
    }
    if arguments.dry_run {
        let plan = dry_run(&plan, form(arguments), Clock::Real)?;
        return print(&origins.shown_with(plan)).map(|()| MeasuredRuns::default());
    }
    if let Some(place) = place {
        ranks::join(&arguments.ranks, place, &plan, &mut context)?;
    }
    let request = RunRequest { plan: &plan, context: &context, events };
    let finished = carry_out(request, &mut servers)?;
    let summary = &finished.summary;
    let text = if arguments.json {
        json::summary(summary)
    } else {
        terminal::of_run(summary, screen(), &places(&finished, &context))
            + &of_run(&context.store, finished.run.as_str(), summary)
    };
    print(&text)?;
    let judged = judge(&plan, &context, &finished, arguments.strictness());
    let failures = judged.err().map(|why| (String::new(), why.into()));
    Ok(MeasuredRuns { runs: vec![finished.summary], failures: failures.into_iter().collect() })
}

/// Writes the JUnit file if requested. If nothing failed, prints the verdict on the objectives as the last line. The
/// file is also written if a run failed: a file of an earlier run could otherwise be mistaken for the file of this run.
///
/// # Errors
/// The most serious failure.
pub(super) fn conclude(
    arguments: &RunArgs,
    measured: Result<MeasuredRuns, Failure>,
) -> Result<(), Failure> {
    let MeasuredRuns { runs, failures } = measured.unwrap_or_else(|failure| MeasuredRuns {
        failures: vec![(String::new(), failure)],
        ..MeasuredRuns::default()
    });
    let plan = arguments.plan();
    let failures: Vec<_> =
        failures.into_iter().map(|(name, why)| (name, with_plan(why, plan))).collect();
    let written = if arguments.dry_run { Ok(()) } else { write_junit(arguments, &runs, &failures) };
    first_of(gravest(failures), written)?;
    tell_objectives(&runs);
    Ok(())
}

/// Inserts the path of the plan file into the printed command that resumes a group.
fn with_plan(mut failure: Failure, plan: Option<&Path>) -> Failure {
    if let (Kind::Interrupted, Some(plan)) = (failure.kind, plan) {
        let plan = format!(" '{}' --resume", plan.display());
        failure.lines[0] = failure.lines[0].replace(" PLAN.toml --resume", &plan);
    }
    failure
}

/// Prints the verdict on the objectives of `runs` as the last line, if there are objectives. Must be called only if
/// nothing has failed.
pub(super) fn tell_objectives(runs: &[Summary]) {
    if let Some(judged) = Judgement::of_objectives(runs) {
        tell(&judged.to_string());
    }
}

/// If a JUnit file is requested, writes it before this run begins, with an error instead of verdicts. So the file never
/// has the verdicts of an earlier run, even if this process ends without results, for example after a second
/// interruption.
pub(super) fn begin_junit(arguments: &RunArgs) -> Result<(), Failure> {
    let Some(file) = arguments.junit.as_ref().filter(|_| !arguments.dry_run) else { return Ok(()) };
    let text = junit_of_failure("the run did not end, so it has no results".to_owned());
    files::write_before("--junit", file, &text)
}

/// Writes the reason why there are no results to the JUnit file, if such a file is requested.
pub(super) fn end_junit(arguments: &RunArgs, failure: &Failure) -> Result<(), Failure> {
    let Some(file) = &arguments.junit else { return Ok(()) };
    files::write("--junit", file, &junit_of_failure(failure.to_string()))
}

fn junit_of_failure(why: String) -> String {
    let suite = junit::of_failures(&[(String::new(), why.clone())]);
    junit::junit(&[suite], Some(&Judgement::new(Verdict::Fail, why)))
}

/// Writes the verdicts on the objectives of runs, and other failures, to a JUnit file if requested.
fn write_junit(
    arguments: &RunArgs,
    runs: &[Summary],
    failures: &[(String, Failure)],
) -> Result<(), Failure> {
    let Some(file) = &arguments.junit else { return Ok(()) };
    // Missed objectives are already test cases of their runs.
    let others = failures.iter().filter(|(_, why)| why.kind != Kind::Objective);
    let others: Vec<(String, String)> = others
        .map(|(name, why)| (name.clone(), secrets().redact_name(&why.to_string()).to_string()))
        .collect();
    let mut suites: Vec<_> = runs.iter().map(junit::of_run).collect();
    let mut judged = Judgement::of_objectives(runs);
    if !others.is_empty() {
        suites.push(junit::of_failures(&others));
        let named = |(name, why): &(String, String)| match name.as_str() {
            "" => why.clone(),
            name => format!("{name}: {why}"),
        };
        let missed = judged.filter(|judged| judged.verdict == Verdict::Fail);
        let all = others.iter().map(named).chain(missed.map(|judged| judged.sentence));
        judged = Some(Judgement::new(Verdict::Fail, all.collect::<Vec<_>>().join("; ")));
    }
    files::write("--junit", file, &junit::junit(&suites, judged.as_ref()))
}

/// The locations of the report, the plots and the store, as text.
fn places(finished: &Finished, context: &Context) -> String {
    let Some(folder) = &finished.folder else { return String::new() };
    format!(
        "\nreport: {0}/report.html, {0}/report.md{1}\nstore:  {2}, run {3}\n",
        folder.display(),
        context.plots.place(folder),
        context.store.display(),
        finished.run
    )
}

pub(super) fn form(arguments: &RunArgs) -> PlanFormat {
    if arguments.json { PlanFormat::Json } else { PlanFormat::Toml }
}

/// Opens the address of `--metrics-listen`, where Prometheus reads live figures. This happens before the first request,
/// so that an address in use is reported immediately and not during the run.
pub(super) fn expose(arguments: &RunArgs, events: &Events) -> Result<Option<Exposed>, Failure> {
    let Some(at) = arguments.metrics_listen.filter(|_| !arguments.dry_run) else { return Ok(None) };
    let exposed = Exposed::open(at, events.live().clone())?;
    exposed.announced(arguments.quiet).iter().for_each(|line| tell(line));
    Ok(Some(exposed))
}

fn measure_group(
    arguments: &RunArgs,
    group: Group,
    events: &Events,
    origins: &Origins,
) -> Result<MeasuredRuns, Failure> {
    if arguments.dry_run {
        if !arguments.json {
            let (servers, rounds) = (group.members.len(), group.rounds);
            let runs = servers as u64 * u64::from(rounds);
            let estimate = group.estimate();
            print(&format!(
                "# {runs} runs: {servers} servers, each in {rounds} rounds\n# {estimate}\n"
            ))?;
        }
        group.members.iter().try_for_each(|member| {
            if !arguments.json {
                print(&format!("# {}; rounds: {}\n", member.variant.name, group.rounds))?;
            }
            let plan = dry_run(&member.plan, form(arguments), Clock::Real)?;
            print(&origins.shown_with(plan))
        })?;
        return Ok(MeasuredRuns::default());
    }
    let finished = group.run(events, arguments.strictness())?;
    print(&group_text(arguments, &finished))?;
    let failures = finished.failures.into_iter().map(|(name, error)| (name, error.into()));
    Ok(MeasuredRuns { failures: failures.collect(), runs: finished.comparison.runs })
}

fn group_text(
    arguments: &RunArgs,
    FinishedGroup { comparison, folder, plots, .. }: &FinishedGroup,
) -> String {
    if arguments.json {
        return comparison::json(comparison);
    }
    let runs: &[Summary] = &comparison.runs;
    let mut text = terminal::text(runs, screen());
    text += &comparison::text(comparison);
    if !runs.is_empty() {
        let (plots, folder) = (plots.place(folder), folder.display());
        text += &format!(
            "\ncomparison: {folder}/comparison.html, {folder}/comparison.md{plots}; a report of each run \
             in a subfolder\n"
        );
    }
    text
}

/// The failure that determines the exit code: all failures of the most serious kind, each with the name of its run.
pub(super) fn gravest(failures: Vec<(String, Failure)>) -> Result<(), Failure> {
    let gravest = failures.iter().map(|(_, failure)| failure.kind).min();
    let all = failures.into_iter().filter(|(_, failure)| Some(failure.kind) == gravest);
    all.map(|(name, failure)| failure.of(&name)).reduce(Failure::and).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_a_group_names_each_run_with_a_failure_of_the_gravest_kind() {
        let missed =
            |name: &str| (name.to_owned(), Failure::new(Kind::Objective, "not met: a<1ms"));
        let suspect = ("c".to_owned(), Failure::new(Kind::Suspect, "the run is suspect"));
        let found = gravest(vec![suspect, missed("a"), missed("b")]).unwrap_err();
        assert_eq!(found.to_string(), "a: not met: a<1ms; b: not met: a<1ms");
        assert_eq!(found.code(), 3);
        assert!(gravest(Vec::new()).is_ok());
    }
}
