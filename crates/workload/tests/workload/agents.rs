//! Traces of agents as they are played: what is sent, when, and what prompts share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inferometer_model::load::{
    ConversationsPlan, CountOf, Due, EndedRequest, Script, Share, load_model,
};
use inferometer_model::source::{Said, Supply};
use inferometer_model::{Bound, Nanos, Outcome, PassPlan, Prompt, Record, Request};
use inferometer_plan::{AgentsPlan, Answers, TraceFormat, TracePlan, TraceWindow, WorkloadPlan};
use inferometer_workload::jobs::{self, Content, Trace};
use inferometer_workload::{
    History, JobsNeeded, OpenWorkload, PassJobs, PromptForm, WorkloadError, embedded,
};
use serde_json::Value;

use crate::support::{ids, place};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs").join(name)
}

fn plan(name: &str) -> AgentsPlan {
    AgentsPlan {
        dataset: file(name).to_str().expect("a path").to_owned(),
        format: None,
        jobs: None,
        max_gap: None,
        output_length: Some(7),
        answers: Answers::Recorded,
    }
}

/// A pass over all jobs at once.
fn pass_of(plan: &AgentsPlan) -> Result<PassPlan, WorkloadError> {
    let begin = Box::new(PassPlan::closed(99, Bound::none()));
    let of = CountOf::Conversations;
    let pass = PassPlan::Conversations(ConversationsPlan { script: Script::of(0), begin, of });
    let mut whole = crate::support::plan_of(WorkloadPlan::Agents(plan.clone()));
    whole.passes = vec![pass];
    inferometer_workload::prepare(&mut whole)?;
    Ok(whole.passes.remove(0))
}

/// What is sent if every request takes `lasts` and is answered with `answer`: when each is due, and the request.
fn played_with(
    plan: &AgentsPlan,
    (form, history): (PromptForm, History),
    lasts: &dyn Fn(&Request) -> u64,
    answer: &str,
) -> Result<Vec<(u64, Request)>, WorkloadError> {
    let pass = pass_of(plan)?;
    let PassPlan::Conversations(ConversationsPlan { script, .. }) = &pass else { panic!("{pass}") };
    let workload = WorkloadPlan::Agents(plan.clone());
    let mut opened = OpenWorkload::open(&workload, embedded(), 1, "salt")?;
    opened.context.form = form;
    let (context, scope, share) = (&opened.context, &place(), Share::WHOLE);
    let wanted = JobsNeeded { context, scope, script, share, history, counts: true };
    let PassJobs { mut source, planned, .. } = opened.workload().jobs(&wanted)?.expect("jobs");
    let mut load = load_model(&pass, 1);
    let mut ready: BTreeMap<(u32, u32), Request> = BTreeMap::new();
    let (mut sent, mut ends, mut begun) = (Vec::new(), BTreeMap::new(), 0);
    loop {
        match load.next_due() {
            Due::At(due) if ends.keys().next().is_none_or(|(end, _)| due < *end) => {
                let of = load.continues().unwrap_or((begun, 0));
                let request = match load.continues() {
                    Some(of) => ready.remove(&of).expect("a request that is ready"),
                    None => {
                        let Supply::Request(request) = source.next() else { panic!("a job") };
                        ready.extend(
                            source.begun(begun).into_iter().map(|(call, it)| ((begun, call), it)),
                        );
                        begun += 1;
                        *request
                    }
                };
                load.take();
                let planned = &planned[of.0 as usize][of.1 as usize];
                assert_eq!(
                    (&planned.job, planned.output_tokens),
                    (&request.job, request.output_tokens)
                );
                ends.insert((Nanos(due.0 + lasts(&request)), of), ());
                sent.push((due.0, request));
            }
            _ => {
                let Some(((end, of), ())) = ends.pop_first() else { return Ok(sent) };
                let record = Record { outcome: Outcome::Complete, ..Record::default() };
                let follows = source.ended(of, &record, Said { answer, reasoning: "why " });
                ready.extend(follows.requests.into_iter().map(|(call, it)| ((of.0, call), it)));
                load.ended(end, EndedRequest { conversation: of.0, call: of.1, complete: true });
            }
        }
    }
}

fn played(name: &str) -> Vec<Request> {
    let form = (PromptForm::Text, History::Text);
    let sent = played_with(&plan(name), form, &|_| 1, "")
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    sent.into_iter().map(|(_, request)| request).collect()
}

