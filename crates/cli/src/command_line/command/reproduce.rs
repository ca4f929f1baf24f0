//! `reproduce`: its flags, the repeated measurement of a bundle's runs, and the printed comparison.

use std::path::PathBuf;

use crate::bundle::{Bundle, Bundled};
use crate::command_line::{Failure, View, colour, interrupt, print, show, tell, variable};
use crate::compare::{conditions, judgement};
use crate::reproduce::{LocalSetup, NewRun, RepeatedRun, Reproduced, again, reproduced};
use clap::{Args, Command, FromArgMatches};
use inferometer_analysis::compare::Options;
use inferometer_engine::EngineConfig;
use inferometer_net::wall_clock_ns;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_predict::predict as predict_plan;
use inferometer_report::{difference, terminal};
use inferometer_run::{Clock, Events, Host, PlanFormat, Shortfall, Strictness, dry_run, judge};
use inferometer_store::{RunKind, Store};
use serde::Serialize;

use super::engine_flags::{EngineFlags, config};
use super::{compare::percent, ranks, run_flags::given, settings::Settings};

/// The only settings that `reproduce` uses. They concern the connection to a server.
const OF_SETTINGS: [&str; 3] = ["header", "proxy", "api_key_env"];

/// The flags of `reproduce`.
#[derive(Args)]
pub struct ReproduceArgs {
    /// File written by `inferometer bundle`
    bundle: PathBuf,
    #[command(flatten)]
    server: ServerArgs,
    /// Start the server with this shell command. In it, {host} and {port} stand for the address on
    /// which the server must listen, and {model} for the name of the model (--model, or from the
    /// bundle's plan)
    #[arg(long, value_name = "LINE", help_heading = "Target", conflicts_with = "target")]
    server_command: Option<String>,
    /// Start the server with the command in the bundle; --dry-run shows it
    #[arg(long, help_heading = "Target", conflicts_with_all = ["target", "server_command"])]
    start_server: bool,
    /// Number of repeats of each cell [default: from the bundle's plan]
    #[arg(long, value_name = "N", help_heading = "Work")]
    repeat: Option<u32>,
    /// Send new prompts of the same kind, for a server that may have the bundle's prompts in its
    /// prefix cache
    #[arg(long, help_heading = "Work")]
    new_salt: bool,
    /// A file that the bundle names but does not contain; the file is recognised by its checksum.
    /// May be given several times
    #[arg(long, value_name = "FILE", help_heading = "Work")]
    data: Vec<PathBuf>,
    /// Treat differences of up to this percentage as irrelevant: 5, or 5%
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    #[arg(help_heading = "Comparison")]
    margin: f64,
    /// Conditions on the differences, as for `compare`; the exit code is 3 if a condition is missed
    #[arg(long, value_name = "CONDITIONS", help_heading = "Comparison")]
    gate: Option<String>,
    /// Treat undecided gate conditions as missed
    #[arg(long, help_heading = "Comparison")]
    strict: bool,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db", help_heading = "Output")]
    store: PathBuf,
    /// Folder for reports and plots; with several runs, each run has a subfolder [default:
    /// inferometer-out/RUN]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Print what would be measured, and the estimated time; send nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
    /// On stderr, print only errors, warnings and the result of `--gate`
    #[arg(long, short)]
    quiet: bool,
    /// Do not show progress bars
    #[arg(long)]
    no_progress: bool,
    /// Start without confirmation. By default, a bundle with a single run must be confirmed if the
    /// run takes more than ten minutes and a terminal is attached. With several runs, or with
    /// --quiet, no confirmation is needed
    #[arg(long, short)]
    yes: bool,
}

/// How the server is reached: keys of a plan, by the same names.
#[derive(Args, Serialize)]
struct ServerArgs {
    /// Server to measure, such as http://127.0.0.1:8000
    #[arg(long, value_name = "URL", help_heading = "Target")]
    target: Option<String>,
    /// API of the server [default: from the bundle's plan]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    dialect: Option<String>,
    /// Path of requests, if it is not the default path of the dialect
    #[arg(long, value_name = "PATH", help_heading = "Target")]
    endpoint: Option<String>,
    /// Name of the model on the server [default: from the bundle's plan]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    model: Option<String>,
    /// Additional header of each request; may be given several times
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Target")]
    header: Option<Vec<String>>,
    /// Environment variable that contains the API key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    api_key_env: Option<String>,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    ca_cert: Option<String>,
    /// Disable verification of the server's certificate
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Target")]
    insecure: Option<bool>,
    /// PEM file with the client certificate (mutual TLS), optionally with its key
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    client_cert: Option<String>,
    /// PEM file with the key of the client certificate
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    client_key: Option<String>,
    /// HTTP proxy to use, or `none`
    #[arg(long, value_name = "URL", help_heading = "Target")]
    proxy: Option<String>,
    /// Wait up to this long until the server is ready
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    wait: Option<String>,
}

