//! Checks whether a run would send the same requests as an earlier run. The requests are made in the same way as in
//! the earlier run, and only their hash is used. None of them is sent.

use inferometer_model::{CellPlan, Environment};
use inferometer_plan::Plan;
use inferometer_store::PassBegin;

use super::{cursor::PromptCursor, supply::supply, workload::Prompts, workload_hash::WorkloadHash};
use crate::RunError;

/// The requests of an earlier run, which this run must send again.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierWork {
    /// The name of the earlier run.
    pub run: String,
    /// The hash over the requests of the earlier run.
    pub workload_hash: String,
    /// How often the earlier run measured each cell.
    pub repeats: Vec<(CellPlan, u32)>,
    /// The environment of the earlier run, which includes its tokenizer.
    pub environment: Environment,
    /// The version of the program that made the requests of the earlier run.
    pub tool_version: String,
}

/// Checks that the requests are the same.
///
/// # Errors
/// When the requests cannot be made, or when they differ. The error states the reason, if it is known.
pub fn check_same_work(
    prompts: &Prompts,
    plan: &Plan,
    earlier: &EarlierWork,
) -> Result<(), RunError> {
    let (mut hash, mut cursor) = (WorkloadHash::unused(), PromptCursor::default());
    let mut number = 0;
    for &cell in &plan.cells {
        if let Some(pass) = plan.warmup.pass() {
            cursor.next(cell, "warm-up", 1, &pass);
        }
        let repeats = earlier.repeats.iter().find(|(known, _)| *known == cell);
        for repeat in 1..=repeats.map_or(1, |(_, repeats)| *repeats) {
            for pass in plan.passes_of(cell) {
                let place = cursor.next(cell, &pass.prompt_label(), repeat, &pass);
                let begin = PassBegin { pass: number, cell, plan: pass, repeat };
                supply(prompts, plan, &begin, &place, &mut hash)?;
                number += 1;
            }
        }
    }
    let found = hash.hash();
    if found == earlier.workload_hash {
        return Ok(());
    }
    Err(RunError::prompts(format!(
        "this is not the workload of run {}: the requests here have the hash {}, and those of the \
            run have {}; {}; nothing was measured",
        earlier.run,
        short(&found),
        short(&earlier.workload_hash),
        why(prompts, earlier)
    )))
}

/// The first digits of a hash: enough for a reader to distinguish two hashes.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// The name of a tokenizer, for the comparison with the earlier run. The name of a server's own tokenizer contains the
/// server's address, which may differ between the runs. So the address is left out.
fn known_as(name: &str) -> String {
    if name.contains("://") { "the server's own".to_owned() } else { name.to_owned() }
}

/// The reasons for different requests, as far as they are known.
fn why(prompts: &Prompts, earlier: &EarlierWork) -> String {
    let tokenizer = &prompts.tokenizer().tokenizer;
    let here = known_as(&tokenizer.name());
    let there = earlier.environment.tokenizer.as_deref().map(known_as);
    let files = [tokenizer.sha256(), earlier.environment.tokenizer_sha256.clone()];
    let same_file = files[0].is_some() && files[0] == files[1];
    let mut reasons = Vec::new();
    if there.as_ref() != Some(&here) && !same_file {
        let there = there.unwrap_or_else(|| "not known".to_owned());
        reasons.push(format!(
            "the tokenizer of the requests here is {here}, and that of the run is {there}"
        ));
    }
    if let [Some(here), Some(there)] = &files
        && here != there
    {
        reasons.push(format!(
            "the tokenizer file has the SHA-256 {} here, and {} there",
            short(here),
            short(there)
        ));
    }
    if earlier.tool_version != env!("CARGO_PKG_VERSION") {
        reasons.push(format!(
            "the requests of the run were made by inferometer {}, and this is version {}",
            earlier.tool_version,
            env!("CARGO_PKG_VERSION")
        ));
    }
    if reasons.is_empty() {
        return "this server counts tokens differently from the server of the run: it has another \
            tokenizer, or adds other tokens to a prompt"
            .to_owned();
    }
    reasons.join("; ")
}
