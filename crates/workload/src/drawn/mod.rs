//! Prompts of seeded words with random lengths or shared prefixes: the workload `random` with lengths
//! that vary, and the workload `prefix`. Lengths, groups and words have separate random streams, so a
//! change of one does not change the others.

mod classes;
mod histogram;
mod lengths;
mod pairs;
mod prefix;
mod words;

use std::sync::Arc;

use inferometer_model::CellPlan;
use inferometer_plan::DrawnPlan;

use crate::workload::{Beyond, WorkloadDefinition, longest_beyond};
use crate::{PromptContext, RequestBatch, RequestsNeeded, TooLong, Workload, WorkloadError};
use lengths::{Axis, LengthSampler};
use words::Shape;

pub use histogram::{Histogram, HistogramError};

/// The number of lengths that are drawn at most to find the longest request of a pass.
const MOST_DRAWN: usize = 10_000;

/// The workload `random` with lengths that vary, or with a prefix that all prompts share.
struct Drawn {
    input: LengthSampler,
    output: LengthSampler,
    prefix_length: u32,
}

impl WorkloadDefinition for DrawnPlan {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Drawn {
            input: LengthSampler::open(&self.input, Axis::Input)?,
            output: LengthSampler::open(&self.output, Axis::Output)?,
            prefix_length: self.prefix_length,
        }))
    }
}

impl Workload for Drawn {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, cell, scope, first, count } = *wanted;
        // The drawn length does not include the prefix. A prompt has at least one token after the prefix
        // and the tokens that the server adds.
        let least = self.prefix_length + context.reserve + 1;
        let around = cell.input_length.saturating_sub(self.prefix_length);
        let shapes = (first..first + count as u64).map(|index| {
            let draw = |axis: &LengthSampler, around| axis.draw(around, context.seed, scope, index);
            Shape {
                input: (self.prefix_length + draw(&self.input, around)).max(least),
                output: draw(&self.output, cell.output_length),
                group: (self.prefix_length > 0).then_some(0),
                class: self.input.class(context.seed, scope, index),
            }
        });
        words::requests(wanted, self.prefix_length, &shapes.collect::<Vec<_>>())
    }

    fn can_begin_anywhere(&self) -> bool {
        true
    }

    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        let RequestsNeeded { context, cell, scope, count, .. } = *wanted;
        let around = cell.input_length.saturating_sub(self.prefix_length);
        let lengths = (0..count.min(MOST_DRAWN) as u64).map(|index| {
            let longest = |axis: &LengthSampler, around| {
                let most = axis.most(around);
                most.unwrap_or_else(|| axis.draw(around, context.seed, scope, index))
            };
            CellPlan {
                input_length: self.prefix_length + longest(&self.input, around),
                output_length: longest(&self.output, cell.output_length),
            }
        });
        Ok(longest_beyond(limit, lengths).map(Beyond::only_longest))
    }
}
