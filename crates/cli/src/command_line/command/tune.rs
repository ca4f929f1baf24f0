//! `tune`: finds the best arguments of a server. It is a group of runs in which the arguments that are left are measured
//! in turn; `inferometer_analysis::tune` decides which are left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use inferometer_analysis::tune::{DEFAULT, Tune, TuneReading};
use inferometer_model::PassPlan;
use inferometer_model::metrics::slo::quantity;
use inferometer_plan::ab::AbFigure;
use inferometer_plan::spec::{ServerSpec, Spec, Value as Given, Variant, span, tokens};
use inferometer_predict::{planned, simulated_cells};
use inferometer_report::comparison;
use inferometer_run::resume::EarlierGroup;
use inferometer_run::{
    Events, FinishedGroup, Group, Measure, PlanError, Strictness, carry_out, resolve, variants,
};
use inferometer_servers::launch::preset::EMBEDDED;
use serde_json::{Map, Value, json};

use super::engine_flags::EngineFlags;
use super::predict_targets::{group, measure, simulated};
use super::run::gravest;
use super::{settings::Settings, simulated_target::Simulated};
use crate::command_line::{Failure, View, print, show, tell, variable};
use crate::plan_file;

/// The number of requests of a run, if neither it nor a time is given, and its least multiple of the requests in flight.
const REQUESTS: u32 = 200;
const WAVES: u32 = 10;

/// The flags of `tune`.
#[derive(Args)]
pub struct TuneArgs {
    /// A plan file (TOML) with the server, the load and further keys; flags override its keys
    plan: Option<PathBuf>,
    /// Values of a server argument to choose from, such as max-num-seqs=64,256. Several of these
    /// flags are combined, each value with each [default: `sweep` in [server] of the plan]
    #[arg(long = "try", value_name = "KEY=VALUES")]
    tries: Vec<String>,
    /// Argument of the server in all runs, such as max-model-len=4096; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Server to start (`inferometer list presets`) [default: that of the plan, or the embedded
    /// engine]
    #[arg(long, value_name = "NAME|FILE")]
    preset: Option<String>,
    /// Model that the server is started with
    #[arg(long, value_name = "NAME|FILE")]
    model: Option<String>,
    /// Length of prompts in tokens [default: 256]
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    input_length: Option<u32>,
    /// Length of answers in tokens [default: 64]
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    output_length: Option<u32>,
    /// Requests in flight [default: 8]
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    concurrency: Option<u32>,
    /// Requests per second, instead of a number in flight
    #[arg(long, value_name = "R")]
    rate: Option<String>,
    /// Requests of each run [default: 200, but at least ten times those in flight]
    #[arg(long, value_name = "N")]
    requests: Option<u32>,
    /// Objectives on the statistics of each run, such as ttft_p99<500ms. Arguments that miss them in
    /// half of their runs stand after all others
    #[arg(long, value_name = "OBJECTIVES")]
    slo: Option<String>,
    /// Objectives on each request, such as ttft<500ms; the figure that decides is then the goodput
    #[arg(long, value_name = "OBJECTIVES")]
    goodput: Option<String>,
    /// Figure that decides [default: goodput with --goodput, the median of E2E with --rate, otherwise
    /// requests_per_s]
    #[arg(long, value_name = "FIGURE")]
    metric: Option<String>,
    /// Rounds of the final, in which the default and up to three candidates are measured in turn
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// Time of all runs with the starts of the server, such as 30m; when it ends, fewer candidates
    /// reach the final, or the final has fewer rounds [default: no limit]
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Also measure candidates that are predicted to be much worse than others
    #[arg(long, conflicts_with = "predict")]
    all: bool,
    /// Simulate each run with the embedded engine; no server is started
    #[arg(long)]
    predict: bool,
    /// Continue this interrupted group of runs, with the same flags
    #[arg(long, value_name = "GROUP", conflicts_with = "predict")]
    resume: Option<String>,
    /// The database
    #[arg(long, value_name = "FILE")]
    store: Option<String>,
    /// Folder for the answer and for reports of the runs
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
    /// Print one JSON document on stdout
    #[arg(long)]
    json: bool,
    /// Print less on stderr
    #[arg(long, short)]
    quiet: bool,
}

