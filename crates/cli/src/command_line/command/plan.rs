//! `plan`: which card, how many servers and which arguments serve a load within objectives, and with which chance. All is
//! predicted; nothing is sent.

mod text;
mod traffic;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use inferometer_engine::card::cards;
use inferometer_model::visible;
use inferometer_plan::spec::{Price, PriceKeys, Spec, tokens};
use inferometer_predict::{Capacity, capacity};
use inferometer_run::{PlanInputs, resolve_with};
use serde_json::{Map, Value, json};

use super::engine_flags::{EngineFlags, config};
use crate::command_line::{Failure, print, variable};
use crate::{plan_file, price};

use text::{document, text};
use traffic::Traffic;

/// The default precision of the searches, as a share: small beside the range of the model.
const PRECISION: &str = "10%";

/// The flags of `plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// A plan file (TOML) with further keys, such as a workload; flags override its keys
    plan: Option<PathBuf>,
    /// Model by name, or the path of a config.json
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Length of prompts in tokens; 8k is 8192
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    input_length: Option<u32>,
    /// Length of answers in tokens
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    output_length: Option<u32>,
    /// Objectives, such as ttft_p95<500ms,tpot_p95<50ms
    #[arg(long, value_name = "OBJECTIVES")]
    slo: Option<String>,
    /// Load to serve: requests per second, or a file with lines `HOUR,REQUESTS_PER_SECOND` of a day
    #[arg(long, value_name = "RATE|FILE")]
    traffic: String,
    /// Cards (GPUs) to choose from, separated by commas [default: all that the program knows]
    #[arg(long, value_name = "CARDS", value_delimiter = ',')]
    cards: Vec<String>,
    /// Cards of one server (tensor parallel), separated by commas
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8")]
    counts: Vec<u32>,
    /// Values of an engine argument to choose from, such as max_num_seqs=64,256; may be given several
    /// times
    #[arg(long = "try", value_name = "KEY=VALUES")]
    tries: Vec<String>,
    /// Chance with which the objectives must hold
    #[arg(long, value_name = "SHARE", default_value = "90%")]
    chance: String,
    /// Servers that may fail while the others carry the load
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    spare: u32,
    /// Minutes until a new server is ready
    #[arg(long, value_name = "MINUTES", default_value_t = 5.0)]
    start_minutes: f64,
    /// Price of the hardware, such as 2.5/gpu-hour, or a file with a price per card, in lines such as
    /// `h200 = 2.5/gpu-hour, quote of 2026-11-02`
    #[arg(long, value_name = "PRICE|FILE")]
    price: Option<String>,
    /// Print one JSON document on stdout
    #[arg(long)]
    json: bool,
}

/// A kind of server.
#[derive(Clone)]
struct Kind {
    card: String,
    cards: u32,
    /// The arguments that differ.
    tried: Vec<(String, Value)>,
}

/// What is asked.
struct Asked<'a> {
    arguments: &'a PlanArgs,
    model: &'a str,
    traffic: &'a Traffic,
    /// The least chance, from 0 to 1.
    chance: f64,
}

/// A kind of server that can serve the load.
struct Answer {
    kind: Kind,
    capacity: Capacity,
    servers: u32,
    chance: f64,
    /// Dollars per hour of all servers.
    cost: Option<f64>,
    /// Server-hours of a day if servers follow the load.
    server_hours: f64,
    is_tie: bool,
}

