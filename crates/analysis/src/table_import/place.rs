//! Finds the model, the card and the engine that a page describes at a line, from the headings above this line. This
//! module reads no figure.

use super::{heading, is_fence};

/// The facts that the headings above a line state; absent if no heading states them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadingFacts {
    /// The name of the model.
    pub model: Option<String>,
    /// The card, as written in the heading.
    pub card: Option<String>,
    /// The name of the engine, in lower case.
    pub engine: Option<String>,
    /// The version of the engine, without a leading `v`.
    pub engine_version: Option<String>,
    /// The level of the heading that names the model.
    model_level: usize,
}

/// Words that name engines, each with the name of its engine.
const ENGINES: [(&str, &str); 12] = [
    ("vllm", "vllm"),
    ("tgi", "tgi"),
    ("text-generation-inference", "tgi"),
    ("sglang", "sglang"),
    ("lmdeploy", "lmdeploy"),
    ("lightllm", "lightllm"),
    ("tensorrt-llm", "tensorrt-llm"),
    ("trt-llm", "tensorrt-llm"),
    ("llama.cpp", "llama.cpp"),
    ("ollama", "ollama"),
    ("deepspeed-mii", "deepspeed-mii"),
    ("mlc-llm", "mlc-llm"),
];

/// Words that name cards.
const CARDS: [&str; 32] = [
    "a100", "a800", "h100", "h800", "h200", "h20", "b100", "b200", "gb200", "v100", "p100", "p40",
    "t4", "l4", "l20", "l40", "l40s", "a2", "a10", "a10g", "a30", "a40", "a6000", "3090", "4090",
    "5090", "mi210", "mi250", "mi300x", "mi325x", "910b", "gaudi2",
];

impl HeadingFacts {
    /// Adds a heading. Some pages use one level for model, card and engine, or a higher level for the engine than for
    /// the card. So the words of a heading decide first. The level decides only if no word is known.
    pub(super) fn heading(&mut self, level: usize, words: &str) {
        if let Some((engine, version)) = engine(words) {
            (self.engine, self.engine_version) = (Some(engine), version);
        } else if is_card(words) {
            (self.card, self.engine, self.engine_version) = (Some(words.to_owned()), None, None);
        } else if self.model.is_none() || level <= self.model_level {
            let model = Some(link_words(words).to_owned());
            *self = Self { model, model_level: level, ..Self::default() };
        }
    }
}

/// The facts from the headings above the first line for which `is_it` is true; `None` if there is no such line.
pub fn place_of(text: &str, is_it: impl Fn(&str) -> bool) -> Option<HeadingFacts> {
    let mut place = HeadingFacts::default();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= is_fence(line);
        if is_it(line) {
            return Some(place);
        }
        if let Some((level, words)) = heading(line).filter(|_| !is_code) {
            place.heading(level, words);
        }
    }
    None
}

/// The only engine that a text names, and the number of the first line that names it. `None` if the text names no
/// engine or several.
pub fn engine_in_prose(text: &str) -> Option<(&'static str, usize)> {
    let mut found: Option<(&str, usize)> = None;
    for (line, number) in text.lines().zip(1..) {
        let lower = line.to_lowercase();
        for (_, name) in ENGINES.iter().filter(|(word, _)| has_word(&lower, word)) {
            match found {
                None => found = Some((*name, number)),
                Some((known, _)) if known != *name => return None,
                Some(_) => {}
            }
        }
    }
    found
}

/// Whether a line contains this word. Letters, digits and hyphens beside it would belong to a longer word. The word
/// itself may contain other characters, such as the dot of `llama.cpp`.
fn has_word(line: &str, word: &str) -> bool {
    let continues = |c: char| c.is_ascii_alphanumeric() || c == '-';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(continues) && !line[at + word.len()..].starts_with(continues)
    })
}

fn named(word: &str) -> Option<&'static str> {
    ENGINES.iter().find(|(known, _)| *known == word).map(|(_, name)| *name)
}

/// The engine and its version, if a heading begins with the name of an engine, such as `vllm v0.2.7`.
fn engine(words: &str) -> Option<(String, Option<String>)> {
    let lower = words.to_lowercase();
    let mut parts = lower.split(|c: char| c.is_whitespace() || "(),:=".contains(c));
    let name = named(parts.next()?)?;
    let version = parts
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    Some((name.to_owned(), version.map(str::to_owned)))
}

fn is_card(words: &str) -> bool {
    let lower = words.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| CARDS.contains(&word))
}

/// The text of a link: for `[SUSTech/SUS-Chat-34B](https://...)`, the part in the first brackets.
fn link_words(words: &str) -> &str {
    let inside = words.strip_prefix('[').and_then(|rest| rest.split_once("]("));
    inside.map_or(words, |(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(headings: &[(usize, &str)]) -> [Option<String>; 4] {
        let mut place = HeadingFacts::default();
        headings.iter().for_each(|(level, words)| place.heading(*level, words));
        [place.model, place.card, place.engine, place.engine_version]
    }

    #[test]
    fn model_card_and_engine_are_found_at_any_heading_level() {
        let all = |model: &str, card: &str, engine: &str, version: &str| {
            [model, card, engine, version].map(|word| Some(word.to_owned()))
        };
        for (headings, place) in [
            (
                [(1, "chatglm3-6b"), (2, "A100 40G"), (2, "vllm v0.2.7")],
                all("chatglm3-6b", "A100 40G", "vllm", "0.2.7"),
            ),
            (
                [(1, "baichuan2 13b GPTQ"), (2, "A100 40G"), (1, "vllm 0.2.7")],
                all("baichuan2 13b GPTQ", "A100 40G", "vllm", "0.2.7"),
            ),
            (
                [(1, "[a/b-7B](https://h/a/b-7B)"), (2, "V100-PCIE-32G"), (3, "TGI (1.3.4)")],
                all("a/b-7B", "V100-PCIE-32G", "tgi", "1.3.4"),
            ),
        ] {
            assert_eq!(after(&headings), place);
        }
    }

    #[test]
    fn a_new_card_heading_clears_the_engine_and_a_new_model_heading_clears_the_card() {
        let first = [(1, "m"), (2, "A100"), (3, "vllm 0.2.7")];
        let card = [&first[..], &[(2, "H200"), (3, "Results")]].concat();
        assert_eq!(after(&card), [Some("m".to_owned()), Some("H200".to_owned()), None, None]);
        let model = [&first[..], &[(1, "n")]].concat();
        assert_eq!(after(&model), [Some("n".to_owned()), None, None, None]);
    }

    #[test]
    fn an_engine_is_taken_from_prose_only_if_the_page_names_exactly_one() {
        let page = "记录不同模型在 vLLM 框架上的推理表现.\n\npython -m vllm.entrypoints.api\n";
        assert_eq!(engine_in_prose(page), Some(("vllm", 1)));
        assert_eq!(engine_in_prose(&format!("{page}\nTGI is slower\n")), None);
        assert_eq!(engine_in_prose(&format!("{page}\nllama.cpp is slower\n")), None);
        assert_eq!(engine_in_prose("Measured with llama.cpp."), Some(("llama.cpp", 1)));
        assert_eq!(engine_in_prose("no engine, no vllms and no my-vllm"), None);
    }
}