fn common(one: &[u32], other: &[u32]) -> u32 {
    one.iter().zip(other).take_while(|(one, other)| one == other).count() as u32
}

/// The files whose rows state the lengths of all prompts.
const SIZED: [&str; 17] = [
    "mooncake_block128.jsonl",
    "mooncake_sessions_cumulative_block128.jsonl",
    "mooncake_sessions_delta.jsonl",
    "agentic_mooncake_block64.jsonl",
    "bailian_block16.jsonl",
    "weka_job_a.json",
    "azure_2024.csv",
    "azure_lmm_2025.csv",
    "burstgpt.csv",
    "litellm_standard_logging.jsonl",
    "anthropic_requests.jsonl",
    "dynamo_request_trace.jsonl",
    "tracelab.jsonl",
    "trie.jsonl",
    "otel_job_a.json",
    "claude_code_session.jsonl",
    "atif_v1.7.json",
];

#[test]
fn prompts_and_answers_have_the_recorded_lengths_and_share_exactly_what_was_shared() {
    for name in SIZED {
        let trace = jobs::read(&[file(name)], None).expect(name);
        let sent = played(name);
        assert_eq!(sent.len(), trace.calls.len(), "{name}");
        let prompts: BTreeMap<u32, Vec<u32>> =
            sent.iter().map(|request| (request.input_tokens, ids(&embedded(), request))).collect();
        assert_eq!(
            prompts.len(),
            sent.len(),
            "{name}: the prompts of the sample have different lengths"
        );
        for call in &trace.calls {
            let length = call.prompt.get().expect(name);
            let request = sent.iter().find(|request| request.input_tokens == length).expect(name);
            assert_eq!(prompts[&length].len() as u32, length, "{name}");
            assert_eq!(request.counted_tokens, Some(length), "{name}");
            assert_eq!(request.output_tokens, call.output.get().unwrap_or(7), "{name}");
            for other in &trace.calls {
                let of_other = other.prompt.get().expect(name);
                if let Some(shared) = shared(&trace, call, other)
                    && length != of_other
                {
                    let found = common(&prompts[&length], &prompts[&of_other]);
                    assert_eq!(found, shared, "{name}: {} and {}", call.id, other.id);
                }
            }
        }
    }
}

#[test]
fn each_call_records_how_much_of_its_prompt_an_earlier_prompt_has_and_which_was_the_first() {
    for name in SIZED {
        let mut sent = played(name);
        sent.sort_by_key(|request| request.job.as_ref().map(|job| (job.job, job.call)));
        let prompts: Vec<Vec<u32>> = sent.iter().map(|it| ids(&embedded(), it)).collect();
        for (at, request) in sent.iter().enumerate() {
            let shared = request.job.as_ref().and_then(|job| job.shared).expect(name);
            let in_common = |other: usize| common(&prompts[at], &prompts[other]);
            let most = (0..at).map(in_common).max().unwrap_or(0);
            assert_eq!(shared.tokens, most, "{name}: call {at}");
            if most > 0 {
                let first = (0..at).find(|other| in_common(*other) == most).expect("a call");
                let job = sent[first].job.as_ref().expect("a job");
                assert_eq!(shared.with, (job.job, job.call), "{name}: call {at}");
            }
        }
    }
}

/// The tokens that two prompts have in common; `None` if the trace does not say it.
fn shared(trace: &Trace, call: &jobs::Call, other: &jobs::Call) -> Option<u32> {
    let lengths = call.prompt.get()?.min(other.prompt.get()?);
    match (call.content.get(), other.content.get()) {
        (Some(Content::Blocks(one)), Some(Content::Blocks(other))) => {
            Some((trace.blocks.shared(one, other) * trace.block_tokens.get()?).min(lengths))
        }
        _ => {
            let is_before = trace.previous(call).is_some_and(|before| std::ptr::eq(before, other));
            call.keeps.get().filter(|_| is_before).map(|kept| kept.min(lengths))
        }
    }
}

