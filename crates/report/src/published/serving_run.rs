//! The six figures of the serving script of vLLM 0.2: as this program measures them, and as the script
//! would have printed them.

use inferometer_analysis::Summary;
use inferometer_analysis::serving_run::{FIELDS, Field, ServingRun};

use crate::{Align, MISSING, Table, significant};

/// Six rows for each pass that has these figures.
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
