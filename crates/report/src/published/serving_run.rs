//! The six figures of vLLM 0.2's serving script: ours, and what the script would have printed.

use inferometer_core::serving_run::{ByTokens, FIELDS, Field, ServingRun};
use inferometer_core::summary::Summary;

use crate::layout::{Align, Table};
use crate::number::MISSING;

/// Six rows per pass whose requests have lengths of their own.
pub(crate) fn serving_run(summary: &Summary) -> Table {
    let mut table = Table::new([
        ("Pass", Align::Left),
        ("Figure", Align::Left),
        ("By the outputs that came", Align::Right),
        ("As the script counts", Align::Right),
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
                shown(field, run, &run.measured),
                shown(field, run, &run.script),
                field.unit.to_owned(),
            ]);
        }
    }
    table
}

fn shown(field: &Field, run: &ServingRun, by: &ByTokens) -> String {
    match ((field.value)(run, by), field.decimals) {
        (None, _) => MISSING.to_owned(),
        (Some(value), Some(decimals)) => format!("{value:.decimals$}"),
        (Some(value), None) => format!("{value}"),
    }
}
