//! The workload `blocks`: a corpus is cut into blocks of n characters. Each block is inserted into a
//! template that requests an answer of about m characters. Both lengths are in characters, not in bytes.
//!
//! The order of the blocks of n characters depends on n, the seed and the salt of the run. In the first round
//! through the corpus, no two of these blocks share a character. In the first n rounds, no two of them begin
//! at the same character, so a block does not have the same prefix as an earlier one.

mod corpus;
mod order;

use std::sync::Arc;

use inferometer_model::{CellPlan, Finding, Prompt, Request, code};
use inferometer_plan::template::Template;

use crate::workload::WorkloadDefinition;
use crate::{
    Note, PromptContext, PromptForm, RequestBatch, RequestsNeeded, TooLong, Workload, WorkloadError,
};

pub use corpus::Corpus;
use order::BlockOrder;

/// The workload `blocks` as a plan configures it.
pub(crate) struct Definition<'a> {
    pub corpus: &'a str,
    pub template: &'a Template,
    pub max_output_tokens: Option<u32>,
}

impl WorkloadDefinition for Definition<'_> {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        self.template.check()?;
        let (name, corpus) = (self.corpus.to_owned(), Corpus::open(self.corpus)?);
        let (template, max_output_tokens) = (self.template.clone(), self.max_output_tokens);
        Ok(Arc::new(TextBlocks { name, corpus, template, max_output_tokens }))
    }
}

/// The opened workload.
struct TextBlocks {
    name: String,
    corpus: Corpus,
    template: Template,
    max_output_tokens: Option<u32>,
}

impl TextBlocks {
    fn request(
        &self,
        context: &PromptContext,
        cell: CellPlan,
        start: usize,
    ) -> Result<Request, WorkloadError> {
        let CellPlan { input_length: block_chars, output_length: wanted_chars } = cell;
        let block = self.corpus.block(start, block_chars as usize);
        let text = self.template.fill(&block, wanted_chars)?;
        let (prompt, counted) = match context.form {
            PromptForm::Text => {
                let counted = context.tokenizer.count(&text)?;
                (Prompt::Text(text), counted)
            }
            PromptForm::TokenIds => {
                let ids = context.tokenizer.encode(&text)?;
                let counted = ids.len() as u32;
                (Prompt::TokenIds(ids), counted)
            }
        };
        let counted = counted + context.reserve;
        let budget = self.max_output_tokens.unwrap_or_else(|| budget(wanted_chars));
        Ok(Request { counted_tokens: Some(counted), ..Request::new(prompt, counted, budget) })
    }
}

/// The default limit of output tokens of a request: four times the requested characters plus 256, but at
/// most 4,096. A server with a context of 8,192 tokens has room for 4,096 output tokens after the longest
/// prompts in the published log of SUS-Chat-34B.
fn budget(wanted_chars: u32) -> u32 {
    wanted_chars.saturating_mul(4).saturating_add(256).min(4_096)
}

impl Workload for TextBlocks {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, cell, scope, count, .. } = *wanted;
        let (chars, block) = (self.corpus.chars(), cell.input_length as usize);
        if block > chars {
            let corpus = self.name.clone();
            return Err(WorkloadError::BlockBeyondCorpus { corpus, chars, block });
        }
        let order = BlockOrder { chars, block, seed: context.seed, salt: &context.salt };
        let starts = order.starts(scope.used_before, count);
        let requests = context.make(count, |at| self.request(context, cell, starts[at]))?;
        let overlapping = order.overlapping(scope.used_before, count);
        let available = order.per_round();
        let notes =
            (overlapping > 0).then_some(Note::Overlapping { prompts: overlapping, available });
        Ok(RequestBatch { requests, notes: notes.into_iter().collect() })
    }

    /// The lengths are in characters, so the tokens are unknown.
    fn beyond(&self, _: &RequestsNeeded<'_>, _: u64) -> TooLong {
        Ok(None)
    }

    fn findings(&self) -> Vec<Finding> {
        let left_out = self.corpus.left_out();
        let unit = "the lengths of cells are in characters: Input Length is the size of the text \
            block, and Output Length is the requested length of the output; the section \"Text blocks\" \
            has the tokens and characters that were sent and generated";
        let mut findings = Vec::new();
        if left_out.total() > 0 {
            let message =
                format!("skipped rows and files of the corpus: {}. {left_out}", left_out.total());
            findings.push(Finding::of(code::DATA_SET_ROWS_LEFT_OUT, message));
        }
        findings.push(Finding::of(code::LENGTHS_ARE_CHARACTERS, unit.to_owned()));
        findings
    }
}
