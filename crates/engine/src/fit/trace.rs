//! The steps that rows make, kept so that a search prices them again without scheduling again:
//! which steps a pass makes depends on the number of KV blocks, not on what the steps cost.

use std::collections::HashMap;

use super::{MeasuredRow, MeasuredTable, RowError};
use crate::capacity::kv_blocks;
use crate::config::EngineConfig;
use crate::cost::{CostModel, StepShape};
use crate::engine::{Engine, RequestId};
use crate::error::EngineError;
use crate::profile::Profile;

/// Block counts to remember steps for; a search visits many, and seldom comes back.
const REMEMBERED: usize = 1000;

/// The steps of one pass.
struct Trace {
    shapes: Vec<StepShape>,
    output_tokens: u64,
}

/// The rows of a table with the steps that they make.
pub(super) struct Traces<'a> {
    table: &'a MeasuredTable,
    /// By row, requests at once, and number of KV blocks.
    known: HashMap<(usize, u32, u32), Trace>,
}

impl<'a> Traces<'a> {
    pub(super) fn new(table: &'a MeasuredTable) -> Self {
        Self { table, known: HashMap::new() }
    }

    /// Sum of squared logarithmic errors; endless where the profile cannot run the model at all.
    pub(super) fn loss(&mut self, profile: &Profile) -> f64 {
        match self.errors(profile) {
            Ok(errors) => errors
                .iter()
                .flat_map(|e| [e.output_tokens_per_s, e.latency_per_output_token_ms])
                .map(|error| (1.0 + error).ln().powi(2))
                .sum(),
            Err(_) => f64::MAX,
        }
    }

    pub(super) fn errors(&mut self, profile: &Profile) -> Result<Vec<RowError>, EngineError> {
        (0..self.table.rows.len()).map(|row| self.row(row, profile)).collect()
    }

    fn row(&mut self, row: usize, profile: &Profile) -> Result<RowError, EngineError> {
        let measured = self.table.rows[row];
        let mut config = self.table.config.clone();
        config.profile = profile.clone();
        config.max_model_len = Some(measured.max_model_len);
        let resolved = config.resolve()?;
        let cost = CostModel::new(&resolved);
        let blocks = kv_blocks(&resolved)?;
        // A request that is alone never lacks blocks as long as it fits at all.
        let single = self.seconds_per_token((row, 1, 0), &config, &cost)?;
        let saturated =
            self.seconds_per_token((row, self.table.requests, blocks), &config, &cost)?;
        Ok(RowError {
            output_tokens_per_s: 1.0 / saturated / measured.output_tokens_per_s - 1.0,
            latency_per_output_token_ms: single * 1e3 / measured.latency_per_output_token_ms - 1.0,
        })
    }

    fn seconds_per_token(
        &mut self,
        key: (usize, u32, u32),
        config: &EngineConfig,
        cost: &CostModel,
    ) -> Result<f64, EngineError> {
        if self.known.len() > REMEMBERED * self.table.rows.len() {
            self.known.clear();
        }
        let (row, requests, _) = key;
        let trace = match self.known.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(trace(config, &self.table.rows[row], requests)?)
            }
        };
        let seconds: f64 = trace.shapes.iter().map(|&shape| cost.seconds(shape)).sum();
        Ok(seconds / trace.output_tokens as f64)
    }
}

fn trace(config: &EngineConfig, row: &MeasuredRow, requests: u32) -> Result<Trace, EngineError> {
    let mut engine = Engine::new(config.clone())?;
    for id in 0..requests {
        engine.add(RequestId(u64::from(id)), row.cell.input_length, row.cell.output_length);
    }
    let mut shapes = Vec::new();
    while let Some((shape, ..)) = engine.advance() {
        shapes.extend(shape);
    }
    Ok(Trace { shapes, output_tokens: engine.stats().generation_tokens })
}
