//! `/v1/embeddings` and `/v1/rerank`. The model generates text and has no vectors, so these are derived from the
//! texts: equal texts have equal vectors and scores. The time is that of a prompt of all inputs together and one token:
//! it is not that of an engine for embeddings.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Host, Job, Output, OutputOptions, Prompt, Reply, ResponseFormat, body::Body};
use crate::serve::words::{mix, seed};

/// The numbers of a vector.
const DIMENSION: u64 = 64;

/// `/v1/embeddings`
pub(super) fn embeddings(host: &Host, body: &[u8]) -> Result<Job, Reply> {
    let body = Body::parse(body)?;
    body.check_model(host)?;
    let inputs = body.inputs(host, "input")?;
    let is_base64 = match body.get("encoding_format").and_then(Value::as_str) {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Reply::error(400, &format!("`encoding_format` cannot be {other}.")));
        }
    };
    let vector = |prompt: &Prompt| {
        let vector = vector(seed(&prompt.key));
        let bytes = || vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        if is_base64 { json!(BASE64_STANDARD.encode(bytes())) } else { json!(vector) }
    };
    let data = inputs.iter().enumerate().map(|(index, prompt)| {
        json!({ "object": "embedding", "index": index, "embedding": vector(prompt) })
    });
    let answer = json!({ "object": "list", "data": data.collect::<Vec<_>>(), "model": host.model });
    job(host, inputs, answer)
}

/// `/v1/rerank`
pub(super) fn rerank(host: &Host, body: &[u8]) -> Result<Job, Reply> {
    let body = Body::parse(body)?;
    body.check_model(host)?;
    let query = Prompt::text(host, body.text("query")?)?;
    let documents = body.inputs(host, "documents")?;
    let top_n = body.count("top_n")?.map_or(documents.len(), |top_n| top_n as usize);
    let query_vector = vector(seed(&query.key));
    let mut results: Vec<(usize, f64)> = documents
        .iter()
        .map(|document| {
            let other = vector(seed(&document.key));
            query_vector.iter().zip(other).map(|(a, b)| f64::from(a * b)).sum()
        })
        .enumerate()
        .collect();
    results.sort_by(|a, b| b.1.total_cmp(&a.1));
    results.truncate(top_n);
    let results = results
        .into_iter()
        .map(|(index, score)| json!({ "index": index, "relevance_score": score }));
    let answer =
        json!({ "id": "rerank", "model": host.model, "results": results.collect::<Vec<_>>() });
    // Each document is read with the query.
    let pairs = documents.into_iter().map(|document| Prompt {
        tokens: document.tokens + query.tokens,
        ids: [&query.ids[..], &document.ids].concat(),
        ..document
    });
    job(host, pairs.collect(), answer)
}

/// A vector of length 1 that the seed determines.
fn vector(seed: u64) -> Vec<f32> {
    let number = |at: u64| (mix(seed ^ at) >> 40) as f32 / (1 << 23) as f32 - 1.0;
    let numbers: Vec<f32> = (0..DIMENSION).map(number).collect();
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    numbers.into_iter().map(|number| number / length).collect()
}

fn job(host: &Host, inputs: Vec<Prompt>, answer: Value) -> Result<Job, Reply> {
    let limit = host.max_model_len;
    let mut all = Prompt::default();
    for input in inputs {
        if input.tokens > limit {
            let message =
                format!("an input has {} tokens, more than the limit {limit}.", input.tokens);
            return Err(Reply::error(400, &message));
        }
        all.tokens += input.tokens;
        all.ids.extend(input.ids);
    }
    let tokens = all.tokens;
    // A longer prompt would never be scheduled.
    all.tokens = tokens.min(limit.saturating_sub(1));
    all.ids.truncate(all.tokens as usize);
    let options = OutputOptions { max_tokens: 1, ignore_eos: true, stream: false };
    Ok(Job::new(host, &all, options, Box::new(Pooled { answer, tokens })))
}

struct Pooled {
    answer: Value,
    tokens: u32,
}

impl ResponseFormat for Pooled {
    fn id_prefix(&self) -> &'static str {
        "pool-"
    }

    fn event(&self, _output: &Output<'_>) -> Vec<u8> {
        unreachable!("invariant: the answer is not streamed")
    }

    fn error(&self, _message: &str) -> Vec<Vec<u8>> {
        unreachable!("invariant: the answer is not streamed")
    }

    fn whole(&self, _output: &Output<'_>) -> Value {
        let mut answer = self.answer.clone();
        answer["usage"] = json!({ "prompt_tokens": self.tokens, "total_tokens": self.tokens });
        answer
    }
}
