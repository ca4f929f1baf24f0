//! The budget of a run: what is measured on a server if the user gave neither lengths nor loads.

use std::{borrow::Cow, str::FromStr, time::Duration};

use inferometer_model::{CellPlan, secrets::is_key_header};
use inferometer_plan::spec::{Spec, SweepSpec, Value, span, tokens};
use inferometer_report::progress::Notice;
use inferometer_run::{
    ChosenLengths, Context, Events, Host, RunRequest, Servers, choose_lengths, resolve,
};

use crate::command_line::{Failure, tell, variable};

/// The default time of a run on a server.
const TIME: Duration = Duration::from_secs(60);
/// The shortest time that is left for a sweep, if the budget is not shorter.
const SHORTEST: Duration = Duration::from_secs(10);
/// The fewest tokens of a budget: those of the shortest sweep.
const FEWEST_TOKENS: u32 = 1_000;
/// The most tokens of a run on a server with a key, which may cost money.
const TOKENS_WITH_KEY: u64 = 500_000;
/// With a limit on tokens, it is enough for this many requests or more.
const FEWEST_REQUESTS: u64 = 200;

/// The value of `--budget`: a time or a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// The longest time.
    Time(Duration),
    /// The most tokens, in prompts and outputs.
    Tokens(u64),
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().strip_suffix("tokens").or(text.trim().strip_suffix("tok")) {
            Some(number) => match tokens(number.trim())? {
                0..FEWEST_TOKENS => Err(format!("a budget has at least {FEWEST_TOKENS} tokens")),
                most => Ok(Self::Tokens(most.into())),
            },
            None => span(&Value::Text(text.to_owned()))
                .map(Self::Time)
                .map_err(|why| format!("{why}, or a number of tokens, such as 200000tokens")),
        }
    }
}

impl Budget {
    /// The longest time and the most tokens.
    fn limits(given: Option<Self>, has_key: bool) -> (Duration, Option<u64>) {
        match given {
            Some(Self::Time(time)) => (time, None),
            Some(Self::Tokens(most)) => (Duration::from_secs(3600), Some(most)),
            None => (TIME, has_key.then_some(TOKENS_WITH_KEY)),
        }
    }
}

/// What the user asked for with `--budget` and `--full`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// The value of `--budget`.
    pub budget: Option<Budget>,
    /// The budget in the settings.
    pub usual: Option<Budget>,
    /// Whether `--full` is given, or lengths cannot be chosen: in a resumed run, or with several processes.
    pub full: bool,
    /// Whether `--junit` is given.
    pub junit: bool,
}

impl Asked {
    /// The spec to measure: the given one, or that of a sweep within the budget.
    ///
    /// # Errors
    /// If `--budget` contradicts the spec, the server cannot be reached, or the user interrupts the run.
    pub fn spec<'a>(
        self,
        spec: &'a Spec,
        dry_run: bool,
        host: &Host,
        events: &Events,
        servers: &mut Servers,
    ) -> Result<Cow<'a, Spec>, Failure> {
        if !self.applies(spec)? {
            // The stored plan names its passes, so that the same plan is measured when it is used again.
            let passes = Some(vec!["table".to_owned()]);
            let is_named = !spec.leaves_load_open() || spec.target.is_none();
            return Ok(match is_named {
                true => Cow::Borrowed(spec),
                false => Cow::Owned(Spec { passes, ..spec.clone() }),
            });
        }
        Ok(Cow::Owned(match dry_run {
            true => example(spec, self.budget.or(self.usual)),
            false => chosen(spec, self.budget.or(self.usual), host, events, servers)?,
        }))
    }

    /// Refuses a budget for several servers or rounds, whose runs need the same loads.
    pub fn of_several(self) -> Result<(), Failure> {
        let why =
            "--budget: is for one server; give lengths and loads for several servers or rounds";
        if self.budget.is_some() { Err(Failure::usage(why)) } else { Ok(()) }
    }

    /// Whether lengths and loads are chosen: on a server, if the user gave neither of them.
    fn applies(self, spec: &Spec) -> Result<bool, Failure> {
        let (is_open, has_server) = (spec.leaves_load_open(), spec.server.is_some());
        if self.budget.is_some() && !is_open {
            return Err(Failure::usage(
                "--budget: chooses lengths and loads; leave out --budget, or the flags for lengths, prompts, loads and \
                 their number (`inferometer sweep --max-time` has a limit for lengths of your choice)",
            ));
        }
        if self.budget.is_some() && (self.full || (spec.target.is_none() && !has_server)) {
            return Err(Failure::usage(
                "--budget: is for a new run of one process on one server; give the server with --target",
            ));
        }
        // Whoever describes how a server is started may wait for the whole grid.
        let by_default = spec.target.is_some() && !has_server;
        let applies = is_open && !self.full && (self.budget.is_some() || by_default);
        if applies && self.junit {
            return Err(Failure::usage(
                "--junit: needs passes as test cases, but this run chooses its loads; give lengths or loads, or --full",
            ));
        }
        Ok(applies)
    }
}

