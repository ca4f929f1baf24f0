//! `ab`: measures two servers in alternating blocks, or simulates them. Its flags are those of `run`, the keys of
//! `[ab]` in a plan, and those of [`AbArgs`].

use std::path::{Path, PathBuf};

use clap::Args;
use inferometer_engine::EngineConfig;
use inferometer_model::did_you_mean;
use inferometer_plan::spec::{AbSpec, PlanCommand, Spec, TargetSpec, Variant};
use inferometer_predict::{ab as predict_ab, check_plan};
use inferometer_report::ab::{self, AbDocument, json};
use inferometer_report::judgement::{Judgement, Verdict};
use inferometer_report::{ab_page::summary, difference, junit};
use inferometer_run::{AbRun, Clock, Events, FinishedAb, Host, Strictness, dry_run, variants};
use serde_json::{Map, Value};

use super::engine_flags::{EngineFlags, config};
use super::run::{begin_junit, end_junit, expose, form};
use super::run_flags::{RunArgs, given};
use super::settings::{Applied, Settings};
use super::{prediction_of_run::warn_of_unknown_cards, ranks};
use crate::command_line::{Failure, files, first_of, print, screen, show, tell, variable};
use crate::compare::{GatedComparison, conditions, judgement};
use crate::plan_file::{self, MultiTarget};

/// The flags of `ab`. Two servers are given as two --target, or as two [[target]] tables in the
/// plan file. A single server is compared with itself.
#[derive(Args)]
pub struct AbArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    ab: AbSpec,
    /// Setting of side B that differs from side A, such as speed=0.95, server-card=NAME or (with
    /// --predict) max-num-seqs=16; may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Comparison")]
    b: Vec<String>,
    /// Conditions on the change from A to B, such as 'output_tokens_per_s>-3%,ttft_p50<+5%'; the
    /// exit code is 3 if a condition is missed, and with --strict also if a condition is undecided
    #[arg(long, value_name = "CONDITIONS", help_heading = "Comparison")]
    gate: Option<String>,
    /// Write the answer and the tables to this file as Markdown. An existing file is replaced.
    /// Exception: the text is appended if the environment variable GITHUB_STEP_SUMMARY names this
    /// file
    #[arg(long, value_name = "FILE", help_heading = "Comparison")]
    markdown: Option<PathBuf>,
    /// Compare settings of the embedded engine in virtual time, which takes seconds and contacts no
    /// server. --model, --profile, --noise and the flags under Engine describe the engine
    #[arg(long, help_heading = "Comparison")]
    predict: bool,
    #[command(flatten)]
    engine: EngineFlags,
}

/// Keys of a plan that may differ on side B of a measurement.
const OF_B: [&str; 8] =
    ["target", "server_card", "endpoint", "dialect", "model", "profile", "speed", "noise"];
/// Keys of a plan that may differ on side B in virtual time, where no server is contacted.
const OF_B_IN_VIRTUAL_TIME: [&str; 3] = ["model", "profile", "noise"];

/// Measures or simulates both servers, prints the comparison, and evaluates the gate.
pub fn ab(mut arguments: AbArgs) -> Result<(), Failure> {
    ranks::only_one("ab")?;
    let settings = Settings::read()?;
    arguments.run = settings.switched(arguments.run, PlanCommand::Ab);
    let arguments = &arguments;
    arguments.check()?;
    let mut keys = arguments.run.keys_of_first_target()?;
    keys.insert("ab".to_owned(), given(&arguments.ab)?.into());
    let Applied { keys, origins } =
        settings.apply(arguments.run.plan(), keys, &arguments.run, None)?;
    let (spec, multi) = plan_file::merge_multi_target(
        arguments.run.plan(),
        keys,
        plan_file::OverrideOrigin::Flags,
    )?;
    let (variants, flags) = arguments.sides(spec, &multi)?;
    let configs = match arguments.predict {
        true => Some(arguments.configs(&variants, &flags)?),
        false => None,
    };
    warn_of_unknown_cards(&variants);
    let (events, host) = show(arguments.run.view());
    let host = if arguments.predict { Host::default() } else { host };
    let engine_flags = flags.each_ref().map(EngineFlags::given);
    let gate = conditions(arguments.gate.as_deref())?;
    let run = AbRun::resolve(variants, engine_flags, gate, (&host, &variable))?;
    if arguments.run.dry_run {
        let sides = if run.one_server { &run.sides[..1] } else { &run.sides[..] };
        return sides.iter().try_for_each(|side| {
            if !arguments.run.json {
                print(&format!("# side {}\n", side.variant.name))?;
            }
            let clock = if arguments.predict { Clock::Virtual } else { Clock::Real };
            print(&origins.shown_with(dry_run(&side.plan, form(&arguments.run), clock)?))
        });
    }
    begin_junit(&arguments.run)?;
    let has_gate = !run.gate.is_empty();
    let finished = match &configs {
        Some([a, b]) => predicted(arguments, &run, [a, b]),
        None => measured(arguments, run, &events),
    };
    match finished {
        Ok(finished) => arguments.conclude(finished, has_gate),
        Err(failure) => {
            end_junit(&arguments.run, &failure)?;
            Err(failure)
        }
    }
}

