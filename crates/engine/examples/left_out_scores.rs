//! Prints how many rows of each published model are inside the ranges of a profile without rows of this model. About
//! 90 % of the rows are expected for each model. The profile for FP16 weights is fitted again for each model. No file
//! is written.
//!
//! Run in the crate's folder: `cargo run --release --example left_out_scores`. It takes seconds.

use std::{error::Error, fs};

use inferometer_engine::fit::{
    MeasuredTable, Outputs, Score, constants_of, fit, parse_rows, round_start, score, without_model,
};
use inferometer_engine::{EngineConfig, Weights, profile::profile};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn table(model: &str, file: &str, outputs: Outputs) -> Outcome<MeasuredTable> {
    let path = format!("data/rows/{file}.csv");
    let rows = parse_rows(&fs::read_to_string(&path)?, &path, outputs)?;
    Ok(MeasuredTable { config: EngineConfig::of_model(model)?, rows, requests: 399 })
}

fn print(what: &str, score: &Score) {
    let Score { table, rows, uncalibrated, throughput, latency, range_pct, words } = score;
    let of = rows - uncalibrated;
    let [wide, narrow] = range_pct.unwrap_or_default();
    match of {
        0 => println!("{table} ({what}): {rows} rows, all uncalibrated: {words}"),
        of => println!(
            "{table} ({what}): {rows} rows, {uncalibrated} uncalibrated; throughput {throughput} of \
             {of} within +{wide:.1} %, latency {latency} of {of} within +{narrow:.1} %; by {words}"
        ),
    }
}

fn main() -> Outcome<()> {
    let vllm = profile("a100-40g-vllm-0.2.7")?;
    let names = constants_of(Weights::Fp16);
    let start = round_start(&vllm, names);
    let of = |model: &str| table(model, model, Outputs::RequestedLength);
    let fp16 = [of("chatglm3-6b")?, of("qwen-14b")?];
    let (gptq, awq) = (of("baichuan2-13b-gptq")?, of("mistral-7b-openorca-awq")?);
    let (mut rows, mut uncalibrated) = (0, 0);
    let mut add = |what: &str, score: &Score| {
        print(what, score);
        rows += score.rows;
        uncalibrated += score.uncalibrated;
    };
    for (at, left) in fp16.iter().enumerate() {
        let others: Vec<MeasuredTable> = vec![fp16[1 - at].clone()];
        let mut fitted = fit(&start, &others, names)?;
        fitted.provenance.clone_from(&vllm.provenance);
        let fitted = without_model(&fitted, &left.config.model.name);
        add("fp16, vLLM 0.2.7", &score(&fitted, left)?);
    }
    add("gptq, vLLM 0.2.7", &score(&without_model(&vllm, "baichuan2-13b-gptq"), &gptq)?);
    let model = "mistral-7b-openorca-awq";
    let older = profile("a100-40g-vllm-0.2.5-awq")?;
    add("awq, vLLM 0.2.5", &score(&without_model(&older, model), &awq)?);
    let tgi = profile("a100-40g-tgi-1.3.4")?;
    let of_tgi = table(model, &format!("{model}-tgi"), Outputs::EndOfText)?;
    add("awq, TGI 1.3.4", &score(&without_model(&tgi, model), &of_tgi)?);
    println!("{uncalibrated} of {rows} rows are uncalibrated: only one model has such weights");
    Ok(())
}
