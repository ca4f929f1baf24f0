//! The facts of a target: those that the program decides by are typed fields, all others are texts for people.
//!
//! Stored documents contain the facts as one object of texts. This module alone reads and writes that object.

use std::{collections::BTreeMap, str::FromStr};

use serde::{Deserialize, Serialize};

/// The text that is stored if the user stated the card.
const BY_USER: &str = "stated by the user";
/// The limits on prompt plus output, in tokens: of vLLM and SGLang, of TGI, of llama.cpp, and as requests ask Ollama for it.
const MAX_SEQUENCE: [&str; 4] = ["max_model_len", "max_total_tokens", "n_ctx_slot", "num_ctx"];
/// The limits on a prompt without its output, in tokens. TGI uses one of these two names, depending on its version.
const MAX_PROMPT: [&str; 2] = ["max_input_tokens", "max_input_length"];
/// The names of tensor, pipeline and data parallelism.
const PARALLELISM: [&[&str]; 3] = [
    &["tensor_parallel_size", "tp_size", "tp"],
    &["pipeline_parallel_size", "pp_size", "pp"],
    &["data_parallel_size", "dp_size", "dp"],
];

/// One of the two sides of a comparison in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first server, the baseline.
    A,
    /// The second server.
    B,
}

crate::names!(Side { A => "a", B => "b" });

impl Side {
    /// 0 for A, 1 for B.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Why a run was made: as a part of which group or comparison, and after which run. A run of its own has no value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The name of the group or comparison.
    pub group: Option<String>,
    /// The name of the server in the group, such as `max-num-seqs=16`. It may be empty.
    pub variant: Option<String>,
    /// The round of the group, from 1.
    pub round: Option<u32>,
    /// The salt of the group. The salt of each round is derived from it.
    pub group_salt: Option<String>,
    /// The side of the comparison.
    pub side: Option<Side>,
    /// Whether both sides of the comparison are one server with the same settings.
    pub one_server: Option<bool>,
    /// The salt of the random order of the comparison's blocks.
    pub order_salt: Option<String>,
    /// The conditions of the comparison's gate, as the user wrote them.
    pub gate: Option<String>,
    /// The id of the run that this run resumes.
    pub resumes: Option<String>,
}

/// What is known about a target, besides its engine and model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Facts {
    /// Why the run was made.
    pub origin: Origin,
    /// The card of the server.
    pub card: Option<String>,
    /// True if the user stated the card; false if the server or its machine stated it.
    pub card_is_by_user: bool,
    /// How many times as fast as the simulated hardware the embedded engine runs.
    pub speed: Option<f64>,
    /// The noise of the embedded engine, in the form of `--noise`, with its seed.
    pub noise: Option<String>,
    /// All other properties: those that the server stated, those with which this program started it, and those that
    /// this program found.
    pub others: BTreeMap<String, String>,
}

impl Facts {
    /// The facts that a server states. A server cannot state why a run was made.
    pub fn stated(by_server: BTreeMap<String, String>) -> Self {
        Self { origin: Origin::default(), card_is_by_user: false, ..Self::from(by_server) }
    }

    /// All facts as texts, by the keys of stored documents.
    pub fn texts(&self) -> BTreeMap<String, String> {
        self.clone().into()
    }

    /// The name of the card, under any name that servers use for this property.
    pub fn card(&self) -> Option<&str> {
        let other = ["gpu", "accelerator"].into_iter().find_map(|name| self.others.get(name));
        self.card.as_ref().or(other).map(String::as_str)
    }

    /// The speed of the embedded engine, if it is not that of the simulated hardware.
    pub fn other_speed(&self) -> Option<f64> {
        self.speed.filter(|speed| *speed != 1.0)
    }

    /// The maximum length of prompt plus output, in tokens, with the name under which the server states it.
    pub fn max_sequence(&self) -> Option<(&'static str, u64)> {
        self.limit(&MAX_SEQUENCE)
    }

    /// The maximum length of a prompt, in tokens, with the name under which the server states it.
    pub fn max_prompt(&self) -> Option<(&'static str, u64)> {
        self.limit(&MAX_PROMPT)
    }

    /// How many requests the server runs at the same time.
    pub fn max_num_seqs(&self) -> Option<u64> {
        self.setting("max_num_seqs")?.parse().ok()
    }

    /// The places of the model on the server's machine: the name of a repository, or a folder.
    pub fn model_places(&self) -> impl Iterator<Item = &String> {
        ["root", "model_path"].into_iter().filter_map(|name| self.others.get(name))
    }

