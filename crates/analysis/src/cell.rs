//! One cell of the grid: its passes, and the four figures of the published tables.

use inferometer_load::PassKind;
use inferometer_metrics::{latency_per_output_token, latency_per_token};
use inferometer_model::cell::CellPlan;
use inferometer_stats::{self as stats, Spread};
use serde::{Deserialize, Serialize};

use crate::pass::PassSummary;
use crate::prediction::{CellPrediction, Columns};

/// One cell of the grid: an input length and an output length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Prompt tokens asked for; 0 if the requests of the workload have lengths of their own.
    pub input_length: u32,
    /// Output tokens asked for; 0 likewise.
    pub output_length: u32,
    /// Completed requests per second, from the pass that loads the server.
    pub requests_per_s: Option<f64>,
    /// Output tokens per second, from the pass that loads the server.
    pub output_tokens_per_s: Option<f64>,
    /// Mean of latency / (input + output tokens), from the one_by_one pass; without one, from the pass
    /// that loads the server.
    pub latency_per_token_ms: Option<f64>,
    /// Mean of latency / output tokens, from the same pass.
    pub latency_per_output_token_ms: Option<f64>,
    /// The spread of the four figures over the repeats; the figures are their means. Absent for one
    /// repeat.
    #[serde(default)]
    pub over_repeats: Option<CellSpread>,
    /// Every pass of the cell, in the order in which they were carried out.
    pub passes: Vec<PassSummary>,
    /// What a prediction states besides its figures; empty if a server was measured.
    #[serde(flatten)]
    pub prediction: CellPrediction,
}

/// The figures of a cell over its repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellSpread {
    /// Over [`Cell::requests_per_s`] of each repeat.
    pub requests_per_s: Option<Spread>,
    /// Over [`Cell::output_tokens_per_s`] of each repeat.
    pub output_tokens_per_s: Option<Spread>,
    /// Over [`Cell::latency_per_token_ms`] of each repeat.
    pub latency_per_token_ms: Option<Spread>,
    /// Over [`Cell::latency_per_output_token_ms`] of each repeat.
    pub latency_per_output_token_ms: Option<Spread>,
}

impl Cell {
    /// The figures of the published tables.
    pub fn columns(&self) -> Columns {
        Columns {
            requests_per_s: self.requests_per_s,
            output_tokens_per_s: self.output_tokens_per_s,
            latency_per_token_ms: self.latency_per_token_ms,
            latency_per_output_token_ms: self.latency_per_output_token_ms,
        }
    }

    /// The pass that the throughput of the cell comes from; the first of several repeats.
    pub fn loading(&self) -> Option<&PassSummary> {
        loading_passes(&self.passes).first().copied()
    }

    /// The pass that the latencies of the cell come from: the one_by_one pass, else that of the
    /// throughput; the first of several repeats.
    pub fn alone(&self) -> Option<&PassSummary> {
        latency_passes(&self.passes).first().copied()
    }

    /// The cell of the plan.
    pub fn plan(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }

    /// The name of one of its passes for people: `128 x 32, one by one`.
    pub fn place(&self, pass: &PassSummary) -> String {
        format!("{}, {}", self.plan(), pass.label())
    }
}

