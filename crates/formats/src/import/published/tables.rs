//! Imports a published table as a run. Figures are copied, never computed.

use inferometer_analysis::Cell;
use inferometer_analysis::table_import::{PublishedRow, PublishedTable};

use super::{Page, target};
use crate::import::finding;
use crate::import::source::{Import, summary};

pub(crate) const FORMAT: &str = "published table";

pub(super) fn run(page: &Page<'_>, table: &PublishedTable) -> Import {
    let (target, engine_line) = target(page, &table.place);
    let mut imported = page.source.imported(FORMAT);
    let place = &table.place;
    let named = [&place.model, &place.card].into_iter().flatten().cloned();
    imported.section = named.chain(table.headings.last().cloned()).collect();
    imported.section.dedup();
    imported.tables = table.forms.clone();
    let mut findings = finding::of_table(table);
    findings.extend(finding::of_characters(&page.logged, table));
    findings.extend(engine_line.map(finding::engine_from_prose));
    let cells = table.rows.iter().map(cell).collect();
    Import { summary: summary(imported, target, cells, findings), records: Vec::new() }
}

/// Returns a cell without passes, because the load is not known.
fn cell(row: &PublishedRow) -> Cell {
    let [requests, tokens, per_token, per_output_token] = row.measured.values();
    Cell {
        input_length: row.cell.input_length,
        output_length: row.cell.output_length,
        requests_per_s: requests,
        output_tokens_per_s: tokens,
        latency_per_token_ms: per_token,
        latency_per_output_token_ms: per_output_token,
        ..Cell::default()
    }
}
