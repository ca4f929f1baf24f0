//! Computes the summary of a run. The summary depends only on the run's figures, on its findings, and on facts that
//! are not in the records.

use inferometer_analysis::trust::{self, FigureCounts};
use inferometer_analysis::verdict::{SloResult, Validity, Verdict};
use inferometer_analysis::{
    Cell, PassSummary, SearchAnswer, Summary, cell, inspect, inspect::skipped_finding,
    judge::judge, ranks::RankSummary, search, summary::SUMMARY_SCHEMA, sweep, validity,
};
use inferometer_model::{Environment, Finding, StopReason, Target, calendar, code, target::Tool};
use inferometer_plan::{Plan, Procedure};

use super::{grid::Grid, precision};

/// The facts about a run that are not in its records.
pub struct RunFacts<'a> {
    /// The id of the run.
    pub run_id: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// The wall time at which the run's monotonic clock begins, in nanoseconds since 1970.
    pub origin_unix_ns: i64,
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The server.
    pub target: &'a Target,
    /// The machine of the client, and settings such as the tokenizer.
    pub environment: &'a Environment,
    /// The version of the program that measured the run.
    pub tool_version: &'a str,
    /// Whether the run is a prediction, so that no server was measured.
    pub predicted: bool,
    /// Hash of the workload, if it is known.
    pub workload_hash: Option<String>,
    /// Hash of the request bodies, if it is known.
    pub body_hash: Option<String>,
    /// The processes that measured the run together.
    pub ranks: Vec<RankSummary>,
}

/// The advice for figures of an embedded engine that runs faster than the simulated hardware.
const PLAYED_FAST: &str = "The embedded engine ran faster than the simulated hardware: times \
    between tokens are then too short for any client to resolve. Give a lower --speed (1 is real \
    time), or use `inferometer predict`, which needs no clock.";

/// Whether the server is the embedded engine, at more than the speed of the simulated hardware.
fn is_played_fast(target: &Target) -> bool {
    target.simulated && target.facts.speed.is_some_and(|speed| speed > 1.0)
}

