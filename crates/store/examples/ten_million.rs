//! Creates a store with ten million requests: ninety runs of 100,000 requests and one run of a million. With
//! REQUESTS, the store has about this number of requests. As after real measurements, each run has its log,
//! its rows and its results. Use the store to measure how long queries take at this size:
//!
//! ```sh
//! cargo run --release -p inferometer-store --example ten_million -- FOLDER [REQUESTS]
//! time inferometer runs --store FOLDER/inferometer.db
//! ```
//!
//! The example measures nothing itself, and writes nothing outside of the folder.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use inferometer_analysis::cell::cell;
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::summary::{SUMMARY_SCHEMA, Summary};
use inferometer_analysis::verdict::Verdict;
use inferometer_model::cell::CellPlan;
use inferometer_model::load::PassPlan;
use inferometer_model::metrics::Timeline;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Read, Record, Usage};
use inferometer_model::sample::Observed;
use inferometer_model::target::{Environment, Facts, Target, Tool};
use inferometer_model::time::Nanos;
use inferometer_plan::Plan;
use inferometer_plan::spec::Spec;
use inferometer_store::{Ending, PassBegin, RunHeader, RunRecording, RunState, Store, into_stored};

const SECOND_NS: i64 = 1_000_000_000;
const FIRST_START_NS: i64 = 1_795_000_000 * SECOND_NS;
const RUNS: u32 = 91;
/// The number of tokens of each output. Each token has its own read.
const TOKENS: u32 = 8;
const PASSES: u32 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("give the folder to write to as the first argument")?;
    let requests: u32 = arguments.next().map_or(Ok(10_000_000), |text| text.parse())?;
    std::fs::create_dir_all(&folder)?;
    let mut store = Store::open(Path::new(&folder).join("inferometer.db"))?;
    for number in 0..RUNS {
        // The last run has a tenth of all requests.
        let share = if number + 1 == RUNS { requests / 10 } else { requests / 100 };
        write_run(&mut store, number, share)?;
        eprintln!("run {} of {RUNS}: {share} requests", number + 1);
    }
    Ok(())
}

fn header(number: u32) -> Result<RunHeader, Box<dyn Error>> {
    let spec: Spec = serde_json::from_value(serde_json::json!({
        "target": "http://127.0.0.1:8000", "input_lengths": [128, 512], "output_lengths": [TOKENS], "one_by_one": 10, "requests": 10,
    }))?;
    let started_unix_ns = FIRST_START_NS + i64::from(number) * 3_600 * SECOND_NS;
    let card = ["a100", "h200", "mi300x"][number as usize % 3].to_owned();
    Ok(RunHeader {
        started_unix_ns,
        suffix: 0xcafe,
        origin_unix_ns: started_unix_ns,
        plan: plan(&spec)?,
        target: Target {
            url: "http://127.0.0.1:8000".to_owned(),
            dialect: "openai-completions".to_owned(),
            engine: Some("vllm".to_owned()),
            engine_version: Some("0.11.0".to_owned()),
            model: format!("model-{}", number % 7),
            facts: Facts { card: Some(card), ..Facts::default() },
            ..Target::default()
        },
        environment: Environment::default(),
        predicted: false,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

fn plan(spec: &Spec) -> Result<Plan, Box<dyn Error>> {
    spec.resolve(&inferometer_plan::spec::Known {
        dialects: &[],
        models: &[],
        model_of_hub_id: |_| None,
    })
    .map_err(|errors| format!("{errors:?}").into())
}

fn write_run(store: &mut Store, number: u32, requests: u32) -> Result<(), Box<dyn Error>> {
    let header = header(number)?;
    let mut recording = RunRecording::begin(store, &header)?;
    let mut cells: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for pass in 0..PASSES {
        let count = requests / PASSES;
        let plan = PassPlan::saturated(count);
        let length = if pass < PASSES / 2 { 128 } else { 512 };
        let cell = CellPlan { input_length: length, output_length: TOKENS };
        recording.begin_pass(&PassBegin {
            pass,
            cell,
            plan: plan.clone(),
            repeat: 1 + pass % 2,
        })?;
        let mut fold = PassFold::new(&plan).of_repeat(1 + pass % 2);
        for index in 0..count {
            let record = into_stored(record(number, pass, index, length));
            fold.add(&Timeline::new(&record));
            recording.append(record)?;
        }
        recording.end_pass(Ending::Complete, None, &Observed::default())?;
        cells.entry(length).or_default().push(fold.finish());
    }
    let summary = Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        tool: Tool { name: "inferometer".to_owned(), version: header.tool_version.clone() },
        run_id: recording.run().to_string(),
        started_at: String::new(),
        plan_hash: header.plan.hash(),
        workload_hash: Some("none".to_owned()),
        body_hash: Some("none".to_owned()),
        predicted: false,
        target: header.target,
        environment: header.environment,
        verdict: Verdict::default(),
        findings: Vec::new(),
        cells: cells.into_iter().map(|(length, passes)| cell(length, TOKENS, passes)).collect(),
        imported: None,
        searches: Vec::new(),
        sweeps: Vec::new(),
        ranks: Vec::new(),
        errors: None,
    };
    let ended = header.started_unix_ns + 600 * SECOND_NS;
    recording.finish(Ending::Complete, &summary, RunState::Complete, ended)?;
    Ok(())
}

/// A request of about 100 ms, whose instants vary like those of real requests.
fn record(run: u32, pass: u32, index: u32, asked_input: u32) -> Record {
    let scatter = |salt: u32| {
        let mixed = (index ^ run.rotate_left(16) ^ pass.rotate_left(24) ^ salt)
            .wrapping_mul(0x9e37_79b9)
            .rotate_left(15);
        u64::from(mixed.wrapping_mul(0x85eb_ca6b) >> 12)
    };
    let due = 1_000_000_000 + u64::from(index) * 2_000_000;
    let sent = due + 50_000 + scatter(1) % 100_000;
    let first = sent + 20_000_000 + scatter(2) * 10;
    let reads = (0..TOKENS).map(|token| {
        let at = first + u64::from(token) * 12_000_000 + scatter(3 + token) % 400_000;
        Read {
            kernel: Some(Nanos(at)),
            user: Nanos(at + 20_000 + scatter(token) % 30_000),
            empty_before: Nanos(at - 30_000),
            bytes: 180,
        }
    });
    let reads: Vec<Read> = reads.collect();
    let ended = reads.last().map(|read| Nanos(read.user.0 + 40_000));
    let is_failed = index.is_multiple_of(997);
    Record {
        asked_input,
        asked_output: TOKENS,
        prompt_tokens_tokenizer: Some(asked_input),
        picked: Some(Nanos(sent - 50_000)),
        send_start: Some(Nanos(sent)),
        sent: Some(Nanos(sent + 8_000)),
        headers: Some(Nanos(first - 100_000)),
        events: (0..TOKENS)
            .map(|read| Event { read, kind: EventKind::Text, chars: 4, tokens: None })
            .collect(),
        reads,
        ended,
        outcome: if is_failed { Outcome::Truncated } else { Outcome::Complete },
        status: Some(200),
        finish_reason: Some("length".to_owned()),
        usage: Usage { prompt: Some(asked_input), completion: Some(TOKENS), cached: None },
        ..Record::planned(pass, index, Nanos(due))
    }
}
