//! The six figures of the serving script of vLLM 0.2: as this program measures them, and as the script
//! would have printed them.

use inferometer_analysis::Summary;
use inferometer_analysis::serving_run::{FIELDS, Field, ServingRun};

use crate::{MISSING, Table, left, right, significant};

/// Six rows for each pass that has these figures.
pub(crate) fn serving_run(summary: &Summary) -> Table {
    let mut rows = Vec::new();
    for (cell, pass) in summary.passes() {
        let Some(run) = &pass.serving_run else { continue };
        rows.extend(FIELDS.iter().map(|field| {
            [
                left("Pass", cell.place(pass)),
                left("Figure", field.name),
                right("By real output lengths", ours(field, run)),
                right("As counted by the script", scripts(field, run)),
                left("Unit", field.unit),
            ]
        }));
    }
    Table::of(rows)
}

/// The figure from the actual output lengths, with four significant digits.
fn ours(field: &Field, run: &ServingRun) -> String {
    (field.value)(run, &run.measured).map_or(MISSING.to_owned(), significant)
}

/// The figure as the script prints it: with a fixed number of decimals, or with all digits.
fn scripts(field: &Field, run: &ServingRun) -> String {
    match ((field.value)(run, &run.script), field.decimals) {
        (None, _) => MISSING.to_owned(),
        (Some(value), Some(decimals)) => format!("{value:.decimals$}"),
        (Some(value), None) => format!("{value}"),
    }
}
