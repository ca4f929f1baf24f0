//! Finds out whether the server refused every request of a cell, and why. Then a search or a sweep shows nothing about
//! loads, only that no request can be served.

use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, code};

use crate::cell::Cell;

/// Why every request of the cell was refused: the HTTP status and the first error text of the server. `None` if a
/// request had another outcome. Requests that were never sent do not matter.
pub fn refusal(cells: &[Cell], cell: CellPlan, findings: &[Finding]) -> Option<String> {
    let cell = cells.iter().find(|known| known.plan() == cell)?;
    let outcomes = || cell.passes.iter().map(|pass| &pass.outcomes);
    let rejected: u64 = outcomes().map(|outcomes| outcomes.rejected).sum();
    let ended: u64 =
        outcomes().map(|outcomes| outcomes.total() - outcomes.skipped - outcomes.cancelled).sum();
    if rejected == 0 || ended > rejected {
        return None;
    }
    let place = format!("{}, ", cell.plan());
    let is_its = |finding: &&Finding| {
        finding.is(code::REQUESTS_FAILED)
            && finding.place.as_ref().is_some_and(|at| at.starts_with(&place))
    };
    let message = &findings.iter().find(is_its)?.message;
    // `24 requests got the HTTP status 400. First: TEXT` is a count of one pass.
    let (_, status) = message.split_once(" got the ")?;
    Some(status.replacen(". First: ", ": ", 1).trim_end_matches('.').to_owned())
}
