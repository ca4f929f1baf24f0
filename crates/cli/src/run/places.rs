//! Where in a run the prompts of a pass stand: which ones of a data set were used before. It makes
//! no prompt.

use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_workload::PromptScope;

/// Prompts asked for so far, by input length.
#[derive(Default)]
pub struct Places {
    taken: Vec<(u32, u64)>,
}

impl Places {
    /// The place of the next pass, under a name and with the number of its repeat, from 1.
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

/// Requests that a pass may make; of one that time alone ends, more than it will.
fn most_requests(pass: &PassPlan) -> u32 {
    pass.requests().unwrap_or(1 << 20)
}