/// A cell of the grid, from its passes.
///
/// Throughput is that of the pass that loads the server; of several passes, the one with the most
/// requests per second. A cell that was only measured one by one has no throughput. Latencies are those
/// of the one_by_one pass, else of the pass that the throughput is from. Over repeats, each figure is the
/// mean of the repeats. A pass whose outputs are longer than asked gives the cell no figure. Neither does
/// a pass that the user interrupted or that the plan ended early.
pub fn cell(input_length: u32, output_length: u32, passes: Vec<PassSummary>) -> Cell {
    let repeats = passes.iter().map(|pass| pass.repeat).max().unwrap_or(1);
    let (loading, alone) = (loading_passes(&passes), latency_passes(&passes));
    let over = |load: &[&PassSummary], figure: fn(&PassSummary) -> Option<f64>| {
        if load.iter().any(|pass| is_longer(pass)) {
            return None;
        }
        let values: Vec<f64> = load.iter().filter_map(|pass| figure(pass)).collect();
        stats::spread(&values)
    };
    let spread = CellSpread {
        requests_per_s: over(&loading, |pass| pass.requests_per_s),
        output_tokens_per_s: over(&loading, |pass| pass.output_tokens_per_s),
        latency_per_token_ms: over(&alone, |pass| {
            Some(pass.latency(&latency_per_token::DEFINITION)?.mean)
        }),
        latency_per_output_token_ms: over(&alone, |pass| {
            Some(pass.latency(&latency_per_output_token::DEFINITION)?.mean)
        }),
    };
    let mean = |spread: Option<Spread>| spread.map(|spread| spread.mean);
    Cell {
        input_length,
        output_length,
        requests_per_s: mean(spread.requests_per_s),
        output_tokens_per_s: mean(spread.output_tokens_per_s),
        latency_per_token_ms: mean(spread.latency_per_token_ms),
        latency_per_output_token_ms: mean(spread.latency_per_output_token_ms),
        over_repeats: (repeats > 1).then_some(spread),
        passes,
        prediction: CellPrediction::default(),
    }
}

/// The largest share of outputs that may be longer than asked. A pass with a larger share gives its cell
/// no figure: it is measured at another output length.
const LONGER_SHARE: f64 = 0.01;

pub(crate) fn is_longer(pass: &PassSummary) -> bool {
    pass.longer_than_asked as f64 > LONGER_SHARE * pass.outcomes.complete as f64
}

/// The passes that the throughput of a cell comes from, one for each repeat: the load with the most
/// requests per second over its repeats, among those that load the server.
pub(crate) fn loading_passes(passes: &[PassSummary]) -> Vec<&PassSummary> {
    loads(passes, |pass| pass.kind != PassKind::OneByOne)
        .into_iter()
        .max_by(|a, b| mean_of(a, requests_per_s).total_cmp(&mean_of(b, requests_per_s)))
        .unwrap_or_default()
}

/// The passes that the latencies of a cell come from, one for each repeat.
pub(crate) fn latency_passes(passes: &[PassSummary]) -> Vec<&PassSummary> {
    let alone = loads(passes, |pass| pass.kind == PassKind::OneByOne).into_iter().next();
    alone.unwrap_or_else(|| loading_passes(passes))
}

/// The loads that the columns of a table come from: for the throughput, and for the latencies.
pub(crate) fn table_loads(passes: &[PassSummary]) -> [Option<String>; 2] {
    [loading_passes(passes), latency_passes(passes)]
        .map(|passes| passes.first().map(|pass| pass.load.clone()))
}

/// The passes of a kind, grouped by load. Loads are in the order in which they first occur.
fn loads(passes: &[PassSummary], of: fn(&PassSummary) -> bool) -> Vec<Vec<&PassSummary>> {
    let mut loads: Vec<Vec<&PassSummary>> = Vec::new();
    for pass in passes.iter().filter(|pass| of(pass) && pass.is_whole()) {
        // If a plan has the same load twice, each of them is a repeat of its own.
        let is_of = |load: &&mut Vec<&PassSummary>| {
            load.iter().all(|known| known.load == pass.load && known.repeat != pass.repeat)
        };
        match loads.iter_mut().find(is_of) {
            Some(load) => load.push(pass),
            None => loads.push(vec![pass]),
        }
    }
    loads
}

/// For comparisons only: a pass in which nothing was sent counts as the slowest.
fn requests_per_s(pass: &PassSummary) -> f64 {
    pass.requests_per_s.unwrap_or(0.0)
}

fn mean_of(load: &[&PassSummary], figure: fn(&PassSummary) -> f64) -> f64 {
    load.iter().map(|pass| figure(pass)).sum::<f64>() / load.len() as f64
}
