//! What runs that choose their loads found out, searches and sweeps alike: for each answer a heading, its
//! sentence and its table.

use inferometer_analysis::summary::Summary;

use crate::text_table::Table;
use crate::{search, sweep};

/// One answer as it is shown.
pub(crate) struct Answer {
    /// What it is of.
    pub heading: String,
    /// Its cell.
    pub cell: String,
    /// The answer in one sentence.
    pub sentence: String,
    /// What is known of each load.
    pub table: Table,
    /// How to read the table.
    pub explanation: String,
}

/// The answers of a run; none of one whose loads were given.
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
