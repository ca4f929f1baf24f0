//! `list findings`: every possible finding of a run, with its meaning and advice.

use std::fmt::Write;

use inferometer_analysis::inspect::codes;
use inferometer_model::{Code, Severity};

use super::named;
use crate::command_line::Failure;

/// The table of findings, or the named entries, as text.
pub fn findings(names: &[String]) -> Result<String, Failure> {
    let wanted = named("findings", codes(), |code| code.name, names)?;
    Ok(wanted.into_iter().map(|code| entry(&code)).collect())
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
