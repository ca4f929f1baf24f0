//! `scenarios`: the kinds of application that `run --scenario` plays, with their definitions.

use std::fmt::Write as _;

use crate::scenario;

use crate::command_line::exit::{Failure, print};

/// Prints them.
pub fn scenarios() -> Result<(), Failure> {
    let mut text = String::new();
    for scenario in scenario::scenarios() {
        let _ = writeln!(text, "{}: {}", scenario.name, scenario.title);
        let _ = writeln!(text, "    asks    {}", scenario.asks);
        for (key, value) in &scenario.plan {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "    {key} = {value}");
        }
        if let Some(model) = &scenario.embedded_model {
            let _ = writeln!(text, "    model = {model:?} where no server and no model is named");
        }
        let _ = writeln!(text, "    source  {}\n", scenario.source);
    }
    text += "Flags and the keys of a plan file win over those of a scenario.\n";
    print(&text)
}
