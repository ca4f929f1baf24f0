//! Turns results (a [`Summary`](inferometer_analysis::summary::Summary)) into tables, CSV, JSON, JUnit XML,
//! Markdown, charts and pages.
//!
//! The functions are pure: results and records in, text or bytes out. The crate does not measure, read a
//! clock, or open a file or a socket. The callers write the output to files.

pub mod error;

mod compared;
mod compared_answers;
mod escape;
mod gate_table;
mod label;
mod load_ranking;
mod mark;
mod measures;
mod number;
mod plan_toml;
mod ranking;
mod startup;
mod text_table;

pub mod csv;
pub mod difference;
pub mod json;
pub mod progress;
pub mod table;
pub mod terminal;

pub mod chart;
pub mod charts;
pub mod page;
pub mod plot;
pub mod trace;
pub mod trend;

mod answers;
pub mod published;
pub mod search;
mod sweep;
mod tune;

pub mod against_limit;
pub mod gate_summary;
pub mod judgement;
pub mod junit;
pub mod reproduction;

pub mod ab;
pub mod ab_page;
pub mod comparison;
pub mod comparison_page;
mod content;
mod cost;
mod document;
mod extra_tables;
pub mod fragment;
mod headline;
pub mod html;
pub mod markdown;

pub use content::ReportInput;
pub use error::ReportError;
pub use label::{notice, notice_of, title};
pub(crate) use number::{MISSING, count, significant};
pub use plan_toml::{plan_toml, spec_toml};
pub use plot::PlotFiles;
pub use startup::startup;
pub use text_table::{Align, Entry, Table, left, right};
pub use trace::Traces;
