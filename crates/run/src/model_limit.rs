//! The longest sequence that the server takes, compared with the lengths of the plan before anything
//! is sent.

use std::collections::BTreeMap;

use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, code};
use inferometer_plan::{Grid, Plan};

use crate::error::RunError;

/// Cells whose prompts leave room for an output, and whose outputs do not fit whole: some servers
/// cut them, others refuse the request.
///
/// # Errors
/// When a prompt alone is as long as the server takes: none of its requests could be answered.
pub(crate) fn check(
    plan: &Plan,
    facts: &BTreeMap<String, String>,
) -> Result<Option<Finding>, RunError> {
    let limit = facts.get("max_model_len").and_then(|text| text.parse::<u64>().ok());
    let Some(limit) = limit.filter(|_| plan.workload.grid() == Grid::Tokens) else {
        return Ok(None);
    };
    let impossible: Vec<String> = lengths(plan, |cell| u64::from(cell.input_length) >= limit);
    if !impossible.is_empty() {
        return Err(RunError::plan(format!(
            "input_lengths (--input-lengths): the server takes {limit} tokens at most, prompt and \
             output together (its max_model_len), so nothing can be measured at {}; leave these \
             out, or start the server with a larger limit",
            impossible.join(", ")
        )));
    }
    let long = |cell: &CellPlan| {
        u64::from(cell.input_length) + u64::from(cell.output_length) > limit
            && cell.input_length > 0
    };
    let long = lengths(plan, long);
    let message = format!(
        "The server takes {limit} tokens at most, prompt and output together; {} asks for more: it \
         will refuse these requests or cut their outputs",
        long.join(", ")
    );
    let finding = Finding::of(code::BEYOND_THE_SERVERS_LIMIT, message);
    Ok((!long.is_empty()).then_some(finding))
}

fn lengths(plan: &Plan, of: impl Fn(&CellPlan) -> bool) -> Vec<String> {
    plan.cells.iter().filter(|cell| of(cell)).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_plan::spec::{Known, Spec};

    #[test]
    fn what_a_server_cannot_answer_is_refused_and_what_it_may_cut_is_told() {
        let known = Known { dialects: &[], models: &["chatglm3-6b"] };
        let told = |inputs: &[u32], outputs: &[u32], limit: Option<&str>| {
            let spec = Spec {
                input_lengths: Some(inputs.to_vec()),
                output_lengths: Some(outputs.to_vec()),
                ..Spec::default()
            };
            let plan = spec.resolve(&known).expect("a plan");
            let fact = limit.map(|limit| ("max_model_len".to_owned(), limit.to_owned()));
            check(&plan, &fact.into_iter().collect())
        };
        assert!(told(&[2048], &[1], Some("2048")).is_err());
        let found = told(&[1024, 128], &[1024, 1025], Some("2048")).expect("can be measured");
        let message = found.expect("a finding").message;
        assert!(message.contains("1024 x 1025 asks") && !message.contains("128 x"), "{message}");
        assert!(told(&[128], &[128], Some("2048")).expect("fits").is_none());
        assert!(told(&[100_000], &[1], None).expect("nothing is known").is_none());
    }
}
