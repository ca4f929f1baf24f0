//! Reports what is wrong with embeddings: inputs that the server cut at its limit, and vectors of different sizes.

use inferometer_model::{Finding, Timeline};

inferometer_model::codes! {
    INPUTS_CUT = "inputs_cut", Warning,
        "The server counted fewer prompt tokens than the inputs of requests have. It cuts inputs at its \
            limit without an error, so it does less work than the plan asks for." =>
        "Use shorter inputs (--input-lengths), or a model with a longer context. Some servers refuse such inputs \
            instead if asked: truncate_prompt_tokens (vLLM), truncate (TEI).";
    DIMENSIONS_DIFFER = "dimensions_differ", Warning,
        "Vectors of different requests have different numbers of dimensions." =>
        "Several servers with different models may be behind the address.";
}

/// The share of the requested tokens that a server may count less without having cut an input.
const TOLERATED_SHARE: f64 = 0.01;

/// Compares the prompt tokens of inputs with the requested ones, and the sizes of vectors.
#[derive(Clone, Debug, Default)]
pub(super) struct PooledInputs {
    counted: u64,
    cut: u64,
    asked: u64,
    found: u64,
    /// The smallest and the largest size of a vector.
    dimensions: Option<(u32, u32)>,
}

impl PooledInputs {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        if record.pooled.is_none() {
            return;
        }
        let dimension = record.pooled.dimension;
        let (least, most) = self.dimensions.unwrap_or((dimension, dimension));
        self.dimensions = Some((least.min(dimension), most.max(dimension)));
        let Some(found) = record.usage.prompt.filter(|_| record.asked_input > 0) else { return };
        self.counted += 1;
        if f64::from(found) < f64::from(record.asked_input) * (1.0 - TOLERATED_SHARE) {
            self.cut += 1;
            self.asked += u64::from(record.asked_input);
            self.found += u64::from(found);
        }
    }

    pub(super) fn findings(self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.cut > 0 {
            let message = format!(
                "In {} of {} completed requests, the server counted fewer prompt tokens than their inputs have: {} \
                    instead of {} in these requests together.",
                self.cut, self.counted, self.found, self.asked
            );
            findings.push(Finding::of(INPUTS_CUT, message));
        }
        if let Some((least, most)) = self.dimensions.filter(|(least, most)| least != most) {
            let message = format!("The vectors have {least} to {most} dimensions.");
            findings.push(Finding::of(DIMENSIONS_DIFFER, message));
        }
        findings
    }
}
