//! Load models: when each request is due. They do no I/O and read no clock. Instants are offsets from the
//! start of the pass.
//!
//! The same models are used with sockets in real time, with the embedded engine in virtual time, and in
//! tests. Each model has one file in `pass/` with its description before a pass ([`LoadPlan`]) and the model
//! during a pass ([`LoadModel`]). A new model needs its file, and a line in the list in `pass/mod.rs`.
//! Variants of a model are data: a [`Level`] is a rate or a concurrency over time, and an
//! [`Arrivals`](crate::load::arrival::Arrivals) says how the gaps between arrivals vary.

pub mod arrival;
pub mod conversation;
pub mod distribution;

mod abandon;
mod bound;
mod kind;
mod level;
mod recording;
mod script;

mod model;
mod pass;
mod share;

pub use abandon::{Abandon, LeaveAfter, Leavers};
pub use bound::{Bound, OverLimit};
pub use kind::PassKind;
pub use level::{Curve, Level, Stage, Stages};
pub use recording::{Recording, RecordingError};
pub use script::{CountOf, Freed, Progress, Script, Step};

pub use model::{Due, EndedRequest, KeptConstant, LoadModel, LoadPlan};
pub use pass::*;
pub use share::Share;

#[cfg(test)]
mod tests;
