//! Converts passes of another tool into cells with passes. A figure that the tool states with our definition
//! is copied. The other figures are computed from the requests, if the file contains them.

mod check;

use std::collections::BTreeMap;

use inferometer_analysis::cell;
use inferometer_analysis::instrument::Instrument;
use inferometer_analysis::interval::Intervals;
use inferometer_analysis::{Cell, Imported, ImportedPass, PassFold, PassSummary};
use inferometer_model::load::{Level, Recording, ReplayPlan};
use inferometer_model::metrics::{e2e, send_delay, throughput, ttft};
use inferometer_model::{
    Bound, ClosedPlan, Definition, Finding, OpenPlan, Outcome, OutcomeCounts, OverLimit, PassPlan,
    Record, Target, Timeline, code, load::arrival::Arrivals, stats::Distribution,
};

use super::request::{ToolRequest, record};
use crate::import::error::ImportError;
use crate::import::source::{self, Import, PassRecords, Source};

/// A pass as another tool states it.
pub(super) struct Pass {
    pub plan: PassPlan,
    pub stated: ImportedPass,
    /// The requests that the file contains. It may contain all of them, a sample, or none.
    pub requests: Vec<ToolRequest>,
    /// Whether the start times of the requests are known. If not, the times of each request count from its
    /// own start. Only figures of single requests are then valid, and no records are stored.
    pub has_instants: bool,
    pub planned: u64,
    pub complete: u64,
    pub duration_s: Option<f64>,
    pub requests_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    /// Input and output tokens per second, if the file states them. If not, they are computed from the numbers of tokens.
    pub total_tokens_per_s: Option<f64>,
    /// Prompt tokens of all completed requests, if the file states them.
    pub input_tokens: Option<u64>,
    pub output_tokens: u64,
    /// The requested input and output length in tokens, each if the file states it.
    pub asked: [Option<u32>; 2],
    /// The kinds of failures, as far as the file states them without the requests.
    pub failures: OutcomeCounts,
    /// Distributions that replace those of the requests: as the file states them, or absent if the requests do not
    /// determine them.
    pub latencies: Vec<(&'static Definition, Option<Distribution>)>,
}

impl Pass {
    /// A pass of which only the load and the statements of its file are known.
    pub fn of(plan: PassPlan, stated: ImportedPass) -> Self {
        Self {
            plan,
            stated,
            requests: Vec::new(),
            has_instants: true,
            planned: 0,
            complete: 0,
            duration_s: None,
            requests_per_s: None,
            output_tokens_per_s: None,
            total_tokens_per_s: None,
            input_tokens: None,
            output_tokens: 0,
            asked: [None, None],
            failures: OutcomeCounts::default(),
            latencies: Vec::new(),
        }
    }
}

/// Returns arrivals of an unknown random generator, and `false`: their gaps are not scaled to the exact rate.
pub(super) fn unknown_arrivals(burstiness: f64) -> (Arrivals, bool) {
    (Arrivals::of_burstiness(burstiness), false)
}

/// Returns the load model: an open loop if there is a finite rate, otherwise a closed loop (or one request at a
/// time) if there is a concurrency, otherwise all requests at the beginning. `arrivals` and `scaled` are used
/// only with a rate; `scaled` states whether the gaps are scaled to the exact rate.
pub(super) fn load(
    requests: u64,
    rate: Option<f64>,
    concurrency: Option<u32>,
    (arrivals, scaled): (Arrivals, bool),
) -> PassPlan {
    let requests = u32::try_from(requests).unwrap_or(u32::MAX);
    let bound = Bound::requests(requests);
    match (rate.filter(|rate| rate.is_finite()), concurrency) {
        (Some(rate), max_in_flight) => PassPlan::Open(OpenPlan {
            rate: Level::Constant(rate),
            arrivals,
            scaled,
            bound,
            max_in_flight,
            over_limit: OverLimit::default(),
        }),
        (None, Some(1)) => PassPlan::one_by_one(bound),
        (None, Some(in_flight)) => PassPlan::Closed(ClosedPlan {
            concurrency: Level::Constant(f64::from(in_flight)),
            bound,
        }),
        (None, None) => PassPlan::saturated(requests),
    }
}

/// Returns the load of a file that does not state its load, or states another one than its figures show: a replay of the
/// times of the file.
pub(super) fn unknown_load(source: &Source, requests: u32) -> PassPlan {
    let mut recording = Recording::of_file(&source.file);
    recording.requests = requests;
    PassPlan::Replay(ReplayPlan {
        recording,
        speed: 1.0,
        bound: Bound::requests(requests),
        max_in_flight: None,
        over_limit: OverLimit::default(),
    })
}

/// The maximum time span of the requests, in seconds (about 32 years). If the span is longer, the file's times are
/// probably not in seconds.
const MOST_SPAN_S: f64 = 1e9;

/// The requests of a pass span this many seconds.
#[derive(Debug, thiserror::Error)]
#[error("its requests span {0:.1e} s: their times are not in seconds, or are wrong")]
struct LongSpan(f64);

/// Cells, stated figures, records, and findings on the passes.
struct Cells {
    cells: Vec<Cell>,
    stated: Vec<ImportedPass>,
    records: Vec<PassRecords>,
    findings: Vec<Finding>,
}

/// The import of a file with these passes. The findings on the passes come after those on the file.
///
/// # Errors
/// As [`cells`].
pub(super) fn import(
    source: &Source,
    format: &'static str,
    measured_at: Option<String>,
    target: Target,
    passes: Vec<Pass>,
    mut findings: Vec<Finding>,
) -> Result<Import, ImportError> {
    let cells = cells(passes).map_err(|what| source.malformed(format, what.to_string()))?;
    findings.extend(cells.findings);
    let imported = Imported { measured_at, passes: cells.stated, ..source.imported(format) };
    let summary = source::summary(imported, target, cells.cells, findings);
    Ok(Import { summary, records: cells.records })
}

/// Groups passes with equal input and output lengths into cells. The stated figures and the records of each pass are in
/// the order of the cells.
///
/// # Errors
/// If the requests span more than [`MOST_SPAN_S`] seconds.
fn cells(passes: Vec<Pass>) -> Result<Cells, LongSpan> {
    let findings = passes.iter().flat_map(check::findings).collect();
    let mut by_lengths: Vec<((u32, u32), Vec<Pass>)> = Vec::new();
    for pass in passes {
        let lengths = lengths(&pass);
        match by_lengths.iter_mut().find(|(known, _)| *known == lengths) {
            Some((_, passes)) => passes.push(pass),
            None => by_lengths.push((lengths, vec![pass])),
        }
    }
    let (mut cells, mut stated, mut all_records) = (Vec::new(), Vec::new(), Vec::new());
    let mut number = 0;
    let mut repeats: BTreeMap<String, u32> = BTreeMap::new();
    for ((input, output), passes) in by_lengths {
        let mut summaries = Vec::new();
        repeats.clear();
        for pass in passes {
            let repeat = repeats.entry(pass.plan.to_string()).or_default();
            *repeat += 1;
            let records = records(&pass, number);
            check_span(&records)?;
            summaries.push(summary(&pass, &records, *repeat));
            stated.push(pass.stated);
            let kept = if pass.has_instants { records } else { Vec::new() };
            all_records.push(PassRecords { plan: pass.plan, records: kept });
            number += 1;
        }
        cells.push(cell::cell(input, output, summaries));
    }
    Ok(Cells { cells, stated, records: all_records, findings })
}

fn check_span(records: &[Record]) -> Result<(), LongSpan> {
    let last = records.iter().filter_map(|record| record.ended.or(record.send_start)).max();
    let span_s = last.map_or(0.0, |last| last.0 as f64 / 1e9);
    if span_s > MOST_SPAN_S {
        return Err(LongSpan(span_s));
    }
    Ok(())
}

fn records(pass: &Pass, number: u32) -> Vec<Record> {
    // The earliest due time is the origin, because no instant may be before the origin.
    let due = pass.requests.iter().map(|request| request.start_s - request.queued_s);
    let origin = due.fold(f64::INFINITY, f64::min);
    let numbered = (0_u32..).zip(&pass.requests);
    numbered.map(|(index, request)| record(number, index, request, origin)).collect()
}

fn summary(pass: &Pass, records: &[Record], repeat: u32) -> PassSummary {
    let mut fold = PassFold::new(&pass.plan).of_repeat(repeat);
    records.iter().for_each(|record| fold.add(&Timeline::new(record)));
    let mut folded = fold.finish();
    // Not all of these files state when requests were due, so these metrics are not imported.
    for metric in [&ttft::FROM_DUE, &e2e::FROM_DUE, &send_delay::DEFINITION] {
        *folded.latencies.entry(metric) = None;
    }
    if !pass.has_instants {
        without_intervals(&mut folded);
    }
    for (metric, values) in &pass.latencies {
        *folded.latencies.entry(metric) = *values;
    }
    // A sample of requests gives the distribution of latencies, but no counts and no concurrency.
    let is_whole = !records.is_empty() && records.len() as u64 == pass.planned;
    let has_course = is_whole && pass.has_instants;
    let outcomes = match is_whole {
        true => folded.outcomes,
        false => {
            let mut outcomes = OutcomeCounts { complete: pass.complete, ..pass.failures };
            // A failure whose kind is not known counts as malformed, as a failure with an unknown text does.
            let unknown = pass.planned.saturating_sub(outcomes.total());
            outcomes.add_times(Outcome::Malformed, unknown);
            outcomes
        }
    };
    let summary = PassSummary {
        planned: pass.planned,
        outcomes,
        // The instants count from the first request of this pass, so the start in the run is unknown.
        started_s: None,
        duration_s: pass.duration_s,
        requests_per_s: pass.requests_per_s,
        input_tokens: pass.input_tokens,
        output_tokens: pass.output_tokens,
        output_tokens_per_s: pass.output_tokens_per_s,
        // These files do not state whether the server or a tokenizer counted.
        tokens_from: None,
        peak_concurrency: folded.peak_concurrency.filter(|_| has_course),
        mean_concurrency: folded.mean_concurrency.filter(|_| has_course),
        steady_state: folded.steady_state.filter(|_| has_course),
        instrument: Instrument::default(),
        ..folded
    };
    match pass.total_tokens_per_s {
        Some(total) => summary.with_stated_figures().with_figure(&throughput::TOTAL_TOKENS, total),
        None => summary.with_stated_figures(),
    }
}

/// Removes all confidence intervals, because they depend on the times of the requests, which are not known.
fn without_intervals(folded: &mut PassSummary) {
    let measured: Vec<_> = folded.latencies.measured().map(|(metric, _)| metric).collect();
    for metric in measured {
        if let Some(found) = folded.latencies.entry(metric) {
            (found.mean_ci, found.p50_ci, found.p90_ci, found.p99_ci) = (None, None, None, None);
            found.effective_n = None;
        }
    }
    (folded.requests_per_s_ci, folded.output_tokens_per_s_ci) = (None, None);
    folded.total_tokens_per_s_ci = None;
    folded.intervals = Intervals {
        of: None,
        none_because: Some("the file does not state when requests were sent".to_owned()),
    };
}

/// Returns the input and the output length of the cell, in tokens. The first of these rules that applies gives
/// each length:
///
/// 1. The requested length, if the file states it.
/// 2. The length of all completed requests in the file, if these lengths are equal.
/// 3. The mean length, if the file lists no completed request and the mean is a whole number.
/// 4. 0, which means that requests have different lengths.
fn lengths(pass: &Pass) -> (u32, u32) {
    let each = |of: fn(&ToolRequest) -> Option<u32>, total: Option<u64>| -> u32 {
        let mut complete = pass.requests.iter().filter(|request| request.error.is_none());
        if let Some(first) = complete.next() {
            let same = complete.all(|request| of(request) == of(first));
            return of(first).filter(|_| same).unwrap_or(0);
        }
        match (pass.complete, total) {
            (0, _) | (_, None) => 0,
            (count, Some(total)) if total.is_multiple_of(count) => {
                u32::try_from(total / count).unwrap_or(0)
            }
            _ => 0,
        }
    };
    let [input, output] = pass.asked;
    (
        input.unwrap_or_else(|| each(|request| request.input, pass.input_tokens)),
        output.unwrap_or_else(|| each(|request| request.output, Some(pass.output_tokens))),
    )
}

/// Returns the finding that a tool's definitions differ from ours.
pub(super) fn definitions(message: &str) -> Finding {
    Finding::of(code::IMPORTED_DEFINITIONS, message)
}

/// Returns the finding that the token counts of the tool's tokenizer and of the server differ by more than 2 %.
pub(super) fn counts(tokenizer: Option<f64>, usage: Option<f64>) -> Option<Finding> {
    let (tokenizer, usage) = (tokenizer?, usage?);
    (usage > 0.0 && (tokenizer / usage - 1.0).abs() > 0.02).then(|| {
        Finding::of(
            code::IMPORTED_TOKEN_COUNTS_DIFFER,
            format!(
                "the tool's tokenizer counted {tokenizer} output tokens, but the server counted \
                    {usage}: tokens/s and latencies per token use the tokenizer's count"
            ),
        )
    })
}
