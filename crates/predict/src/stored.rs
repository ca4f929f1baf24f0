//! Stores the records of a prediction, and computes its results in the same way as the results of a measured run. The
//! results are marked as predicted.

use std::collections::BTreeMap;

use inferometer_analysis::inspect;
use inferometer_analysis::prediction::{Columns, FigurePrediction, Intervals, PassPrediction};
use inferometer_analysis::prediction_error::error_summaries;
use inferometer_analysis::{Cell, CellPrediction, ModelRange, PassSummary, SearchAnswer, Summary};
use inferometer_engine::confidence::{ErrorColumn, confidence_from};
use inferometer_engine::ranges::{LoadKind, RangeInputs, figure_ranges};
use inferometer_engine::{EngineConfig, fit::runs::RunFigures, profile::profiles};
use inferometer_model::calendar::rfc3339;
use inferometer_model::target::Facts;
use inferometer_model::{CellPlan, Code, Environment, Finding, Observed, Record, Target, code};
use inferometer_plan::Plan;
use inferometer_report::Traces;
use inferometer_run::recording::header::{self, TimeOrigin};
use inferometer_run::recording::recorder::{Counter, Recording};
use inferometer_run::results::summarise::{RunFacts, judge_by_ranges, summarise};
use inferometer_run::{Context, RunError, results::grid::Grid};
use inferometer_store::{Ending, PassBegin, RunHeader, RunId, RunState, Store};

use crate::{
    Row, measured_runs::figures_of, play::SimulatedPlan, ranges::compared,
    row::constant_extra_cost, slower::Repeatable,
};

/// Stores the records and computes the results, as `run` does.
pub fn store(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
    played: SimulatedPlan<'_>,
    against: Option<&str>,
) -> Result<(Summary, RunId, Traces), RunError> {
    let mut stored = StoredPrediction::begin(plan, context, config, against)?;
    stored.findings.extend(played.findings);
    // Simulated tokens are recorded in groups. These groups say nothing about the streaming of a server, so findings
    // about them are left out. With a log, the output lengths come from the log, so they may be shorter than requested.
    let expected = [code::CHUNKS_ARE_NOT_TOKENS, code::OUTPUT_SHORTER_THAN_ASKED];
    let expected = if played.of_log { &expected[..] } else { &expected[..1] };
    for mut pass in played.passes {
        let repeatable = pass.repeatable.take();
        stored.pass(&pass.begin, pass.records(), expected, repeatable)?;
    }
    stored.finish(&played.rows, &played.measured, played.workload_hash)
}

/// The load of a stored pass.
struct StoredLoad {
    kind: LoadKind,
    /// The share of prompt tokens that were in the prefix cache.
    cached_share: f64,
    /// Simulates the pass again, so that the ranges include the effects of a slower or a faster engine; `None` if the
    /// pass cannot be simulated again.
    repeatable: Option<Repeatable>,
}

/// Stores a prediction, pass by pass.
pub struct StoredPrediction {
    header: RunHeader,
    recording: Recording,
    /// The figures of the passes so far.
    pub grid: Grid,
    /// The findings so far.
    pub findings: Vec<Finding>,
    /// The ranges of answers, each with the cell and the tier of its answer.
    pub ranges: Vec<(CellPlan, Option<String>, ModelRange)>,
    /// For each pass so far: its cell and its load.
    loads: Vec<(CellPlan, StoredLoad)>,
}

impl StoredPrediction {
    /// Creates the run in the store.
    ///
    /// # Errors
    /// If the store cannot be written, or if the settings of the engine are invalid.
    pub fn begin(
        plan: &Plan,
        context: &Context,
        config: &EngineConfig,
        against: Option<&str>,
    ) -> Result<Self, RunError> {
        let mut header = header(plan, config, against)?;
        header.target.facts.origin = context.origin.clone();
        let store = Store::open(&context.store)
            .map_err(|error| RunError::plan(format!("store (--store): {error}")))?;
        let mut recording = Recording::begin(store, &header, Counter::None)?;
        recording.traced = true;
        let why = config.resolve().map_err(RunError::plan)?.uncalibrated_profile();
        let message = why.map(|why| format!("the prediction is uncalibrated: {why}"));
        let uncalibrated = message.map(|it| Finding::of(code::PROFILE_UNCALIBRATED, it));
        let (grid, findings) = (Grid::default(), Vec::from_iter(uncalibrated));
        let (ranges, loads) = (Vec::new(), Vec::new());
        Ok(Self { header, recording, grid, findings, ranges, loads })
    }

