//! Links from the cells of tables to the passes in the same page.

use inferometer_analysis::{Cell, PassSummary, Summary};

use crate::{Table, charts};

/// Links each figure of the published table to the pass from which it was computed. With repeats, the figure is a mean
/// over several passes, and the link leads to the first of them.
pub(super) fn link_records(summary: &Summary, table: &mut Table) {
    for (row, cell) in summary.cells.iter().enumerate() {
        let link_to = |pass: Option<&PassSummary>| {
            let pass = index_in(cell, pass?)?;
            Some(format!("#{}", charts::pass_id(row, pass)))
        };
        // Columns 2 and 3 (from 0) are throughputs; columns 4 and 5 are latencies.
        let (throughput, latency) = (link_to(cell.throughput_pass()), link_to(cell.latency_pass()));
        let columns = [(2, &throughput), (3, &throughput), (4, &latency), (5, &latency)];
        for (column, link) in columns {
            if let Some(link) = link {
                table.set_link(row, column, link);
            }
        }
    }
}

/// Links each row of a table of passes to its pass.
pub(super) fn link_rows(summary: &Summary, table: &mut Table) {
    let cells = summary.cells.iter().enumerate();
    let ids = cells.flat_map(|(at, cell)| (0..cell.passes.len()).map(move |pass| (at, pass)));
    for (row, (cell, pass)) in ids.enumerate() {
        table.set_link(row, 2, format!("#{}", charts::pass_id(cell, pass)));
    }
}

/// The index of a pass among the passes of its cell.
fn index_in(cell: &Cell, pass: &PassSummary) -> Option<usize> {
    cell.passes.iter().position(|own| std::ptr::eq(own, pass))
}
