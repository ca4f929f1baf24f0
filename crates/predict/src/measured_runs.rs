//! Converts the passes of a stored run, or of another tool's results, into runs that the embedded engine can simulate.
//! A converted run has the load, the lengths and arrivals of the requests, and the measured figures. Nothing is
//! simulated here.

use inferometer_analysis::{ImportedPass, PassSummary, Summary};
use inferometer_engine::EngineConfig;
use inferometer_engine::fit::runs::{MeasuredRun, RunFigures};
use inferometer_model::load::{Recording, ReplayPlan};
use inferometer_model::metrics::{e2e, tpot, ttft};
use inferometer_model::{
    Bound, CellPlan, ClosedPlan, Definition, Nanos, OverLimit, PassKind, PassPlan, Record,
    Statistic, Timeline,
};
use inferometer_store::StoredRun;

use crate::Unpredictable;

/// A measured pass of a cell. If its requests have different lengths, the cell has their means.
#[derive(Clone, Debug)]
pub struct MeasuredPass {
    /// The cell.
    pub cell: CellPlan,
    /// The maximum number of requests in flight; 1 if it is unknown.
    pub in_flight: u64,
    /// The load, the requests and the measured figures of the pass.
    pub run: MeasuredRun,
}

/// Returns the passes of a stored run. Each repeat is a separate pass.
///
/// # Errors
/// If the passes cannot be simulated. Examples of reasons: no results or figures, unknown numbers of tokens,
/// conversations, an embedded engine with another speed than the simulated hardware, or an unreadable log.
pub fn measured_passes(
    run: &StoredRun,
    config: &EngineConfig,
) -> Result<Vec<MeasuredPass>, Unpredictable> {
    let summary = run.summary.as_ref().ok_or(Unpredictable::NoResults)?;
    let mut passes = Vec::new();
    for pass in run.passes()? {
        let pass = pass?;
        passes.push((pass.begin.plan, pass.records));
    }
    passes_of(summary, passes, config)
}

/// Returns the measured passes of a summary. `passes` has the loads and records of the passes in the order of the
/// summary; it may be empty for imported results.
///
/// # Errors
/// The same errors as [`measured_passes`].
pub fn passes_of(
    summary: &Summary,
    passes: Vec<(PassPlan, Vec<Record>)>,
    config: &EngineConfig,
) -> Result<Vec<MeasuredPass>, Unpredictable> {
    if let Some(speed) = summary.target.facts.other_speed() {
        return Err(Unpredictable::OtherSpeed(speed));
    }
    let cells = summary.cells.iter();
    let summaries = cells.flat_map(|cell| cell.passes.iter().map(|pass| (cell.plan(), pass)));
    let mut passes = passes.into_iter();
    let advice = match &summary.imported {
        Some(imported) if !imported.is_ours() => {
            format!("name the result file ({}) instead of the run", imported.file)
        }
        _ => "import a bundle of the run (`inferometer bundle`), which has the records".to_owned(),
    };
    let found = summaries.map(|(cell, summary)| {
        let (plan, mut records) = match passes.next() {
            Some(known) => known,
            None => (load_of(summary, &advice)?, Vec::new()),
        };
        records.retain(|record| record.send_start.is_some());
        records.sort_by_key(|record| (record.due, record.index));
        measured_pass(cell, summary, plan, &records, config)
    });
    let mut found: Vec<MeasuredPass> = found.collect::<Result<_, _>>()?;
    let stated = summary.imported.iter().flat_map(|imported| &imported.passes);
    for (pass, stated) in found.iter_mut().zip(stated) {
        complete(&mut pass.run.measured, stated);
    }
    match found.iter().any(|pass| pass.run.measured != RunFigures::default()) {
        true => Ok(found),
        false => Err(Unpredictable::NoMetric),
    }
}

fn measured_pass(
    cell: CellPlan,
    summary: &PassSummary,
    plan: PassPlan,
    records: &[Record],
    config: &EngineConfig,
) -> Result<MeasuredPass, Unpredictable> {
    let complete = summary.outcomes.complete.max(1);
    let mean = |tokens: u64| (tokens as f64 / complete as f64).round() as u32;
    let own = |length: u32, tokens: u64| if length == 0 { mean(tokens) } else { length };
    let cell = CellPlan {
        input_length: own(cell.input_length, summary.input_tokens.unwrap_or(0)),
        output_length: own(cell.output_length, summary.output_tokens),
    };
    if cell.input_length == 0 || cell.output_length == 0 {
        return Err(Unpredictable::TokensUnknown);
    }
    let lengths = match records {
        [] => vec![(cell.input_length, cell.output_length)],
        records => records.iter().map(|record| lengths_of(record, cell)).collect(),
    };
    let prefix_tokens = cached(records);
    let rate = plan.rate().filter(|rate| rate.is_finite());
    let asked = plan.most_in_flight().map(u64::from);
    Ok(MeasuredPass {
        cell,
        in_flight: summary.peak_concurrency.or(asked).unwrap_or(1),
        run: MeasuredRun {
            set: summary.label(),
            engine: format!("{} {}", config.profile.engine, config.profile.engine_version),
            config: EngineConfig {
                prefix_caching: config.prefix_caching.or((prefix_tokens == 0).then_some(false)),
                ..config.clone()
            },
            rate,
            pass: replay_load(plan, records)?,
            lengths,
            prefix_tokens,
            measured: figures_of(summary),
        },
    })
}

