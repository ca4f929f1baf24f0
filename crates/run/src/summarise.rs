//! The document of a run: a pure function of its figures and what is known beside them.

use inferometer_analysis::cell::{self, Cell};
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::{self, SearchAnswer};
use inferometer_analysis::summary::{SUMMARY_SCHEMA, Summary};
use inferometer_analysis::trust::{self, FigureCounts};
use inferometer_analysis::validity;
use inferometer_analysis::verdict::{Validity, Verdict};
use inferometer_model::finding::{Finding, code};
use inferometer_model::target::{Environment, Target, Tool};
use inferometer_plan::Plan;
use inferometer_plan::search::Over;

use crate::grid::Grid;
use crate::precision;

/// What is known of a run beside its records.
pub struct RunFacts<'a> {
    /// Its identity.
    pub run_id: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// What it measured.
    pub plan: &'a Plan,
    /// The server.
    pub target: &'a Target,
    /// The machine.
    pub environment: &'a Environment,
    /// Version of the program.
    pub tool_version: &'a str,
    /// No server was measured.
    pub predicted: bool,
    /// Identity of the workload, as far as it is known.
    pub workload_hash: Option<String>,
    /// Identity of its bodies, as far as it is known.
    pub body_hash: Option<String>,
}

/// What to do about figures of an embedded engine that is faster than the hardware: nothing stands between it
/// and the client.
const PLAYED_FAST: &str = "The embedded engine was played faster than the hardware would be: times between \
    tokens are then too short for any client to tell them apart. Give a lower --speed (1 is real time), or \
    use `inferometer predict`, which has no clock.";

/// Whether the server is the embedded engine, at more than the speed of the hardware.
fn is_played_fast(target: &Target) -> bool {
    let speed = target.facts.get("speed").and_then(|speed| speed.parse::<f64>().ok());
    target.simulated && speed.is_some_and(|speed| speed > 1.0)
}

/// The document of a run, from its figures and what is known beside them.
pub fn summarise(facts: RunFacts<'_>, grid: &Grid, mut findings: Vec<Finding>) -> Summary {
    let mut cells = grid.cells();
    count_from_the_first(&mut cells);
    if facts.plan.search.is_some() {
        // Its passes are no repeats of each other.
        cells.iter_mut().for_each(|cell| cell.over_repeats = None);
    }
    // Nor are latencies of a table what it is made for.
    let of_table = if facts.plan.search.is_some() { &[][..] } else { &cells };
    for finding in precision::findings(of_table) {
        // Those of a stored run are there already.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let searches = grid.searches(facts.plan);
    for cell in &mut cells {
        let of_cell = |answer: &&SearchAnswer| answer.cell() == cell.plan();
        if let Some(answer) = searches.iter().find(of_cell) {
            of_answer(cell, answer);
        }
    }
    // A search asks up to where objectives hold: that they do not beyond is what it is for.
    let slo = match facts.plan.search {
        Some(_) => Vec::new(),
        None => inferometer_analysis::judge::judge(&facts.plan.slo, &cells),
    };
    let (mut validity, mut reasons) = validity::judge(&cells, &slo);
    let incomplete = findings.iter().find(|finding| finding.is(code::RUN_INCOMPLETE));
    if let Some(finding) = incomplete {
        validity = Validity::Suspect;
        reasons.push(format!("{}.", finding.message));
    }
    findings.retain(|finding| !finding.is_one_of(&search::CODES));
    findings.extend(search::findings(&searches, &cells));
    let figures = (!facts.predicted).then(|| FigureCounts::of(&cells));
    let doubtful = |of: FigureCounts| of.bounded + of.not_vouched_for > 0;
    let too_fast = is_played_fast(facts.target);
    for finding in findings.iter_mut().filter(|of| too_fast && of.is(code::STREAM_IN_BUNDLES)) {
        finding.advice = Some(PLAYED_FAST.to_owned());
    }
    let advice = if too_fast { PLAYED_FAST } else { trust::advice(&cells) };
    let advice = figures.filter(|of| doubtful(*of)).map(|_| advice.to_owned());
    let mut environment = facts.environment.clone();
    environment.stamps = stamps(&cells);
    Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        tool: Tool { name: "inferometer".to_owned(), version: facts.tool_version.to_owned() },
        run_id: facts.run_id,
        started_at: facts.started_at,
        plan_hash: facts.plan.hash(),
        workload_hash: facts.workload_hash,
        body_hash: facts.body_hash,
        predicted: facts.predicted,
        target: facts.target.clone(),
        environment,
        verdict: Verdict { validity, reasons, figures, advice, slo },
        findings,
        cells,
        imported: None,
        searches,
        errors: None,
    }
}

/// Counts when passes began from the first of the run: the origin of a clock says nothing.
fn count_from_the_first(cells: &mut [Cell]) {
    let starts = cells.iter().flat_map(|cell| &cell.passes).filter_map(|pass| pass.started_s);
    let Some(first) = starts.reduce(f64::min) else { return };
    for pass in cells.iter_mut().flat_map(|cell| &mut cell.passes) {
        // To the nanosecond, in which instants are kept.
        let after = |started: f64| ((started - first) * 1e9).round() / 1e9;
        pass.started_s = pass.started_s.map(after);
    }
}

/// The figures of a cell that was searched: those of the highest load up to the answer that was tried, not
/// of the trial that did most of what was not wanted.
fn of_answer(cell: &mut Cell, answer: &SearchAnswer) {
    let below = answer.tried_below();
    let is_low = |pass: &&PassSummary| match answer.over {
        Over::Rate => pass.rate.is_some() && pass.rate == below,
        Over::Concurrency => pass.concurrency.is_some() && pass.concurrency.map(f64::from) == below,
    };
    let at_low: Vec<PassSummary> = cell.passes.iter().filter(is_low).cloned().collect();
    let figures = cell::cell(cell.input_length, cell.output_length, at_low);
    *cell = Cell {
        passes: std::mem::take(&mut cell.passes),
        over_repeats: None,
        prediction: std::mem::take(&mut cell.prediction),
        ..figures
    };
}

/// Where the arrival stamps come from, by the reads themselves.
fn stamps(cells: &[Cell]) -> Option<String> {
    let passes = || cells.iter().flat_map(|cell| &cell.passes);
    let reads: u64 = passes().map(|pass| pass.instrument.reads).sum();
    let stamped: u64 = passes().map(|pass| pass.instrument.kernel_stamped_reads).sum();
    match (reads, stamped) {
        (0, _) => None,
        (_, 0) => Some("user".to_owned()),
        (all, some) if all == some => Some("kernel".to_owned()),
        (all, some) => Some(format!("kernel ({some} of {all} reads), user")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_embedded_engine_beyond_the_speed_of_the_hardware_is_played_fast() {
        let target = |simulated, speed: Option<&str>| {
            let facts = speed.map(|speed| ("speed".to_owned(), speed.to_owned()));
            Target { simulated, facts: facts.into_iter().collect(), ..Target::default() }
        };
        assert!(is_played_fast(&target(true, Some("1000.0"))));
        assert!(!is_played_fast(&target(true, Some("1.0"))));
        assert!(!is_played_fast(&target(true, None)));
        assert!(!is_played_fast(&target(false, Some("1000"))));
    }
}