    /// Stores a pass. Findings about its records with a code in `expected` are left out. If `repeatable` is given, the
    /// ranges of the pass include the effects of a slower or a faster engine.
    ///
    /// # Errors
    /// If the pass cannot be written.
    pub fn pass(
        &mut self,
        begin: &PassBegin,
        records: impl IntoIterator<Item = Record>,
        expected: &[Code],
        repeatable: Option<Repeatable>,
    ) -> Result<(), RunError> {
        let plan = &self.header.plan;
        let beside = (None, Observed::default());
        let (mut cached, mut prompts) = (0, 0);
        let records = records.into_iter().inspect(|record| {
            cached += u64::from(record.usage.cached.unwrap_or(0));
            prompts += u64::from(record.usage.prompt.unwrap_or(0));
        });
        let (result, error) = self.recording.add_stored_pass(plan, begin, records, beside);
        if let Some(error) = error {
            return Err(error.into());
        }
        // Simulated tokens are recorded in groups. These groups say nothing about how a server sends its streams.
        let of_streams = [inspect::STREAM_IN_BUNDLES, inspect::SOME_STREAMS_IN_BUNDLES];
        let found = result.findings.iter().filter(|finding| !finding.is_one_of(&of_streams));
        let unexpected = found.filter(|finding| !finding.is_one_of(expected));
        self.findings.extend(unexpected.cloned());
        self.grid.add(begin.cell, result);
        let cached_share = cached as f64 / (prompts as f64).max(1.0);
        let load = StoredLoad { kind: LoadKind::of(&begin.plan), cached_share, repeatable };
        self.loads.push((begin.cell, load));
        Ok(())
    }

    /// Computes the results and ends the run.
    ///
    /// # Errors
    /// If the results cannot be computed or written.
    pub fn finish(
        self,
        rows: &[(CellPlan, Row, Option<&Columns>)],
        measured: &[(CellPlan, RunFigures)],
        workload_hash: Option<String>,
    ) -> Result<(Summary, RunId, Traces), RunError> {
        let Self { header, recording, grid, findings, ranges, loads } = self;
        let facts = RunFacts {
            run_id: recording.run().to_string(),
            started_at: rfc3339(header.started_unix_ns),
            origin_unix_ns: header.origin_unix_ns,
            plan: &header.plan,
            target: &header.target,
            environment: &header.environment,
            tool_version: &header.tool_version,
            predicted: true,
            workload_hash,
            // Predictions create no request bodies.
            body_hash: None,
            ranks: Vec::new(),
        };
        let mut summary = summarise(facts, &grid, findings);
        add_predictions(&mut summary, rows, &loads, measured)?;
        for (cell, tier, range) in ranges {
            let of_cell = |answer: &&mut SearchAnswer| answer.cell() == cell && answer.tier == tier;
            summary
                .searches
                .iter_mut()
                .find(of_cell)
                .into_iter()
                .for_each(|it| it.set_model(Some(range)));
            let sweeps = summary.sweeps.iter_mut().filter(|answer| answer.cell() == cell);
            sweeps.for_each(|answer| answer.set_model(Some(range)));
        }
        summary.set_price(&header.plan.spec.price, Some(&header.plan));
        judge_by_ranges(&mut summary, &header.plan);
        summary.errors = error_summaries(&summary.cells);
        let run = recording.finish(&summary, Ending::Complete, RunState::Complete)?;
        Ok((summary, run, grid.traces))
    }
}

