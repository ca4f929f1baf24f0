//! The facts that a run states about its server, as flags of `predict` and `calibrate`: the model, the engine, the card
//! and the settings. Nothing is guessed: a fact that a run does not state is absent.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use inferometer_analysis::Summary;
use inferometer_engine::{
    card::is_card_file, confidence::card_in_words, model::model, profile::profiles,
};
use inferometer_model::Target;
use inferometer_plan::{Plan, TargetPlan, shell};

use crate::Unpredictable;

/// The flags of the engine, each with the fact that states its value. A server that `run` started also states
/// settings under the names of its own flags, such as `--max-num-seqs`.
const SETTINGS: [(&str, &str); 14] = [
    ("weights", "weights"),
    ("weights", "quantization"),
    ("tensor_parallel_size", "tensor_parallel_size"),
    ("pipeline_parallel_size", "pipeline_parallel_size"),
    ("max_model_len", "max_model_len"),
    ("max_num_seqs", "max_num_seqs"),
    ("max_num_batched_tokens", "max_num_batched_tokens"),
    ("gpu_memory_utilization", "gpu_memory_utilization"),
    ("block_size", "block_size"),
    ("kv_cache_dtype", "kv_cache_dtype"),
    (PREFIX_CACHING, "prefix_caching"),
    (PREFIX_CACHING, PREFIX_CACHING),
    ("async_scheduling", "async_scheduling"),
    ("long_prefill_token_threshold", "long_prefill_token_threshold"),
];

/// The flag of prefix caching. It becomes a part of the facts only if it is off: every simulated engine that has prefix
/// caching has it on by default, and the others refuse the flag.
const PREFIX_CACHING: &str = "enable_prefix_caching";

/// The facts that a run states about the server that it measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// The source of the facts, in words: `run 20261123-092501-1425`.
    pub origin: String,
    /// The model as the run names it; `None` if the run does not state it.
    pub model: Option<String>,
    /// The name of the embedded engine's profile if it is built in, or its file if the plan names one. `None` if the
    /// run did not measure or simulate the embedded engine.
    pub profile: Option<String>,
    /// The name of the embedded engine's profile, if the run states a profile that is not built in.
    pub own_profile: Option<String>,
    /// The flags with their values, in the order in which they are printed. The names have underscores.
    pub flags: Vec<(&'static str, String)>,
    /// The name of the card as the run states it, if this program knows no card of this name.
    pub other_card: Option<String>,
    /// The number of cards that were seen on the server's machine.
    pub cards_seen: usize,
}

impl ServerFacts {
    /// The facts of a run. `plan` is the plan of the run, if known. If the run measured or simulated the embedded
    /// engine, the plan has the paths of the user's own model, profile and card files.
    pub fn of(origin: String, summary: &Summary, plan: Option<&Plan>) -> Self {
        let target = &summary.target;
        let own = OwnFiles::of(plan);
        let mut flags = Vec::new();
        flags.extend(engine_of(target).map(|engine| ("engine", engine)));
        let words = card_words(summary);
        let known = words.and_then(card_in_words).map(|card| card.name.clone());
        let other_card = words.filter(|_| known.is_none()).map(str::to_owned);
        flags.extend(own.card.clone().or(known).map(|card| ("card", card)));
        for (flag, fact) in SETTINGS {
            let is_known = flags.iter().any(|(known, _)| *known == flag);
            let is_default = |value: &&str| flag == PREFIX_CACHING && *value == "true";
            if let Some(value) = target.facts.setting(fact).filter(|value| !is_default(value))
                && !is_known
            {
                flags.push((flag, value.to_owned()));
            }
        }
        let stated = target.profile.clone().filter(|_| target.simulated);
        let (built_in, own_profile) = match stated {
            Some(name) if profiles().iter().any(|known| known.name == name) => (Some(name), None),
            stated => (None, stated),
        };
        Self {
            origin,
            model: model_of(target, &own),
            profile: own.profile.or(built_in),
            own_profile,
            flags,
            other_card,
            cards_seen: summary.environment.cards.len(),
        }
    }

