//! Fits the embedded profiles to the rows in `data/rows` and writes them, with the errors reached.
//!
//! Run in the crate's folder: `cargo run --release --example fit_profiles`. It takes minutes.

use std::error::Error;
use std::fs;

use inferometer_engine::EngineConfig;
use inferometer_engine::fit::{MeasuredTable, error_percent, errors, fit, parse_rows};
use inferometer_engine::profile::{Profile, Provenance, Role, profile};

/// Requests of the passes, as documented for the tables.
const REQUESTS: (u32, u32) = (399, 10);

fn table(model: &str) -> Result<MeasuredTable, Box<dyn Error>> {
    let path = format!("data/rows/{model}.csv");
    let rows = parse_rows(&fs::read_to_string(&path)?, &path)?;
    Ok(MeasuredTable { config: EngineConfig::of_model(model)?, rows, requests: REQUESTS.0 })
}

/// Notes how the profile does on a table, and prints it row by row.
fn held_against(
    profile: &mut Profile,
    table: &MeasuredTable,
    role: Role,
) -> Result<(), Box<dyn Error>> {
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
    let mut distribution = error_percent(&found);
    for (column, error) in &mut distribution {
        for value in [&mut error.mean, &mut error.median, &mut error.p90, &mut error.max] {
            *value = (*value * 100.0).round() / 100.0;
        }
        println!("  {column}: {error:?}");
    }
    profile.provenance.push(Provenance {
        table: name,
        role,
        rows: table.rows.len() as u32,
        requests: REQUESTS,
        errors: distribution,
    });
    Ok(())
}

/// Rounds constants to six digits, so that files are readable and nothing depends on the rest.
fn rounded(mut profile: Profile) -> Result<Profile, Box<dyn Error>> {
    for parameter in &inferometer_engine::fit::PARAMETERS {
        let value: f64 = format!("{:.5e}", (parameter.get)(&profile)).parse()?;
        (parameter.set)(&mut profile, value);
    }
    Ok(profile)
}

fn write(profile: &Profile) -> Result<(), Box<dyn Error>> {
    let text = toml::to_string(profile)?;
    Ok(fs::write(format!("data/profiles/{}.toml", profile.name), text)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let fp16 = [table("chatglm3-6b")?, table("qwen-14b")?];
    let (gptq, awq) = (table("baichuan2-13b-gptq")?, table("mistral-7b-openorca-awq")?);
    let shared = [
        "step_us",
        "sequence_us",
        "sequence_layer_head_ns",
        "bandwidth_efficiency",
        "dense_efficiency",
        "attention_efficiency",
        "kv_reread_efficiency",
        "activation_fixed_bytes",
        "activation_bytes_per_token_hidden",
    ];
    let own = |kernel: &str| {
        let keys = ["bandwidth_efficiency", "dense_efficiency", "dequantise_efficiency"];
        keys.map(|key| format!("{kernel}.{key}"))
    };

    let mut newer = rounded(fit(&profile("a100-40g-vllm-0.2.7")?, &fp16, &shared, 3)?)?;
    let names = own("gptq");
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    newer = rounded(fit(&newer, std::slice::from_ref(&gptq), &names, 2)?)?;
    newer.provenance.clear();
    for table in &fp16 {
        held_against(&mut newer, table, Role::Fitted)?;
    }
    held_against(&mut newer, &gptq, Role::FittedKernel)?;
    write(&newer)?;

    let mut older = profile("a100-40g-vllm-0.2.5-awq")?;
    let floor = older.constants.layer_floor_us;
    older.constants = newer.constants.clone();
    older.constants.layer_floor_us = floor;
    let names = own("awq");
    let mut names: Vec<_> = names[..2].iter().map(String::as_str).collect();
    names.push("layer_floor_us");
    older = rounded(fit(&older, std::slice::from_ref(&awq), &names, 2)?)?;
    older.provenance.clear();
    held_against(&mut older, &awq, Role::FittedKernel)?;
    write(&older)
}