#[test]
fn calls_that_take_their_recorded_times_start_when_they_were_recorded() {
    let truth: Value = serde_json::from_slice(&std::fs::read(file("TRUTH.json")).unwrap()).unwrap();
    let calls: Vec<&Value> = truth["calls"].as_object().expect("calls").values().collect();
    let of = |request: &Request| {
        let found = calls.iter().find(|call| call["prompt"] == request.input_tokens);
        let ns = |key: &str| (found.expect("a call")[key].as_f64().unwrap() * 1e9).round() as u64;
        (ns("start_s"), ns("end_s"))
    };
    let lasts = |request: &Request| of(request).1 - of(request).0;
    for (name, first_ns) in
        [("weka_job_a.json", 0), ("otel_job_a.json", 0), ("agentic_mooncake_block64.jsonl", 0)]
    {
        let form = (PromptForm::Text, History::Text);
        for (due, request) in played_with(&plan(name), form, &lasts, "").expect(name) {
            let job = request.job.as_ref().expect("a job");
            let begin = if request.input_tokens == 900 { of(&request).0 } else { first_ns };
            // A job of the closed loop begins at once, at whatever time it was recorded.
            assert!(
                (due + begin).abs_diff(of(&request).0) <= 1_000,
                "{name}, job {} call {}: {due} {begin}",
                job.job,
                job.call
            );
        }
    }
}

#[test]
fn copies_of_a_job_share_nothing_with_it_and_everything_among_themselves() {
    let plan = AgentsPlan { jobs: Some(4), ..plan("agentic_mooncake_block64.jsonl") };
    let form = (PromptForm::TokenIds, History::Text);
    let sent = played_with(&plan, form, &|_| 1, "").expect("a trace");
    let of = |job: u32, length: u32| {
        let is_it = |request: &&Request| {
            request.job.as_ref().expect("a job").job == job && request.input_tokens == length
        };
        let found = sent.iter().map(|(_, request)| request).find(is_it).expect("a call");
        ids(&embedded(), found)
    };
    assert_eq!(sent.len(), 16);
    assert_eq!(common(&of(0, 790), &of(2, 790)), 0);
    assert_eq!(common(&of(2, 790), &of(2, 960)), common(&of(0, 790), &of(0, 960)));
    assert_eq!(of(0, 790)[..], of(0, 790)[..]);
}

#[test]
fn gaps_are_cut_only_if_asked_and_the_findings_say_how_much() {
    let name = "weka_job_a.json";
    let max_gap = Some(std::time::Duration::from_secs(1));
    let cut = AgentsPlan { max_gap, ..plan(name) };
    let last = |plan: &AgentsPlan| {
        let form = (PromptForm::Text, History::Text);
        played_with(plan, form, &|_| 0, "").expect(name).last().expect("calls").0
    };
    assert_eq!((last(&plan(name)) / 1_000_000, last(&cut) / 1_000_000), (17_100, 3_000));
    let opened = OpenWorkload::open(&WorkloadPlan::Agents(cut), embedded(), 1, "salt").unwrap();
    let findings = opened.findings();
    let found = findings.iter().find(|finding| finding.message.contains("--max-gap"));
    let text = &found.expect("a finding").message;
    assert!(text.starts_with("2 of 6 gaps between calls are cut to 1 s"), "{text}");
    assert!(text.contains("removes 14.1 s"), "{text}");
}

#[test]
fn messages_are_sent_as_they_were_if_lengths_are_not_recorded() {
    let form = (PromptForm::Text, History::Messages);
    let name = "mlperf_agentic.jsonl";
    let sent = played_with(&plan(name), form, &|_| 1, "").expect(name);
    let Prompt::Messages(messages) = &sent[1].1.prompt else { panic!("messages") };
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(messages[2]["tool_calls"][0]["function"]["name"], "read_file");
    assert_eq!(messages[3]["tool_call_id"], messages[2]["tool_calls"][0]["id"]);
    assert_eq!(messages[3]["content"], "result of read_file");
    assert_eq!(sent[1].1.extra_body["tools"][0]["function"]["name"], "read_file");
}

#[test]
fn messages_of_copies_begin_with_other_words_and_those_of_a_job_with_the_same() {
    let form = (PromptForm::Text, History::Messages);
    let plan = AgentsPlan { jobs: Some(2), ..plan("mlperf_agentic.jsonl") };
    let sent = played_with(&plan, form, &|_| 1, "").expect("a trace");
    let tag = |request: &Request| match &request.prompt {
        Prompt::Messages(messages) => {
            let text = messages[0]["content"].as_str().expect("a text");
            text.split_once('\n').expect("a tag").0.to_owned()
        }
        other => panic!("{other:?}"),
    };
    let tags: BTreeMap<(u32, u32), String> = sent
        .iter()
        .map(|(_, request)| {
            let job = request.job.as_ref().expect("a job");
            ((job.job, job.call), tag(request))
        })
        .collect();
    assert_eq!(tags[&(0, 0)], tags[&(0, 1)]);
    assert_ne!(tags[&(0, 0)], tags[&(1, 0)]);
}

