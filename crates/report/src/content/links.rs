//! Links from the cells of tables to parts of the same page. A figure is linked only to a part that the
//! page has.

use inferometer_analysis::{Cell, PassSummary, Summary};
use inferometer_model::Definition;
use inferometer_model::metrics::registry;

use crate::table::latencies_from;
use crate::{Table, Traces, charts};

/// Creates links. The results and the traces determine which parts the page has.
#[derive(Clone, Copy)]
pub(super) struct PageLinks<'a> {
    pub summary: &'a Summary,
    pub traces: &'a Traces,
}

impl PageLinks<'_> {
    /// Links each figure of the published table to the pass from which it was computed. With repeats, the figure
    /// is a mean over several passes, and the link leads to the first of them.
    pub fn link_records(&self, table: &mut Table) {
        for (row, cell) in self.summary.cells.iter().enumerate() {
            let link_to = |pass: Option<&PassSummary>| {
                let pass = index_in(cell, pass?)?;
                Some(format!("#{}", charts::pass_id(row, pass)))
            };
            // Columns 2 and 3 (from 0) are throughputs; columns 4 and 5 are latencies.
            let (throughput, latency) =
                (link_to(cell.throughput_pass()), link_to(cell.latency_pass()));
            let columns = [(2, &throughput), (3, &throughput), (4, &latency), (5, &latency)];
            for (column, link) in columns {
                if let Some(link) = link {
                    table.set_link(row, column, link);
                }
            }
        }
    }

    /// Links each row of the main figures of passes to its pass.
    pub fn link_rows(&self, table: &mut Table) {
        let cells = self.summary.cells.iter().enumerate();
        let ids = cells.flat_map(|(at, cell)| (0..cell.passes.len()).map(move |pass| (at, pass)));
        for (row, (cell, pass)) in ids.enumerate() {
            table.set_link(row, 2, format!("#{}", charts::pass_id(cell, pass)));
        }
    }

    /// Links each row of the table of passes to its pass, and each latency of the row to the chart of
    /// its distribution.
    pub fn link_passes(&self, table: &mut Table) {
        self.link_rows(table);
        let mut row = 0;
        for (cell_index, cell) in self.summary.cells.iter().enumerate() {
            for pass_index in 0..cell.passes.len() {
                for (column, (metric, _)) in (latencies_from()..).zip(registry::in_tables()) {
                    if self.has_distribution(cell, pass_index, metric) {
                        let part = charts::latency_id(cell_index, pass_index, metric);
                        table.set_link(row, column, format!("#{part}"));
                    }
                }
                row += 1;
            }
        }
    }

    /// Whether the page has a chart of the distribution of a pass's latency.
    fn has_distribution(&self, cell: &Cell, pass: usize, metric: &Definition) -> bool {
        let trace = self.traces.of(cell.plan(), pass);
        trace.is_some_and(|trace| trace.with_histogram().any(|latency| latency.metric == metric))
    }
}

/// The index of a pass among the passes of its cell.
fn index_in(cell: &Cell, pass: &PassSummary) -> Option<usize> {
    cell.passes.iter().position(|own| std::ptr::eq(own, pass))
}
