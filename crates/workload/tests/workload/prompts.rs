//! Tests of the lengths of prompts, their order, and their differences, for the workloads `random` and
//! `sharegpt`.

use std::collections::HashSet;

use inferometer_model::request::Prompt;
use inferometer_plan::{PoolingPlan, WorkloadPlan};
use inferometer_workload::{Note, OpenWorkload, PromptForm, PromptScope, WorkloadError, embedded};
use proptest::prelude::*;

use crate::support::{cell, ids, place, sources, spec};

#[test]
fn prompts_have_exactly_the_requested_length_as_text_and_as_token_ids() {
    for plan in sources() {
        let mut spec = spec(&plan, "salt");
        for form in [PromptForm::Text, PromptForm::TokenIds] {
            spec.context.form = form;
            for length in [16, 17, 40, 64, 100] {
                let built = spec.requests(cell(length), &place(), 40).unwrap();
                assert_eq!(built.requests.len(), 40);
                for request in &built.requests {
                    let found = ids(&embedded(), request).len() as u32;
                    assert_eq!(found, length, "{} {form:?}", plan.name());
                    assert_eq!(request.counted_tokens, Some(length));
                    assert_eq!((request.input_tokens, request.output_tokens), (length, 8));
                    let is_text = matches!(request.prompt, Prompt::Text(_));
                    assert_eq!(is_text, form == PromptForm::Text);
                }
                assert!(!built.notes.iter().any(|note| matches!(note, Note::Inexact { .. })));
            }
        }
    }
}

#[test]
fn the_inputs_of_a_batch_are_the_prompts_of_the_workload_in_order() {
    let plan = WorkloadPlan::Random;
    let plain = spec(&plan, "salt").requests(cell(16), &place(), 12).unwrap().requests;
    for (query_length, inputs) in [(None, 3), (Some(8), 4)] {
        let mut spec = spec(&plan, "salt");
        spec.pooling = Some(PoolingPlan { inputs, query_length });
        let count = 12 / inputs as usize;
        let made = spec.requests(cell(16), &place(), count).unwrap().requests;
        assert_eq!(made.len(), count);
        let mut sent = Vec::new();
        for request in &made {
            sent.extend((query_length.is_none()).then(|| request.prompt.clone()));
            sent.extend(request.further.iter().cloned());
            assert_eq!(request.output_tokens, 0);
            let tokens = query_length.map_or(inputs * 16, |_| 0);
            assert_eq!(request.input_tokens, tokens);
            assert_eq!(request.counted_tokens, Some(tokens).filter(|tokens| *tokens > 0));
        }
        assert!(sent.iter().eq(plain.iter().map(|request| &request.prompt)), "{query_length:?}");
        let queries: HashSet<String> = made.iter().map(|it| format!("{:?}", it.prompt)).collect();
        assert_eq!(queries.len(), count, "each request has its own query");
        let rest = spec.requests_from(cell(16), &place(), 1, count - 1).unwrap().requests;
        assert_eq!(rest, made[1..]);
    }
}

#[test]
fn prompts_leave_room_for_the_tokens_that_the_server_adds() {
    for plan in sources() {
        let mut spec = spec(&plan, "salt");
        spec.context.reserve = 3;
        for form in [PromptForm::Text, PromptForm::TokenIds] {
            spec.context.form = form;
            for request in spec.requests(cell(32), &place(), 10).unwrap().requests {
                assert_eq!(ids(&embedded(), &request).len(), 29);
                assert_eq!((request.input_tokens, request.counted_tokens), (32, Some(32)));
            }
        }
        spec.context.reserve = 32;
        let error = spec.requests(cell(32), &place(), 10).unwrap_err();
        assert_eq!(error, WorkloadError::NothingLeft { input_length: 32, reserve: 32 });
    }
}

#[test]
fn a_prompt_does_not_depend_on_how_many_prompts_are_generated() {
    for plan in sources() {
        let spec = spec(&plan, "salt");
        let many = spec.requests(cell(48), &place(), 200).unwrap().requests;
        let again = spec.requests(cell(48), &place(), 200).unwrap().requests;
        let few = spec.requests(cell(48), &place(), 5).unwrap().requests;
        assert_eq!(many, again);
        assert_eq!(many[..5], few);
    }
}

#[test]
fn no_two_prompts_share_their_first_kv_cache_block_of_16_tokens() {
    let places = [
        PromptScope::new("0", "one_by_one", 0),
        PromptScope::new("0", "saturated", 0),
        PromptScope::new("0", "saturated", 1),
        PromptScope::new("1", "one_by_one", 0),
        PromptScope::new("01", "ne_by_one", 0),
    ];
    for plan in sources() {
        for form in [PromptForm::Text, PromptForm::TokenIds] {
            let mut blocks = HashSet::new();
            for salt in ["first run", "second run"] {
                let mut spec = spec(&plan, salt);
                spec.context.form = form;
                for place in &places {
                    for request in spec.requests(cell(32), place, 50).unwrap().requests {
                        // A tag has only six tokens, so prompts differ before the end of their first KV
                        // block of sixteen tokens.
                        blocks.insert(ids(&embedded(), &request)[..6].to_vec());
                    }
                }
            }
            assert_eq!(blocks.len(), 2 * places.len() * 50, "{} {form:?}", plan.name());
        }
    }
}

#[test]
fn another_seed_gives_other_prompts() {
    let of = |seed| {
        let spec = OpenWorkload::open(&WorkloadPlan::Random, embedded(), seed, "salt").unwrap();
        spec.requests(cell(32), &place(), 20).unwrap().requests
    };
    assert!(of(1).iter().zip(of(2)).all(|(one, other)| one.prompt != other.prompt));
}

#[test]
fn prompts_that_are_too_short_for_a_full_tag_are_noted() {
    let spec = spec(&WorkloadPlan::Random, "salt");
    for length in 1..=5 {
        let built = spec.requests(cell(length), &place(), 20).unwrap();
        assert_eq!(built.notes, [Note::ShortTag { tokens: length, full: 6 }]);
        assert!(built.requests.iter().all(|request| request.counted_tokens == Some(length)));
    }
    assert_eq!(spec.requests(cell(6), &place(), 20).unwrap().notes, []);
}

#[test]
fn a_pass_of_no_requests_is_empty() {
    for plan in sources() {
        let built = spec(&plan, "salt").requests(cell(32), &place(), 0).unwrap();
        assert_eq!(built.requests, []);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn random_prompts_have_the_exact_length_for_any_seed_salt_and_length(
        seed: u64, salt: String, length in 1_u32..300, repeat: u32,
    ) {
        let spec = OpenWorkload::open(&WorkloadPlan::Random, embedded(), seed, salt).unwrap();
        let place = PromptScope::new("cell", "pass", repeat);
        for request in spec.requests(cell(length), &place, 3).unwrap().requests {
            prop_assert_eq!(ids(&embedded(), &request).len() as u32, length);
        }
    }
}
