//! The answers of runs that choose their loads, searches and sweeps alike: for each answer a heading, its
//! sentence and its table.

use inferometer_analysis::summary::Summary;

use crate::text_table::Table;
use crate::{search, sweep};

/// One answer in the form in which it is shown.
pub(crate) struct Answer {
    /// The kind of the answer, and its cell.
    pub heading: String,
    /// Its cell.
    pub cell: String,
    /// The answer in one sentence.
    pub sentence: String,
    /// What is known about each load.
    pub table: Table,
    /// How to read the table.
    pub explanation: String,
}

/// The answers of a run; empty if the plan gave the loads.
pub(crate) fn of(summary: &Summary) -> Vec<Answer> {
    let searches = summary.searches.iter().map(|answer| Answer {
        heading: format!("Search, {}", answer.cell()),
        cell: answer.cell().to_string(),
        sentence: search::sentence(answer),
        table: search::table(answer),
        explanation: search::explanation(answer),
    });
    let sweeps = summary.sweeps.iter().map(|answer| Answer {
        heading: format!("Sweep, {}", answer.cell()),
        cell: answer.cell().to_string(),
        sentence: answer.answer.clone(),
        table: sweep::table(answer),
        explanation: sweep::explanation(answer),
    });
    searches.chain(sweeps).collect()
}

/// Whether a run has any.
pub(crate) fn are_in(summary: &Summary) -> bool {
    !summary.searches.is_empty() || !summary.sweeps.is_empty()
}
