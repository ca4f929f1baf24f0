//! The options of text blocks, from what was asked for.

use serde::{Deserialize, Serialize};

use super::Mistakes;
use crate::blocks::{TEMPLATES, Template};
use crate::plan::{InFlight, WorkloadPlan};
use crate::suggest::did_you_mean;

/// Characters of a block, and asked for, in the published record.
const SIZES: [u32; 5] = [100, 500, 1_000, 2_000, 4_000];
/// The same for a run that was asked for nothing.
const DEMONSTRATION_SIZES: [u32; 2] = [100, 500];

/// The keys of a plan for text blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockKeys {
    /// Sizes of blocks, in characters.
    pub block_sizes: Option<Vec<u32>>,
    /// Characters asked for.
    pub wanted_lengths: Option<Vec<u32>>,
    /// Requests in flight, one for each size.
    pub block_concurrency: Option<Vec<u32>>,
    /// A template by name, or its file.
    pub template: Option<String>,
    /// What stands before the template in every prompt.
    pub preamble: Option<String>,
    /// The most output tokens of a request.
    pub max_output_tokens: Option<u32>,
}

impl BlockKeys {
    /// Sizes and lengths asked for, in characters; `is_demonstration` makes them few.
    pub(super) fn lengths(&self, is_demonstration: bool) -> (Vec<u32>, Vec<u32>) {
        let default: &[u32] = if is_demonstration { &DEMONSTRATION_SIZES } else { &SIZES };
        let or_default =
            |given: &Option<Vec<u32>>| given.clone().unwrap_or_else(|| default.to_vec());
        (or_default(&self.block_sizes), or_default(&self.wanted_lengths))
    }

    /// The keys that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("block_sizes", self.block_sizes.is_some()),
            ("wanted_lengths", self.wanted_lengths.is_some()),
            ("block_concurrency", self.block_concurrency.is_some()),
            ("template", self.template.is_some()),
            ("preamble", self.preamble.is_some()),
            ("max_output_tokens", self.max_output_tokens.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
    }

    /// Whether nothing was said of sizes and lengths.
    pub(super) fn is_plain(&self) -> bool {
        self.block_sizes.is_none() && self.wanted_lengths.is_none()
    }

    /// The workload. With `own_load` the user says how many are in flight.
    pub(super) fn resolve(
        &self,
        corpus: Option<&str>,
        own_load: bool,
        is_demonstration: bool,
        mistakes: &mut Mistakes,
    ) -> WorkloadPlan {
        let (sizes, _) = self.lengths(is_demonstration);
        let template = self.template(mistakes);
        let language = if template.name.ends_with("-en") { "shipped-en" } else { "shipped-zh" };
        if self.max_output_tokens == Some(0) {
            mistakes.add("max_output_tokens", "is 0; give at least 1");
        }
        WorkloadPlan::Blocks {
            corpus: corpus.unwrap_or(language).to_owned(),
            template,
            in_flight: self.in_flight(&sizes, own_load, mistakes),
            max_output_tokens: self.max_output_tokens,
        }
    }

    fn template(&self, mistakes: &mut Mistakes) -> Template {
        let name = self.template.as_deref().unwrap_or(TEMPLATES[0].name);
        let preamble = self.preamble.clone().unwrap_or_default();
        let named = Template::named(name);
        if named.is_none() && !name.contains(['.', '/']) {
            let names = TEMPLATES.map(|template| template.name);
            let told = format!(
                "`{name}` is not a template{}; there are {}, or give a file (one without a dot in \
                 its name as ./{name})",
                did_you_mean(name, names),
                names.join(", ")
            );
            mistakes.add("template", told);
        }
        // The text of a file is read by whoever may open files.
        let of_file = || Template { name: name.to_owned(), ..Template::default() };
        Template { preamble, ..named.unwrap_or_else(of_file) }
    }

    fn in_flight(&self, sizes: &[u32], own: bool, mistakes: &mut Mistakes) -> Vec<InFlight> {
        let concurrency: Vec<u32> = match &self.block_concurrency {
            Some(_) if own => {
                mistakes.add("block_concurrency", "is not used: the loads are your own");
                return Vec::new();
            }
            None if own => return Vec::new(),
            Some(given) => given.clone(),
            None => sizes.iter().map(|&size| published(size)).collect(),
        };
        if concurrency.len() != sizes.len() {
            let told = format!(
                "has {} numbers for {} block sizes; give one for each",
                concurrency.len(),
                sizes.len()
            );
            mistakes.add("block_concurrency", told);
        }
        if concurrency.contains(&0) {
            mistakes.add("block_concurrency", "0 in flight measures nothing; give at least 1");
        }
        let pairs = sizes.iter().zip(concurrency);
        pairs.map(|(&block_chars, concurrency)| InFlight { block_chars, concurrency }).collect()
    }
}

/// Requests in flight in the published record, by the characters of a block; for sizes between
/// its own that of the next larger one.
fn published(block_chars: u32) -> u32 {
    match block_chars {
        0..=100 => 32,
        101..=500 => 25,
        _ => 16,
    }
}
