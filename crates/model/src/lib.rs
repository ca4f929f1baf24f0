//! The basic types of a measurement: requests, records, and their names. [`stats`] has statistics of measured
//! values, [`load`] when each request of a pass is due, and [`metrics`] the meaning of every metric.
//!
//! This crate has only types and arithmetic on them. It does no I/O and reads no clock.

pub mod load;
pub mod metrics;
pub mod stats;
pub mod url;

pub mod calendar;
pub mod time;

pub mod cell;
pub mod media;
pub mod pooled;
pub mod request;
pub mod sha256;
pub mod source;
pub mod target;
pub mod tokenizer;
pub mod trace_context;

mod names;
pub mod outcome;
pub mod process;
pub mod record;
pub mod sample;

pub mod change;
pub mod digits;
pub mod finding;
pub mod finish_reason;
pub mod json;
pub mod secrets;
pub mod suggest;
pub mod visible;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;

// The common types, so that a user needs one import for them.
pub use cell::CellPlan;
pub use change::Change;
pub use finding::{Code, Finding, Severity, code};
pub use load::{Bound, ClosedPlan, OpenPlan, OverLimit, PassKind, PassPlan, load_model};
pub use media::{Media, MediaKind, MediaSent};
pub use metrics::{Definition, RequestFigures, Statistic, Timeline};
pub use outcome::{Outcome, OutcomeCounts, OutcomeKind, Phase};
pub use pooled::Pooled;
pub use process::Process;
pub use record::{Detail, EventKind, Record, StopReason, TokensFrom, Usage};
pub use request::{Prompt, Request, Sampling, SplitThink};
pub use sample::Observed;
pub use secrets::Secrets;
pub use source::Source;
pub use suggest::did_you_mean;
pub use target::{Environment, Target};
pub use time::Nanos;
pub use tokenizer::{Tokenizer, TokenizerError};
pub use url::Url;

/// Whether a value is the default of its type. Serde leaves out such a value of an optional setting or figure, so that
/// the document, and the hash of a plan, is the same as in versions without the field.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
