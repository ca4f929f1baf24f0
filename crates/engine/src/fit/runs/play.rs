//! Simulates measured runs with the engine, and computes their figures.

use std::ops::ControlFlow;

use inferometer_model::{PassPlan, load_model, stats::percentile};

use super::{MeasuredRun, MeasuredStep, RunFigures};
use crate::cost::CostModel;
use crate::{
    Clients, Engine, EngineConfig, EngineError, EngineRequest, Profile, VirtualRecord,
    simulate_with,
};

/// Open loads with random arrivals and fewer requests than this are simulated with [`SEEDS`] seeds, and the figures are
/// averaged.
const FEW_REQUESTS: u32 = 300;
const SEEDS: u64 = 6;

/// Simulates a run with a profile and returns its figures.
///
/// # Errors
/// If the engine cannot start with the configuration.
pub fn simulate_run(profile: &Profile, run: &MeasuredRun) -> Result<RunFigures, EngineError> {
    let config = EngineConfig { profile: profile.clone(), ..run.config.clone() };
    play(&config, &run.pass, |block_size| run.requests(block_size))
}

/// Simulates a load on an engine that needs `factor` times as long for everything, and returns the figures. `requests`
/// gets the number of tokens per KV block and returns the requests. Returns `None` if the arrivals depend on the ends
/// of requests, or if the rate has stages.
///
/// This function simulates the unchanged engine with a rate of arrivals that is `factor` times as high, and multiplies
/// all times by `factor`.
///
/// # Errors
/// See [`simulate_run`].
pub fn simulate_slower<Requests: Iterator<Item = EngineRequest>>(
    config: &EngineConfig,
    pass: &PassPlan,
    factor: f64,
    requests: impl Fn(u32) -> Requests,
) -> Result<Option<RunFigures>, EngineError> {
    let Some(faster) = pass.faster(factor) else { return Ok(None) };
    let figures = play(config, &faster, requests)?;
    let longer = |time: Option<f64>| time.map(|time| time * factor);
    Ok(Some(RunFigures {
        requests_per_s: figures.requests_per_s.map(|rate| rate / factor),
        tpot_p50_ms: longer(figures.tpot_p50_ms),
        ttft_p50_ms: longer(figures.ttft_p50_ms),
        ttft_p99_ms: longer(figures.ttft_p99_ms),
        e2e_p50_ms: longer(figures.e2e_p50_ms),
    }))
}

/// Whether the simulated requests arrive at the same times as the measured ones. Arrivals of vLLM's client count as
/// known: the client's seed is assumed to be 0, which is the default.
pub(crate) fn has_known_arrivals(pass: &PassPlan) -> bool {
    match pass {
        PassPlan::Open(open) => open.arrivals.is_known(),
        _ => true,
    }
}

/// Simulates a load with one or several seeds, and returns the mean of each figure over the seeds.
fn play<Requests: Iterator<Item = EngineRequest>>(
    config: &EngineConfig,
    pass: &PassPlan,
    requests: impl Fn(u32) -> Requests,
) -> Result<RunFigures, EngineError> {
    let is_few = pass.requests().is_some_and(|requests| requests < FEW_REQUESTS);
    let seeds = if !has_known_arrivals(pass) && is_few { SEEDS } else { 1 };
    let mut all = Vec::new();
    for seed in 0..seeds {
        let mut engine = Engine::new(config.clone())?;
        let mut load = load_model(pass, seed);
        let limits = Clients { in_flight: pass.limit().0, ..Clients::default() };
        let mut requests = requests(engine.config().block_size);
        let records = simulate_with(&mut engine, &mut *load, &mut requests, limits, |_| {
            ControlFlow::Break(())
        });
        all.push(figures(&records));
    }
    let mean = |of: fn(&RunFigures) -> Option<f64>| {
        let sum: Option<f64> = all.iter().map(of).sum();
        sum.map(|sum| sum / all.len() as f64)
    };
    Ok(RunFigures {
        requests_per_s: mean(|it| it.requests_per_s),
        tpot_p50_ms: mean(|it| it.tpot_p50_ms),
        ttft_p50_ms: mean(|it| it.ttft_p50_ms),
        ttft_p99_ms: mean(|it| it.ttft_p99_ms),
        e2e_p50_ms: mean(|it| it.e2e_p50_ms),
    })
}

/// Returns the logarithm of predicted / measured duration of a step.
///
/// # Errors
/// See [`simulate_run`].
pub fn step_error(
    profile: &Profile,
    config: &EngineConfig,
    step: &MeasuredStep,
) -> Result<f64, EngineError> {
    let config = EngineConfig { profile: profile.clone(), ..config.clone() };
    let cost = CostModel::new(&config.resolve()?);
    Ok((cost.seconds(step.shape) / step.seconds).ln())
}

impl MeasuredRun {
    /// Returns an endless iterator of the run's requests, for an engine with KV blocks of `block_size` tokens.
    pub fn requests(&self, block_size: u32) -> impl Iterator<Item = EngineRequest> {
        let last = self.lengths.last().copied().unwrap_or((1, 1));
        let lengths = self.lengths.iter().copied().chain(std::iter::repeat(last));
        let shared = u64::from(self.prefix_tokens / block_size);
        lengths.map(move |lengths| {
            // Equal hashes in all requests mean that the requests share these blocks.
            EngineRequest { block_hashes: (1..=shared).collect(), ..EngineRequest::from(lengths) }
        })
    }
}

fn figures(records: &[VirtualRecord]) -> RunFigures {
    let ms = |seconds: f64| seconds * 1e3;
    let (mut ttft, mut tpot, mut e2e) = (Vec::new(), Vec::new(), Vec::new());
    for record in records {
        let Some((first, last)) = record.first_token.zip(record.last_token) else { continue };
        ttft.push(ms(first.seconds_after(record.sent)));
        e2e.push(ms(last.seconds_after(record.sent)));
        if record.output > 1 {
            tpot.push(ms(last.seconds_after(first)) / f64::from(record.output - 1));
        }
    }
    let begin = records.iter().map(|record| record.sent).min();
    let end = records.iter().map(|record| record.ended).max();
    let span = begin.zip(end).map(|(begin, end)| end.seconds_after(begin));
    let at = |values: &mut Vec<f64>, share: f64| {
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| percentile(values, share))
    };
    RunFigures {
        requests_per_s: span.filter(|span| *span > 0.0).map(|span| e2e.len() as f64 / span),
        tpot_p50_ms: at(&mut tpot, 0.5),
        ttft_p50_ms: at(&mut ttft, 0.5),
        ttft_p99_ms: at(&mut ttft, 0.99),
        e2e_p50_ms: at(&mut e2e, 0.5),
    }
}
