//! The position in a data set at which the prompts of the next pass begin: after the prompts that earlier
//! passes used. Makes no prompt.

use inferometer_model::{CellPlan, PassPlan};
use inferometer_workload::PromptScope;

/// How many prompts of each input length were used so far.
#[derive(Default)]
pub struct PromptCursor {
    taken: Vec<(u32, u64)>,
}

impl PromptCursor {
    /// Returns the position of the next pass. `name` is the name of the pass, and `repeat` is the number of
    /// its repeat, from 1.
    pub fn next(
        &mut self,
        cell: CellPlan,
        name: &str,
        repeat: u32,
        pass: &PassPlan,
    ) -> PromptScope {
        let known = self.taken.iter().position(|(length, _)| *length == cell.input_length);
        let known = known.unwrap_or_else(|| {
            self.taken.push((cell.input_length, 0));
            self.taken.len() - 1
        });
        let before = self.taken[known].1;
        self.taken[known].1 += u64::from(most_requests(pass));
        PromptScope::new(cell.to_string(), name, repeat - 1).after(before)
    }
}

/// The maximum number of requests of a pass; for a pass that is limited only by time, about a million, which
/// few passes reach.
fn most_requests(pass: &PassPlan) -> u32 {
    pass.requests().unwrap_or(1 << 20)
}
