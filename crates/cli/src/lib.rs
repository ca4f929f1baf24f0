//! Measures how fast LLM serving engines are, and states the error of its own numbers.
//!
//! This is the library of the `inferometer` program: functions that take values and return values or typed errors. Only
//! [`command_line`], which is the program itself, prints messages or ends the process. Other code gets environment
//! variables from its caller, except for the variables for downloads and caches of data sets and tokenizers.
//! [`resolve`] makes a [`Plan`] from a [`Spec`], which has the keys of a plan file. [`run`] measures the plan;
//! [`predict`] and [`search`] simulate it in virtual time. [`compare`](mod@compare) compares results, and [`Store`]
//! contains every run with all its records.
//!
//! # Measure a server
//!
//! Without a `target` or a `server`, the plan measures the embedded engine, a calibrated model of a serving engine. In
//! this example, a thread of this process serves the engine on a local port, a hundred times faster than the simulated
//! hardware.
//!
//! ```
//! use inferometer::metrics::ttft;
//! use inferometer::{Events, Spec, Strictness, judge, resolve, run};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let spec: Spec = serde_json::from_value(json!({
//!     "speed": 100, "input_lengths": [64], "output_lengths": [16], "one_by_one": 3, "requests": 20,
//! }))?;
//! let (plan, mut context) = resolve(&spec, &|name| std::env::var(name).ok())?;
//! context.store = folder.path().join("runs.db");
//! context.out = Some(folder.path().join("report"));
//! let finished = run(&plan, &context, &Events::none())?;
//!
//! let cell = &finished.summary.cells[0];
//! println!("{:?} output tokens per second", cell.output_tokens_per_s);
//! for pass in &cell.passes {
//!     let ttft_ms = pass.latencies.get(&ttft::FROM_SENT).expect("requests completed");
//!     println!("{}: TTFT p50 {} ms, p99 {} ms", pass.load, ttft_ms.p50, ttft_ms.p99);
//!     assert_eq!(pass.outcomes.failed(), 0);
//! }
//! // This is an error if the run was interrupted, if the server died, if too many requests failed, or if an objective
//! // was not met.
//! judge(&plan, &context, &finished, Strictness::Lenient)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Predict, and compare two results
//!
//! ```
//! use inferometer::compare::{Options, Subject, compare};
//! use inferometer::{EngineConfig, Spec, predict, resolve};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let predicted = |model: &str| -> Result<_, Box<dyn std::error::Error>> {
//!     let spec: Spec = serde_json::from_value(json!({
//!         "model": model, "input_lengths": [128], "output_lengths": [32], "requests": 50,
//!     }))?;
//!     let (plan, mut context) = resolve(&spec, &|_| None)?;
//!     context.store = folder.path().join("runs.db");
//!     context.out = Some(folder.path().join(model));
//!     Ok(predict(&plan, &context, &EngineConfig::of_model(model)?, None)?.summary)
//! };
//! let (small, large) = (predicted("chatglm3-6b")?, predicted("qwen-14b")?);
//! let baseline = Subject::of_run("small", &small);
//! let contender = Subject::of_run("large", &large);
//! let judged = compare(&baseline, &contender, Options { margin: 0.05, seed: 0 }, &[])?;
//! println!("{}", serde_json::to_string_pretty(&judged)?);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "cli")]
pub mod command_line;

pub mod plan_file;
pub mod scenario;

pub mod serving_results;
pub mod stored;
pub mod stored_error;
pub mod stored_passes;

pub mod bundle;
pub mod calibrate;
pub mod compare;
pub mod export;
pub mod import;
pub mod price;
pub mod recorded;
pub mod report;
pub mod reproduce;

mod measure;
mod other_tools;

pub use inferometer_analysis::summary::Summary;
pub use inferometer_check as check;
pub use inferometer_engine::EngineConfig;
pub use inferometer_model::metrics;
pub use inferometer_plan::{Plan, spec::Spec};
pub use inferometer_predict::{MeasuredRows, predict, read_against, search};
pub use inferometer_run::{
    Context, Event, Events, Finished, Group, Host, Interrupt, LiveState, PlanError, ReportFiles,
    RunError, Shortfall, Strictness, Subscriber, judge, resolve,
};
pub use inferometer_store::Store;
pub use measure::run;
