//! The answers of searches and sweeps: for each answer a heading, a sentence and a table of its loads.

use inferometer_analysis::Summary;

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
        explanation: search::explanation(answer),
    });
    let sweeps = summary.sweeps.iter().map(|answer| Answer {
        heading: format!("Sweep, {}", answer.cell()),
        cell: answer.cell().to_string(),
        place: answer.cell().to_string(),
        sentence: answer.answer.clone(),
        table: sweep::table(answer),
        explanation: sweep::explanation(answer),
    });
    searches.chain(sweeps).collect()
}

/// The answers, one line each. They are the last lines on a terminal.
pub fn lines(summary: &Summary) -> String {
    let line = |answer: Answer| format!("answer: {}: {}\n", answer.cell, answer.sentence);
    of(summary).into_iter().map(line).collect()
}

/// How to read the table of trials, and why its figures differ from those by load.
pub(crate) const OF_TRIALS: &str = "For each trial: values over all its requests, with start-up and \
    drain. Requests/s: completed requests / time from the first send to the last end. The values \
    by load leave out start-up and drain, so they differ from these values.";

/// Whether a run has an answer of a search or a sweep.
pub(crate) fn has_answers(summary: &Summary) -> bool {
    !summary.searches.is_empty() || !summary.sweeps.is_empty()
}
