//! The vocabulary and the arithmetic of a measurement.
//!
//! Everything here is a value or a pure function: no I/O, no async, no clock. A [`plan::Plan`]
//! says what to measure, a [`load`] model when each request is due, a [`record::Record`] what
//! happened to it, and [`fold`] makes the [`summary::Summary`] of records.

pub mod time;

pub mod plan;
pub mod spec;
pub mod suggest;

pub mod portable;
pub mod request;
pub mod seed;
pub mod traits;

pub mod arrival;
pub mod conversation;
pub mod distribution;
pub mod load;

pub mod outcome;
pub mod record;

pub mod exposition;
pub mod histogram;
pub mod metric;
pub mod stats;

pub mod blocks;
mod class;
pub mod fold;
pub mod imported;
pub mod instrument;
pub mod observed;
pub mod prediction;
pub mod serving_run;
pub mod summary;
pub mod table_import;
pub mod utc;

pub mod effect;
pub mod finding;
pub mod goodput;
pub mod inspect;
pub mod repeat;
pub mod slo;
pub mod so_far;
pub mod spans;
pub mod validity;
pub mod verdict;

pub mod compare;
pub mod search;

#[cfg(test)]
mod fixture;
