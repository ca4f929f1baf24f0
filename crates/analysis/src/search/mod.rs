//! Searches for the highest load that meets the objectives. This module contains the settings of a search, chooses the
//! loads to try, and computes the answer and its uncertainty. It sends no requests: other modules measure the trials,
//! and pass the results to this module.
//!
//! A [`Search`] requests a trial (a load and a number of requests), and gets the result of the trial ([`Trial`]). The
//! answer of the search is an estimate with an interval. docs/search.md describes the procedure with its formulas.

mod alone;
mod answer;
mod bursts;
mod capacity;
mod crossing;
mod document;
mod findings;
mod flat;
mod jobs;
mod overwhelmed;
mod trial;

mod plan;

mod edges;
mod evidence;
mod known;
mod outcome;
mod procedure;
mod rates;
mod row;
mod sentence;

pub use alone::Alone;
pub use document::{LoadAnswer, SearchAnswer, SearchObjective};
pub use edges::TierEdge;
pub use evidence::{Claim, CriterionEstimate, Groups, Measure};
pub use findings::{CODES, findings, mark_limits_of_client};
pub use outcome::{NextTrial, SearchEnding};
pub use overwhelmed::{Overwhelmed, Watcher, certain_at, misses_to_claim};
pub use plan::{trial_pass, watcher};
pub use procedure::Search;
pub use sentence::{load_text, sentence};
pub use trial::{Saturation, Trial, TrialFold};

#[cfg(test)]
mod tests;
