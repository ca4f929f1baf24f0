//! One cell of the grid: its passes and its four figures. The figures are those of published benchmark tables: requests
//! per second, output tokens per second, latency per token and latency per output token.

use inferometer_model::metrics::{latency_per_output_token, latency_per_token, throughput};
use inferometer_model::stats::{self, Spread};
use inferometer_model::{CellPlan, Definition, PassKind};
use serde::{Deserialize, Serialize};

use crate::prediction::{Columns, OfColumns};
use crate::{CellPrediction, Figures, PassSummary};

/// One cell of the grid: an input length and an output length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Requested prompt tokens; 0 if the workload determines the length of each request.
    pub input_length: u32,
    /// Requested output tokens; 0 if the workload determines the length of each request.
    pub output_length: u32,
    /// Completed requests per second, from the throughput pass ([`Self::throughput_pass`]).
    pub requests_per_s: Option<f64>,
    /// Output tokens per second, from the throughput pass.
    pub output_tokens_per_s: Option<f64>,
    /// Mean of latency / (input + output tokens) in milliseconds, from the one_by_one pass. Without such a pass, from
    /// the throughput pass.
    pub latency_per_token_ms: Option<f64>,
    /// Mean of latency / output tokens in milliseconds, from the same pass as `latency_per_token_ms`.
    pub latency_per_output_token_ms: Option<f64>,
    /// The values of the other metrics of whole passes, from the throughput pass. With several repeats, each is the mean
    /// over the repeats.
    #[serde(flatten)]
    pub figures: Figures,
    /// The spread of the four figures above over the repeats. Each of these figures is the mean over the repeats.
    /// Absent if there is only one repeat.
    pub over_repeats: Option<CellSpread>,
    /// All passes of the cell, in the order in which they were measured.
    pub passes: Vec<PassSummary>,
    /// The data that only a prediction has; empty if a server was measured.
    #[serde(flatten)]
    pub prediction: CellPrediction,
}

/// The spread of the figures of a cell over its repeats.
pub type CellSpread = OfColumns<Spread>;

impl Cell {
    /// The four figures of the cell.
    pub fn columns(&self) -> Columns {
        Columns {
            requests_per_s: self.requests_per_s,
            output_tokens_per_s: self.output_tokens_per_s,
            latency_per_token_ms: self.latency_per_token_ms,
            latency_per_output_token_ms: self.latency_per_output_token_ms,
        }
    }

    /// The pass from which the throughput of the cell comes. With several repeats, this is the first whole pass of its
    /// load.
    pub fn throughput_pass(&self) -> Option<&PassSummary> {
        loading_passes(&self.passes).first().copied()
    }

    /// The pass from which the latencies of the cell come: the one_by_one pass, or else the pass of the throughput.
    /// With several repeats, this is the first whole pass of its load.
    pub fn latency_pass(&self) -> Option<&PassSummary> {
        latency_passes(&self.passes).first().copied()
    }

    /// The requested lengths of the cell.
    pub fn plan(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }

    /// The name of one of the passes in reports, such as `128 x 32, one by one`.
    pub fn place(&self, pass: &PassSummary) -> String {
        format!("{}, {}", self.plan(), pass.label())
    }
}

