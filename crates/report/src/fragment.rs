//! A run as an HTML fragment, for notebooks.

use std::fmt::Write as _;

use inferometer_analysis::{Summary, verdict::Validity};

use crate::page::{escape, table};
use crate::table::{marks, passes, records};
use crate::{answers, label};

/// The HTML of a run: its heading with the run id and the verdict, the notice on imported, predicted or simulated
/// figures, the answers of a search or a sweep, and two tables (results by cell, and passes). Below, sentences
/// explain the marks in these tables.
pub fn of_run(summary: &Summary) -> String {
    let id = &summary.run_id;
    let validity = match summary.verdict.validity {
        Validity::Valid => "valid",
        Validity::Suspect => "suspect",
    };
    let heading = escape(&label::title(summary));
    let mut out = format!("<p><b>{heading}</b> · run {} · {validity}</p>\n", escape(id));
    let sentence = |out: &mut String, text: &str| {
        let _ = writeln!(out, "<p>{}</p>", escape(text));
    };
    if let Some(notice) = label::notice(summary) {
        sentence(&mut out, &notice);
    }
    for answer in answers::of(summary) {
        sentence(&mut out, &answer.sentence);
    }
    let passes = passes(summary);
    for one in [&records(summary), &passes].into_iter().filter(|one| !one.is_empty()) {
        out += &table(one);
    }
    for text in marks(summary, &passes, &[]) {
        sentence(&mut out, &text);
    }
    out
}
