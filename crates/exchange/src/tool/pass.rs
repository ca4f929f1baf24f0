//! A pass of another tool as a pass of ours, and passes as cells. Figures are the tool's where it
//! states them by our definition, and folded from its requests where it has those.

use std::collections::BTreeMap;

use inferometer_analysis::cell;
use inferometer_analysis::cell::Cell;
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::imported::Stated;
use inferometer_analysis::instrument::Instrument;
use inferometer_analysis::pass::PassSummary;
use inferometer_load::Level;
use inferometer_load::arrival::Arrivals;
use inferometer_load::{Bound, OverLimit, PassPlan};
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::record::Record;

use super::request::{Told, record};
use crate::source::PassRecords;

/// What a tool says of a pass.
pub(super) struct Pass {
    pub plan: PassPlan,
    pub stated: Stated,
    /// The requests, where the file has them; all of them.
    pub told: Vec<Told>,
    pub planned: u64,
    pub complete: u64,
    pub duration_s: Option<f64>,
    pub requests_per_s: Option<f64>,
    pub output_tokens_per_s: Option<f64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Lengths that were asked for, where the file says so.
    pub asked: Option<(u32, u32)>,
}

/// How a tool loads a server: all at once, so many in flight, or at a rate.
pub(super) fn load(
    requests: u64,
    rate: Option<f64>,
    concurrency: Option<u32>,
    burstiness: f64,
) -> PassPlan {
    let requests = u32::try_from(requests).unwrap_or(u32::MAX);
    let bound = Bound::requests(requests);
    match (rate.filter(|rate| rate.is_finite()), concurrency) {
        (Some(rate), max_in_flight) => PassPlan::Open {
            rate: Level::Constant(rate),
            arrivals: Arrivals::of_burstiness(burstiness),
            bound,
            max_in_flight,
            over_limit: OverLimit::default(),
        },
        (None, Some(1)) => PassPlan::OneByOne { bound },
        (None, Some(in_flight)) => {
            PassPlan::Closed { concurrency: Level::Constant(f64::from(in_flight)), bound }
        }
        (None, None) => PassPlan::Saturated { requests },
    }
}

/// Passes as cells, with their records: passes of the same lengths share a cell. Passes are
/// numbered in the order of the cells.
pub(super) fn cells(passes: Vec<Pass>) -> (Vec<Cell>, Vec<Stated>, Vec<PassRecords>) {
    let mut by_lengths: Vec<((u32, u32), Vec<Pass>)> = Vec::new();
    for pass in passes {
        let lengths = lengths(&pass);
        match by_lengths.iter_mut().find(|(known, _)| *known == lengths) {
            Some((_, passes)) => passes.push(pass),
            None => by_lengths.push((lengths, vec![pass])),
        }
    }
    let (mut cells, mut all_stated, mut all_records) = (Vec::new(), Vec::new(), Vec::new());
    let mut number = 0;
    let mut repeats: BTreeMap<String, u32> = BTreeMap::new();
    for ((input, output), passes) in by_lengths {
        let mut summaries = Vec::new();
        repeats.clear();
        for pass in passes {
            let repeat = repeats.entry(pass.plan.load().to_string()).or_default();
            *repeat += 1;
            let records = records(&pass, number);
            summaries.push(summary(&pass, &records, *repeat));
            all_stated.push(pass.stated);
            if !records.is_empty() {
                all_records.push(PassRecords { plan: pass.plan, records });
            }
            number += 1;
        }
        cells.push(cell::cell(input, output, summaries));
    }
    // Records of some passes alone would be taken for those of others.
    if all_records.len() != all_stated.len() {
        all_records.clear();
    }
    (cells, all_stated, all_records)
}

fn records(pass: &Pass, number: u32) -> Vec<Record> {
    // The first request may have waited too: no instant lies before the origin.
    let due = pass.told.iter().map(|told| told.start_s - told.queued_s);
    let origin = due.fold(f64::INFINITY, f64::min);
    let numbered = (0_u32..).zip(&pass.told);
    numbered.map(|(index, told)| record(number, index, told, origin)).collect()
}

fn summary(pass: &Pass, records: &[Record], repeat: u32) -> PassSummary {
    let mut fold = PassFold::new(&pass.plan, true, 0).of_repeat(repeat);
    records.iter().for_each(|record| fold.add(record));
    let folded = fold.finish();
    // A sample of the requests says how long they took, and not how many there were.
    let is_whole = !records.is_empty() && records.len() as u64 == pass.planned;
    let outcomes = match is_whole {
        true => folded.outcomes,
        false => OutcomeCounts { complete: pass.complete, ..OutcomeCounts::default() },
    };
    PassSummary {
        planned: pass.planned,
        outcomes,
        duration_s: pass.duration_s,
        requests_per_s: pass.requests_per_s,
        input_tokens: pass.input_tokens,
        output_tokens: pass.output_tokens,
        output_tokens_per_s: pass.output_tokens_per_s,
        // Whether the server or a tokenizer counted, no such file says.
        tokens_from: None,
        // When requests were due is not told either.
        ttft_from_due_ms: None,
        e2e_from_due_ms: None,
        send_delay_ms: None,
        peak_concurrency: folded.peak_concurrency.filter(|_| is_whole),
        mean_concurrency: folded.mean_concurrency.filter(|_| is_whole),
        steady_state: folded.steady_state.filter(|_| is_whole),
        instrument: Instrument::default(),
        ..folded
    }
}

/// The lengths of a cell: those asked for, else the same of all requests, else whole means; else
/// requests have lengths of their own.
fn lengths(pass: &Pass) -> (u32, u32) {
    if let Some(asked) = pass.asked {
        return asked;
    }
    let each = |of: fn(&Told) -> Option<u32>, total: u64| -> u32 {
        let mut complete = pass.told.iter().filter(|told| told.error.is_none());
        if let Some(first) = complete.next() {
            let same = complete.all(|told| of(told) == of(first));
            return of(first).filter(|_| same).unwrap_or(0);
        }
        match pass.complete {
            0 => 0,
            count if total.is_multiple_of(count) => u32::try_from(total / count).unwrap_or(0),
            _ => 0,
        }
    };
    (each(|told| told.input, pass.input_tokens), each(|told| told.output, pass.output_tokens))
}

/// Requests that failed, where the file does not say of each how.
pub(super) fn failures(planned: u64, complete: u64, has_requests: bool) -> Option<Finding> {
    let failed = planned.saturating_sub(complete);
    (failed > 0).then(|| {
        let how = if has_requests {
            "how is taken from the words of each error where they are exact, and is `malformed` \
             where they are not"
        } else {
            "the file does not say how, so that no outcome counts them"
        };
        Finding::new(
            "imported_requests_lost",
            Severity::Warning,
            format!("{failed} of {planned} requests failed; {how}"),
        )
    })
}

/// What of a tool's definitions is not ours, in its own words.
pub(super) fn definitions(message: &str) -> Finding {
    Finding::new("imported_definitions", Severity::Note, message)
}
