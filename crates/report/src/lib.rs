//! Numbers for people: a [`Summary`](inferometer_analysis::summary::Summary) made text, plots and
//! pages.
//!
//! Everything here is a pure function from summaries to text or bytes. Nothing here measures,
//! reads a clock, opens a file or a socket, or keeps state: callers write what they get.

pub mod error;

mod figure;
mod label;
mod number;
mod plan_toml;

pub mod layout;

pub mod csv;
pub mod difference;
pub mod json;
pub mod table;
pub mod terminal;

pub mod plot;

pub mod chart;
pub mod page;
pub mod trace;
pub mod view;

pub mod published;
pub mod search;

mod beside;
pub mod comparison;
mod content;
mod document;
pub mod html;
pub mod markdown;

pub use content::{ReportInput, title};
pub use error::ReportError;
pub use label::{notice, notice_of};
pub use plan_toml::{plan_toml, spec_toml};
