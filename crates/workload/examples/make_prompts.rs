//! Measures the time and the memory that are needed to make prompts: `make_prompts [COUNT] [LENGTH]
//! [TOKENIZER] [text|ids] [check]`. By default it makes 100,000 text prompts of 1,024 tokens with the
//! embedded tokenizer. It prints the times in seconds, the number of prompts that do not have the requested
//! length, and the peak of memory. With `check`, it counts the tokens of every text again, and prints how
//! many texts do not have the requested number of tokens. It sends no requests to a serving engine.

use std::time::Instant;

use inferometer_model::cell::CellPlan;
use inferometer_model::request::{Prompt, Request};
use inferometer_plan::WorkloadPlan;
use inferometer_workload::{OpenWorkload, PromptForm, PromptScope, embedded, load};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let count: usize = given.next().map_or(Ok(100_000), |text| text.parse())?;
    let input_length: u32 = given.next().map_or(Ok(1_024), |text| text.parse())?;
    let tokenizer = match given.next().as_deref() {
        None | Some("embedded") => embedded(),
        Some(named) => load(named)?,
    };
    let loading = Instant::now();
    println!("{}: {} plain ids", tokenizer.name(), tokenizer.plain_ids().len());
    let counter = tokenizer.clone();
    println!("the tokenizer has texts for its plain ids: {}", counter.plain_words().is_some());
    let mut spec = OpenWorkload::open(&WorkloadPlan::Random, tokenizer, 1, "salt")?;
    if given.next().as_deref() == Some("ids") {
        spec.context.form = PromptForm::TokenIds;
    }
    println!("ready in {:.2} s", loading.elapsed().as_secs_f64());
    let begun = Instant::now();
    let cell = CellPlan { input_length, output_length: 1 };
    let built = spec.requests(cell, &PromptScope::new("0", "saturated", 0), count)?;
    println!("{count} prompts of {input_length} tokens in {:.2} s", begun.elapsed().as_secs_f64());
    let off = |request: &&Request| request.counted_tokens != Some(input_length);
    println!("prompts without the requested length: {}", built.requests.iter().filter(off).count());
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!(
        "{}",
        status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown")
    );
    if given.next().as_deref() == Some("check") {
        let mut wrong = 0;
        for request in &built.requests {
            if let Prompt::Text(text) = &request.prompt {
                wrong += usize::from(counter.count(text)? != input_length);
            }
        }
        println!("prompts whose second count differs from the requested length: {wrong}");
    }
    Ok(())
}
