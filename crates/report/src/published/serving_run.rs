//! The six figures of vLLM 0.2's serving script: ours, and those that the script would have printed.

use inferometer_analysis::serving_run::{FIELDS, Field, ServingRun};
use inferometer_analysis::summary::Summary;

use crate::number::{MISSING, significant};
use crate::text_table::{Align, Table};

/// Six rows per pass whose requests have lengths of their own.
pub(crate) fn serving_run(summary: &Summary) -> Table {
    let mut table = Table::new([
        ("Pass", Align::Left),
        ("Figure", Align::Left),
        ("By real output lengths", Align::Right),
        ("As counted by the script", Align::Right),
        ("Unit", Align::Left),
    ]);
    for (cell, pass) in
        summary.cells.iter().flat_map(|cell| cell.passes.iter().map(move |pass| (cell, pass)))
    {
        let Some(run) = &pass.serving_run else { continue };
        for field in &FIELDS {
            table.push(vec![
                cell.place(pass),
                field.name.to_owned(),
                ours(field, run),
                scripts(field, run),
                field.unit.to_owned(),
            ]);
        }
    }
    table
}

/// Our figure, with its significant digits.
fn ours(field: &Field, run: &ServingRun) -> String {
    (field.value)(run, &run.measured).map_or(MISSING.to_owned(), significant)
}

/// As the script prints it: with two decimals, or with all digits.
fn scripts(field: &Field, run: &ServingRun) -> String {
    match ((field.value)(run, &run.script), field.decimals) {
        (None, _) => MISSING.to_owned(),
        (Some(value), Some(decimals)) => format!("{value:.decimals$}"),
        (Some(value), None) => format!("{value}"),
    }
}
