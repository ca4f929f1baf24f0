//! Two APIs whose answers have no output tokens: embeddings as OpenAI's API has them (vLLM, SGLang, llama.cpp, TEI,
//! Infinity, Ollama), and the ranking of documents for a query as Jina's and Cohere's APIs have it (vLLM, llama.cpp,
//! Infinity; SGLang answers with a bare list). An answer that lacks a vector or a score is malformed.

use std::fmt;

use inferometer_model::pooled::{EMBEDDINGS, RERANK};
use inferometer_model::{EventKind, Prompt, Request, Sampling, Usage};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::decode::{Decode, Decoded, Undecoded};
use super::definition::{DEFAULT, Dialect};
use super::json::{Count, parse, wrong};
use super::{openai::prompt, usage::UsageBody};
use crate::ParsedResponse;

/// `/v1/embeddings`.
pub(super) static EMBED: Dialect = Dialect {
    name: EMBEDDINGS,
    description: "OpenAI embeddings: one vector for each input, as base64; no output tokens",
    source: "https://platform.openai.com/docs/api-reference/embeddings",
    whole_path: "/v1/embeddings",
    accepts_token_ids: true,
    honours_ignore_eos: false,
    fields: |request, _, model| {
        let inputs: Option<Vec<Value>> = inputs(request).map(prompt).collect();
        Some(json!({ "model": model, "input": inputs?, "encoding_format": "base64" }))
    },
    results: |request, _| Some(1 + request.further.len() as u32),
    decoder: |_, _| Box::new(Embeddings),
    ..DEFAULT
};

/// `/v1/rerank`.
pub(super) static RANK: Dialect = Dialect {
    name: RERANK,
    description: "Documents ranked for a query (vLLM, SGLang, llama.cpp, Infinity); no output tokens",
    source: "https://docs.vllm.ai/en/latest/models/pooling_models/scoring/",
    whole_path: "/v1/rerank",
    honours_ignore_eos: false,
    fields: |request, _, model| {
        let texts: Option<Vec<&str>> = inputs(request).map(text).collect();
        let texts = texts?;
        // A first request has one text, which is then its own query.
        let documents = if texts.len() > 1 { &texts[1..] } else { &texts[..] };
        Some(json!({ "model": model, "query": texts[0], "documents": documents }))
    },
    results: scores,
    decoder: |_, _| Box::new(Scores),
    ..DEFAULT
};

fn inputs(request: &Request) -> impl Iterator<Item = &Prompt> {
    [&request.prompt].into_iter().chain(&request.further)
}

fn text(prompt: &Prompt) -> Option<&str> {
    match prompt {
        Prompt::Text(text) => Some(text),
        Prompt::TokenIds(_) | Prompt::Messages(_) => None,
    }
}

/// The number of scores that a ranking asks for: one for each document, but at most `top_n` of its additional fields.
fn scores(request: &Request, sampling: &Sampling) -> Option<u32> {
    let documents = (request.further.len() as u32).max(1);
    let fields = [&request.extra_body, &sampling.extra_body];
    let top_n = fields.into_iter().find_map(|fields| fields.get("top_n")?.as_u64());
    let top_n = top_n.and_then(|top_n| u32::try_from(top_n).ok()).filter(|it| *it > 0);
    Some(documents.min(top_n.unwrap_or(u32::MAX)))
}

/// Ends an answer that has these indexes of inputs.
fn end(
    indexes: &[Option<usize>],
    usage: Option<UsageBody>,
    parsed: &mut ParsedResponse,
) -> Decoded {
    let asked = parsed.expected.unwrap_or(indexes.len() as u32);
    if indexes.len() != asked as usize {
        return wrong(&format!("it has {} results instead of {asked}", indexes.len()));
    }
    let mut seen: Vec<usize> = indexes.iter().flatten().copied().collect();
    seen.sort_unstable();
    seen.dedup();
    let is_of_request = seen.last().is_none_or(|last| *last < parsed.inputs.max(asked) as usize);
    if seen.len() != indexes.len() || !is_of_request {
        return wrong("its indexes are not those of different inputs");
    }
    if let Some(usage) = usage {
        // There is no output. Some servers count 0 tokens of it.
        parsed.usage(Usage { completion: None, ..usage.usage() });
    }
    parsed.proper_end = true;
    Ok(())
}

struct Embeddings;

impl Decode for Embeddings {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        let answer: Vectors = parse(data)?;
        if answer.error.is_some() {
            return Err(Undecoded::Error);
        }
        let Some(vectors) = answer.data else { return wrong("no vectors") };
        let mut dimensions = vectors.iter().map(|vector| vector.embedding);
        let first = dimensions.next().flatten();
        if !vectors.is_empty() && (first.is_none() || dimensions.any(|it| it != first)) {
            return wrong("its vectors have no length, or different ones");
        }
        parsed.dimension = first.unwrap_or(0);
        let indexes: Vec<Option<usize>> = vectors.iter().map(|vector| vector.index).collect();
        parsed.event(EventKind::Comment);
        end(&indexes, answer.usage, parsed)
    }
}

#[derive(Deserialize)]
struct Vectors {
    data: Option<Vec<Vector>>,
    usage: Option<UsageBody>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Vector {
    index: Option<usize>,
    #[serde(deserialize_with = "dimension")]
    embedding: Option<u32>,
}

/// The number of numbers of a vector: 32-bit numbers as base64, or a list, from servers that do not know
/// `encoding_format`. `None` if there are none, or the text is not of whole numbers.
fn dimension<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    struct Either;
    impl<'de> Visitor<'de> for Either {
        type Value = u32;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a vector")
        }
        fn visit_str<E>(self, text: &str) -> Result<u32, E> {
            let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
            let bytes = (text.len() / 4 * 3).saturating_sub(padding.min(2));
            let is_whole = text.len().is_multiple_of(4) && bytes.is_multiple_of(size_of::<f32>());
            Ok(if is_whole { (bytes / size_of::<f32>()) as u32 } else { 0 })
        }
        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<u32, A::Error> {
            Count::deserialize(SeqAccessDeserializer::new(list)).map(|Count(count)| count)
        }
    }
    from.deserialize_any(Either).map(|dimension| Some(dimension).filter(|it| *it > 0))
}

struct Scores;

impl Decode for Scores {
    fn message(&mut self, data: &str, parsed: &mut ParsedResponse) -> Decoded {
        // SGLang answers with the list alone.
        let (scores, usage) = match data.trim_start().starts_with('[') {
            true => (Some(parse::<Vec<Score>>(data)?), None),
            false => {
                let answer: Ranking = parse(data)?;
                if answer.error.is_some() {
                    return Err(Undecoded::Error);
                }
                (answer.results, answer.usage)
            }
        };
        let Some(scores) = scores else { return wrong("no scores") };
        let values = || scores.iter().map(|score| score.relevance_score.or(score.score));
        if values().any(|score| score.is_none()) {
            return wrong("a result without a score");
        }
        if !values().flatten().is_sorted_by(|a, b| a >= b) {
            return wrong("its scores do not fall");
        }
        let indexes: Vec<Option<usize>> = scores.iter().map(|score| score.index).collect();
        parsed.event(EventKind::Comment);
        end(&indexes, usage, parsed)
    }
}

#[derive(Deserialize)]
struct Ranking {
    results: Option<Vec<Score>>,
    usage: Option<UsageBody>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Score {
    index: Option<usize>,
    relevance_score: Option<f64>,
    score: Option<f64>,
}
