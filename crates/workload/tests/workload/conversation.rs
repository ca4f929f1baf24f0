//! Tests of conversations: their turns, their words, and the rows of a file that are left out.

use inferometer_model::load::conversation::{ConversationPlan, TurnsFrom};
use inferometer_model::load::distribution::Distribution;
use inferometer_model::load::{Script, Share, Step};
use inferometer_model::{Prompt, Request};
use inferometer_plan::WorkloadPlan;
use inferometer_workload::{History, JobsNeeded, OpenWorkload, embedded};

use crate::support::{SHAREGPT, cell, place, spec};

fn random() -> ConversationPlan {
    ConversationPlan {
        conversations: 8,
        think_time_s: Distribution::Exponential { mean: 2.0 },
        turns: TurnsFrom::Random {
            turns: Distribution::Uniform { least: 1.0, most: 4.0 },
            first_input: Distribution::constant(40.0),
            input: Distribution::Uniform { least: 5.0, most: 20.0 },
            output: Distribution::constant(16.0),
        },
    }
}

fn of_file(turns: Option<f64>, output: Option<f64>) -> ConversationPlan {
    let constant = |value: Option<f64>| value.map(Distribution::constant);
    let turns = TurnsFrom::Sharegpt {
        dataset: SHAREGPT.to_owned(),
        turns: constant(turns),
        output: constant(output),
    };
    ConversationPlan { turns, ..random() }
}

/// The plans that have a golden file, each with the name of its golden file.
pub fn conversations() -> [(&'static str, WorkloadPlan); 2] {
    [("random", random()), ("sharegpt", of_file(Some(2.0), None))]
        .map(|(name, plan)| (name, WorkloadPlan::Conversation(plan)))
}

/// The turns of the first conversations of a plan.
pub fn planned(spec: &OpenWorkload, count: u32) -> Vec<Vec<Request>> {
    let (context, scope, share) = (&spec.context, &place(), Share::WHOLE);
    let mut script = Script::of(count);
    script.write((0..count).map(|_| vec![Step::default(); 99]));
    let (history, counts) = (History::Text, true);
    let wanted = JobsNeeded { context, scope, script: &script, share, history, counts };
    spec.workload().jobs(&wanted).expect("words can be made").expect("conversations").planned
}

fn text_of(turn: &Request) -> &str {
    match &turn.prompt {
        Prompt::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn talks(plan: &ConversationPlan, salt: &str, count: u32) -> Vec<Vec<Request>> {
    let spec = spec(&WorkloadPlan::Conversation(plan.clone()), salt);
    planned(&spec, count)
}

#[test]
fn turns_have_the_input_and_output_lengths_that_the_plan_samples() {
    let talks = talks(&random(), "salt", 8);
    for (number, talk) in talks.iter().enumerate() {
        let planned = random().turns_of(1, number as u32, None);
        assert_eq!(talk.len(), planned.len());
        for (turn, plan) in talk.iter().zip(planned) {
            assert_eq!(
                (Some(turn.input_tokens), Some(turn.output_tokens)),
                (plan.input, plan.output)
            );
            assert_eq!(embedded().count(text_of(turn)).unwrap(), turn.input_tokens);
            assert_eq!(turn.counted_tokens, Some(turn.input_tokens));
        }
    }
}

#[test]
fn texts_differ_by_salt_conversation_and_turn_but_not_by_the_number_of_conversations() {
    let (one, fewer) = (talks(&random(), "salt", 8), talks(&random(), "salt", 3));
    assert_eq!(one[..3], fewer);
    let other = talks(&random(), "other", 8);
    let mut texts: Vec<&str> = one.iter().chain(&other).flatten().map(text_of).collect();
    let all = texts.len();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), all);
}

#[test]
fn with_another_salt_only_the_tag_of_the_first_turn_of_a_conversation_changes() {
    let of_one = talks(&of_file(None, None), "salt", 8);
    let of_other = talks(&of_file(None, None), "other", 8);
    for (one, other) in of_one.iter().zip(&of_other) {
        let (tag, said) = text_of(&one[0]).split_once('\n').unwrap();
        let (other_tag, same) = text_of(&other[0]).split_once('\n').unwrap();
        assert_eq!(said, same);
        assert_ne!(tag, other_tag);
        assert_eq!(one[1..], other[1..]);
        assert!(one.iter().all(|turn| turn.output_tokens > 0));
    }
    let short = talks(&of_file(Some(1.0), Some(7.0)), "salt", 8);
    assert!(short.iter().all(|talk| talk.len() == 1 && talk[0].output_tokens == 7));
}

#[test]
fn invalid_rows_and_reused_conversations_are_reported_as_findings() {
    let plan = ConversationPlan { conversations: 500, ..of_file(None, None) };
    let findings = spec(&WorkloadPlan::Conversation(plan), "salt").findings();
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["data_set_rows_left_out", "conversations_used_again"]);
    assert!(findings[0].message.contains("not an object (row 3)"), "{}", findings[0].message);
}

#[test]
fn a_warm_up_sends_first_turns() {
    let spec = spec(&WorkloadPlan::Conversation(random()), "salt");
    let built = spec.requests(cell(0), &place(), 2).unwrap();
    assert!(built.requests.iter().all(|request| request.input_tokens == 40));
}