/// Measures the runs of a bundle again and prints the result.
pub fn reproduce(arguments: &ReproduceArgs) -> Result<(), Failure> {
    ranks::only_one("reproduce")?;
    let conditions = conditions(arguments.gate.as_deref())?;
    let options = Options { margin: arguments.margin / 100.0, seed: 0 };
    // A file that cannot be read is a wrong argument, as in other commands.
    let bundle = Bundle::open(&arguments.bundle).map_err(Failure::usage)?;
    let all = bundle.runs.iter().map(|run| {
        let many = bundle.runs.len() > 1;
        let out = arguments.out.as_ref();
        let out = out.map(|out| if many { out.join(run.id.as_str()) } else { out.clone() });
        Ok(again(&bundle, run, &arguments.here(out)?, &variable)?)
    });
    let all = all.collect::<Result<Vec<RepeatedRun>, Failure>>()?;
    if arguments.dry_run {
        return shown(arguments, &bundle, &all);
    }
    let (events, host) = show(arguments.view(all.len()));
    let mut failed = Ok(());
    let mut new = Vec::new();
    for (run, again) in bundle.runs.iter().zip(all) {
        tell_unless(arguments.quiet, &format!("reproducing run {}", run.id));
        let (one, shortfall) = match run.kind {
            RunKind::Predicted => (predicted(&again)?, Ok(())),
            _ => measured(again, &events, &host)?,
        };
        failed = failed.and(shortfall);
        keep_note(arguments, run.id.as_str(), &one)?;
        new.push(one);
    }
    let reproduced = reproduced(&bundle, &new, options, &conditions)?;
    let judgement = judgement(std::slice::from_ref(&reproduced.comparison), arguments.strict);
    print(&text(arguments, &reproduced, &new)?)?;
    failed?;
    Failure::of_judgement(judgement.as_ref())?;
    judgement.iter().for_each(|judgement| tell(&judgement.to_string()));
    Ok(())
}

impl ReproduceArgs {
    fn here(&self, out: Option<PathBuf>) -> Result<LocalSetup, Failure> {
        let mut keys = given(&self.server)?;
        // Use only the settings for the connection to the server, because the bundle defines everything else.
        let settings = Settings::read()?;
        let target = keys.contains_key("target");
        for key in OF_SETTINGS.into_iter().filter(|_| target) {
            if let (Some(value), false) = (settings.value(key), keys.contains_key(key)) {
                keys.insert(key.to_owned(), value.clone());
            }
        }
        Ok(LocalSetup {
            keys,
            server_command: self.server_command.clone(),
            start_server: self.start_server,
            repeat: self.repeat,
            new_salt: self.new_salt,
            data: self.data.clone(),
            store: self.store.clone(),
            out,
        })
    }

    /// How the runs are shown on the terminal, and whether to ask for confirmation. Several runs need no confirmation,
    /// because the user may be away when a later run begins.
    fn view(&self, runs: usize) -> View {
        View {
            quiet: self.quiet,
            progress: !self.no_progress && !self.quiet,
            tui: false,
            ask: !self.yes && !self.quiet && runs == 1,
        }
    }
}

fn tell_unless(quiet: bool, line: &str) {
    if !quiet {
        tell(line);
    }
}

/// Measures one run. If the results are not acceptable, for example because too many requests failed, returns the
/// failure together with the results. The results are then still printed.
fn measured(
    mut again: RepeatedRun,
    events: &Events,
    host: &Host,
) -> Result<(NewRun, Result<(), Failure>), Failure> {
    again.context.host = Host { find_local_servers: false, ..host.clone() };
    let finished = crate::run(&again.plan, &again.context, events)?;
    let shortfall = match judge(&again.plan, &again.context, &finished, Strictness::Lenient) {
        Err(why @ Shortfall::Interrupted(_)) => return Err(why.into()),
        // The objectives of the plan do not decide whether a run is reproduced, so a missed objective is only reported.
        Err(Shortfall::Objective(why)) => {
            tell(&format!("an objective of the plan is not met here: {why}"));
            Ok(())
        }
        judged => judged.map_err(Failure::from),
    };
    let is_same_work = again.context.same_work.is_some();
    Ok((NewRun { plan: again.plan, summary: finished.summary, is_same_work }, shortfall))
}

