//! Fits the profiles of the engines of 2023 to the rows in `data/rows`, and writes the profiles with their errors.
//! These are the errors on these rows, and the errors on rows that were left out of a fit.
//!
//! Run in the crate's folder: `cargo run --release --example fit_profiles`. It takes seconds.

use std::{error::Error, fs};

use inferometer_engine::fit::{
    MeasuredBlock, MeasuredTable, Outputs, PARAMETERS, PUBLISHED, RowError, TGI_CONSTANTS,
    V100_CONSTANTS, block_error_percent, block_errors, constants_of, coverage, error_percent,
    errors, fit, fit_blocks, leave_blocks_out, leave_lengths_out, leave_table_out, parameter,
    parse_blocks, parse_rows, round_start, serving_run, signed,
};
use inferometer_engine::profile::{ColumnErrors, Coverage, Provenance, Role, profile};
use inferometer_engine::{EngineConfig, Profile, Weights};

/// The numbers of requests of the saturated and the one-by-one pass, as documented for the tables.
const REQUESTS: (u32, u32) = (399, 10);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn table(model: &str) -> Outcome<MeasuredTable> {
    rows_of(model, model, Outputs::RequestedLength)
}

fn rows_of(model: &str, file: &str, outputs: Outputs) -> Outcome<MeasuredTable> {
    let path = format!("data/rows/{file}.csv");
    let rows = parse_rows(&fs::read_to_string(&path)?, &path, outputs)?;
    Ok(MeasuredTable { config: EngineConfig::of_model(model)?, rows, requests: REQUESTS.0 })
}

fn told(what: &str, errors: &[RowError]) -> ColumnErrors {
    let percent = error_percent(errors);
    for (column, error) in &percent {
        println!("  {what}: {column}: {error:?}");
    }
    percent
}

/// Returns the provenance of the profile for a table, with its errors, and prints the errors of each row.
fn held_against(profile: &Profile, table: &MeasuredTable, role: Role) -> Outcome<Provenance> {
    let found = errors(profile, table)?;
    let name = table.config.model.name.clone();
    println!("{name} under {}:", profile.name);
    for (row, error) in table.rows.iter().zip(&found) {
        println!(
            "  {:>11}: output tokens/s {:+6.1} %, latency per output token {:+6.1} %",
            row.cell.to_string(),
            100.0 * error.output_tokens_per_s,
            100.0 * error.latency_per_output_token_ms
        );
    }
    Ok(Provenance {
        table: name,
        weights: table.config.model.weights,
        role,
        rows: table.rows.len() as u32,
        requests: REQUESTS,
        seen: coverage(profile, table)?,
        errors: told("fitted", &found),
        ..Provenance::default()
    })
}

/// Fits the named constants of a profile to tables, and adds the provenance of each table with its errors.
fn fitted(
    parent: &Profile,
    tables: &[MeasuredTable],
    names: &[&str],
    role: Role,
) -> Outcome<Profile> {
    let start = &round_start(parent, names);
    let mut profile = rounded(fit(start, tables, names)?)?;
    profile.provenance.clone_from(&parent.provenance);
    let left_out = leave_lengths_out(tables, |kept| fit(start, kept, names))?;
    for (at, (table, left_out)) in tables.iter().zip(&left_out).enumerate() {
        let mut provenance = held_against(&profile, table, role)?;
        provenance.left_out_lengths = told("lengths left out", left_out);
        if tables.len() > 1 {
            let errors = leave_table_out(start, tables, names, at)?;
            provenance.left_out_table = told("table left out", &errors);
            provenance.without_table = signed(&errors);
        }
        profile.provenance.push(provenance);
    }
    Ok(profile)
}

/// Rounds constants to six significant digits, so that files are readable and results do not depend on further digits.
fn rounded(mut profile: Profile) -> Outcome<Profile> {
    for parameter in &PARAMETERS {
        let value: f64 = format!("{:.5e}", (parameter.get)(&profile)).parse()?;
        (parameter.set)(&mut profile, value);
    }
    Ok(profile)
}

fn write(profile: &Profile) -> Outcome<()> {
    let text = toml::to_string(profile)?;
    Ok(fs::write(format!("data/profiles/{}.toml", profile.name), text)?)
}

/// The values of [`V100_CONSTANTS`] at which the search starts.
const V100_ROUND: [f64; 2] = [7000.0, 0.3];
/// The speed at which the V100 reads keys and values again from its cache of 6 MB, as a share of its memory bandwidth.
/// This is an assumption, because the log does not distinguish the time of these reads from the host's time.
const V100_REREAD: f64 = 0.5;

