//! Which figure of a table leads to which part of the page. No link leads to a part that is not
//! there.

use inferometer_analysis::cell::Cell;
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_load::PassKind;
use inferometer_metrics::{Definition, registry};

use crate::charts;
use crate::table::LATENCIES_FROM;
use crate::text_table::Table;
use crate::trace::Traces;

/// The parts of a page that tables link to.
#[derive(Clone, Copy)]
pub(super) struct PageLinks<'a> {
    pub summary: &'a Summary,
    pub traces: &'a Traces,
}

impl PageLinks<'_> {
    /// Figures of the published table lead to the pass that they are from.
    pub fn link_records(&self, table: &mut Table) {
        for (row, cell) in self.summary.cells.iter().enumerate() {
            let of = |pass: Option<&PassSummary>| {
                let pass = position(cell, pass?)?;
                Some(format!("#{}", charts::pass_id(row, pass)))
            };
            let (loading, alone) = (of(cell.loading()), of(cell.alone()));
            for (column, place) in [(2, &loading), (3, &loading), (4, &alone), (5, &alone)] {
                if let Some(place) = place {
                    table.set_link(row, column, place);
                }
            }
        }
    }

    /// A row of the table of loads leads to its pass, its latencies to their distributions.
    pub fn link_loads(&self, table: &mut Table) {
        let mut row = 0;
        for (at, cell) in self.summary.cells.iter().enumerate() {
            for (index, pass) in cell.passes.iter().enumerate() {
                if !matches!(pass.kind, PassKind::Closed | PassKind::Open) {
                    continue;
                }
                table.set_link(row, 2, format!("#{}", charts::pass_id(at, index)));
                for (column, (metric, _)) in (LATENCIES_FROM..).zip(registry::in_tables()) {
                    if self.has(cell, index, metric) {
                        let place = format!("#{}", charts::latency_id(at, index, metric));
                        table.set_link(row, column, place);
                    }
                }
                row += 1;
            }
        }
    }

    /// Whether the distribution of a latency is drawn.
    pub fn has(&self, cell: &Cell, pass: usize, metric: &Definition) -> bool {
        let trace = self.traces.of(cell.plan(), pass);
        trace.is_some_and(|trace| trace.latencies.iter().any(|latency| latency.metric == metric))
    }
}

/// Which of the cell's passes it is.
fn position(cell: &Cell, pass: &PassSummary) -> Option<usize> {
    cell.passes.iter().position(|own| std::ptr::eq(own, pass))
}
