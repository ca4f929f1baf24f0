//! `bench serve`: the load, the table and the result file of `vllm bench serve`, with its flags. The verdict of this
//! program follows the table.

mod given;
mod load;
mod outcome;
mod reader;
mod target;
mod translate;
mod workload;

#[cfg(test)]
mod tests;

use clap::{Args, Subcommand};
use inferometer_analysis::Summary;
use inferometer_report::terminal;
use inferometer_run::{Clock, PlanFormat, Strictness, dry_run, judge, resolve};
use inferometer_store::Store;
use serde_json::{Map, Value};

use super::ranks;
use super::settings::{OPENAI_BASE_URL, Settings};
use crate::command_line::{Failure, View, colour, first_of, print, show, tell, variable};
use crate::{plan_file, serving_results::serving_result};
use given::GivenFlags;
use outcome::ServingOutput;
use translate::{Translated, translate};

/// The benchmarks that use vLLM's flags.
#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Measure a server with the flags of `vllm bench serve`: same load, same table, same result
    /// file.
    ///
    /// Flags of vLLM that are not listed here are rejected with the reason. If a listed flag is
    /// ignored, its description says so. docs/coming-from/vllm.md has the complete table.
    Serve(Box<ServeArgs>),
}

/// The flags of `vllm bench serve`, and a few of `run`.
#[derive(Args)]
struct ServeArgs {
    #[command(flatten)]
    given: GivenFlags,
    #[command(flatten)]
    own: OwnFlags,
}

/// Flags that `vllm bench serve` does not have.
#[derive(Args)]
#[command(next_help_heading = "Inferometer's own")]
struct OwnFlags {
    /// The database [default: inferometer.db]
    #[arg(long, value_name = "FILE", hide_default_value = true)]
    store: Option<String>,
    /// Folder for reports and plots [default: inferometer-out/RUN]
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
    /// Text that makes prompts of this run unique; give a run's salt to repeat that run exactly
    /// [default: random]
    #[arg(long, value_name = "TEXT")]
    salt: Option<String>,
    /// Environment variable that contains the API key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    api_key_env: Option<String>,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, value_name = "FILE")]
    ca_cert: Option<String>,
    /// Number of event loops of the client, each on its own thread [default: as many as the load
    /// needs, limited by the free cores]
    #[arg(long, value_name = "N")]
    loops: Option<u32>,
    /// Print only errors and warnings on stderr
    #[arg(long, short)]
    quiet: bool,
    /// Start without confirmation. By default, a run of more than ten minutes must be confirmed if
    /// a terminal is attached. With --quiet, no confirmation is needed
    #[arg(long, short)]
    yes: bool,
    /// Exit with code 4 if the run is suspect (some of its figures cannot be trusted)
    #[arg(long)]
    strict: bool,
}

impl OwnFlags {
    /// Adds these flags as keys of a plan to the keys from vLLM's flags.
    fn add_to(&self, keys: &mut Map<String, Value>) {
        for (key, given) in [
            ("store", &self.store),
            ("out", &self.out),
            ("salt", &self.salt),
            ("api_key_env", &self.api_key_env),
            ("ca_cert", &self.ca_cert),
        ] {
            keys.extend(given.iter().map(|text| (key.to_owned(), text.as_str().into())));
        }
        keys.extend(self.loops.map(|loops| ("loops".to_owned(), loops.into())));
    }
}

/// Runs the benchmark.
pub fn bench(arguments: &BenchArgs) -> Result<(), Failure> {
    ranks::only_one("bench")?;
    let Bench::Serve(arguments) = &arguments.what;
    serve(arguments)
}

