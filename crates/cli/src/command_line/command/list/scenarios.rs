//! `list scenarios`: the scenarios of `run --scenario`, each with the plan keys that it sets.

use std::fmt::Write as _;

use crate::{command_line::Failure, scenario};

use super::named;

/// The scenarios as text.
pub fn scenarios(names: &[String]) -> Result<String, Failure> {
    let mut text = String::new();
    for scenario in named("scenarios", scenario::scenarios(), |it| &it.name, names)? {
        let _ = writeln!(text, "{}: {}", scenario.name, scenario.title);
        let _ = writeln!(text, "    needs   {}", scenario.asks);
        for (key, value) in &scenario.plan {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "    {key} = {value}");
        }
        if let Some(model) = &scenario.embedded_model {
            let _ =
                writeln!(text, "    model = {model:?} if neither a server nor a model is given");
        }
        let _ = writeln!(text, "    source  {}\n", scenario.source);
    }
    text += "Flags and plan file keys override the keys of a scenario.\n";
    Ok(text)
}
