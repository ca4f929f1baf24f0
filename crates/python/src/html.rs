//! A run as HTML for a notebook: a description of the run, its tables, and its first charts as images.

use std::{fmt::Write as _, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use inferometer_report::plot::{self, Theme};
use inferometer_report::{Traces, charts, fragment, page};
use pyo3::prelude::*;

use crate::errors::Error;
use crate::store::{stored, summary_of};

/// The maximum number of charts in a notebook. The report has all charts.
const MOST_CHARTS: usize = 4;

/// A run as an HTML fragment.
#[pyfunction]
pub fn of_run(py: Python<'_>, store: PathBuf, name: &str) -> PyResult<String> {
    let markup = py.detach(|| {
        let summary = summary_of(&stored(&store, name)?)?;
        let mut out = fragment::of_run(&summary);
        for chart in charts::of_run(&summary, &Traces::default()).iter().take(MOST_CHARTS) {
            // Each chart is a separate image, so that its styles do not affect the page.
            let svg = STANDARD.encode(plot::file(chart, Theme::Light));
            let title = page::escape(&chart.title);
            let _ = writeln!(
                out,
                "<img alt=\"{title}\" style=\"max-width:100%\" \
                 src=\"data:image/svg+xml;base64,{svg}\">"
            );
        }
        Ok::<_, Error>(out)
    });
    Ok(markup?)
}
