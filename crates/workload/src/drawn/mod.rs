//! Seeded words of varying length, and behind shared beginnings: `random` with lengths that are
//! drawn, and `prefix`. Lengths, groups and words come from streams of their own, so that each can
//! be changed and leaves the others as they are.

mod histogram;
mod lengths;
mod prefix;
mod words;

use inferometer_model::cell::CellPlan;
use inferometer_plan::DrawnPlan;

use crate::error::WorkloadError;
use crate::place::PromptPlace;
use crate::requests::{Built, Shared, Workload};
use lengths::{Axis, LengthsOf};
use words::Shape;

pub use histogram::{Histogram, HistogramError};
pub(crate) use prefix::Groups;

/// The workload `random` with lengths that vary, or a beginning that all prompts share.
pub(crate) struct Drawn {
    input: LengthsOf,
    output: LengthsOf,
    prefix_length: u32,
}

impl Drawn {
    /// Reads the histograms, if there are any.
    ///
    /// # Errors
    /// When one cannot be used.
    pub(crate) fn open(plan: &DrawnPlan) -> Result<Self, WorkloadError> {
        Ok(Self {
            input: LengthsOf::open(&plan.input, Axis::Input)?,
            output: LengthsOf::open(&plan.output, Axis::Output)?,
            prefix_length: plan.prefix_length,
        })
    }
}

impl Workload for Drawn {
    fn requests(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        // What is drawn stands behind the beginning, and is a token at least.
        let least = self.prefix_length + shared.reserve + 1;
        let around = cell.input_length.saturating_sub(self.prefix_length);
        let shapes = (0..count).map(|index| {
            let draw = |axis: &LengthsOf, around| axis.draw(around, shared.seed, place, index);
            Shape {
                input: (self.prefix_length + draw(&self.input, around)).max(least),
                output: draw(&self.output, cell.output_length),
                group: (self.prefix_length > 0).then_some(0),
                class: None,
            }
        });
        words::requests(shared, place, self.prefix_length, &shapes.collect::<Vec<_>>())
    }
}