/// The spec of the sweep within the budget. Sends single requests to choose the lengths.
///
/// # Errors
/// When the server cannot be reached, or the user interrupts the run.
fn chosen(
    spec: &Spec,
    given: Option<Budget>,
    host: &Host,
    events: &Events,
    servers: &mut Servers,
) -> Result<Spec, Failure> {
    let (plan, context) = resolve(spec, &variable)?;
    let context = Context { host: Host { confirm: None, ..host.clone() }, ..context };
    let has_key = context.headers.iter().any(|(name, _)| is_key_header(name));
    let (time, most_tokens) = Budget::limits(given, has_key);
    let request = RunRequest { plan: &plan, context: &context, events };
    let of_request = most_tokens.map_or(u64::MAX, |most| most / FEWEST_REQUESTS);
    let found = choose_lengths(request, servers, time, of_request)?;
    let left = time.saturating_sub(found.taken).max(SHORTEST.min(time));
    let ChosenLengths { cell, alone, .. } = found;
    let (alone_s, most_s) = (alone.map(|alone| alone.as_secs_f64()), left.as_secs_f64());
    if spec.max_failures.is_some() {
        tell("max_failures is not used: this run goes on to loads at which requests may fail");
    }
    events.say(&Notice::ChosenLengths { cell, alone_s, most_s, most_tokens });
    Ok(sweep(spec, cell, left, most_tokens))
}

/// The spec of the sweep within the budget, with example lengths, and a note that they are an example. Sends nothing.
fn example(spec: &Spec, given: Option<Budget>) -> Spec {
    tell("the lengths are chosen when the server has answered: those of this plan are an example");
    let (time, most_tokens) = Budget::limits(given, false);
    sweep(spec, CellPlan { input_length: 128, output_length: 32 }, time, most_tokens)
}

fn sweep(spec: &Spec, cell: CellPlan, time: Duration, most_tokens: Option<u64>) -> Spec {
    let max_time = Some(Value::Text(format!("{:.0}s", time.as_secs_f64())));
    let max_requests = most_tokens.map(|most| (most / cell.tokens()).max(1));
    Spec {
        input_lengths: Some(vec![cell.input_length]),
        output_lengths: Some(vec![cell.output_length]),
        sweep: Some(SweepSpec { max_time, max_requests, ..SweepSpec::default() }),
        // A sweep goes on to loads at which requests fail.
        max_failures: None,
        ..spec.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lengths_and_loads_are_chosen_only_for_a_server_of_which_neither_is_given() {
        let target = json!("http://127.0.0.1:1");
        for (keys, budget, full, applies) in [
            (json!({"target": target}), None, false, Some(true)),
            (json!({"target": target, "slo": "ttft_p99<1s", "seed": 3}), None, false, Some(true)),
            (json!({"target": target}), None, true, Some(false)),
            (json!({"target": target, "input_lengths": [64]}), None, false, Some(false)),
            (json!({"target": target, "requests": 8}), None, false, Some(false)),
            (json!({"target": target, "workload": "sharegpt"}), None, false, Some(false)),
            (json!({"target": target, "rate": [2]}), Some("2m"), false, None),
            (json!({}), None, false, Some(false)),
            (json!({}), Some("9ktokens"), false, None),
        ] {
            let spec: Spec = serde_json::from_value(keys.clone()).unwrap();
            let budget = budget.map(|text| text.parse().unwrap());
            assert_eq!(
                Asked { budget, full, ..Asked::default() }.applies(&spec).ok(),
                applies,
                "{keys}"
            );
        }
        assert_eq!("90s".parse(), Ok(Budget::Time(Duration::from_secs(90))));
        assert_eq!("200000 tokens".parse(), Ok(Budget::Tokens(200_000)));
        assert!("fast".parse::<Budget>().unwrap_err().contains("or a number of tokens"));
    }
}