    /// The stated value of a flag.
    pub fn get(&self, flag: &str) -> Option<&str> {
        self.flags.iter().find(|(name, _)| *name == flag).map(|(_, value)| value.as_str())
    }

    /// The stated value of a flag, parsed as a number or as `true` or `false`; `None` if the run does not state it.
    ///
    /// # Errors
    /// If the value does not have this type.
    pub fn read<T: FromStr>(&self, flag: &str) -> Result<Option<T>, Unpredictable> {
        let wrong =
            |text: &str| Unpredictable::Setting { flag: flag.to_owned(), text: text.to_owned() };
        self.get(flag).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    }
}

impl fmt::Display for ServerFacts {
    /// Writes the flags as words of a shell line: `--engine vllm-0.23 --card h100-sxm`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.flags.iter().enumerate() {
            if number > 0 {
                f.write_char(' ')?;
            }
            let name = name.replace('_', "-");
            match value.as_str() {
                "true" => write!(f, "--{name}")?,
                "false" => write!(f, "--no-{name}")?,
                value => write!(f, "--{name} {}", shell::word(value))?,
            }
        }
        Ok(())
    }
}

/// The user's own files that the plan of a run of the embedded engine names.
#[derive(Default)]
struct OwnFiles {
    model: Option<String>,
    profile: Option<String>,
    card: Option<String>,
}

impl OwnFiles {
    fn of(plan: Option<&Plan>) -> Self {
        let Some(TargetPlan::Embedded { model, profile, engine_flags, .. }) =
            plan.map(|plan| &plan.target)
        else {
            return Self::default();
        };
        let is_own = |name: &String| profiles().iter().all(|known| known.name != *name);
        Self {
            model: Some(model.clone()).filter(|model| model.ends_with(".json")),
            profile: profile.clone().filter(is_own),
            card: engine_flags.get("card").cloned().filter(|card| is_card_file(card)),
        }
    }
}

/// The model under a name that this program knows, if there is one; otherwise the name on the server.
fn model_of(target: &Target, own: &OwnFiles) -> Option<String> {
    let stated = std::iter::once(&target.model).chain(target.facts.model_places());
    let stated = stated.filter(|name| !name.is_empty() && *name != "unknown").collect::<Vec<_>>();
    let known = stated.iter().find(|name| !name.ends_with(".json") && model(name).is_ok());
    own.model.clone().or_else(|| known.or(stated.first()).copied().cloned())
}

/// The engine and its version, as in `vllm-0.23.0`. The server supplies this text, and the text becomes part of a
/// printed shell command. So the text is not used if it has characters that such names do not have.
fn engine_of(target: &Target) -> Option<String> {
    let engine = target.engine.as_ref()?.to_lowercase();
    let version = target.engine_version.as_ref()?.trim_start_matches('v');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
    let words = format!("{engine}-{version}");
    Some(words).filter(|words| words.chars().all(is_plain) && !version.is_empty())
}

/// The name of the card as the user or the server states it. If neither states it, the name that the server's machine
/// reports.
fn card_words(summary: &Summary) -> Option<&str> {
    summary.target.facts.card().or_else(|| seen_card(summary))
}