/// Computes the summary of a run, from its figures and the facts that are not in its records.
pub fn summarise(facts: RunFacts<'_>, grid: &Grid, mut findings: Vec<Finding>) -> Summary {
    let mut cells = grid.cells();
    if facts.predicted && !facts.plan.procedure.chooses_loads() {
        cells = cells.into_iter().map(without_unserved).collect();
    }
    count_from(first_of(&facts, &cells), &mut cells);
    if facts.plan.procedure.chooses_loads() {
        // Passes at different loads are not repeats of each other.
        cells.iter_mut().for_each(|cell| cell.over_repeats = None);
    }
    // A plan with a search or a sweep does not measure the latencies of the table.
    let of_table = if facts.plan.procedure.chooses_loads() { &[][..] } else { &cells };
    for finding in precision::findings(facts.plan, of_table, facts.predicted) {
        // If the results of a stored run are computed again, the run already has this finding. Another version may
        // have given other advice.
        let is_same = |other: &Finding| {
            (&other.code, &other.place, &other.message)
                == (&finding.code, &finding.place, &finding.message)
        };
        if !findings.iter().any(is_same) {
            findings.push(finding);
        }
    }
    let mut searches = grid.searches(facts.plan);
    for answer in &mut searches {
        answer.set_refusal(grid.refusal(answer.cell()));
    }
    for cell in &mut cells {
        let of_cell = |answer: &&SearchAnswer| answer.cell() == cell.plan();
        if let Some(answer) = searches.iter().find(of_cell) {
            of_answer(cell, answer);
        }
    }
    let by_client = (!facts.predicted).then(|| FigureCounts::of(&cells));
    doubt_ttft(&mut cells, &findings);
    // A search finds the highest load that meets the objectives, and a sweep finds saturation. Above that load, a
    // missed objective is expected, so those of a sweep are judged at its lowest load. A prediction is judged by its
    // ranges, which a sweep does not have.
    let slo = match &facts.plan.procedure {
        Procedure::Search(_) => Vec::new(),
        Procedure::Sweep(_) if facts.predicted => Vec::new(),
        Procedure::Sweep(_) => judge(&facts.plan.slo, &at_lowest_load(&cells)),
        Procedure::Passes | Procedure::Ab(_) => judge(&facts.plan.slo, &cells),
    };
    let (validity, reasons) = validity_of(&cells, &slo, &findings);
    findings.retain(|finding| !finding.is_one_of(&search::CODES));
    search::mark_limits_of_client(&mut searches, &cells);
    let found = search::findings(&searches, &cells);
    // If the client limited a search, the answer says nothing about the server. So this finding comes first.
    let (first, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|finding| finding.is(code::SEARCH_LIMITED_BY_CLIENT));
    findings.splice(0..0, first);
    findings.extend(others);
    findings.retain(|finding| !finding.is(code::MESSAGES_SKIPPED));
    findings.extend(skipped_finding(&grid.skipped));
    let mut sweeps = grid.sweeps(facts.plan);
    for answer in &mut sweeps {
        answer.set_refusal(grid.refusal(answer.cell()));
        answer.set_rate_limit(grid.rate_limit(answer.cell()));
        if let Some(cell) = cells.iter().find(|cell| cell.plan() == answer.cell()) {
            answer.set_objectives(&facts.plan.slo, cell);
        }
    }
    findings.retain(|finding| !finding.is_one_of(&sweep::CODES));
    findings.extend(sweep::findings(&sweeps, &cells));
    let figures = (!facts.predicted).then(|| FigureCounts::of(&cells));
    let doubtful = |of: FigureCounts| of.bounded + of.not_vouched_for > 0;
    let too_fast = is_played_fast(facts.target);
    for finding in findings.iter_mut().filter(|of| too_fast && of.is(inspect::STREAM_IN_BUNDLES)) {
        finding.advice = Some(PLAYED_FAST.to_owned());
    }
    let advice = if too_fast { PLAYED_FAST } else { trust::advice(&cells) };
    // The advice concerns the client, so it is given only if the client causes the doubts.
    let advice = by_client.filter(|of| doubtful(*of)).map(|_| advice.to_owned());
    let mut environment = facts.environment.clone();
    environment.stamps = stamps(&cells);
    let mut summary = Summary {
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
        sweeps,
        ranks: facts.ranks,
        errors: None,
        price: None,
    };
    summary.set_price(&facts.plan.spec.price, Some(facts.plan));
    summary
}

/// The cells with only their first pass, which has the lowest load of a sweep.
fn at_lowest_load(cells: &[Cell]) -> Vec<Cell> {
    let mut cells = cells.to_vec();
    cells.iter_mut().for_each(|cell| cell.passes.truncate(1));
    cells
}

/// Whether a run with these results is valid, and the reasons if it is not.
fn validity_of(cells: &[Cell], slo: &[SloResult], findings: &[Finding]) -> (Validity, Vec<String>) {
    let (mut validity, mut reasons) = validity::judge(cells, slo);
    let incomplete = findings.iter().find(|finding| finding.is(code::RUN_INCOMPLETE));
    if let Some(finding) = incomplete {
        validity = Validity::Suspect;
        reasons.push(format!("{}.", finding.message));
    }
    let stopped = cells.iter().flat_map(|cell| cell.passes.iter().map(move |pass| (cell, pass)));
    for (cell, pass) in stopped {
        let Some(why) = pass.stopped else { continue };
        // The user set the time limit that cut off a trial or a block, so nothing is wrong with the run.
        if why == StopReason::MaxTime {
            continue;
        }
        validity = Validity::Suspect;
        reasons.push(format!("{}, {}: {}.", cell.plan(), pass.label(), why.name()));
    }
    (validity, reasons)
}

