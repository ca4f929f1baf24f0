//! Parses the flags of `vllm bench serve` according to the table `FLAGS`. It does not interpret their values.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

use crate::other_tools::vllm::{Answer, FLAGS, Flag, Values};

/// The values of each given flag. The key is the name of the flag with leading dashes. A switch has no values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenFlags(BTreeMap<&'static str, Vec<String>>);

impl GivenFlags {
    /// The values of a flag, if it was given.
    pub fn values(&self, name: &str) -> Option<&[String]> {
        debug_assert!(FLAGS.iter().any(|flag| flag.name == name), "{name} is not in the table");
        self.0.get(name).map(Vec::as_slice)
    }

    /// The flags that were given, with their values.
    pub fn flags(&self) -> impl Iterator<Item = (&'static Flag, &[String])> {
        let value = |flag: &'static Flag| Some((flag, self.0.get(flag.name)?.as_slice()));
        FLAGS.iter().filter_map(value)
    }
}

/// The clap argument for a flag. If the flag is given twice, the last value is used, as in argparse.
fn argument(flag: &'static Flag) -> Arg {
    let argument = Arg::new(flag.id).long(flag.id).overrides_with(flag.id);
    let argument = match flag.underscored == flag.id {
        true => argument,
        false => argument.alias(flag.underscored),
    };
    let argument = match flag.values {
        Values::None => argument.action(ArgAction::SetTrue),
        Values::One => argument.action(ArgAction::Set).value_name("VALUE"),
        Values::Many => argument.action(ArgAction::Set).num_args(0..).value_name("VALUE"),
    };
    let argument = argument.allow_negative_numbers(flag.values != Values::None);
    match flag.answer {
        Answer::Same if flag.here.starts_with("--") => {
            argument.help(format!("as in vLLM; with `run`, use {}", flag.here))
        }
        Answer::Same => argument.help("as in vLLM"),
        Answer::Near(words) => argument.help(words),
        Answer::Refused(_) => argument.hide(true),
    }
}

impl clap::Args for GivenFlags {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading("Flags of vllm bench serve");
        FLAGS.iter().fold(command, |command, flag| command.arg(argument(flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GivenFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let values = |flag: &'static Flag| match flag.values {
            Values::None => matches.get_flag(flag.id).then(Vec::new),
            _ if !matches.contains_id(flag.id) => None,
            _ => {
                let found = matches.get_many::<String>(flag.id);
                Some(found.map(|all| all.cloned().collect()).unwrap_or_default())
            }
        };
        Ok(Self(FLAGS.iter().filter_map(|flag| Some((flag.name, values(flag)?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
