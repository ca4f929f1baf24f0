//! Tests searches on simulated servers whose share of misses follows a formula. So the edge (the highest load that
//! meets the objectives) is known exactly.

use std::time::Duration;

use super::*;
use inferometer_model::fixture::{steady, stream};
use inferometer_model::metrics::{e2e, request_objective as goodput, slo, tpot, ttft};
use inferometer_model::stats::seed::{rng, unit};
use inferometer_model::{
    Bound, CellPlan, EventKind, Nanos, PassPlan, Record, RequestFigures, Timeline,
};
use inferometer_plan::search::{Criterion, CriterionResult, Over, SearchPlan, Tier, criteria};

mod capacity;
mod criteria;
mod cut_off;
mod interval;
mod jobs;
mod tiers;

fn of_slo(text: &str) -> Vec<Criterion> {
    criteria(&slo::parse(text).unwrap(), &[], 0.99, None).unwrap()
}

fn plan(text: &str) -> SearchPlan {
    SearchPlan {
        over: Over::Rate,
        criteria: of_slo(text),
        tiers: Vec::new(),
        start: 16.0,
        stride: 2.0,
        lowest: 0.01,
        highest: None,
        confidence: 0.95,
        precision: 0.05,
        max_requests: 1_000_000,
        max_trials: 40,
        max_time: None,
    }
}

/// A trial of independent requests. A request misses each criterion with the probability `misses`.
fn trial(search: &Search, asked: NextTrial, misses: f64, seed: u64) -> Trial {
    let mut rng = rng(seed, &["trial", &search.trials().to_string()]);
    let mut judged = |_: u64| {
        let value = unit(&mut rng);
        CriterionResult { value, met: value >= misses }
    };
    let criteria = &search.plan().criteria;
    let judged: Vec<Vec<CriterionResult>> =
        criteria.iter().map(|_| (0..asked.requests).map(&mut judged).collect()).collect();
    let missed =
        |judged: &Vec<CriterionResult>| judged.iter().filter(|one| !one.met).count() as u64;
    let measured = criteria.iter().zip(&judged).map(|(criterion, it)| Measure::of(criterion, it));
    Trial {
        load: asked.load,
        requests: asked.requests,
        planned: asked.requests,
        cut_off: 0,
        missed: judged.iter().map(missed).collect(),
        latency_s: 0.1,
        span_s: asked.requests as f64 / asked.load,
        completed: asked.requests,
        is_settled: true,
        counted: asked.requests,
        measured: measured.collect(),
        lacks_gaps: false,
        starts_together: false,
        saturation: None,
        rates: None,
        alone: Alone { missed: vec![0; criteria.len()], ..Alone::default() },
    }
}

/// Runs a search on a server whose share of misses is a function of the load.
fn search(plan: SearchPlan, misses: impl Fn(f64) -> f64, seed: u64) -> Search {
    let mut search = Search::new(plan);
    while let Some(asked) = search.next() {
        let trial = trial(&search, asked, misses(asked.load), seed);
        search.tell(trial);
    }
    search
}

/// The share of misses is 5 % at `edge`, and grows with this power of the load.
fn curve(edge: f64, power: f64) -> impl Fn(f64) -> f64 {
    move |load| (0.05 * (load / edge).powf(power)).min(1.0)
}

/// The figures of a request with these times in milliseconds: due, end, and time to first token.
fn figures(due: f64, ended: f64, ttft: f64) -> RequestFigures {
    let at = |ms: f64| Nanos::ZERO + Duration::from_secs_f64(ms * 1e-3);
    RequestFigures {
        due: at(due),
        ended: Some(at(ended)),
        complete: true,
        ..RequestFigures::default()
    }
    .with(&ttft::FROM_SENT, Some(ttft))
}

fn folded(requests: impl Iterator<Item = RequestFigures>) -> Trial {
    let pass = PassPlan::open(1.0, Bound::requests(1));
    let mut fold = TrialFold::of(&pass, &of_slo("ttft_p99<50ms")).unwrap();
    requests.for_each(|figures| fold.add(&figures));
    fold.finish()
}

const CELL: CellPlan = CellPlan { input_length: 64, output_length: 16 };

/// A tier of these criteria.
fn tier(name: &str, criteria: &[usize]) -> Tier {
    Tier { name: name.to_owned(), criteria: criteria.to_vec() }
}