/// Adds the intervals of the figures and the measured figures to each cell.
fn add_predictions(
    summary: &mut Summary,
    rows: &[(CellPlan, Row, Option<&Columns>)],
    loads: &[(CellPlan, StoredLoad)],
    of_passes: &[(CellPlan, RunFigures)],
) -> Result<(), RunError> {
    let mut compared = Vec::new();
    for cell in &mut summary.cells {
        let place = CellPlan { input_length: cell.input_length, output_length: cell.output_length };
        let Some((_, row, measured)) = rows.iter().find(|(known, ..)| *known == place) else {
            continue;
        };
        let found = cell.columns();
        let loads = of_cell(loads, place);
        let cached_share = loads.iter().map(|load| load.cached_share).reduce(f64::max);
        let passes = passes_of(cell, row, &loads, &of_cell(of_passes, place))?;
        cell.prediction = CellPrediction {
            measured: measured.copied(),
            error_pct: measured
                .filter(|_| row.comparable)
                .map(|measured| found.error_pct(measured)),
            ..confidence_of(cell, place, row, cached_share, passes)?
        };
        if let (Some(measured), true) = (measured, row.comparable) {
            compared.push((found, **measured));
        }
    }
    summary.findings.extend(constant_extra_cost(&compared));
    Ok(())
}

/// The values of the passes of a cell, in the order of the passes.
fn of_cell<T>(all: &[(CellPlan, T)], cell: CellPlan) -> Vec<&T> {
    all.iter().filter(|known| known.0 == cell).map(|known| &known.1).collect()
}

/// The predicted figures of each pass. `loads` has one value per pass. `measured` has one value per pass, or is empty
/// if nothing was measured. The result is empty if nothing was measured and the profile has no step model.
fn passes_of(
    cell: &Cell,
    row: &Row,
    loads: &[&StoredLoad],
    measured: &[&RunFigures],
) -> Result<Vec<PassPrediction>, RunError> {
    let resolved = row.config.resolve().map_err(RunError::plan)?;
    if resolved.profile.steps.is_none() && measured.is_empty() {
        return Ok(Vec::new());
    }
    let pass = |(at, (pass, load)): (usize, (&PassSummary, &&StoredLoad))| {
        let inputs = RangeInputs {
            lengths: lengths_of_pass(cell.plan(), pass),
            in_flight: pass.peak_concurrency.unwrap_or(1),
            kind: load.kind,
            cached_share: load.cached_share,
            slower: &|factor| load.repeatable.as_ref()?.slower(factor),
        };
        let measured = measured.get(at).copied().copied().unwrap_or_default();
        let found = figures_of(pass);
        let ranges = figure_ranges(profiles(), &resolved, &row.measured_on, inputs, &found);
        compared(pass.label(), ranges, &measured)
    };
    Ok(cell.passes.iter().zip(loads).enumerate().map(pass).collect())
}

fn confidence_of(
    cell: &Cell,
    place: CellPlan,
    row: &Row,
    cached_share: Option<f64>,
    passes: Vec<PassPrediction>,
) -> Result<CellPrediction, RunError> {
    let resolved = row.config.resolve().map_err(RunError::plan)?;
    let in_flight = cell.passes.iter().filter_map(|pass| pass.peak_concurrency).max().unwrap_or(1);
    let sequences = u64::from(resolved.limits.max_num_seqs).min(in_flight) as u32;
    let load = (sequences, cached_share);
    let lengths = lengths_of(cell, place);
    let sure = confidence_from(profiles(), &resolved, lengths, load, &row.measured_on);
    // The throughput and the latencies of a cell are those of its passes, so they have the ranges of the passes. For a
    // profile without a step model, the ranges come from the errors that the profile states for figures of cells.
    let range_of = |pass: Option<&PassSummary>| -> Option<&PassPrediction> {
        passes.get(index_of(cell, pass?)?).filter(|_| resolved.profile.steps.is_some())
    };
    let throughput = range_of(cell.throughput_pass()).and_then(|pass| pass.requests_per_s);
    let latency = range_of(cell.latency_pass()).and_then(|pass| pass.e2e_p50_ms);
    let interval = |range: Option<FigurePrediction>, column, predicted: Option<f64>| {
        let predicted = predicted?;
        let range = range.filter(|range| range.predicted > 0.0);
        Some(
            range.map_or_else(|| sure.interval(column, predicted), |range| range.around(predicted)),
        )
    };
    let throughput = |predicted| interval(throughput, ErrorColumn::Throughput, predicted);
    let latency = |predicted| interval(latency, ErrorColumn::Latency, predicted);
    // Without a served request there is no figure whose error could be stated.
    let is_served = cell.columns().values().iter().any(Option::is_some);
    Ok(CellPrediction {
        interval: Some(Intervals {
            requests_per_s: throughput(cell.requests_per_s),
            output_tokens_per_s: throughput(cell.output_tokens_per_s),
            latency_per_token_ms: latency(cell.latency_per_token_ms),
            latency_per_output_token_ms: latency(cell.latency_per_output_token_ms),
        }),
        interval_of: sure.of.filter(|_| is_served),
        uncalibrated: sure.uncalibrated.filter(|_| is_served),
        passes,
        ..CellPrediction::default()
    })
}