/// The name of the cards of the server's machine, if all cards have the same name.
fn seen_card(summary: &Summary) -> Option<&str> {
    let cards = &summary.environment.cards;
    let mut names: Vec<&str> = cards.iter().filter_map(|card| card.name.as_deref()).collect();
    names.dedup();
    match names.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::target::Card;
    use serde_json::json;

    /// The results of a run on a server with these facts.
    fn summary(target: serde_json::Value) -> Summary {
        let document = json!({
            "schema": "inferometer.summary/1", "tool": {"name": "inferometer", "version": "0"},
            "run_id": "r", "started_at": "", "plan_hash": "", "workload_hash": "", "body_hash": "",
            "predicted": false, "target": target, "environment": {}, "findings": [], "cells": [],
            "verdict": {"validity": "valid", "reasons": [], "slo": []},
        });
        serde_json::from_value(document).expect("a summary")
    }

    fn target(facts: serde_json::Value) -> serde_json::Value {
        json!({
            "url": "http://h", "dialect": "openai-completions", "engine": "vLLM",
            "engine_version": "v0.23.0", "model": "chat", "simulated": false, "profile": null,
            "facts": facts,
        })
    }

    fn facts(stated: serde_json::Value) -> ServerFacts {
        ServerFacts::of("run r".to_owned(), &summary(target(stated)), None)
    }

    #[test]
    fn the_facts_of_a_server_become_flags_under_the_names_of_predict() {
        let found = facts(json!({
            "root": "Qwen/Qwen3-14B", "gpu": "NVIDIA H100 80GB HBM3", "quantization": "fp8",
            "max_model_len": "8192", "--max-num-seqs": "64", "block_size": "32",
            "gpu_memory_utilization": "0.8", "kv_cache_dtype": "fp8", "async_scheduling": "false",
        }));
        assert_eq!(found.model.as_deref(), Some("Qwen/Qwen3-14B"));
        assert_eq!(
            found.to_string(),
            "--engine vllm-0.23.0 --card h100-sxm --weights fp8 --max-model-len 8192 \
             --max-num-seqs 64 --gpu-memory-utilization 0.8 --block-size 32 --kv-cache-dtype fp8 \
             --no-async-scheduling"
        );
    }

    #[test]
    fn a_setting_that_is_switched_off_becomes_a_flag_under_its_real_name() {
        for (stated, flags) in [
            // The embedded engine and predictions.
            (json!({ "prefix_caching": "false" }), "--no-enable-prefix-caching"),
            (json!({ "prefix_caching": "true" }), ""),
            // Servers that were started with these flags.
            (json!({ "--no-enable-prefix-caching": "true" }), "--no-enable-prefix-caching"),
            (json!({ "--enable-prefix-caching": "false" }), "--no-enable-prefix-caching"),
            (json!({ "--enable-prefix-caching": "true" }), ""),
            (json!({ "--no-async-scheduling": "true" }), "--no-async-scheduling"),
            (json!({ "--no-async-scheduling": "false" }), ""),
            (json!({ "--async-scheduling": "true" }), "--async-scheduling"),
        ] {
            let found = facts(stated.clone()).to_string();
            assert_eq!(found.trim_start_matches("--engine vllm-0.23.0").trim(), flags, "{stated}");
        }
    }

    #[test]
    fn a_shell_reads_each_printed_value_as_one_word() {
        let found = ServerFacts {
            flags: vec![
                ("card", "/tmp/w/my card.toml".to_owned()),
                ("weights", "$(touch x)".to_owned()),
                ("block_size", "16".to_owned()),
            ],
            ..ServerFacts::default()
        };
        let line = "--card '/tmp/w/my card.toml' --weights '$(touch x)' --block-size 16";
        assert_eq!(found.to_string(), line);
    }

    #[test]
    fn a_fact_that_a_run_does_not_state_is_absent_and_a_model_is_not_guessed() {
        let mut silent = summary(target(json!({"weights": "None"})));
        silent.target.engine_version = None;
        silent.target.model = "unknown".to_owned();
        silent.environment.cards = ["NVIDIA L4", "NVIDIA H200"].map(card_named).to_vec();
        let found = ServerFacts::of(String::new(), &silent, None);
        assert_eq!((found.model, found.flags, found.cards_seen), (None, Vec::new(), 2));
    }

    fn card_named(name: &str) -> Card {
        Card { name: Some(name.to_owned()), ..Card::default() }
    }
}