#[test]
fn live_answers_stand_in_later_prompts_with_the_words_that_were_new() {
    let plan = AgentsPlan { answers: Answers::Live, ..plan("trie.jsonl") };
    let form = (PromptForm::Text, History::Text);
    let sent = played_with(&plan, form, &|_| 1, " the answer").expect("a trace");
    let texts: Vec<&str> = sent
        .iter()
        .map(|(_, request)| match &request.prompt {
            Prompt::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    let later = texts[1].strip_prefix(texts[0]).expect("the prompt before");
    let new = later.strip_prefix(" the answer\n").expect("the answer");
    assert_eq!(embedded().count(new).unwrap(), 130);
    assert!(texts[2].starts_with(&format!("{} the answer\n", texts[1])));
    assert_eq!((sent[0].1.input_tokens, sent[1].1.input_tokens), (790, 0));
}

#[test]
fn live_reasoning_goes_back_only_if_asked() {
    let form = (PromptForm::Text, History::Messages);
    for (answers, expected) in [(Answers::Live, None), (Answers::LiveWithReasoning, Some("why "))] {
        let plan = AgentsPlan { answers, ..plan("trie.jsonl") };
        let sent = played_with(&plan, form, &|_| 1, "so").expect("a trace");
        let Prompt::Messages(messages) = &sent[1].1.prompt else { panic!("messages") };
        assert_eq!(messages[1]["content"], "so");
        let reasoning = messages[1].get("reasoning_content").and_then(Value::as_str);
        assert_eq!(reasoning, expected);
    }
}

#[test]
fn a_trace_of_sessions_is_no_trace_of_independent_requests_unless_its_format_is_given() {
    for name in ["agentic_mooncake_block64.jsonl", "otel_job_a.json"] {
        let open = |format| {
            let AgentsPlan { dataset, .. } = plan(name);
            let window = TraceWindow::default();
            let (scale, max_tokens, block_tokens) = (1.0, None, None);
            let trace = TracePlan { dataset, format, window, scale, max_tokens, block_tokens };
            OpenWorkload::open(&WorkloadPlan::Trace(trace), embedded(), 1, "salt")
        };
        let error = open(None).err().expect(name).to_string();
        assert!(error.contains("play it with --workload agents"), "{error}");
        let is_mooncake = open(Some(TraceFormat::Mooncake)).is_ok();
        assert_eq!(is_mooncake, name.contains("mooncake"), "{name}");
    }
}

#[test]
fn traces_that_cannot_be_played_are_refused_with_what_to_do() {
    let without = |name: &str| AgentsPlan { output_length: None, ..plan(name) };
    let live = |name: &str| AgentsPlan { answers: Answers::Live, ..plan(name) };
    let form = (PromptForm::Text, History::Messages);
    for (plan, expected) in [
        (
            without("openai_requests.jsonl"),
            "do not say how long their answers are; give --output-length",
        ),
        (plan("servegen_chunk-0-dataset.json"), "the file has distributions and no calls"),
        (plan("nothing.jsonl"), "nothing.jsonl"),
        (live("mlperf_agentic.jsonl"), "leave out --answers"),
    ] {
        let error = played_with(&plan, form, &|_| 1, "").expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut replayed = crate::support::plan_of(WorkloadPlan::Agents(without("trie.jsonl")));
    let begin = Box::new(PassPlan::Replay(inferometer_model::load::ReplayPlan {
        recording: inferometer_model::load::Recording::of_file(&without("trie.jsonl").dataset),
        speed: 1.0,
        bound: Bound::none(),
        max_in_flight: None,
        over_limit: inferometer_model::OverLimit::Queue,
    }));
    let of = CountOf::Conversations;
    replayed.passes =
        vec![PassPlan::Conversations(ConversationsPlan { script: Script::of(0), begin, of })];
    let error = inferometer_workload::prepare(&mut replayed).expect_err("no times").to_string();
    assert!(error.ends_with("its jobs have no times; give --concurrency or --rate"), "{error}");
}