fn index_of(cell: &Cell, wanted: &PassSummary) -> Option<usize> {
    cell.passes.iter().position(|pass| std::ptr::eq(pass, wanted))
}

/// The lengths of a cell. If the requests have different lengths, the mean lengths of the pass with the most completed
/// requests.
fn lengths_of(cell: &Cell, place: CellPlan) -> CellPlan {
    let passes = cell.passes.iter().filter(|pass| pass.outcomes.complete > 0);
    let pass = passes.max_by_key(|pass| pass.outcomes.complete);
    pass.map_or(place, |pass| lengths_of_pass(place, pass))
}

fn lengths_of_pass(place: CellPlan, pass: &PassSummary) -> CellPlan {
    if pass.outcomes.complete == 0 {
        return place;
    }
    let mean = |tokens: u64| (tokens as f64 / pass.outcomes.complete as f64).round() as u32;
    let own = |length: u32, tokens: u64| if length == 0 { mean(tokens) } else { length };
    CellPlan {
        input_length: own(place.input_length, pass.input_tokens.unwrap_or(0)),
        output_length: own(place.output_length, pass.output_tokens),
    }
}

fn header(
    plan: &Plan,
    config: &EngineConfig,
    against: Option<&str>,
) -> Result<RunHeader, RunError> {
    let resolved = config.resolve().map_err(RunError::plan)?;
    let profile = &resolved.profile;
    let mut others: BTreeMap<String, String> = [
        ("max_model_len", resolved.limits.max_model_len.to_string()),
        ("max_num_seqs", resolved.limits.max_num_seqs.to_string()),
        ("max_num_batched_tokens", resolved.limits.max_num_batched_tokens.to_string()),
        ("block_size", resolved.block_size.to_string()),
        ("gpu_memory_utilization", resolved.gpu_memory_utilization.to_string()),
        ("tensor_parallel_size", resolved.tensor_parallel_size.to_string()),
        ("pipeline_parallel_size", resolved.pipeline_parallel_size.to_string()),
        ("prefix_caching", resolved.prefix_caching.to_string()),
        ("weights", resolved.weights.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    let further = resolved.further_settings().into_iter();
    others.extend(further.map(|(name, value)| (name.to_owned(), value)));
    if let Some(origin) = against {
        others.insert("against".to_owned(), origin.to_owned());
    }
    for (number, caveat) in resolved.caveats().into_iter().enumerate() {
        others.insert(format!("caveat_{}", number + 1), caveat);
    }
    let target = Target {
        dialect: "none".to_owned(),
        engine: Some(profile.engine.clone()),
        engine_version: Some(profile.engine_version.clone()),
        model: resolved.model.name.clone(),
        simulated: true,
        profile: Some(profile.name.clone()),
        facts: Facts {
            card: Some(resolved.card.name.clone()),
            noise: resolved.noise.map(|noise| noise.to_string()),
            others,
            ..Facts::default()
        },
        ..Target::default()
    };
    Ok(header::of_run(plan, target, Environment::default(), TimeOrigin::Zero))
}