/// Measures or simulates the candidates, and prints the best one.
///
/// # Errors
/// If a flag is wrong, if no two sets of arguments could be measured, or after an interruption.
pub fn tune(arguments: &TuneArgs) -> Result<(), Failure> {
    let TuneArgs { quiet, predict, .. } = *arguments;
    let budget = arguments.budget.clone().map(|text| span(&Given::Text(text))).transpose();
    let budget = budget.map_err(|why| Failure::usage(format!("--budget: {why}")))?;
    let all = arguments.candidates(arguments.spec()?)?;
    // A mistake in the plan is that of all candidates, and is told once.
    resolve(&all[0].spec, &variable)?;
    let view = View { quiet, progress: !quiet, ..View::default() };
    let (events, host) = show(view);
    let simulated = match predict {
        true => simulated(&all, &EngineFlags::default())?,
        false => Vec::new(),
    };
    let mut said = BTreeSet::new();
    for one in &simulated {
        // What is assumed is the same for all candidates, whose names come first.
        let words = |line: &str| line.split_once(": ").map_or(line, |(_, words)| words).to_owned();
        let new = one.told.iter().filter(|line| !quiet && said.insert(words(line)));
        new.for_each(|line| tell(line));
        if let Some(name) =
            one.left_out.iter().find(|name| one.variant.settings.contains_key(*name))
        {
            return Err(Failure::usage(format!(
                "--try {name}: the engine model does not know this argument, so it cannot predict what it changes; leave \
                 out --predict to measure it"
            )));
        }
    }
    let mut group = match predict {
        true => group(&simulated, 1)?,
        false => {
            let store = all[0].spec.store.as_deref().unwrap_or("inferometer.db");
            let earlier = arguments.resume.as_deref();
            let earlier = earlier.map(|name| EarlierGroup::find(Path::new(store), name));
            Group::resolve(all.clone(), 1, earlier.transpose()?, &host, &variable)?
        }
    };
    let figure = arguments.figure(&group)?;
    let names = all[1..].iter().map(|one| one.name.clone()).collect();
    let objectives = group.members[0].plan.slo.iter().map(|one| one.text.clone()).collect();
    let mut tune = Tune::new(names, figure, objectives, (arguments.rounds, budget));
    tune.is_simulated = predict;
    if !predict && !arguments.all {
        let told = match predicted(&all, figure) {
            Ok((predicted, told)) => {
                tune.leave_out_predicted(&predicted);
                told
            }
            Err(why) => vec![format!("no candidate is left out by prediction: {why}")],
        };
        told.iter().filter(|_| !quiet).for_each(|line| tell(line));
    }
    group.tune = Some(tune);
    let mut of_prediction = measure(&simulated, true);
    let (events, measure): (_, &mut Measure<'_>) = match predict {
        true => (Events::none(), &mut of_prediction),
        false => (events, &mut carry_out),
    };
    let finished = group.run_with(&events, Strictness::Lenient, measure)?;
    print(&text(&finished, arguments.json))?;
    let failures = finished.failures.into_iter().map(|(name, error)| (name, error.into()));
    gravest(failures.collect())
}

fn text(FinishedGroup { comparison, folder, .. }: &FinishedGroup, json: bool) -> String {
    if json {
        return comparison::json(comparison);
    }
    let folder = folder.display();
    let files = match comparison.runs.is_empty() {
        true => String::new(),
        false => format!("\nreport: {folder}/comparison.html, {folder}/comparison.md\n"),
    };
    files + &comparison::text(comparison)
}

impl TuneArgs {
    /// The plan with the default arguments and, in `sweep`, those to try.
    fn spec(&self) -> Result<Spec, Failure> {
        let one = |value: Value| json!([value]);
        let given = [
            ("model", self.model.clone().map(Value::from)),
            ("input_lengths", self.input_length.map(Value::from).map(one)),
            ("output_lengths", self.output_length.map(Value::from).map(one)),
            ("concurrency", self.concurrency.map(Value::from).map(one)),
            ("rate", self.rate.clone().map(Value::from).map(one)),
            ("requests", self.requests.map(Value::from)),
            ("slo", self.slo.clone().map(Value::from)),
            ("goodput", self.goodput.clone().map(Value::from)),
            ("store", self.store.clone().map(Value::from)),
            ("out", self.out.clone().map(Value::from)),
        ];
        let given = given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let mut keys: Map<String, Value> = given.collect();
        let plan = self.plan.as_deref();
        Settings::read()?.add_store(plan, &mut keys)?;
        let place = plan_file::OverrideOrigin::Flags;
        let (spec, multi) = plan_file::merge_multi_target(plan, keys, place)?;
        if spec.target.is_some() || !multi.targets.is_empty() || multi.rounds > 1 {
            return Err(Failure::usage(
                "target, rounds: `tune` starts one server with each of its arguments; leave out targets and rounds, and \
                 name the server with --preset or [server]",
            ));
        }
        if spec.search.is_some() || spec.sweep.is_some() || spec.ab.is_some() {
            return Err(Failure::usage(
                "search, sweep, ab: `tune` has one load; leave out these tables",
            ));
        }
        let mut spec = spec.with_defaults_of_ab();
        if spec.requests.is_none() && spec.duration.is_none() {
            let in_flight = match spec.concurrency.as_deref() {
                Some([Given::Number(one)]) => *one as u32,
                _ => 0,
            };
            spec.requests = Some(REQUESTS.max(WAVES.saturating_mul(in_flight)));
        }
        let server = spec.server.get_or_insert_default();
        if self.preset.is_some() {
            server.preset.clone_from(&self.preset);
        } else if server.command.is_none() && server.preset.is_none() {
            server.preset = Some(EMBEDDED.to_owned());
        }
        let mut set = Map::new();
        for text in &self.set {
            let (key, value) = pair("--set", text, server)?;
            set.insert(key.clone(), parsed(value)).map_or(Ok(()), |_| {
                Err(Failure::usage(format!("--set {text}: {key} is given twice")))
            })?;
        }
        if !set.is_empty() {
            server.arguments.get_or_insert_default().extend(set);
        }
        let mut lists = Map::new();
        for text in &self.tries {
            let (key, values) = pair("--try", text, server)?;
            let values = values.split(',').map(parsed).collect();
            if lists.insert(key, Value::Array(values)).is_some() {
                let why = "is given twice; give all its values at once, such as 64,256";
                return Err(Failure::usage(format!("--try {text}: {why}")));
            }
        }
        if !lists.is_empty() {
            server.sweep_mode = None;
            server.sweep = Some(lists.into());
        }
        Ok(spec)
    }

