//! The report of a run as HTML, with the names of the run's files. Another module adds the layout of the
//! page.

use inferometer_analysis::Summary;
use inferometer_report::{ReportInput, html};
use inferometer_store::StoredRun;

use minijinja::Value;

use crate::{PageError, files, report::ReportParts, trusted};

/// The report of a run with results.
pub(crate) struct RunReport {
    pub(crate) markup: Value,
    /// Names of the run's files.
    pub(crate) files: Vec<String>,
    pub(crate) parts: ReportParts,
}

impl RunReport {
    /// Makes the report of a run. This takes seconds if the log is long.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(crate) fn make(stored: &StoredRun, summary: &Summary) -> Result<Self, PageError> {
        let parts = ReportParts::of(stored, summary)?;
        // The page lists the files above the report.
        let input = ReportInput { files: &[], ..parts.input(summary) };
        let markup = trusted(html::body(&input));
        let files = files::names(summary, &parts);
        Ok(Self { markup, files, parts })
    }

    /// A report without content.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self { markup: Value::UNDEFINED, files: Vec::new(), parts: ReportParts::empty() }
    }
}
