//! Compares the longest prompt and the longest sequence that the server accepts with the lengths of the plan, before
//! any prompt is sent.

use inferometer_model::target::Facts;
use inferometer_model::{CellPlan, Finding, code};
use inferometer_plan::{Grid, Plan};

use crate::RunError;

/// Checks the lengths of the prompts.
///
/// # Errors
/// When the prompts of a cell exceed the limit on prompts, or reach the limit on prompt plus output. The server could
/// then answer no request of this cell.
pub(crate) fn check(plan: &Plan, facts: &Facts) -> Result<(), RunError> {
    if plan.workload.grid() != Grid::Tokens {
        return Ok(());
    }
    if let Some((name, limit)) = facts.max_prompt() {
        let too_long = lengths(plan, |cell| u64::from(cell.input_length) > limit);
        if !too_long.is_empty() {
            return Err(impossible(
                &format!("prompts of at most {limit} tokens (its {name})"),
                &too_long,
            ));
        }
    }
    let Some((name, limit)) = facts.max_sequence() else { return Ok(()) };
    let too_long = lengths(plan, |cell| u64::from(cell.input_length) >= limit);
    if !too_long.is_empty() {
        let most = format!("at most {limit} tokens, prompt plus output (its {name})");
        return Err(impossible(&most, &too_long));
    }
    Ok(())
}

/// Finds cells in which the prompt is within the server's limit, but prompt plus output exceeds it. Some servers cut
/// such outputs, others reject the request. `template`: the tokens of a chat template, if input lengths do not include
/// them.
pub(crate) fn beyond(plan: &Plan, facts: &Facts, template: u32) -> Option<Finding> {
    let (_, limit) = facts.max_sequence().filter(|_| plan.workload.grid() == Grid::Tokens)?;
    let all = |cell: &CellPlan| [cell.input_length, cell.output_length, template].map(u64::from);
    let long = lengths(plan, |cell| cell.input_length > 0 && all(cell).iter().sum::<u64>() > limit);
    let with = match template {
        0 => String::new(),
        tokens => format!(", with {tokens} tokens of the chat template"),
    };
    let message = format!(
        "The server accepts at most {limit} tokens, prompt plus output. This is too few for {}{with}: the \
            server will reject these requests or shorten their outputs",
        long.join(", ")
    );
    (!long.is_empty()).then(|| Finding::of(code::BEYOND_THE_SERVERS_LIMIT, message))
}

fn impossible(most: &str, lengths: &[String]) -> RunError {
    RunError::plan(format!(
        "input_lengths (--input-lengths): the server accepts {most}, so {} cannot be measured; \
            leave these lengths out, or start the server with a larger limit",
        lengths.join(", ")
    ))
}

fn lengths(plan: &Plan, of: impl Fn(&CellPlan) -> bool) -> Vec<String> {
    plan.cells.iter().filter(|cell| of(cell)).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_plan::spec::{Known, Spec};

    #[test]
    fn prompts_above_the_model_limit_are_refused_and_outputs_above_it_give_a_finding() {
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        let told_by = |inputs: &[u32], outputs: &[u32], facts: &[(&str, &str)]| {
            let spec = Spec {
                input_lengths: Some(inputs.to_vec()),
                output_lengths: Some(outputs.to_vec()),
                ..Spec::default()
            };
            let plan = spec.resolve(&known).expect("a plan");
            let facts = facts.iter().map(|(name, limit)| ((*name).to_owned(), (*limit).to_owned()));
            let facts = facts.collect::<std::collections::BTreeMap<_, _>>().into();
            check(&plan, &facts).map(|()| [0, 32].map(|template| beyond(&plan, &facts, template)))
        };
        let told = |inputs: &[u32], outputs: &[u32], limit: Option<&str>| {
            let fact = limit.map(|limit| ("max_model_len", limit));
            told_by(inputs, outputs, fact.as_slice())
        };
        assert!(told(&[2048], &[1], Some("2048")).is_err());
        let found = told(&[1024, 128], &[1024, 1025], Some("2048")).expect("can be measured");
        let [message, with_template] = found.map(|found| found.expect("a finding").message);
        assert!(
            message.contains("too few for 1024 x 1025:") && !message.contains("128 x"),
            "{message}"
        );
        let both = "too few for 1024 x 1024, 1024 x 1025, with 32 tokens of the chat template:";
        assert!(with_template.contains(both), "{with_template}");
        assert_eq!(told(&[128], &[128], Some("2048")).expect("fits"), [None, None]);
        assert_eq!(told(&[100_000], &[1], None).expect("nothing is known"), [None, None]);
        // TGI states one limit for the prompt and one for prompt plus output.
        let tgi = [("max_input_tokens", "1023"), ("max_total_tokens", "2048")];
        let refused = told_by(&[1024], &[1], &tgi).expect_err("too long").to_string();
        assert!(
            refused.contains("prompts of at most 1023 tokens (its max_input_tokens)"),
            "{refused}"
        );
        let [found, _] = told_by(&[1023, 512], &[1026], &tgi).expect("can be measured");
        let message = found.expect("a finding").message;
        assert!(
            message.contains("too few for 1023 x 1026:") && !message.contains("512 x"),
            "{message}"
        );
        assert!(told_by(&[4096], &[1], &[("n_ctx_slot", "4096")]).is_err());
    }
}
