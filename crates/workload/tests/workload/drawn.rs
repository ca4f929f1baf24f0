//! Tests of lengths that vary and of shared prefixes.

use std::collections::{BTreeMap, HashSet};

use inferometer_model::cell::CellPlan;
use inferometer_model::load::distribution::Distribution;
use inferometer_model::request::Request;
use inferometer_plan::{DrawnPlan, LengthPair, Lengths, PrefixPlan, WorkloadPlan};
use inferometer_workload::{PromptForm, PromptScope, WorkloadError, embedded};

use crate::support::{cell, ids, place, spec};

/// The plan of prompts with lengths around those of the grid, and with a shared prefix of 8 tokens.
pub fn around() -> WorkloadPlan {
    let around = || Lengths::Around { ratio: 0.5 };
    WorkloadPlan::Drawn(DrawnPlan { input: around(), output: around(), prefix_length: 8 })
}

/// The plan of three groups with prefixes of 20 tokens. About one request in four has no group.
pub fn groups() -> WorkloadPlan {
    WorkloadPlan::Prefix(PrefixPlan { groups: 3, prefix_length: 20, zipf: 0.5, warm_share: 0.75 })
}

fn built(plan: &WorkloadPlan, form: PromptForm, count: usize) -> Vec<Request> {
    let mut spec = spec(plan, "salt");
    spec.context.form = form;
    spec.context.reserve = 1;
    let built = spec.requests(cell(48), &place(), count).expect("they are made");
    assert_eq!(built.notes, []);
    built.requests
}

#[test]
fn each_request_has_exactly_the_sampled_length_as_text_and_as_token_ids() {
    let histogram = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(histogram.path(), "20..40 1\n100 1\n").unwrap();
    let file = histogram.path().display().to_string();
    let own = WorkloadPlan::Drawn(DrawnPlan {
        input: Lengths::Histogram { file },
        output: Lengths::Drawn(Distribution::Lognormal { mean: 64.0, deviation: 32.0 }),
        prefix_length: 0,
    });
    for plan in [around(), groups(), own] {
        let texts = built(&plan, PromptForm::Text, 200);
        let token_ids = built(&plan, PromptForm::TokenIds, 200);
        let mut lengths = HashSet::new();
        for (text, token_ids) in texts.iter().zip(&token_ids) {
            let found = ids(&embedded(), text);
            assert_eq!(found, ids(&embedded(), token_ids), "{}", plan.name());
            assert_eq!(found.len() as u32 + 1, text.input_tokens);
            assert_eq!(text.counted_tokens, Some(text.input_tokens));
            assert!(text.output_tokens > 0);
            lengths.insert((text.input_tokens, text.output_tokens));
        }
        let varies = lengths.len() > 20;
        assert_eq!(varies, !matches!(plan, WorkloadPlan::Prefix(_)), "{}", plan.name());
        assert_eq!(texts[..30], built(&plan, PromptForm::Text, 30));
    }
}

/// The output lengths of the first requests with these pairs and seed 1.
const FIRST_OUTPUTS: [u32; 12] = [9, 4, 9, 9, 4, 9, 9, 4, 4, 9, 4, 9];

/// The plan of two pairs of lengths: three requests in four have 30 and 4 tokens, the others about 60 and 9.
fn pairs(prefix_length: u32) -> WorkloadPlan {
    let constant = Distribution::constant;
    let normal = |mean, deviation| Distribution::Normal { mean, deviation };
    let pairs = vec![
        LengthPair { input: constant(30.0), output: constant(4.0), weight: 60.0 },
        LengthPair { input: normal(60.0, 2.0), output: constant(9.0), weight: 20.0 },
    ];
    let (input, output) = (Lengths::Pairs(pairs.clone()), Lengths::Pairs(pairs));
    WorkloadPlan::Drawn(DrawnPlan { input, output, prefix_length })
}

#[test]
fn requests_have_both_lengths_of_one_pair_by_its_weight_and_its_name_as_class() {
    let found = built(&pairs(8), PromptForm::TokenIds, 2_000);
    let mut of_pair: BTreeMap<&str, u32> = BTreeMap::new();
    for request in &found {
        let class = request.class.as_deref().expect("a class");
        let (inputs, output) = match class {
            "30 x 4" => (38..=38, 4),
            "60|2 x 9" => (56..=80, 9),
            other => panic!("{other}"),
        };
        assert!(inputs.contains(&request.input_tokens), "{}", request.input_tokens);
        assert_eq!(request.output_tokens, output);
        *of_pair.entry(class).or_default() += 1;
    }
    // The number of a pair with the share 3/4 has a standard deviation of 19.
    assert!(of_pair["30 x 4"].abs_diff(1_500) < 80, "{of_pair:?}");
    let first: Vec<u32> = found[..12].iter().map(|one| one.output_tokens).collect();
    assert_eq!(first, FIRST_OUTPUTS, "the same on every machine");
}

#[test]
fn the_range_ratio_applies_to_the_part_after_the_shared_prefix() {
    let found = built(&around(), PromptForm::TokenIds, 400);
    let first = ids(&embedded(), &found[0])[..8].to_vec();
    for request in &found {
        assert_eq!(ids(&embedded(), request)[..8], first);
        assert!((28..=68).contains(&request.input_tokens), "{}", request.input_tokens);
        assert!((4..=12).contains(&request.output_tokens), "{}", request.output_tokens);
    }
    let whole: HashSet<Vec<u32>> = found.iter().map(|one| ids(&embedded(), one)).collect();
    assert_eq!(whole.len(), 400);
}

#[test]
fn the_first_request_of_a_prefix_group_is_cold_and_later_ones_are_warm() {
    let mut groups_seen: Vec<Vec<u32>> = Vec::new();
    let (mut warm, mut unshared) = (0, 0);
    for request in built(&groups(), PromptForm::Text, 300) {
        let beginning = ids(&embedded(), &request)[..20].to_vec();
        let known = groups_seen.contains(&beginning);
        match request.class.as_deref() {
            Some("cold") => {
                assert!(!known);
                groups_seen.push(beginning);
            }
            Some("warm") => {
                assert!(known);
                warm += 1;
            }
            Some("unshared") => {
                assert!(!known);
                unshared += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((groups_seen.len(), warm + unshared), (3, 297));
    assert!((50..100).contains(&unshared), "{unshared}");
}

#[test]
fn each_pass_and_salt_has_its_own_prefix() {
    let mut beginnings = HashSet::new();
    for salt in ["one run", "another run"] {
        for place in [place(), PromptScope::new("0", "saturated", 0), place().after(7)] {
            let built = spec(&around(), salt).requests(cell(48), &place, 2).unwrap();
            beginnings.insert(ids(&embedded(), &built.requests[0])[..8].to_vec());
        }
    }
    // The prefix does not depend on the number of earlier prompts, so there are four prefixes and not
    // six.
    assert_eq!(beginnings.len(), 4);
}

#[test]
fn a_prefix_that_leaves_no_room_for_other_tokens_is_an_error() {
    let tight = CellPlan { input_length: 20, output_length: 8 };
    let error = spec(&groups(), "salt").requests(tight, &place(), 20).unwrap_err();
    assert_eq!(error, WorkloadError::NothingLeft { input_length: 20, reserve: 20 });
}
