//! Text blocks: a corpus cut into blocks of n characters, each in a template that asks for a text
//! of about m characters. Lengths are characters, never bytes.
//!
//! Blocks are dealt in a seeded order that depends on the salt of the run, and begin at characters
//! of their own: until a corpus is used up, no two blocks of a run share a character, and beyond
//! that none begins where another did, so that a prefix cache answers none of them.

mod corpus;
mod deal;

use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::request::{Prompt, Request};
use inferometer_plan::template::Template;

use crate::error::WorkloadError;
use crate::place::{PromptForm, PromptPlace};
use crate::requests::{Built, Note, Shared, Workload};

pub use corpus::{Corpus, LeftOut};
use deal::Deal;

/// The workload `blocks`.
pub(crate) struct TextBlocks {
    name: String,
    corpus: Corpus,
    template: Template,
    max_output_tokens: Option<u32>,
}

impl TextBlocks {
    /// Reads the corpus.
    ///
    /// # Errors
    /// When it cannot be used, or the template cannot be filled in.
    pub(crate) fn open(
        name: &str,
        template: &Template,
        max_output_tokens: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        template.check()?;
        let corpus = Corpus::open(name)?;
        Ok(Self { name: name.to_owned(), corpus, template: template.clone(), max_output_tokens })
    }

    fn request(
        &self,
        shared: &Shared,
        cell: CellPlan,
        start: usize,
    ) -> Result<Request, WorkloadError> {
        let CellPlan { input_length: block_chars, output_length: wanted_chars } = cell;
        let block = self.corpus.block(start, block_chars as usize);
        let text = self.template.fill(&block, wanted_chars)?;
        let (prompt, counted) = match shared.form {
            PromptForm::Text => {
                let counted = shared.tokenizer.count(&text)?;
                (Prompt::Text(text), counted)
            }
            PromptForm::TokenIds => {
                let ids = shared.tokenizer.encode(&text)?;
                let counted = ids.len() as u32;
                (Prompt::TokenIds(ids), counted)
            }
        };
        let counted = counted + shared.reserve;
        let budget = self.max_output_tokens.unwrap_or_else(|| budget(wanted_chars));
        Ok(Request { counted_tokens: Some(counted), ..Request::new(prompt, counted, budget) })
    }
}

/// Output tokens that a request may have at most: room for four times the characters asked for at
/// a token each, and never more than servers with a context of 8,192 tokens have beside the
/// longest prompts of the published record.
fn budget(wanted_chars: u32) -> u32 {
    wanted_chars.saturating_mul(4).saturating_add(256).min(4_096)
}

impl Workload for TextBlocks {
    fn requests(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let (chars, block) = (self.corpus.chars(), cell.input_length as usize);
        if block > chars {
            let corpus = self.name.clone();
            return Err(WorkloadError::BlockBeyondCorpus { corpus, chars, block });
        }
        let deal = Deal { chars, block, seed: shared.seed, salt: &shared.salt };
        let starts = deal.starts(place.taken, count);
        let requests = shared.make(count, |at| self.request(shared, cell, starts[at]))?;
        let overlapping = deal.reused(place.taken, count);
        let available = deal.per_round();
        let notes =
            (overlapping > 0).then_some(Note::Overlapping { prompts: overlapping, available });
        Ok(Built { requests, notes: notes.into_iter().collect() })
    }

    fn findings(&self) -> Vec<Finding> {
        let left_out = self.corpus.left_out();
        let unit = "the lengths of cells are characters: Input Length is the size of the text \
                    block, Output Length the length asked for; tokens and characters of what was \
                    sent and generated stand under Text blocks";
        let mut findings = Vec::new();
        if left_out.total() > 0 {
            let message = format!(
                "rows and files of the corpus that are left out: {}. {left_out}",
                left_out.total()
            );
            findings.push(Finding::new("data_set_rows_left_out", Severity::Note, message));
        }
        findings.push(Finding::new("lengths_are_characters", Severity::Note, unit.to_owned()));
        findings
    }
}
