//! Translates the flags of `vllm bench serve` into keys of a plan and settings for the output. It opens no file and
//! prints nothing.

use serde_json::{Map, Value};

use super::workload::{self, DataSet};
use super::{given::GivenFlags, load, outcome::ServingOutput, reader::Reader, target as server};
use crate::other_tools::vllm::{Answer, Flag};

/// The translated flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    /// The keys of a plan.
    pub keys: Map<String, Value>,
    /// The settings for the printed table and for the result file.
    pub outcome: ServingOutput,
    /// Differences from vLLM, as notes for users.
    pub notes: Vec<String>,
}

/// The default number of requests.
const REQUESTS: u32 = 1_000;

/// Translates the flags. `target` is the address of the server if no flag gives one; None stands for vLLM's default.
///
/// # Errors
/// Returns all mistakes, each with its flag.
pub fn translate(given: &GivenFlags, target: Option<&str>) -> Result<Translated, Vec<String>> {
    let mut reader = Reader::new(given);
    let mut keys = Map::new();
    let dataset = DataSet::of(&mut reader);
    for (flag, values) in given.flags() {
        judge(&mut reader, flag, values, dataset);
    }
    server::keys(&mut reader, &mut keys, target);
    let asked = reader.count("--num-prompts").unwrap_or(REQUESTS);
    let requests = workload::keys(&mut reader, dataset, asked, &mut keys);
    let arrivals = load::arrivals(&mut reader);
    if dataset.is_self_timed(&reader) {
        if reader.has("--request-rate") || arrivals.ramp.is_some() {
            let problem = "the trace defines the arrival times; give --no-self-timed to use a rate";
            reader.mistake("--request-rate", problem);
        }
        keys.extend(arrivals.most_in_flight.map(|most| ("max_in_flight".to_owned(), most.into())));
    } else {
        load::keys(&arrivals, requests, &mut keys);
    }
    server::sampling(&mut reader, &mut keys);
    let seed: Option<u64> = reader.number("--seed", "a whole number of at least 0", |_| true);
    keys.extend(seed.map(|seed| ("seed".to_owned(), seed.into())));
    let warmups: Option<u32> =
        reader.number("--num-warmups", "a whole number of at least 0", |_| true);
    let warmups = load::warmup(warmups.unwrap_or(0), arrivals.most_in_flight);
    keys.insert("warmup".to_owned(), warmups.into());
    if reader.has("--reset-prefix-cache") {
        keys.insert("reset_prefix_cache".to_owned(), true.into());
    }
    let outcome = ServingOutput::of(&mut reader, arrivals, asked);
    keys.extend(outcome.goodput_key());
    match reader.mistakes.is_empty() {
        true => Ok(Translated { keys, outcome, notes: reader.notes }),
        false => Err(reader.mistakes),
    }
}

/// Records a mistake for a rejected flag, or a note if the flag differs from vLLM or has no effect.
fn judge(reader: &mut Reader<'_>, flag: &Flag, values: &[String], dataset: DataSet) {
    let other = flag.dataset.filter(|name| *name != dataset.name());
    match flag.answer {
        Answer::Refused(why) => {
            let is_harmless = values.iter().all(|value| flag.harmless.contains(&value.as_str()));
            if values.is_empty() || !is_harmless {
                reader.mistake(flag.name, why);
            }
        }
        _ if other.is_some() => {
            let name = other.unwrap_or_default();
            reader.note(flag.name, format!("applies to --dataset-name {name} only, as in vLLM"));
        }
        Answer::Near(words) => reader.note(flag.name, words),
        Answer::Same => {}
    }
}
