//! Turns the user's plan file and flags into a plan: the complete description of what is measured.
//!
//! A [`spec::Spec`] has the values of a plan file and of flags; most values may be absent. Resolving a
//! spec returns a [`Plan`], in which all values are set. If the spec has mistakes, resolving it returns
//! all mistakes together. This crate does no I/O.

pub mod ab;
pub mod precision;
pub mod search;
pub mod shell;
pub mod stop;
pub mod sweep;
pub mod template;

mod parts;
pub mod spec;

mod procedure;
mod resolve;

pub use parts::{
    AdapterPlan, AgentsPlan, Answers, AudioPlan, AudioSource, Balance, ClassPlan, ClassesPlan,
    DrawnPlan, ImageFormat, ImageKind, ImageSize, ImageSource, ImagesPlan, JPEG_QUALITY,
    LaunchPlan, LengthPair, Lengths, MediaPlan, MetricsAt, ObservePlan, PoolingPlan, PrefixPlan,
    Repeat, RowsFormat, RowsPlan, SpreadPlan, TargetPlan, TraceFormat, TracePlan, TraceWindow,
    Warmup,
};
pub use procedure::Procedure;
pub use resolve::{Plan, Timeouts};
pub use spec::{Grid, InFlight, ServingLimits, WorkloadPlan};
