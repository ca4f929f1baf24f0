//! Compares the longest prompt and the longest sequence that the server accepts with the lengths of the plan, before
//! any prompt is sent.

use inferometer_model::{CellPlan, Finding, code, target::Facts};
use inferometer_plan::{Grid, Plan};
use inferometer_workload::{Beyond, OpenWorkload};

use crate::{RunError, prompts::PromptCursor};

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

/// Finds cells with a request whose prompt is within the server's limit, but whose prompt plus output exceeds it. Some
/// servers cut such outputs, others reject the request. `template`: the tokens of a chat template, if input lengths do
/// not include them.
///
/// # Errors
/// When the tokens of a data set's prompts cannot be counted.
pub(crate) fn beyond(
    plan: &Plan,
    workload: &OpenWorkload,
    facts: &Facts,
    template: u32,
) -> Result<Option<Finding>, RunError> {
    let Some((_, limit)) = facts.max_sequence() else { return Ok(None) };
    let mut cursor = PromptCursor::default();
    let mut long = Vec::new();
    for &cell in &plan.cells {
        let room = limit.saturating_sub(template.into());
        long.extend(longest_beyond(plan, workload, cell, &mut cursor, room)?);
    }
    let with = match template {
        0 => String::new(),
        tokens => format!(", with {tokens} tokens of the chat template"),
    };
    let message = format!(
        "The server accepts at most {limit} tokens, prompt plus output. This is too few for {}{with}: the \
            server will reject these requests or shorten their outputs",
        long.join(", ")
    );
    Ok((!long.is_empty()).then(|| Finding::of(code::BEYOND_THE_SERVERS_LIMIT, message)))
}

/// The name and the lengths of the longest request of a cell, if it has more than `room` tokens.
fn longest_beyond(
    plan: &Plan,
    workload: &OpenWorkload,
    cell: CellPlan,
    cursor: &mut PromptCursor,
    room: u64,
) -> Result<Option<String>, RunError> {
    if let Some(pass) = plan.warmup.pass() {
        cursor.next(cell, "warm-up", 1, &pass);
    }
    let mut longest: Option<Beyond> = None;
    for repeat in 1..=plan.repeat.at_least {
        for pass in plan.passes_of(cell) {
            let scope = cursor.next(cell, &pass.prompt_label(), repeat, &pass);
            let count = pass.requests().unwrap_or(u32::MAX) as usize;
            let found = workload.beyond(cell, &scope, count, room);
            let found = found.map_err(|error| RunError::prompts(format!("{cell}: {error}")))?;
            longest = longest.into_iter().chain(found).max_by_key(|found| found.longest.tokens());
        }
    }
    Ok(longest.map(|Beyond { longest, requests, of }| {
        let more = match requests {
            1 => String::new(),
            _ => format!(" and {} more of {of} requests", requests - 1),
        };
        match cell {
            cell if cell == longest => cell.to_string(),
            CellPlan::OWN => format!("the longest request ({longest}){more}"),
            _ => format!("the longest request of {cell} ({longest}){more}"),
        }
    }))
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
    use serde_json::{Value, json};

    fn open(plan: &Plan) -> OpenWorkload {
        let tokenizer = inferometer_workload::embedded();
        OpenWorkload::open(&plan.workload, tokenizer, plan.seed, "salt").expect("a workload")
    }

    #[test]
    fn the_longest_request_of_drawn_lengths_and_of_data_is_compared_with_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path.to_str().expect("a path").to_owned()
        };
        let words = "one two three four ".repeat(250).trim_end().to_owned();
        let rows = format!(
            "{{\"prompt\": \"short\", \"max_tokens\": 8}}\n\
                {{\"prompt\": \"{words}\", \"max_tokens\": 100}}\n"
        );
        let turn = |from: &str| json!({"from": from, "value": words});
        let conversations = json!([{"id": "1", "conversations": [turn("human"), turn("gpt")]}]);
        let sharegpt = file("sharegpt.json", &conversations.to_string());
        let sharegpt = json!({"workload": "sharegpt", "dataset": sharegpt});
        let conversation = json!({
            "workload": "conversation", "conversations": 2, "turns": "3",
            "first_turn_input": "400", "turn_input": "400", "turn_output": "20",
        });
        let trace = "timestamp,input_tokens,output_tokens\n0,10,10\n1,900,200\n2,2000,9\n";
        let own = json!({"workload": "jsonl", "dataset": file("rows.jsonl", &rows)});
        let trace = json!({"workload": "trace", "dataset": file("trace.csv", trace)});
        let cases = [
            (
                json!({"input_lengths": [800], "output_lengths": [200], "range_ratio": 0.25}),
                "the longest request of 800 x 200 (1000 x 250)",
            ),
            (
                json!({"input_distribution": "uniform:10..900", "output_lengths": [200]}),
                "the longest request of own x 200 (900 x 200)",
            ),
            (
                json!({"input_lengths": [800], "output_distribution": "lognormal:100,300"}),
                "the longest request of 800 x own (800 x ",
            ),
            (json!({"input_distribution": "pairs:900,100;100,900"}), ""),
            (
                json!({"input_distribution": "pairs:900,100;100,950:0.5"}),
                "the longest request (100 x 950)",
            ),
            (own.clone(), "the longest request (1000 x 100)"),
            (
                with(&trace, json!({"requests": 3, "concurrency": ["1"]})),
                "the longest request (2000 x 9) and 1 more of 3 requests:",
            ),
            (with(&own, json!({"requests": 1, "warmup": 0, "concurrency": ["1"]})), ""),
            (sharegpt, "the longest request (1000 x 1000)"),
            (conversation, "the longest request (1240 x 20)"),
            (trace.clone(), "the longest request (2000 x 9)"),
            (
                with(&trace, json!({"requests": 2, "concurrency": ["1"]})),
                "the longest request (900 x 200)",
            ),
        ];
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        let mut wrong = Vec::new();
        for (keys, expected) in cases {
            let spec: Spec = serde_json::from_value(keys.clone()).expect("a spec");
            let mut plan = spec.resolve(&known).expect("a plan");
            inferometer_workload::prepare(&mut plan).expect("recorded times");
            let facts =
                std::collections::BTreeMap::from([("max_model_len".to_owned(), "1024".to_owned())]);
            let found = beyond(&plan, &open(&plan), &facts.into(), 0).expect("lengths");
            let message = found.map_or_else(String::new, |found| found.message);
            let is_right = message.contains(expected) && message.is_empty() == expected.is_empty();
            wrong.extend((!is_right).then(|| format!("{keys}: {message}")));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    fn with(keys: &Value, others: Value) -> Value {
        let (mut keys, Value::Object(others)) = (keys.clone(), others) else { unreachable!() };
        keys.as_object_mut().expect("keys").extend(others);
        keys
    }

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
            let workload = open(&plan);
            let found = |template| beyond(&plan, &workload, &facts, template).expect("lengths");
            check(&plan, &facts).map(|()| [0, 32].map(found))
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
