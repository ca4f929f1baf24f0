//! Computes figures, findings, verdicts, comparisons, searches and sweeps from records. Also reads published tables.
//!
//! Every figure depends only on stored data. This crate does no I/O and reads no clock.

pub mod abandoned;
pub mod blocks;
pub mod class;
mod column;
pub mod distributions;
pub mod drawn;
mod goodput;
pub mod growth;
pub mod instrument;
pub mod interval;
pub mod jobs;
mod keyed;
pub mod load_ranking;
pub mod media;
mod model_range;
pub mod observed;
mod per_request;
pub mod pooled;
pub mod range;
mod range_fold;
pub mod ranking;
pub mod recovery;
pub mod serving_run;
mod startup;
mod stay;
pub mod structured;
mod tail;
pub mod ttft_parts;

pub mod part;
pub mod parts;
pub mod ranks;

pub mod pass;
pub mod prediction;

pub mod cell;
pub mod cost;
pub mod failures_as_inf;
pub mod figures;
pub mod fold;
pub mod prediction_error;
pub mod so_far;

pub mod inspect;
pub mod isolation;
pub mod judge;
mod predicted_range;
pub mod predicted_ranking;
pub mod refusal;
pub mod repeats;
pub mod search;
pub mod stop;
pub mod sweep;
pub mod trials;
pub mod trust;
pub mod validity;
pub mod verdict;

pub mod table_import;

pub mod imported;
pub mod summary;

mod billing;

pub mod compare;

pub mod ab;
pub mod effect;
pub mod tune;

// The common types, so that a user needs one import for them.
pub use cell::Cell;
pub use distributions::Distributions;
pub use figures::Figures;
pub use fold::PassFold;
pub use imported::{Imported, ImportedPass};
pub use model_range::ModelRange;
pub use pass::PassSummary;
pub use prediction::CellPrediction;
pub use search::SearchAnswer;
pub use summary::Summary;
pub use sweep::SweepAnswer;
