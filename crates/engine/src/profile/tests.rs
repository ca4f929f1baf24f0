//! Tests of the format of profiles.

use super::*;
use crate::model::models;

#[test]
fn every_model_has_a_default_profile_that_can_run_it() {
    for model in models() {
        assert!(default_profile(model).unwrap().supports(model.weights), "{}", model.name);
    }
}

/// The models of the published records, which keep the profiles of their records.
const OF_RECORDS: [&str; 5] =
    ["chatglm3-6b", "qwen-14b", "baichuan2-13b-gptq", "mistral-7b-openorca-awq", "sus-chat-34b"];

#[test]
fn a_model_is_predicted_with_the_newest_profile_that_has_measured_rows_of_it() {
    let version = |profile: &Profile| -> Vec<u32> {
        profile.engine_version.split('.').filter_map(|part| part.parse().ok()).collect()
    };
    let newest = |of: &dyn Fn(&&Profile) -> bool| {
        let all = profiles().iter().filter(|profile| profile.engine == "vllm").filter(of);
        all.max_by_key(|profile| version(profile)).map(|profile| &profile.name)
    };
    let rows_of = |profile: &&Profile, model: &str| {
        profile.provenance.iter().any(|measured| measured.table == model)
    };
    let mut known = 0;
    for model in models().iter().filter(|model| !OF_RECORDS.contains(&model.name.as_str())) {
        let own = newest(&|profile| rows_of(profile, &model.name));
        known += usize::from(own.is_some());
        let fitted = newest(&|profile| !profile.provenance.is_empty());
        assert_eq!(Some(&model.default_profile), own.or(fitted), "{}", model.name);
    }
    assert_eq!(known, 4);
}

#[test]
fn a_profile_is_unchanged_after_serialization() {
    for profile in profiles() {
        let text = toml::to_string(profile).unwrap();
        assert_eq!(&Profile::parse(&text, "x").unwrap(), profile);
    }
}

#[test]
fn a_profile_with_an_impossible_value_is_refused_with_the_key() {
    let text = toml::to_string(&profiles()[0]).unwrap();
    let replace = |key: &str, value: &str| {
        let start = format!("{key} = ");
        let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
        text.replacen(line, &format!("{key} = {value}"), 1)
    };
    for (key, value) in [
        ("bandwidth_efficiency", "1.1"),
        ("dense_efficiency", "0.0"),
        ("step_us", "-1.0"),
        ("schema", "3"),
        ("card", "\"abacus\""),
        ("weights", "[\"awq\"]"),
    ] {
        let message = Profile::parse(&replace(key, value), "x").unwrap_err().to_string();
        assert!(message.contains(key), "{key}: {message}");
    }
    let fp8 = Profile::parse(&replace("weights", "[\"fp8\"]"), "x").unwrap_err().to_string();
    assert!(fp8.contains("weights: fp8 needs a section `steps`"), "{fp8}");
}

#[test]
fn a_profile_of_an_earlier_schema_is_read_only_if_it_has_no_step_constants() {
    for profile in profiles() {
        let earlier = toml::to_string(profile).unwrap().replace("schema = 2", "schema = 1");
        let is_read = Profile::parse(&earlier, "x").is_ok();
        assert_eq!(is_read, profile.steps.is_none(), "{}", profile.name);
    }
}

#[test]
fn an_unknown_key_in_a_profile_is_refused() {
    let text = toml::to_string(&profiles()[0]).unwrap().replace("step_us", "step_ms");
    assert!(Profile::parse(&text, "x").is_err());
}

#[test]
fn a_profile_with_the_data_of_its_own_card_needs_no_other_file() {
    let mut own = profile("vllm-0.23-h100-sxm").unwrap();
    let data = Card { name: "mine".to_owned(), ..own.card().unwrap() };
    (own.card, own.own_card) = ("mine".to_owned(), Some(data.clone()));
    let text = toml::to_string(&own).unwrap();
    let read = Profile::parse(&text, "x").unwrap();
    assert_eq!((&read, read.card().unwrap()), (&own, data));
    let wrong =
        text.replace("bandwidth_bytes_per_s = 3350000000000.0", "bandwidth_bytes_per_s = 3350.0");
    let message = Profile::parse(&wrong, "x").unwrap_err().to_string();
    assert!(message.contains("own_card: bandwidth_bytes_per_s = 3350"), "{message}");
    let other = text.replacen("card = \"mine\"", "card = \"yours\"", 1);
    let message = Profile::parse(&other, "x").unwrap_err().to_string();
    assert!(message.contains("own_card.name = mine"), "{message}");
}
