//! The keys for requests without output tokens: embeddings and rankings.

use clap::Args;
use inferometer_model::pooled::{EMBEDDINGS, RERANK, is_pooling};
use serde::{Deserialize, Serialize};

use super::{MAX_LENGTH, Mistakes};
use crate::parts::PoolingPlan;

/// The keys for embeddings and rankings.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolingKeys {
    /// Inputs of each request of --dialect openai-embeddings, or documents of each of --dialect
    /// rerank, each with the input length [default: 1; 10 for rerank]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub batch_size: Option<u32>,
    /// Tokens of the query of each request of --dialect rerank [default: 32]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub query_length: Option<u32>,
}

/// The most inputs of a request; Infinity accepts so many.
const MOST_INPUTS: u32 = 2_048;

impl PoolingKeys {
    pub(crate) const NAMES: &[&str] = &["batch_size", "query_length"];

    /// Resolves the inputs of requests of a dialect; `None` if it generates text.
    pub(crate) fn resolve(
        &self,
        dialect: Option<&str>,
        mistakes: &mut Mistakes,
    ) -> Option<PoolingPlan> {
        let is_rerank = dialect == Some(RERANK);
        let is_pooling = dialect.is_some_and(is_pooling);
        if self.batch_size.is_some() && !is_pooling {
            let needs = format!("needs --dialect {EMBEDDINGS} or {RERANK}");
            mistakes.add("batch_size", needs);
        }
        if self.query_length.is_some() && !is_rerank {
            mistakes.add("query_length", format!("needs --dialect {RERANK}"));
        }
        for (key, given, most) in [
            ("batch_size", self.batch_size, MOST_INPUTS),
            ("query_length", self.query_length, MAX_LENGTH),
        ] {
            if let Some(wrong) = given.filter(|given| !(1..=most).contains(given)) {
                mistakes.add(key, format!("{wrong} is not a number from 1 to {most}"));
            }
        }
        is_pooling.then(|| PoolingPlan {
            inputs: self.batch_size.unwrap_or(if is_rerank { 10 } else { 1 }),
            query_length: is_rerank.then(|| self.query_length.unwrap_or(32)),
        })
    }
}