fn predicted(
    arguments: &AbArgs,
    run: &AbRun,
    configs: [&EngineConfig; 2],
) -> Result<FinishedAb, Failure> {
    run.sides.iter().try_for_each(|side| check_plan(&side.plan))?;
    let found = predict_ab(run, configs)?;
    if !arguments.run.quiet {
        eprintln!("{}", found.time);
    }
    let failures = run.shortfalls(&found.document, arguments.run.strictness());
    let (document, folder) = (found.document, found.folder);
    let plots = run.plots();
    Ok(FinishedAb { document, folder, plots, place: run.place(), failures })
}

fn measured(arguments: &AbArgs, run: AbRun, events: &Events) -> Result<FinishedAb, Failure> {
    let _exposed = expose(&arguments.run, events)?;
    let has_gate = !run.gate.is_empty();
    run.run(events, arguments.run.strictness()).map_err(|error| {
        let failure = Failure::from(error);
        if has_gate { failure.judged() } else { failure }
    })
}

impl AbArgs {
    /// Whether an undecided condition counts as missed.
    fn is_strict(&self) -> bool {
        self.run.strictness() == Strictness::Strict
    }

    /// Rejects flags that have no meaning for `ab`.
    fn check(&self) -> Result<(), Failure> {
        let refused = [
            (
                self.run.metrics_listen.is_some() && self.predict,
                "--metrics-listen: with --predict there is no run in progress to scrape; leave out \
                    --metrics-listen",
            ),
            (
                self.run.targets().len() > 2,
                "target (--target): a comparison has one or two servers; leave out the others",
            ),
            (
                !self.engine.given().is_empty() && !self.predict,
                "engine flags (--max-num-seqs, ...) apply to the embedded engine in virtual time: \
                    add --predict",
            ),
            (
                self.run.junit.is_some() && self.gate.is_none(),
                "--junit: there is no gate to report; give --gate",
            ),
        ];
        if let Some((_, why)) = refused.into_iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::usage(why));
        }
        for (flag, file) in [("--junit", &self.run.junit), ("--markdown", &self.markdown)] {
            file.as_ref().map_or(Ok(()), |file| files::is_no_stdout(flag, file))?;
        }
        Ok(())
    }

    /// The sides (one if a server is compared with itself), and the flags of the embedded engine for both sides.
    fn sides(
        &self,
        spec: Spec,
        multi: &MultiTarget,
    ) -> Result<(Vec<Variant>, [EngineFlags; 2]), Failure> {
        if multi.rounds > 1 {
            return Err(Failure::usage(
                "rounds: blocks alternate until the answer is certain; leave out `rounds`",
            ));
        }
        let of_plan = multi.targets.len();
        let second = self.run.targets().get(1);
        if of_plan > 0 && (second.is_some() || !self.b.is_empty()) {
            return Err(Failure::usage(
                "target: the plan file has [[target]] tables; leave out the second --target and \
                    --b",
            ));
        }
        let (mut own, mut flags) = (Map::new(), Map::new());
        for text in &self.b {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Failure::usage(format!("--b: `{text}` is not NAME=VALUE; write it like speed=0.95"))
            })?;
            let name = name.trim().replace('-', "_");
            let is_of_engine = EngineFlags::keywords().contains(&name);
            if is_of_engine && !self.predict {
                return Err(Failure::usage(format!(
                    "--b: {name} applies to the embedded engine in virtual time; add --predict"
                )));
            }
            let known: &[&str] = if self.predict { &OF_B_IN_VIRTUAL_TIME } else { &OF_B };
            if !is_of_engine && !known.contains(&name.as_str()) {
                let flags = if self.predict { EngineFlags::keywords() } else { Vec::new() };
                let names = known.iter().copied().chain(flags.iter().map(String::as_str));
                return Err(Failure::usage(format!(
                    "--b: `{name}` cannot differ between the sides{}; only {}{} can",
                    did_you_mean(&name, names),
                    known.join(", "),
                    if self.predict { ", and the engine flags" } else { "" }
                )));
            }
            // The value of an engine flag may be a number. The values of plan keys stay texts.
            let value = match (is_of_engine, serde_json::from_str(value)) {
                (true, Ok(value)) => value,
                _ => Value::String(value.to_owned()),
            };
            let keys = if is_of_engine { &mut flags } else { &mut own };
            if keys.insert(name.clone(), value).is_some() {
                return Err(Failure::usage(format!("--b: `{name}` is given twice")));
            }
        }
        let of_a = given(&self.engine)?;
        let mut of_b = of_a.clone();
        of_b.extend(flags);
        let read = |mut keys: Map<String, Value>| EngineFlags::take_from(&mut keys);
        let is_one = second.is_none() && self.b.is_empty();
        let engine_flags = [read(of_a)?, read(of_b)?];
        let found = match (of_plan, is_one) {
            (0, true) => variants(&spec, &[])?,
            (0, false) => {
                own.extend(second.map(|url| ("target".to_owned(), url.clone().into())));
                let mut keys = spec.keys();
                keys.extend(own);
                let other = Spec::from_keys(keys)
                    .map_err(|error| Failure::usage(format!("--b: {error}")))?;
                let none: &[TargetSpec] = &[];
                let mut sides = [variants(&spec, none)?, variants(&other, none)?].concat();
                if let Some(side) = sides.get_mut(1).filter(|_| second.is_none()) {
                    side.name = format!("B ({})", self.b.join(", "));
                }
                sides
            }
            _ => variants(&spec, &multi.targets)?,
        };
        Ok((found, engine_flags))
    }

    /// The configurations of the two simulated engines.
    fn configs(
        &self,
        variants: &[Variant],
        flags: &[EngineFlags; 2],
    ) -> Result<[EngineConfig; 2], Failure> {
        let sends = |one: &Variant| one.spec.target.is_some() || one.spec.server.is_some();
        if variants.iter().any(sends) {
            return Err(Failure::usage(
                "--predict: no server is contacted; leave out target and [server]",
            ));
        }
        let of = |at: usize| {
            let spec = &variants[at.min(variants.len() - 1)].spec;
            config(spec.model.as_deref(), spec.profile.as_deref(), &flags[at])
        };
        Ok([of(0)?, of(1)?])
    }

    /// Prints the comparison, writes the requested files, and evaluates the gate.
    fn conclude(&self, finished: FinishedAb, has_gate: bool) -> Result<(), Failure> {
        let FinishedAb { document, folder, plots, place, failures } = finished;
        let comparison = document.ab.comparison((place.0, &place.1));
        let runs = document.ab.sides.each_ref().map(|side| Some(side.run_id.clone()));
        let judged = [GatedComparison { comparison, gate: document.gate.clone(), runs }];
        let judgement = judgement(&judged, self.is_strict()).or_else(|| {
            has_gate.then(|| Judgement::new(Verdict::Undecided, document.ab.sentence.clone()))
        });
        let plots = plots.place(&folder);
        let also = format!("{plots}; to print this again: inferometer report {}", document.group);
        print(&if self.run.json { json(&document) } else { text(&document, &folder, &also) })?;
        let written = self.write_files(&document, &judged, judgement.as_ref());
        let failed = failures.into_iter().map(|(name, error)| Failure::from(error).of(&name));
        let gravest = failed.min_by_key(|failure| failure.kind).map_or(Ok(()), Err);
        let gravest = gravest.map_err(|it| if has_gate { it.judged() } else { it });
        let missed = Failure::of_judgement(judgement.as_ref());
        first_of(gravest.and(missed), written)?;
        if let Some(judgement) = judgement {
            tell(&judgement.to_string());
        }
        Ok(())
    }

    fn write_files(
        &self,
        document: &AbDocument,
        judged: &[GatedComparison; 1],
        judgement: Option<&Judgement>,
    ) -> Result<(), Failure> {
        let [GatedComparison { comparison, gate, runs }] = judged;
        let mut written = Ok(());
        if let Some(file) = &self.run.junit {
            let suite = junit::of_comparison(comparison, gate, runs, self.is_strict());
            written = files::write("--junit", file, &junit::junit(&[suite], judgement));
        }
        let Some(file) = &self.markdown else { return written };
        first_of(written, files::write_summary("--markdown", file, &summary(document, judgement)))
    }
}

/// The comparison as text for a terminal. `also` is appended to the line with the location of the files.
pub(super) fn text(document: &AbDocument, folder: &Path, also: &str) -> String {
    let gate = match document.gate.is_empty() {
        true => String::new(),
        false => format!("\n{}", difference::gate_text(&document.gate)),
    };
    format!(
        "{}{gate}\nreport: {1}/ab.html, {1}/ab.md{also}\nanswer: {2}\n",
        ab::text(document, screen().columns),
        folder.display(),
        document.ab.sentence
    )
}
