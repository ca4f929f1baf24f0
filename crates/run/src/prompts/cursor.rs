//! The position in a data set at which the prompts of the next pass begin: after those that earlier
//! passes used. Makes no prompt.

use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_workload::PromptScope;

/// How many prompts of each input length were used so far.
#[derive(Default)]
pub struct PromptCursor {
    taken: Vec<(u32, u64)>,
}

impl PromptCursor {
    /// The position of the next pass, by its name and the number of its repeat, from 1.
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

/// The most requests that a pass can send; for a pass that only a time ends, a number that it will not
/// reach.
fn most_requests(pass: &PassPlan) -> u32 {
    pass.requests().unwrap_or(1 << 20)
}