/// Fits the profile of the V100 to the log of its closed loops, and compares its prediction of the published serving
/// run with the published figures.
fn v100() -> Outcome<Profile> {
    let mut start = profile("v100-32g-x4-vllm-0.2")?;
    start.provenance.clear();
    start.constants.kv_reread_efficiency = V100_REREAD;
    for (name, value) in V100_CONSTANTS.iter().zip(V100_ROUND) {
        (parameter(name)?.set)(&mut start, value);
    }
    let config = EngineConfig::of_model("sus-chat-34b")?;
    let path = "data/rows/sus-chat-34b-v100.csv";
    let blocks = parse_blocks(&fs::read_to_string(path)?, path)?;
    let mut profile = rounded(fit_blocks(&start, &config, &blocks, &V100_CONSTANTS)?)?;
    let errors = block_errors(&profile, &config, &blocks)?;
    println!("sus-chat-34b under {}:", profile.name);
    for (row, error) in blocks.iter().zip(&errors) {
        println!("  {:?}: {:+6.1} %", row.block, 100.0 * error);
    }
    let left_out = leave_blocks_out(&start, &config, &blocks, &V100_CONSTANTS)?;
    let range = |of: fn(&MeasuredBlock) -> u32| {
        let values = blocks.iter().map(of);
        (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
    };
    let (_, in_flight) = range(|row| row.block.in_flight);
    let own = Provenance {
        table: config.model.name.clone(),
        weights: Weights::Fp16,
        role: Role::Fitted,
        rows: blocks.len() as u32,
        requests: range(|row| row.block.completed),
        seen: Coverage {
            input_tokens: range(|row| row.block.prompt),
            output_tokens: range(|row| row.block.mean_output as u32),
            sequences: (1, in_flight),
            cards: 4,
            cached_percent: (0, 0),
        },
        errors: block_error_percent(&errors),
        left_out_lengths: block_error_percent(&left_out),
        ..Provenance::default()
    };
    profile.provenance.push(own.clone());
    let run = serving_run(&EngineConfig { profile: profile.clone(), ..config.clone() })?;
    println!("  serving run: {run:?}; published: {PUBLISHED:?}");
    println!("  {:?}\n  {:?}", own.errors, own.left_out_lengths);
    let error = run.output_tokens_per_s / PUBLISHED.output_tokens_per_s - 1.0;
    profile.provenance.push(Provenance {
        table: "sus-chat-34b, ShareGPT serving run".to_owned(),
        role: Role::HeldOut,
        rows: 1,
        requests: (1000, 1000),
        seen: Coverage {
            input_tokens: (4, 1024),
            output_tokens: (4, 1024),
            sequences: (1, 256),
            cards: 4,
            cached_percent: (0, 0),
        },
        errors: block_error_percent(&[error]),
        left_out_lengths: ColumnErrors::new(),
        ..own
    });
    Ok(profile)
}

fn main() -> Outcome<()> {
    write(&v100()?)?;

    let fp16 = [table("chatglm3-6b")?, table("qwen-14b")?];
    let mut newer = profile("a100-40g-vllm-0.2.7")?;
    newer.provenance.clear();
    newer = fitted(&newer, &fp16, constants_of(Weights::Fp16), Role::Fitted)?;
    let quantised = table("baichuan2-13b-gptq")?;
    newer = fitted(
        &newer,
        std::slice::from_ref(&quantised),
        constants_of(Weights::Gptq),
        Role::FittedKernel,
    )?;

    let mut older = profile("a100-40g-vllm-0.2.5-awq")?;
    older.provenance.clear();
    older.constants = newer.constants.clone();
    // The sampler of 0.2.5 does not gather the output tokens.
    older.constants.output_token_ns = 0.0;
    let of_older = table("mistral-7b-openorca-awq")?;
    older = fitted(
        &older,
        std::slice::from_ref(&of_older),
        constants_of(Weights::Awq),
        Role::FittedKernel,
    )?;
    // The effect of another version: the errors of each table with the version properties of the other profile.
    let as_newer = older.with_version_of(&newer);
    older.provenance[0].other_version = signed(&errors(&as_newer, &of_older)?);
    let as_older = newer.with_version_of(&older);
    for (table, measured) in newer.provenance.iter_mut().zip(fp16.iter().chain([&quantised])) {
        table.other_version = signed(&errors(&as_older, measured)?);
    }
    write(&newer)?;
    write(&older)?;

    let mut tgi = profile("a100-40g-tgi-1.3.4")?;
    tgi.provenance.clear();
    tgi.constants = older.constants.clone();
    tgi.kernels = older.kernels.clone();
    let model = "mistral-7b-openorca-awq";
    let rows = rows_of(model, &format!("{model}-tgi"), Outputs::EndOfText)?;
    tgi = fitted(&tgi, &[rows], &TGI_CONSTANTS, Role::Fitted)?;
    write(&tgi)
}
