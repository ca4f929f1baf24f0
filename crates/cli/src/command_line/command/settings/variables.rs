//! Settings from environment variables. Each flag of `run` has a variable, such as `INFEROMETER_STORE` for `--store`.

use inferometer_model::{did_you_mean, visible};

use super::{Settings, parsed, run_command, switched_off};
use crate::command_line::Failure;

/// The prefix of this program's variables.
pub(super) const PREFIX: &str = "INFEROMETER_";

/// The names, without the prefix, of variables that are not settings for flags of `run`. Other parts of the program,
/// its tests or its build read these variables.
const OTHERS: [&str; 12] = [
    "CONFIG", "PROFILES", "CACHE", "MIRROR", "WEB_TOKEN", "WRITE_SCHEMAS", "WRITE_PAGES", "COMMIT",
    "RANK", "RANKS", "SERVICE", "JOB",
];

/// Adds the settings of the variables, and a warning for each variable that does not match a flag.
pub(super) fn add(settings: &mut Settings) -> Result<(), Failure> {
    let mut variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
        .collect();
    variables.sort();
    let command = run_command();
    let flags: Vec<&str> = command.get_arguments().filter_map(|flag| flag.get_long()).collect();
    for (name, value) in &variables {
        let key = &name[PREFIX.len()..];
        if value.is_empty() || OTHERS.contains(&key) || key.starts_with("TEST_") {
            continue;
        }
        let long = key.to_lowercase().replace('_', "-");
        let flag = command.get_arguments().find(|flag| flag.get_long() == Some(&long));
        let Some(flag) = flag else {
            let names = flags.iter().map(|flag| flag.replace('-', "_").to_uppercase());
            let names: Vec<String> = names
                .chain(OTHERS.map(str::to_owned))
                .map(|name| PREFIX.to_owned() + &name)
                .collect();
            settings.warnings.push(format!(
                "warning: the variable {} is not a setting{}; it is ignored",
                visible::name(name),
                did_you_mean(name, names.iter().map(String::as_str))
            ));
            continue;
        };
        let takes_value = flag.get_num_args().is_some_and(|range| range.takes_values())
            || flag.get_action().takes_values() && flag.get_num_args().is_none();
        let word = match (takes_value, value.to_lowercase().as_str()) {
            (true, _) => format!("--{long}={value}"),
            (false, "1" | "true" | "yes" | "on") => format!("--{long}"),
            (false, "0" | "false" | "no" | "off") => {
                let key = key.to_lowercase();
                // `INFEROMETER_NO_STREAM=false` is the opposite of `--no-stream`, so it switches the key `stream` on.
                let on = key.strip_prefix("no_").unwrap_or_default();
                if switched_off(&command).iter().any(|known| known == on) {
                    settings.add(on, true.into(), name);
                }
                settings.off.push(key);
                continue;
            }
            (false, _) => {
                return Err(Failure::usage(format!("{name}: is neither `true` nor `false`")));
            }
        };
        let arguments = parsed(&[word]).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        for (key, value) in arguments.keys().map_err(|failure| failure.of(name))? {
            settings.add(&key, value, name);
        }
        settings.switches.push(arguments);
    }
    Ok(())
}