/// Predicts one run in virtual time.
fn predicted(again: &RepeatedRun) -> Result<NewRun, Failure> {
    interrupt::handle_signals();
    let config = engine(&again.plan)?;
    let prediction = predict_plan(&again.plan, &again.context, &config, None)?;
    Ok(NewRun { plan: again.plan.clone(), summary: prediction.summary, is_same_work: false })
}

/// The configuration of the embedded engine, from the engine flags in the plan of a prediction.
fn engine(plan: &Plan) -> Result<EngineConfig, Failure> {
    let TargetPlan::Embedded { model, profile, engine_flags, .. } = &plan.target else {
        return Err(Failure::usage(
            "the plan of a prediction measures a server, which cannot be predicted",
        ));
    };
    let flags = engine_flags.iter().filter(|(name, _)| *name != "noise");
    let words = flags.map(|(name, value)| EngineFlags::word(name, value));
    let command = EngineFlags::augment_args(Command::new("engine").no_binary_name(true));
    let matches = command.try_get_matches_from(words);
    let flags = matches.and_then(|matches| EngineFlags::from_arg_matches(&matches));
    let flags = flags.map_err(|error| {
        let line = error.to_string().lines().next().unwrap_or_default().to_owned();
        Failure::usage(format!("the plan has arguments that the engine does not support: {line}"))
    })?;
    Ok(config(Some(model), profile.as_deref(), &flags)?)
}

/// Adds a note to the new run that states which run it reproduces.
fn keep_note(arguments: &ReproduceArgs, of: &str, new: &NewRun) -> Result<(), Failure> {
    let mut store = Store::open_existing(&arguments.store).map_err(Failure::run_failed)?;
    let run = store.find(&new.summary.run_id).map_err(Failure::run_failed)?;
    let at = i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX);
    store.note(&run, &format!("reproduces run {of}"), at).map_err(Failure::run_failed)
}

/// Prints the plan of each run. As JSON, prints one document: a plan, or a list of plans for several runs.
fn shown(arguments: &ReproduceArgs, bundle: &Bundle, all: &[RepeatedRun]) -> Result<(), Failure> {
    let clock = |run: &Bundled| match run.kind {
        RunKind::Predicted => Clock::Virtual,
        _ => Clock::Real,
    };
    let runs = || bundle.runs.iter().zip(all);
    if arguments.json {
        let each =
            runs().map(|(run, again)| Ok(dry_run(&again.plan, PlanFormat::Json, clock(run))?));
        let each = each.collect::<Result<Vec<String>, Failure>>()?;
        return print(&match each.as_slice() {
            [one] => one.clone(),
            several => format!("[\n{}\n]\n", several.join(",\n")),
        });
    }
    for (run, again) in runs() {
        print(&format!("# reproduces run {}\n", run.id))?;
        if let Some(launch) = &again.plan.launch {
            print(&format!("# starts the server: {}\n", launch.command.join(" ")))?;
        }
        print(&dry_run(&again.plan, PlanFormat::Toml, clock(run))?)?;
    }
    Ok(())
}

fn text(
    arguments: &ReproduceArgs,
    reproduced: &Reproduced,
    new: &[NewRun],
) -> Result<String, Failure> {
    if arguments.json {
        let document = serde_json::to_string_pretty(reproduced).map_err(Failure::run_failed)?;
        return Ok(document + "\n");
    }
    let comparison = &reproduced.comparison;
    let mut text = difference::text(&comparison.comparison, &comparison.gate);
    for warnings in new.iter().map(|new| terminal::warnings(&new.summary, colour())) {
        if !warnings.is_empty() {
            text += &format!("\n{warnings}");
        }
    }
    text += &format!("\nstore: {}, run {}\n", arguments.store.display(), reproduced.runs.join(" "));
    for line in &reproduced.remarks {
        text += &format!("{line}\n");
    }
    text += &format!("\n{}\n", reproduced.sentence);
    Ok(text)
}
