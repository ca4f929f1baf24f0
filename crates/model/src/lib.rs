//! The basic types of a measurement: requests, records, and their names.
//!
//! This crate has only types and arithmetic on them. It does no I/O, reads no clock, and computes no
//! metrics.

pub mod calendar;
pub mod time;

pub mod cell;
pub mod request;
pub mod source;
pub mod target;
pub mod tokenizer;

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
