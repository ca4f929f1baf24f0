//! `calibrate`: its flags, and writing the fitted profile.

use std::path::{Path, PathBuf};

use crate::calibrate::{Calibrated, Request, calibrate as fit};
use crate::command_line::{Failure, files, print, tell};
use clap::Args;
use inferometer_plan::shell::word;
use inferometer_predict::open_against;

use super::engine_flags::{EngineFlags, config};
use super::settings::profiles_folder;

/// The flags of `calibrate`.
#[derive(Args)]
pub struct CalibrateArgs {
    /// Measured results: stored runs or files. For vLLM 0.8 or later, a file is a CSV file with one
    /// run in each row, or a result file that `import` reads (vLLM, SGLang, AIPerf, GuideLLM, ...).
    /// For older engines, one stored run or one published table (Markdown, optionally one #SECTION)
    #[arg(value_name = "FILE.md[#SECTION]|RUN|FILE", required = true)]
    measured: Vec<String>,
    /// The measured model: a name, or the path of a config.json
    #[arg(long, value_name = "NAME|FILE")]
    model: String,
    /// Profile from which the fit starts: a name or a file [default: the profile of the engine and
    /// the card that the measurements state, or else of the model]
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    #[command(flatten)]
    engine: EngineFlags,
    /// For engines before vLLM 0.8: use only these rows, as INPUTxOUTPUT, such as 128x128,2048x512
    /// [default: all]
    #[arg(long, value_name = "INxOUT,...", value_delimiter = ',')]
    rows: Vec<String>,
    /// For engines before vLLM 0.8: number of requests in the measured saturated pass (all requests
    /// at the start) [default: the number in the run; 399 for a table]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    requests: Option<u32>,
    /// Name of the new profile [default: calibrated-MODEL, or calibrated-PROFILE for vLLM 0.8 and
    /// later]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The database
    #[arg(long, value_name = "FILE")]
    store: Option<String>,
    /// Output file of the profile; an existing file is not replaced
    #[arg(long, value_name = "FILE", default_value = "profile.toml")]
    out: PathBuf,
}

/// Fits a profile.
pub fn calibrate(arguments: &CalibrateArgs) -> Result<(), Failure> {
    let out = arguments.out.display();
    if arguments.out.exists() {
        return Err(Failure::usage(format!("--out: {out} exists already; use another name")));
    }
    // The folder is created only after the fit, so that a failed fit leaves no empty folder.
    let new_folder = own_folder(&arguments.out).filter(|folder| !folder.exists());
    if new_folder.is_none() {
        files::check_new("--out", &arguments.out)?;
    }
    let mut engine = arguments.engine.clone();
    if arguments.profile.is_none() && !engine.name_an_engine() {
        take_engine_and_card(arguments, &mut engine)?;
    }
    let config = config(Some(&arguments.model), arguments.profile.as_deref(), &engine)?;
    let Calibrated { profile, text } = fit(&Request {
        measured: &arguments.measured,
        config: &config,
        rows: &arguments.rows,
        requests: arguments.requests,
        name: arguments.name.as_deref(),
        store: arguments.store.as_deref(),
    })?;
    let toml = toml::to_string(&profile).map_err(Failure::run_failed)?;
    if let Some(folder) = &new_folder {
        std::fs::create_dir_all(folder).map_err(|error| {
            let folder = folder.display();
            Failure::run_failed(format!("--out: the folder {folder} cannot be created: {error}"))
        })?;
    }
    files::write("--out", &arguments.out, &toml)?;
    // The profile already states the engine and the card, so the printed command needs no flags for them.
    let flags = engine.given().into_iter();
    let flags: String = flags
        .filter(|(name, _)| !["engine", "card"].contains(&name.as_str()))
        .map(|(name, value)| match value.as_str() {
            "true" => format!(" --{}", name.replace('_', "-")),
            value => format!(" --{} {}", name.replace('_', "-"), word(value)),
        })
        .collect();
    print(&format!(
        "{text}wrote {out}; predict with it: inferometer predict --model {} --profile {}{flags}\n",
        word(&arguments.model),
        word(&out.to_string())
    ))
}

/// The folder of the user's own profiles, if the file is to be written there.
fn own_folder(out: &Path) -> Option<PathBuf> {
    profiles_folder().filter(|own| out.parent().is_some_and(|folder| files::is_same(folder, own)))
}

/// Sets the engine and the card to those that the measured runs state, if every run states both, and all state the
/// same. Prints them if they select another profile than the default one.
fn take_engine_and_card(arguments: &CalibrateArgs, flags: &mut EngineFlags) -> Result<(), Failure> {
    let stated = |measured: &String| {
        let source = open_against(measured, arguments.store.as_deref()).ok()?;
        let mut facts = source.facts()?;
        facts.flags.retain(|(name, _)| ["engine", "card"].contains(name));
        // Without the card, the version of the engine alone could select a profile of another card.
        (facts.flags.len() == 2).then_some(facts)
    };
    let all: Option<Vec<_>> = arguments.measured.iter().map(stated).collect();
    let Some(first) = all.as_ref().and_then(|all| all.first()) else { return Ok(()) };
    if all.iter().flatten().all(|other| other.flags == first.flags) {
        let profile = |flags: &EngineFlags| {
            config(Some(&arguments.model), None, flags).ok().map(|config| config.profile)
        };
        let before = profile(flags);
        flags.complete(&first.flags)?;
        if profile(flags) != before {
            tell(&format!("taken from {}: {first}", first.origin));
        }
    }
    Ok(())
}
