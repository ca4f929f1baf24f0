//! `findings`: every finding that a run can have, with what it means and what to do; by name some of them.

use std::fmt::Write;

use clap::Args;
use inferometer_model::finding::{Code, Severity, code};
use inferometer_model::suggest::did_you_mean;

use crate::command_line::exit::{Failure, print};

/// The flags of `findings`.
#[derive(Args)]
pub struct FindingsArgs {
    /// Explain these only, by the names that reports have [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Prints the table of findings, or the entries that are named.
pub fn findings(arguments: &FindingsArgs) -> Result<(), Failure> {
    let mut wanted = Vec::new();
    for name in &arguments.names {
        match code::ALL.iter().find(|code| code.name == name.replace('-', "_")) {
            Some(code) => wanted.push(code),
            None => {
                let meant = did_you_mean(name, code::ALL.iter().map(|code| code.name));
                return Err(Failure::usage(format!(
                    "{name}: there is no such finding{meant}; `inferometer findings` lists all of them"
                )));
            }
        }
    }
    if arguments.names.is_empty() {
        wanted.extend(code::ALL);
    }
    print(&wanted.into_iter().map(entry).collect::<String>())
}

fn entry(code: &Code) -> String {
    let severity = match code.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
    };
    let mut text = format!("{} ({severity})\n    {}\n", code.name, code.means);
    if let Some(advice) = code.advice {
        let _ = writeln!(text, "    advice: {advice}");
    }
    text + "\n"
}
