//! Measures how fast LLM serving engines are, and states how wrong its own numbers can be.
//!
//! This is the library of the `inferometer` program: functions from values to values, each with a
//! typed error. Nothing here prints, exits, or reads an environment variable on its own; what a
//! function needs beside its plan is in a [`Context`].

pub mod plan_file;
pub mod scenario;

pub mod stored;
pub mod stored_passes;

pub mod calibrate;
pub mod compare;
pub mod export;
pub mod import;
pub mod report;

mod measure;

pub use inferometer_check as check;
pub use inferometer_core as core;
pub use inferometer_predict::{predict, search};
pub use inferometer_run::{
    Context, Event, Events, Finished, Group, Host, Interrupt, LiveState, PlanError, RunError,
    Shortfall, Strictness, Subscriber, judge, resolve,
};
pub use inferometer_store::Store;
pub use measure::run;
