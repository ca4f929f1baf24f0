//! The answers of searches and sweeps: for each answer a heading, a sentence and a table of its loads.

use inferometer_analysis::Summary;
use inferometer_model::digits::percent;

use crate::{Table, search, sweep};

/// The answer of a search or a sweep for one cell, ready to be shown.
pub(crate) struct Answer {
    /// The kind of the answer, and its place: `Search, 128 x 32, gold`.
    pub heading: String,
    /// The cell: `128 x 32`.
    pub cell: String,
    /// The cell and the tier of a search, if there are tiers: `128 x 32, gold`.
    pub place: String,
    /// The answer in one sentence.
    pub sentence: String,
    /// One row for each load, with the results at that load.
    pub table: Table,
    /// The columns of the table that most readers need, for a terminal.
    pub main_table: Table,
    /// How to read the main table, in few words.
    pub legend: String,
    /// How to read the table.
    pub explanation: String,
}

/// The answers of a run; empty for a run without a search or a sweep.
pub(crate) fn of(summary: &Summary) -> Vec<Answer> {
    let searches = summary.searches.iter().map(|answer| Answer {
        heading: format!("Search, {}", answer.place()),
        cell: answer.cell().to_string(),
        place: answer.place(),
        sentence: search::sentence(answer),
        table: search::table(answer),
        main_table: search::table(answer),
        legend: "In brackets: the 95 % interval of each load alone.".to_owned(),
        explanation: search::explanation(answer),
    });
    let sweeps = summary.sweeps.iter().map(|answer| Answer {
        heading: format!("Sweep, {}", answer.cell()),
        cell: answer.cell().to_string(),
        place: answer.cell().to_string(),
        sentence: answer.answer.clone(),
        table: sweep::table(answer, true),
        main_table: sweep::table(answer, false),
        legend: format!(
            "In brackets: {} % intervals. TTFT, TPOT and latency are means.",
            percent(answer.confidence)
        ),
        explanation: sweep::explanation(answer),
    });
    searches.chain(sweeps).collect()
}

/// How to read the table of trials, and why its figures differ from those by load.
pub(crate) const OF_TRIALS: &str = "For each trial: values over all its requests, with start-up and \
    drain. Requests/s: completed requests / time from the first send to the last end. The values \
    by load leave out start-up and drain, so they differ from these values.";

/// Whether a run has an answer of a search or a sweep.
pub(crate) fn has_answers(summary: &Summary) -> bool {
    !summary.searches.is_empty() || !summary.sweeps.is_empty()
}
