//! `findings`: every finding that a run can have, with what it means and what to do.

use std::fmt::Write;

use inferometer_model::finding::{Severity, code};

use crate::command_line::exit::{Failure, print};

/// Prints the table of findings.
pub fn findings() -> Result<(), Failure> {
    let mut text = String::new();
    for code in code::ALL {
        let severity = match code.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
        };
        let _ = writeln!(text, "{} ({severity})\n    {}", code.name, code.means);
        if let Some(advice) = code.advice {
            let _ = writeln!(text, "    advice: {advice}");
        }
        text.push('\n');
    }
    print(&text)
}