/// Finds the servers, and prints them.
///
/// # Errors
/// If a flag is wrong, or no kind of server serves the load.
pub fn plan(arguments: &PlanArgs) -> Result<(), Failure> {
    let traffic = Traffic::read(&arguments.traffic).map_err(Failure::usage)?;
    let chance = share(&arguments.chance)
        .ok_or_else(|| Failure::usage("--chance: write a share from 50% to 99.9%, such as 90%"))?;
    if !(0.1..=1440.0).contains(&arguments.start_minutes) {
        return Err(Failure::usage("--start-minutes: write a time from 0.1 to 1440"));
    }
    let keys = PriceKeys {
        price: arguments.price.clone().map(price::with_file).transpose().map_err(Failure::usage)?,
        ..PriceKeys::default()
    };
    let price = keys.price().map_err(|(key, why)| Failure::usage(format!("--{key}: {why}")))?;
    let spec = spec(arguments)?;
    let kinds = kinds(arguments)?;
    let found = capacities(&spec, &kinds)?;
    let (mut answers, mut refused) = (Vec::new(), Vec::new());
    for (kind, found) in kinds.into_iter().zip(found) {
        match found.and_then(|capacity| {
            answer(kind.clone(), capacity, &traffic, chance, arguments, price.as_ref())
        }) {
            Ok(answer) => answers.push(answer),
            Err(why) => refused.push((kind, why)),
        }
    }
    let size = |answer: &Answer| {
        answer.cost.unwrap_or_else(|| f64::from(answer.servers * answer.kind.cards))
    };
    answers.sort_by(|one, other| {
        let order = |it: &Answer| (!it.capacity.is_calibrated, size(it), -it.chance);
        order(one).partial_cmp(&order(other)).expect("invariant: sizes and chances are numbers")
    });
    mark_ties(&mut answers, traffic.peak(), arguments.spare, size);
    let model = spec.model.as_deref().unwrap_or_default();
    let asked = Asked { arguments, model, traffic: &traffic, chance };
    print(&if arguments.json {
        format!("{:#}\n", document(&asked, &answers, &refused))
    } else {
        text(&asked, &answers, &refused)
    })?;
    match answers.is_empty() {
        true => {
            Err(Failure::run_failed("no kind of server serves this load within the objectives"))
        }
        false => Ok(()),
    }
}

fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.5..=0.999).contains(&share).then_some(share)
}

/// All kinds of servers: cards, counts, and the values to try.
fn kinds(arguments: &PlanArgs) -> Result<Vec<Kind>, Failure> {
    let mut tried: Vec<Vec<(String, Value)>> = vec![Vec::new()];
    for text in &arguments.tries {
        let (key, values) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "--try {text}: write a key and values, such as max_num_seqs=64,256"
            ))
        })?;
        let key = key.trim().replace('-', "_");
        if !EngineFlags::keywords().contains(&key)
            || ["card", "tensor_parallel_size"].contains(&&*key)
        {
            let why = "is no argument of the engine that can be tried; `inferometer predict --help` lists them";
            return Err(Failure::usage(format!("--try {key}: {why}")));
        }
        if tried[0].iter().any(|(known, _)| *known == key) {
            let why = "is given twice; give all its values at once, such as 64,256";
            return Err(Failure::usage(format!("--try {key}: {why}")));
        }
        let values: Vec<Value> = values
            .split(',')
            .map(|value| serde_json::from_str(value.trim()).unwrap_or_else(|_| json!(value.trim())))
            .collect();
        let with = |before: &Vec<(String, Value)>| {
            let add = |value: &Value| [&before[..], &[(key.clone(), value.clone())]].concat();
            values.iter().map(add).collect::<Vec<_>>()
        };
        tried = tried.iter().flat_map(with).collect();
    }
    let names: Vec<String> = match arguments.cards.is_empty() {
        true => cards().map(|card| card.name.clone()).collect(),
        false => arguments.cards.clone(),
    };
    let mut kinds = Vec::new();
    for card in &names {
        for &cards in &arguments.counts {
            let of = |tried: &Vec<_>| Kind { card: card.clone(), cards, tried: tried.clone() };
            kinds.extend(tried.iter().map(of));
        }
    }
    Ok(kinds)
}

/// The capacity of each kind, or why it has none. Kinds are simulated side by side.
fn capacities(spec: &Spec, kinds: &[Kind]) -> Result<Vec<Result<Capacity, String>>, Failure> {
    // A mistake in the plan itself is that of every kind.
    resolve_with(spec, PlanInputs::default(), &variable)?;
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![Err(String::new()); kinds.len()]);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(kind) = kinds.get(at) else { break };
            let result = of_kind(spec, kind);
            found.lock().expect("invariant: no thread panics")[at] = result;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).map(|_| inferometer_net::spawn_scoped(scope, work)).collect();
        work();
        others.into_iter().try_for_each(|thread| thread.map(drop))
    })
    .map_err(Failure::run_failed)?;
    Ok(found.into_inner().expect("invariant: no thread panics"))
}