/// Judges the objectives of a prediction again, by the ranges of its figures. [`summarise`] does not know the ranges,
/// so call this function after they were added to the cells. Does nothing for a measurement, a search or a sweep.
pub fn judge_by_ranges(summary: &mut Summary, plan: &Plan) {
    if !summary.predicted || plan.procedure.chooses_loads() {
        return;
    }
    let slo = judge(&plan.slo, &summary.cells);
    let (validity, reasons) = validity_of(&summary.cells, &slo, &summary.findings);
    summary.verdict = Verdict { validity, reasons, slo, ..std::mem::take(&mut summary.verdict) };
}

/// Removes the throughput of predicted passes in which the engine serves no request. A figure of 0 requests/s would
/// describe a load that does not exist.
fn without_unserved(mut cell: Cell) -> Cell {
    for pass in cell.passes.iter_mut().filter(|pass| pass.outcomes.complete == 0) {
        (pass.requests_per_s, pass.output_tokens_per_s) = (None, None);
        (pass.requests_per_s_ci, pass.output_tokens_per_s_ci) = (None, None);
        pass.total_tokens_per_s_ci = None;
    }
    cell::cell(cell.input_length, cell.output_length, cell.passes)
}

/// Marks TTFT as unreliable in passes whose prompts had been sent before. Findings name these passes.
fn doubt_ttft(cells: &mut [Cell], findings: &[Finding]) {
    let sent = findings.iter().filter(|finding| finding.is(code::PROMPTS_SENT_BEFORE));
    let places: Vec<&str> = sent.filter_map(|finding| finding.place.as_deref()).collect();
    for cell in cells.iter_mut().filter(|_| !places.is_empty()) {
        let plan = cell.plan();
        for pass in &mut cell.passes {
            if places.contains(&format!("{plan}, {}", pass.label()).as_str()) {
                trust::doubt_ttft(pass);
            }
        }
    }
}

/// The instant from which the starts of passes are counted, in seconds on the run's clock. It is the start of
/// the first pass, because the origin of a clock has no meaning. In a comparison in blocks, it is the start
/// of the run, because its blocks alternate with the blocks of another run.
fn first_of(facts: &RunFacts<'_>, cells: &[Cell]) -> Option<f64> {
    if facts.plan.procedure.ab().is_some() {
        let began_ns = calendar::parse(&facts.started_at)?;
        return Some((began_ns - facts.origin_unix_ns) as f64 / 1e9);
    }
    let starts = cells.iter().flat_map(|cell| &cell.passes).filter_map(|pass| pass.started_s);
    starts.reduce(f64::min)
}

/// Makes the starts of passes relative to the instant `first`.
fn count_from(first: Option<f64>, cells: &mut [Cell]) {
    let Some(first) = first else { return };
    for pass in cells.iter_mut().flat_map(|cell| &mut cell.passes) {
        // Rounded to nanoseconds, the resolution of instants.
        let after = |started: f64| ((started - first) * 1e9).round() / 1e9;
        pass.started_s = pass.started_s.map(after);
    }
}

/// Sets the figures of a cell with a search to the figures at the highest tried load that is not above the answer. The
/// trial with the highest throughput is not used, because this trial may have missed the objectives.
fn of_answer(cell: &mut Cell, answer: &SearchAnswer) {
    let below = answer.tried_below();
    let is_low = |pass: &&PassSummary| {
        let load = pass.load_over(answer.over);
        load.is_some() && load == below
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

/// The sources of the arrival stamps as text, from the counts of reads.
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
    use inferometer_model::target::Facts;

    #[test]
    fn only_an_embedded_engine_with_a_speed_above_1_counts_as_played_fast() {
        let target = |simulated, speed| {
            let facts = Facts { speed, ..Facts::default() };
            Target { simulated, facts, ..Target::default() }
        };
        assert!(is_played_fast(&target(true, Some(1000.0))));
        assert!(!is_played_fast(&target(true, Some(1.0))));
        assert!(!is_played_fast(&target(true, None)));
        assert!(!is_played_fast(&target(false, Some(1000.0))));
    }
}
