//! How long runs take, and the largest cost of runs whose end depends on their results.

use derive_more::Display;
use inferometer_model::digits::with_unit;
use inferometer_plan::search::Over;
use serde::Serialize;

use super::span::{about, in_words};

/// What chooses the loads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    /// A search.
    #[display("search")]
    Search,
    /// A sweep.
    #[display("sweep")]
    Sweep,
}

/// Whether a time is a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The time is an estimate.
    About,
    /// The time is an upper limit.
    AtMost,
    /// The time is a lower limit.
    AtLeast,
}

/// The largest cost of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Display)]
#[display(
    "a search ends when its answer is precise enough: at most {max_requests} {} (or {max_trials} trials{}){}{}",
    over.counted(),
    or_time(*max_time_s),
    of_cells(*cells),
    all_at_lowest.as_ref().map_or_else(String::new, ToString::to_string)
)]
pub struct SearchCost {
    /// The load that is varied.
    pub over: Over,
    /// The largest number of requests of a cell.
    pub max_requests: u64,
    /// The largest number of trials of a cell.
    pub max_trials: u32,
    /// The time limit of the user for a cell, in seconds.
    pub max_time_s: Option<f64>,
    /// The number of cells.
    pub cells: usize,
    /// The time of a search whose trials all have the lowest load. Absent if the user gave no lowest load: the default
    /// is so low that a search rarely has trials at it.
    pub all_at_lowest: Option<AllAtLowest>,
}

/// The time of a search whose trials all have the lowest load.
#[derive(Clone, Debug, PartialEq, Serialize, Display)]
#[display(
    "; at most {} in total, if every trial had {}, the lowest load",
    about(*time_s),
    with_unit(&load.to_string(), over.unit())
)]
pub struct AllAtLowest {
    /// The time, in seconds.
    pub time_s: f64,
    /// The lowest load.
    pub load: f64,
    /// The kind of the load.
    pub over: Over,
}

/// The highest load and the largest cost of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Display)]
#[display(
    "a sweep starts with one request in flight and ends when the server is saturated{}: at most {max_requests} \
        requests (or {max_trials} trials{}){}; each trial shows how long the next one takes{}",
    highest.map_or_else(String::new, |highest| or_load(highest, *by)),
    or_time(*max_time_s),
    of_cells(*cells),
    unbatched_s.map_or_else(String::new, |most_s| format!(
        "; at most {} in total, if the server does not batch at all",
        about(most_s)
    ))
)]
pub struct SweepCost {
    /// The load that is varied.
    pub by: Over,
    /// The highest load of the user, if there is one.
    pub highest: Option<f64>,
    /// The largest number of requests of a cell.
    pub max_requests: u64,
    /// The largest number of trials of a cell.
    pub max_trials: u32,
    /// The time limit of the user for a cell, in seconds.
    pub max_time_s: Option<f64>,
    /// The number of cells.
    pub cells: usize,
    /// The time if the server computes one request after the other, in seconds; absent if it is not to be told.
    pub unbatched_s: Option<f64>,
}

/// The largest cost of a comparison of two servers.
#[derive(Clone, Debug, PartialEq, Serialize, Display)]
#[display(
    "a comparison ends when its answer is certain: at most {} requests, {pairs} pairs of blocks of {block_requests} \
        requests{}{}",
    2 * u64::from(*pairs) * u64::from(*block_requests),
    or_time(*max_time_s),
    most_s.map_or_else(String::new, |most_s| format!("; at most {}", about(most_s)))
)]
pub struct AbCost {
    /// The largest number of pairs of blocks.
    pub pairs: u32,
    /// The number of requests of a block.
    pub block_requests: u32,
    /// The time limit of the user, in seconds.
    pub max_time_s: Option<f64>,
    /// The longest time, in seconds, if it is known.
    pub most_s: Option<f64>,
}

/// The shortest and the longest time of a run. If both have the same text, it is stated once.
pub(super) fn estimate(least_s: f64, most_s: f64) -> String {
    match (in_words(least_s), in_words(most_s)) {
        (least, most) if least == most => format!("estimate: {least}"),
        (least, most) => format!(
            "estimate: between {least} and {most}, depending on how well the server batches"
        ),
    }
}

/// The time that a run takes at least, because of the gaps between calls.
pub(super) fn gaps_alone(least_s: f64) -> String {
    format!("estimate: more than {}, which the gaps between calls alone take", in_words(least_s))
}

/// The time of all runs of a group.
pub(super) fn all_runs(bound: Bound, time_s: f64) -> String {
    let time = in_words(time_s);
    match bound {
        Bound::About => format!("estimate for all runs: {time}"),
        Bound::AtMost => format!("all runs take at most {time}, plus the start of the servers"),
        Bound::AtLeast => format!("all runs take at least {time}, plus the start of the servers"),
    }
}

/// The time of the runs that are left, as the end of a line.
pub(super) fn left(left_s: Option<f64>) -> String {
    left_s.map_or_else(String::new, |left_s| {
        format!("; {} left, plus the start of the servers", about(left_s))
    })
}

fn or_time(max_time_s: Option<f64>) -> String {
    max_time_s.map_or_else(String::new, |most_s| format!(", or {}", in_words(most_s)))
}

fn or_load(highest: f64, by: Over) -> String {
    let flag = if by == Over::Rate { "--max-rate" } else { "--max-concurrency" };
    format!(" or has {} ({flag})", with_unit(&highest.to_string(), by.unit()))
}

fn of_cells(cells: usize) -> String {
    if cells == 1 { String::new() } else { format!(" for each of {cells} cells") }
}