/// Builds a cell of the grid from its passes.
///
/// Throughput comes from the load with the most requests per second. The load one_by_one is excluded, so a cell that
/// has only this load has no throughput. Latencies come from the one_by_one pass, or else from the same load as the
/// throughput. With several repeats, each figure is the mean of the repeats. A pass that was interrupted or ended early
/// is left out. A figure is absent if one of its passes has too many outputs that are longer than requested (more than
/// 1 % of the completed requests).
pub fn cell(input_length: u32, output_length: u32, passes: Vec<PassSummary>) -> Cell {
    let repeats = passes.iter().map(|pass| pass.repeat).max().unwrap_or(1);
    let (loading, alone) = (loading_passes(&passes), latency_passes(&passes));
    let over = |load: &[&PassSummary], figure: &dyn Fn(&PassSummary) -> Option<f64>| {
        if load.iter().any(|pass| is_longer(pass)) {
            return None;
        }
        let values: Vec<f64> = load.iter().filter_map(|pass| figure(pass)).collect();
        stats::spread(&values)
    };
    let spread = CellSpread {
        requests_per_s: over(&loading, &|pass| pass.requests_per_s),
        output_tokens_per_s: over(&loading, &|pass| pass.output_tokens_per_s),
        latency_per_token_ms: over(&alone, &|pass| {
            Some(pass.latency(&latency_per_token::DEFINITION)?.mean)
        }),
        latency_per_output_token_ms: over(&alone, &|pass| {
            Some(pass.latency(&latency_per_output_token::DEFINITION)?.mean)
        }),
    };
    let mean = |spread: Option<Spread>| spread.map(|spread| spread.mean);
    let is_own =
        |metric: &Definition| [&throughput::REQUESTS, &throughput::OUTPUT_TOKENS].contains(&metric);
    let further = |metric: &'static Definition| {
        mean(over(&loading, &|pass| pass.figure(metric)).filter(|_| !is_own(metric)))
    };
    Cell {
        input_length,
        output_length,
        requests_per_s: mean(spread.requests_per_s),
        output_tokens_per_s: mean(spread.output_tokens_per_s),
        latency_per_token_ms: mean(spread.latency_per_token_ms),
        latency_per_output_token_ms: mean(spread.latency_per_output_token_ms),
        figures: Figures::each(further),
        over_repeats: (repeats > 1).then_some(spread),
        passes,
        prediction: CellPrediction::default(),
    }
}

/// The largest share of the completed requests whose output may be longer than requested. If a pass has a larger share,
/// the figures of its load are absent, because the pass measured another output length.
const LONGER_SHARE: f64 = 0.01;

pub(crate) fn is_longer(pass: &PassSummary) -> bool {
    pass.longer_than_asked as f64 > LONGER_SHARE * pass.outcomes.complete as f64
}

/// The passes from which the throughput of a cell comes, one for each repeat. They belong to the load with the most
/// requests per second (mean over the repeats of the load). The load one_by_one is excluded.
pub(crate) fn loading_passes(passes: &[PassSummary]) -> Vec<&PassSummary> {
    loads(passes, |pass| pass.kind != PassKind::OneByOne)
        .into_iter()
        .max_by(|a, b| mean_of(a, requests_per_s).total_cmp(&mean_of(b, requests_per_s)))
        .unwrap_or_default()
}

/// The passes from which the latencies of a cell come, one for each repeat.
pub(crate) fn latency_passes(passes: &[PassSummary]) -> Vec<&PassSummary> {
    let alone = loads(passes, |pass| pass.kind == PassKind::OneByOne).into_iter().next();
    alone.unwrap_or_else(|| loading_passes(passes))
}

/// The names of the loads from which the columns of a table come: first for throughput, then for latencies.
pub(crate) fn table_loads(passes: &[PassSummary]) -> [Option<String>; 2] {
    [loading_passes(passes), latency_passes(passes)]
        .map(|passes| passes.first().map(|pass| pass.load.clone()))
}

/// The whole passes that `of` selects, grouped by load. Loads are in the order in which they first occur.
fn loads(passes: &[PassSummary], of: fn(&PassSummary) -> bool) -> Vec<Vec<&PassSummary>> {
    let mut loads: Vec<Vec<&PassSummary>> = Vec::new();
    for pass in passes.iter().filter(|pass| of(pass) && pass.is_whole()) {
        // If a plan contains the same load twice, each occurrence has its own group.
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

/// Only for sorting loads: a pass without a rate counts as 0 requests per second.
fn requests_per_s(pass: &PassSummary) -> f64 {
    pass.requests_per_s.unwrap_or(0.0)
}

fn mean_of(load: &[&PassSummary], figure: fn(&PassSummary) -> f64) -> f64 {
    load.iter().map(|pass| figure(pass)).sum::<f64>() / load.len() as f64
}
