//! The text format of Prometheus (0.0.4): a writer for our own metrics, and a parser for the metrics of
//! servers. Both work with any metrics.

mod parse;
mod write;

pub use inferometer_model::stats::buckets::{Buckets, FIRST_TOKEN_S, FURTHER_TOKEN_S, REQUEST_S};
pub use parse::{Metric, metrics};
pub use write::{CONTENT_TYPE, Exposition, Kind, Labels};