    /// The default, and then the candidates that differ from it.
    fn candidates(&self, spec: Spec) -> Result<Vec<Variant>, Failure> {
        let mut plain = spec.clone();
        if let Some(server) = &mut plain.server {
            (server.sweep, server.sweep_mode) = (None, None);
        }
        let mut all = variants(&plain, &[])?;
        all.iter_mut().for_each(|one| DEFAULT.clone_into(&mut one.name));
        for one in variants(&spec, &[])? {
            if one.spec != all[0].spec {
                all.push(one);
            } else if !one.settings.is_empty() && !self.quiet {
                tell(&format!("{} is the default", one.name));
            }
        }
        match all.len() {
            1 => Err(Failure::usage(
                "--try: is missing; give arguments of the server with values, such as --try max-num-seqs=64,256",
            )),
            _ => Ok(all),
        }
    }

    /// The figure that decides.
    fn figure(&self, group: &Group) -> Result<AbFigure, Failure> {
        let plan = &group.members[0].plan;
        let ([_], [pass]) = (plan.cells.as_slice(), plan.passes.as_slice()) else {
            return Err(Failure::usage(
                "input_lengths, passes: `tune` has one pair of lengths and one load; give one of each",
            ));
        };
        let name = match (&self.metric, pass) {
            (Some(name), _) => name.as_str(),
            _ if !plan.goodput.is_empty() => "goodput",
            (_, PassPlan::Open(_) | PassPlan::OneByOne(_)) => "e2e_p50",
            _ => "requests_per_s",
        };
        let (metric, statistic) =
            quantity(name, name).map_err(|why| Failure::usage(format!("--metric: {why}")))?;
        if metric.definition().direction.is_none() {
            let why = "is neither better when higher nor when lower";
            return Err(Failure::usage(format!("--metric {name}: {why}")));
        }
        Ok(AbFigure { metric, statistic })
    }
}

/// A key of a server argument and the text after its `=`. The embedded engine has dashes in its names.
fn pair<'a>(flag: &str, text: &'a str, server: &ServerSpec) -> Result<(String, &'a str), Failure> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!(
            "{flag} {text}: write an argument of the server and its value, such as max-num-seqs=64"
        ))
    })?;
    let key = key.trim();
    let is_embedded = server.preset.as_deref() == Some(EMBEDDED);
    Ok((if is_embedded { key.replace('_', "-") } else { key.to_owned() }, value))
}

/// A value as a number or a switch, if it is one.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text.trim()).unwrap_or_else(|_| text.trim().into())
}

/// What the engine model says about each candidate after the default; `None` if it does not know one of its arguments. Also
/// what it assumes.
///
/// # Errors
/// Why it says nothing about any of them.
fn predicted(
    all: &[Variant],
    figure: AbFigure,
) -> Result<(Vec<Option<TuneReading>>, Vec<String>), PlanError> {
    let spec = &all[0].spec;
    let preset = spec.server.as_ref().and_then(|server| server.preset.as_deref());
    if preset != Some(EMBEDDED) && spec.server_card.is_none() {
        return Err(PlanError::new("the card of the server is unknown (server_card)"));
    }
    let told = Simulated::of(&all[0], &EngineFlags::default())?.told;
    let reading = |variant: &Variant| {
        let one = Simulated::of(variant, &EngineFlags::default()).ok()?;
        if one.left_out.iter().any(|name| variant.settings.contains_key(name)) {
            return None;
        }
        let (plan, context) = planned(one.variant.spec, one.flags.given(), None, &variable).ok()?;
        let cells = simulated_cells(&plan, &context, &one.config).ok()?;
        TuneReading::of(figure, &plan.slo, &cells).ok()
    };
    let readings: Vec<Option<TuneReading>> = all[1..].iter().map(reading).collect();
    if readings.iter().all(Option::is_none) {
        return Err(PlanError::new("the engine model can predict none of them"));
    }
    Ok((readings, told))
}