/// The figures of a pass that predictions also have.
pub(crate) fn figures_of(pass: &PassSummary) -> RunFigures {
    let of = |metric: &Definition, of: Statistic| of.of(pass.latency(metric)?);
    RunFigures {
        requests_per_s: pass.requests_per_s,
        tpot_p50_ms: of(&tpot::DEFINITION, Statistic::P50),
        ttft_p50_ms: of(&ttft::FROM_SENT, Statistic::P50),
        ttft_p99_ms: of(&ttft::FROM_SENT, Statistic::P99),
        e2e_p50_ms: of(&e2e::FROM_SENT, Statistic::P50),
    }
}

/// Fills in absent figures with the values that the imported file states. Most result files state quantiles, but not
/// the values of single requests.
fn complete(figures: &mut RunFigures, stated: &ImportedPass) {
    let of_source = |figure: &str| stated.agreeing.get(figure).copied();
    figures.tpot_p50_ms = figures.tpot_p50_ms.or_else(|| of_source("tpot_p50"));
    figures.ttft_p50_ms = figures.ttft_p50_ms.or_else(|| of_source("ttft_p50"));
    figures.ttft_p99_ms = figures.ttft_p99_ms.or_else(|| of_source("ttft_p99"));
    figures.e2e_p50_ms = figures.e2e_p50_ms.or_else(|| of_source("e2e_p50"));
}

/// The load of an imported pass that has results but no records. `advice` states where the records are.
fn load_of(summary: &PassSummary, advice: &str) -> Result<PassPlan, Unpredictable> {
    let requests = u32::try_from(summary.planned).unwrap_or(u32::MAX);
    let bound = Bound::requests(requests);
    match (summary.kind, summary.concurrency) {
        (PassKind::OneByOne, _) => Ok(PassPlan::one_by_one(bound)),
        (PassKind::Saturated, _) => Ok(PassPlan::saturated(requests)),
        (PassKind::Closed, Some(in_flight)) => Ok(PassPlan::closed(in_flight, bound)),
        _ => Err(Unpredictable::LoadUnknown {
            load: summary.load.clone(),
            advice: advice.to_owned(),
        }),
    }
}

/// The prompt and output tokens of a request: the counted numbers. An unknown number is replaced by the requested
/// number, or by the length of the cell.
fn lengths_of(record: &Record, cell: CellPlan) -> (u32, u32) {
    let first_of = |counts: [u32; 3]| counts.into_iter().find(|count| *count > 0).unwrap_or(1);
    let made = Timeline::new(record).output_tokens;
    (
        first_of([record.usage.prompt.unwrap_or(0), record.asked_input, cell.input_length]),
        first_of([made, record.asked_output, cell.output_length]),
    )
}

/// The median of the prompt tokens that came from the server's prefix cache; 0 if the server does not report them.
fn cached(records: &[Record]) -> u32 {
    let mut cached: Vec<u32> =
        records.iter().map(|record| record.usage.cached.unwrap_or(0)).collect();
    cached.sort_unstable();
    cached.get(cached.len() / 2).copied().unwrap_or(0)
}

/// The load with which a measured pass is simulated. It has the measured number of requests. For open loops and
/// replays, it also has the due times of the records. Without records, it is the load of the plan.
fn replay_load(plan: PassPlan, records: &[Record]) -> Result<PassPlan, Unpredictable> {
    let sent = u32::try_from(records.len()).unwrap_or(u32::MAX);
    let bound = Bound::requests(sent);
    let limit = match plan.limit() {
        (_, OverLimit::Drop) => None,
        (limit, OverLimit::Queue) => limit,
    };
    Ok(match plan {
        PassPlan::Conversations(_) => {
            return Err(Unpredictable::Conversations);
        }
        plan if records.is_empty() => plan,
        PassPlan::OneByOne(_) => PassPlan::one_by_one(bound),
        PassPlan::Saturated(_) => PassPlan::saturated(sent),
        PassPlan::Closed(ClosedPlan { concurrency, .. }) => {
            PassPlan::Closed(ClosedPlan { concurrency, bound })
        }
        plan if !plan.is_scheduled() => {
            return Err(Unpredictable::Load(plan.to_string()));
        }
        _ => {
            let first = records[0].due;
            let mut recording = Recording::of_file("the run");
            recording.write(records.iter().map(|record| Nanos(record.due.0 - first.0)));
            PassPlan::Replay(ReplayPlan {
                recording,
                speed: 1.0,
                bound,
                max_in_flight: limit,
                over_limit: OverLimit::Queue,
            })
        }
    })
}