    /// A setting of the server, under its own name or under the name of the flag with which `run` started the server,
    /// such as `--max-num-seqs`. `false` if this flag is `--no-NAME`.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let flag = name.replace('_', "-");
        if self.others.get(&format!("--no-{flag}")).is_some_and(|value| value == "true") {
            return Some("false");
        }
        let stated = self.others.get(name).or_else(|| self.others.get(&format!("--{flag}")))?;
        Some(stated.as_str()).filter(|value| !["none", "None", ""].contains(value))
    }

    /// The number of cards of one server, from its degrees of parallelism, and these as text. `None` if neither the
    /// server nor the command with which it was started names any, or if one is no number.
    pub fn cards(&self) -> Option<(u32, String)> {
        let found = PARALLELISM.map(|names| self.degree(names));
        // With attention that is parallel over data, the ranks of this kind are the same cards.
        let is_again = self
            .setting("enable_dp_attention")
            .is_some_and(|value| !value.eq_ignore_ascii_case("false"));
        let counted = found[..if is_again { 2 } else { 3 }].iter().flatten();
        let cards = counted
            .map(|(_, value)| value.parse().ok())
            .try_fold(1_u32, |all, one| all.checked_mul(one?))?;
        let texts: Vec<String> =
            found.iter().flatten().map(|(name, value)| format!("{name} {value}")).collect();
        (!texts.is_empty()).then(|| (cards, texts.join(", ")))
    }

    /// A degree of parallelism with the name under which it was found.
    fn degree(&self, names: &[&'static str]) -> Option<(&'static str, &str)> {
        let stated = names.iter().find_map(|name| Some((*name, self.setting(name)?)));
        let command = self.others.get("command").map_or("", String::as_str);
        let words: Vec<&str> = command.split_whitespace().collect();
        let in_command = || {
            let mut places =
                (0..words.len()).flat_map(|at| names.iter().map(move |name| (at, *name)));
            places.find_map(|(at, name)| {
                let (flag, value) = words[at]
                    .split_once('=')
                    .map_or((words[at], None), |(flag, value)| (flag, Some(value)));
                let is_its =
                    flag.starts_with('-') && flag.trim_start_matches('-').replace('-', "_") == name;
                Some((name, value.or_else(|| words.get(at + 1).copied())?)).filter(|_| is_its)
            })
        };
        stated.or_else(in_command)
    }

    fn limit(&self, names: &[&'static str]) -> Option<(&'static str, u64)> {
        names.iter().find_map(|name| Some((*name, self.others.get(*name)?.parse().ok()?)))
    }

    /// The fields that are texts, each with its key.
    fn text_fields(&mut self) -> [(&'static str, &mut Option<String>); 8] {
        let Origin { group, variant, group_salt, order_salt, gate, resumes, .. } = &mut self.origin;
        [
            ("group", group),
            ("variant", variant),
            ("group_salt", group_salt),
            ("order_salt", order_salt),
            ("gate", gate),
            ("resumes", resumes),
            ("card", &mut self.card),
            ("noise", &mut self.noise),
        ]
    }
}

impl From<BTreeMap<String, String>> for Facts {
    /// A text that is not a value of its field stays a text.
    fn from(mut texts: BTreeMap<String, String>) -> Self {
        fn number<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        let one_server = |text: &str| ["2", "1"].iter().position(|it| *it == text);
        let mut facts = Self {
            origin: Origin {
                round: taken(&mut texts, "round", number),
                side: taken(&mut texts, "side", Side::named),
                one_server: taken(&mut texts, "servers", one_server).map(|at| at == 1),
                ..Origin::default()
            },
            card_is_by_user: taken(&mut texts, "card_source", |it| (it == BY_USER).then_some(()))
                .is_some(),
            speed: taken(&mut texts, "speed", |text| {
                number(text).filter(|it: &f64| it.is_finite())
            }),
            ..Self::default()
        };
        for (key, field) in facts.text_fields() {
            *field = texts.remove(key);
        }
        facts.others = texts;
        facts
    }
}

/// Removes a fact from the texts, if its text is a value.
fn taken<T>(
    texts: &mut BTreeMap<String, String>,
    key: &str,
    value: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let value = value(texts.get(key)?)?;
    texts.remove(key);
    Some(value)
}

impl From<Facts> for BTreeMap<String, String> {
    fn from(mut facts: Facts) -> Self {
        let Origin { round, side, one_server, .. } = facts.origin;
        let others = [
            ("round", round.map(|round| round.to_string())),
            ("side", side.map(|side| side.name().to_owned())),
            ("servers", one_server.map(|one| if one { "1" } else { "2" }.to_owned())),
            ("card_source", facts.card_is_by_user.then(|| BY_USER.to_owned())),
            // As in JSON, where a whole number of this type has a decimal point.
            ("speed", facts.speed.map(|speed| format!("{speed:?}"))),
        ];
        let mut texts = std::mem::take(&mut facts.others);
        let fields = facts.text_fields().map(|(key, field)| (key, field.take()));
        let known = others.into_iter().chain(fields);
        texts.extend(known.filter_map(|(key, text)| Some((key.to_owned(), text?))));
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json, to_value};

    /// The facts of runs that earlier versions stored.
    fn stored() -> [Value; 3] {
        [
            json!({
                "balance": "round-robin", "card": "A100 40G", "card_of_server": "NVIDIA A100",
                "card_source": "stated by the user", "group": "group-0a1b", "group_salt": "s1",
                "max_model_len": "8192", "resumes": "20261123-092501-1425", "round": "2",
                "root": "Qwen/Qwen3-14B", "variant": "max-num-seqs=16",
            }),
            json!({
                "gate": "ttft<5%", "group": "ab-0a1b", "order_salt": "s2", "servers": "1",
                "side": "b", "variant": "B", "noise": "step=0.1,seed=4", "speed": "10.0",
                "--max-num-seqs": "4", "command": "serve m",
            }),
            // Texts that no version wrote.
            json!({ "speed": "fast", "round": "", "side": "c", "servers": "3", "card_source": "x" }),
        ]
    }

    #[test]
    fn stored_facts_are_read_and_written_again_unchanged() {
        for stored in stored() {
            let facts: Facts = from_value(stored.clone()).expect("facts");
            assert_eq!(to_value(facts).expect("JSON"), stored);
        }
    }

    #[test]
    fn what_the_program_decides_by_is_typed_and_the_rest_stays_a_text() {
        let [group, comparison, unknown] =
            stored().map(|stored| from_value::<Facts>(stored).expect("facts"));
        let Origin { group: name, round, side, .. } = &group.origin;
        assert_eq!((name.as_deref(), round, side), (Some("group-0a1b"), &Some(2), &None));
        assert_eq!(group.origin.resumes.as_deref(), Some("20261123-092501-1425"));
        assert!(group.card_is_by_user && group.card() == Some("A100 40G"));
        assert_eq!(group.max_sequence(), Some(("max_model_len", 8_192)));
        let Origin { side, one_server, .. } = comparison.origin;
        assert_eq!((side, one_server), (Some(Side::B), Some(true)));
        assert_eq!((comparison.other_speed(), comparison.max_num_seqs()), (Some(10.0), Some(4)));
        assert!(comparison.noise.is_some() && comparison.others.len() == 2);
        assert_eq!((unknown.others.len(), unknown.origin), (5, Origin::default()));
    }

    #[test]
    fn a_server_cannot_state_why_a_run_was_made() {
        let of_server = json!({
            "group": "g", "round": "2", "resumes": "r", "card_source": "stated by the user",
            "gpu": "L4", "speed": "2",
        });
        let facts = Facts::stated(from_value(of_server).expect("texts"));
        assert_eq!((&facts.origin, facts.card_is_by_user), (&Origin::default(), false));
        assert_eq!((facts.card(), facts.speed), (Some("L4"), Some(2.0)));
    }

    #[test]
    fn the_cards_of_a_server_follow_from_its_degrees_of_parallelism() {
        for (facts, cards) in [
            (json!({ "tensor_parallel_size": "4", "pipeline_parallel_size": "2" }), Some(8)),
            (json!({ "--tensor-parallel-size": "2", "--data-parallel-size": "4" }), Some(8)),
            (json!({ "tp_size": "8", "dp_size": "8", "enable_dp_attention": "true" }), Some(8)),
            (json!({ "dp_size": "2", "enable_dp_attention": "False", "tp_size": "2" }), Some(4)),
            (json!({ "command": "vllm serve m -tp 4 --pipeline-parallel-size=2" }), Some(8)),
            (json!({ "command": "vllm serve m --max-num-seqs 4" }), None),
            (json!({ "tensor_parallel_size": "many" }), None),
            (json!({ "tp_size": "65536", "dp_size": "65536" }), None),
            (json!({}), None),
        ] {
            let found: Facts = from_value(facts.clone()).expect("facts");
            assert_eq!(found.cards().map(|(cards, _)| cards), cards, "{facts}");
        }
    }
}
