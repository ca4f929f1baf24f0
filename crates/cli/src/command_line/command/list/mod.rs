//! `list`: prints built-in names and their definitions, and the user's own profiles.

mod cards;
mod dialects;
mod findings;
mod metrics;
mod models;
mod presets;
mod profiles;
mod scenarios;

use std::ffi::OsString;

use clap::{Args, ValueEnum, builder::PossibleValue};
use inferometer_model::did_you_mean;

use crate::command_line::{Failure, print};

/// The flags of `list`.
#[derive(Args)]
pub struct ListArgs {
    /// The kind of entries to list [default: print these kinds]
    #[arg(value_name = "WHAT")]
    what: Option<ListTopic>,
    /// Names of the entries to print [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// What can be listed.
#[derive(Clone, Copy, ValueEnum)]
enum ListTopic {
    /// Cards of the embedded engine, for --card; with a name, print its TOML file
    Cards,
    /// APIs of servers, for --dialect
    Dialects,
    /// Notes and warnings about results, with advice
    Findings,
    /// Metrics with definition, formula, unit and source
    Metrics,
    /// Models that the embedded engine knows by name, for --model
    Models,
    /// Servers that a plan can start; with a name, print its TOML file
    Presets,
    /// Profiles of the embedded engine, built-in and your own: an engine version on a card, for --profile
    Profiles,
    /// Kinds of applications, for --scenario
    Scenarios,
}

/// Prints the list.
pub fn list(arguments: &ListArgs) -> Result<(), Failure> {
    let names = &arguments.names;
    let Some(what) = arguments.what else { return print(&overview()) };
    print(&match what {
        ListTopic::Cards => cards::cards(names)?,
        ListTopic::Dialects => dialects::dialects(names)?,
        ListTopic::Findings => findings::findings(names)?,
        ListTopic::Metrics => metrics::metrics(names)?,
        ListTopic::Models => models::models(names)?,
        ListTopic::Presets => presets::presets(names)?,
        ListTopic::Profiles => profiles::profiles(names)?,
        ListTopic::Scenarios => scenarios::scenarios(names)?,
    })
}

/// The topics that can be listed, one per line with a description.
fn overview() -> String {
    let values = ListTopic::value_variants().iter().filter_map(ListTopic::to_possible_value);
    let line = |value: PossibleValue| {
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        format!("inferometer list {:<10} {about}\n", value.get_name())
    };
    values.map(line).collect()
}

/// Inserts `list` if the first argument is the name of a topic. So the commands of earlier versions still work, such as
/// `inferometer metrics`.
pub fn with_list(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let first = arguments.get(1).and_then(|word| word.to_str());
    if first.is_some_and(|word| ListTopic::from_str(word, false).is_ok()) {
        arguments.insert(1, "list".into());
    }
    arguments
}

/// With more entries than this, an error message does not name all of them.
const MOST_TOLD: usize = 20;

/// The named entries of `all`, in the order of `names`; without names, all entries.
fn named<T>(
    what: &str,
    all: impl IntoIterator<Item = T>,
    name: fn(&T) -> &str,
    names: &[String],
) -> Result<Vec<T>, Failure> {
    let mut all: Vec<T> = all.into_iter().collect();
    let plain = |name: &str| name.replace('-', "_");
    for wanted in names {
        if !all.iter().any(|entry| plain(name(entry)) == plain(wanted)) {
            let meant = did_you_mean(wanted, all.iter().map(name));
            let known: Vec<&str> = all.iter().map(name).collect();
            let known = match known.len() {
                ..=MOST_TOLD => format!("the names are {}", known.join(", ")),
                _ => format!("`inferometer list {what}` lists all"),
            };
            return Err(Failure::usage(format!("{wanted}: there is no such name{meant}; {known}")));
        }
    }
    let place = |entry: &T| names.iter().position(|wanted| plain(wanted) == plain(name(entry)));
    all.retain(|entry| names.is_empty() || place(entry).is_some());
    all.sort_by_key(place);
    Ok(all)
}