/// The plan of the search that finds the capacity of one server.
fn spec(arguments: &PlanArgs) -> Result<Spec, Failure> {
    let list = |length: Option<u32>| length.map(|length| json!([length]));
    let given = [
        ("model", arguments.model.as_ref().map(|name| json!(name))),
        ("slo", arguments.slo.as_ref().map(|text| json!(text))),
        ("input_lengths", list(arguments.input_length)),
        ("output_lengths", list(arguments.output_length)),
        ("search", Some(json!({ "precision": PRECISION, "over": "rate" }))),
    ];
    let given = given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let keys: Map<String, Value> = given.collect();
    let file = arguments.plan.as_deref();
    let (spec, multi) =
        plan_file::merge_multi_target(file, keys, plan_file::OverrideOrigin::Flags)?;
    if spec.model.is_none() {
        let why = "name the model, such as qwen3-14b (`inferometer list models`)";
        return Err(Failure::usage(format!("--model: is missing; {why}")));
    }
    if !multi.targets.is_empty() || spec.target.is_some() || spec.server.is_some() {
        return Err(Failure::usage("`plan` contacts no server; leave out targets and [server]"));
    }
    Ok(spec)
}

fn of_kind(spec: &Spec, kind: &Kind) -> Result<Capacity, String> {
    let mut keys = Map::from_iter(kind.tried.iter().cloned());
    keys.insert("card".to_owned(), json!(kind.card));
    keys.insert("tensor_parallel_size".to_owned(), json!(kind.cards));
    let told = |error: &dyn std::fmt::Display| visible::line(&error.to_string()).into_owned();
    let flags = EngineFlags::take_from(&mut keys).map_err(|error| told(&error))?;
    let config = config(spec.model.as_deref(), spec.profile.as_deref(), &flags)
        .map_err(|error| told(&error))?;
    let inputs = PlanInputs { engine_flags: flags.given(), ..PlanInputs::default() };
    let (plan, context) = resolve_with(spec, inputs, &variable).map_err(|error| told(&error))?;
    capacity(&plan, &context, &config).map_err(|error| told(&error))
}

fn answer(
    kind: Kind,
    capacity: Capacity,
    traffic: &Traffic,
    chance: f64,
    arguments: &PlanArgs,
    price: Option<&Price>,
) -> Result<Answer, String> {
    let servers = |load: f64| capacity.servers(load, chance).map(|it| it + arguments.spare);
    let Some(at_peak) = servers(traffic.peak()) else {
        return Err(format!(
            "no number of servers up to 10000 meets the objectives with this chance: one carries {:.3} requests/s, and in \
                the worst case {:.3}",
            capacity.best, capacity.low
        ));
    };
    let hours = |(hours, load): &(f64, f64)| hours * f64::from(servers(*load).unwrap_or(at_peak));
    let server_hours: f64 = traffic.steps().iter().map(hours).sum();
    let of_server = match price {
        None => None,
        Some(price) => {
            let price = price.of_card(Some(&kind.card))?;
            let per_gpu = if price.is_per_gpu { f64::from(kind.cards) } else { 1.0 };
            Some(price.per_hour * per_gpu)
        }
    };
    let chance = capacity.chance(traffic.peak() / f64::from(at_peak - arguments.spare));
    let cost = of_server.map(|price| price * f64::from(at_peak));
    Ok(Answer { kind, capacity, servers: at_peak, chance, cost, server_hours, is_tie: false })
}

/// Marks the answers that are no larger than the first one if the prediction is exact.
fn mark_ties(answers: &mut [Answer], peak: f64, spare: u32, size: impl Fn(&Answer) -> f64) {
    let exact = |answer: &Answer| {
        let servers = answer.capacity.servers(peak, 0.5).map_or(answer.servers, |it| it + spare);
        size(answer) * f64::from(servers) / f64::from(answer.servers)
    };
    let Some(first) = answers.first().map(exact) else { return };
    for answer in &mut answers[1..] {
        answer.is_tie = answer.capacity.is_calibrated && exact(answer) <= first;
    }
}