fn serve(arguments: &ServeArgs) -> Result<(), Failure> {
    let own = &arguments.own;
    let settings = Settings::read()?;
    let server = Server::of(&arguments.given, &settings);
    let Translated { mut keys, outcome, notes } =
        translate(&arguments.given, server.url()).map_err(Failure::mistakes)?;
    own.add_to(&mut keys);
    let chosen = server.message();
    if !own.quiet {
        chosen.iter().for_each(|line| tell(&format!("note: {line}")));
        notes.iter().for_each(|note| tell(&format!("note: {note}")));
    }
    let (spec, _) = plan_file::merge_multi_target(None, keys, plan_file::OverrideOrigin::Flags)?;
    let (events, host) = show(View {
        quiet: own.quiet,
        progress: outcome.progress && !own.quiet,
        tui: false,
        ask: !own.yes && !own.quiet,
    });
    let (plan, mut context) = resolve(&spec, &variable)?;
    context.host = host;
    if outcome.dry_run {
        let chosen: String = chosen.iter().map(|line| format!("# {line}\n")).collect();
        return print(&(dry_run(&plan, PlanFormat::Toml, Clock::Real)? + &chosen));
    }
    outcome.prepare()?;
    let finished = crate::run(&plan, &context, &events)?;
    let summary = &finished.summary;
    let store = Store::open_existing(&context.store).map_err(Failure::run_failed)?;
    let run = store.run(finished.run.as_str()).map_err(Failure::run_failed)?;
    let (mut text, mut file) = (String::new(), None);
    // If there is no record, there is no table, and the judgement below states why.
    if let Some(found) = serving_result(&run, summary, &plan, &outcome.serving_settings())? {
        text += &found.table;
        file = Some(found.file);
    }
    let findings = terminal::findings(summary, colour());
    if !findings.is_empty() {
        text += &format!("\n{findings}");
    }
    text += &terminal::below_tables(summary, colour());
    if let Some(folder) = &finished.folder {
        text += &format!("report: {}/report.html\n", folder.display());
    }
    text += &format!("store:  {}, run {}\n", context.store.display(), finished.run);
    print(&text)?;
    let strictness = if own.strict { Strictness::Strict } else { Strictness::Lenient };
    let judged = judge(&plan, &context, &finished, strictness).map_err(Failure::from);
    // Write the file after printing the table, so that a write error does not lose the table.
    first_of(judged, file.map_or(Ok(()), |file| save(&outcome, file, summary)))
}

/// The origin of the address of the measured server.
enum Server<'a> {
    /// A flag gives the address.
    Named,
    /// A setting of this program gives the address. The values are the address and the origin of the setting.
    OfSettings(&'a str, &'a str),
    /// No flag or setting gives an address, so vLLM's default is used. `left_out` is the name of an environment
    /// variable for other programs, if that variable contains an address. The variable is ignored.
    Default { left_out: Option<&'a str> },
}

impl<'a> Server<'a> {
    fn of(given: &GivenFlags, settings: &'a Settings) -> Self {
        if target::is_named(given) {
            return Self::Named;
        }
        match settings.target() {
            // This variable is for other programs and may name a paid service. `vllm bench serve` does not read it
            // either.
            Some((_, OPENAI_BASE_URL)) => Self::Default { left_out: Some(OPENAI_BASE_URL) },
            Some((url, origin)) => Self::OfSettings(url, origin),
            None => Self::Default { left_out: None },
        }
    }

    fn url(&self) -> Option<&'a str> {
        match self {
            Self::OfSettings(url, _) => Some(url),
            _ => None,
        }
    }

    /// A line that states the address and its origin; None if a flag gives the address.
    fn message(&self) -> Option<String> {
        match self {
            Self::Named => None,
            Self::OfSettings(url, origin) => {
                let url = inferometer_model::url::shown_address(url);
                Some(format!(
                    "target: {url}, from {origin} (--base-url, --host or --port select another address)"
                ))
            }
            Self::Default { left_out } => {
                let without = left_out.map_or_else(String::new, |name| {
                    format!(
                        "; {name} is ignored, as in vLLM: give --base-url or INFEROMETER_TARGET"
                    )
                });
                Some(format!(
                    "target: {}, the default of vllm bench serve{without}",
                    target::DEFAULT
                ))
            }
        }
    }
}

/// Writes the result file if requested, and prints its path.
fn save(outcome: &ServingOutput, file: Value, summary: &Summary) -> Result<(), Failure> {
    match outcome.save(file, summary)? {
        Some(file) => print(&format!("result: {}\n", file.display())),
        None => Ok(()),
    }
}
