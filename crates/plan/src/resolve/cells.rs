//! Resolves the grid from a spec.

use inferometer_model::{CellPlan, pooled::is_pooling};

use super::passes;
use crate::spec::{MAX_LENGTH, Mistakes, Spec};
use crate::{Grid, WorkloadPlan, spec::limits::MAX_CELLS};

impl Spec {
    pub(super) fn cells(&self, workload: &WorkloadPlan, mistakes: &mut Mistakes) -> Vec<CellPlan> {
        if workload.grid() == Grid::Own {
            let name = workload.name();
            let problem = format!("is not used: requests of {name} have their own lengths");
            self.refuse_lengths(&problem, mistakes);
            return vec![CellPlan::OWN];
        }
        if workload.grid() == Grid::Characters {
            return self.block_cells(mistakes);
        }
        let (own_input, own_output) = workload.own_axes();
        if let WorkloadPlan::Replay { .. } = workload {
            return self.replayed_cells(mistakes);
        }
        let inputs = match own_input {
            true => own_axis("input_lengths", self.input_lengths.as_deref(), mistakes),
            false => lengths("input_lengths", self.input_lengths.as_deref(), &[128, 512], mistakes),
        };
        let outputs = match own_output {
            _ if self.dialect.as_deref().is_some_and(is_pooling) => vec![0],
            true => own_axis("output_lengths", self.output_lengths.as_deref(), mistakes),
            false => {
                lengths("output_lengths", self.output_lengths.as_deref(), &[32, 128], mistakes)
            }
        };
        let prefix = workload.prefix_length();
        if prefix > MAX_LENGTH {
            let problem = format!("{prefix} is not a length; give a number up to {MAX_LENGTH}");
            mistakes.add("prefix_length", problem);
        }
        if let Some(short) = inputs.iter().find(|&&input| input > 0 && input <= prefix) {
            let problem = format!(
                "{prefix} is not less than the input length {short}, which includes the prefix"
            );
            mistakes.add("prefix_length", problem);
        }
        grid("input_lengths", &inputs, &outputs, mistakes)
    }

    /// The grid of a replayed run. If lengths are not given, they are 0: each request has its own length.
    fn replayed_cells(&self, mistakes: &mut Mistakes) -> Vec<CellPlan> {
        let own = [0].as_slice();
        let inputs = self.input_lengths.as_deref().unwrap_or(own);
        let outputs = self.output_lengths.as_deref().unwrap_or(own);
        grid("input_lengths", inputs, outputs, mistakes)
    }

    fn refuse_lengths(&self, problem: &str, mistakes: &mut Mistakes) {
        for (key, given) in
            [("input_lengths", &self.input_lengths), ("output_lengths", &self.output_lengths)]
        {
            if given.is_some() {
                mistakes.add(key, problem);
            }
        }
    }

    /// The grid of text blocks: all combinations of block sizes and requested lengths, in characters.
    fn block_cells(&self, mistakes: &mut Mistakes) -> Vec<CellPlan> {
        self.refuse_lengths("is in tokens; blocks have block_sizes and wanted_lengths", mistakes);
        let (sizes, wanted) = self.workload.blocks.lengths(passes::is_demonstration(self));
        let sizes = lengths("block_sizes", Some(&sizes), &[], mistakes);
        let wanted = lengths("wanted_lengths", Some(&wanted), &[], mistakes);
        grid("block_sizes", &sizes, &wanted, mistakes)
    }
}

/// The cells of a grid of lengths. If it has too many cells, there are none, and `key` has a mistake.
fn grid(
    key: &'static str,
    inputs: &[u32],
    outputs: &[u32],
    mistakes: &mut Mistakes,
) -> Vec<CellPlan> {
    let [of_input, of_output] = [inputs, outputs].map(<[u32]>::len);
    let cells = of_input.saturating_mul(of_output);
    if cells > MAX_CELLS {
        let of = format!("{of_input} x {of_output} lengths are {cells} cells");
        mistakes.add(key, format!("{of}; the maximum is {MAX_CELLS}"));
        return Vec::new();
    }
    let pair = |&input_length: &u32| {
        outputs.iter().map(move |&output_length| CellPlan { input_length, output_length })
    };
    inputs.iter().flat_map(pair).collect()
}

fn lengths(
    key: &'static str,
    given: Option<&[u32]>,
    default: &[u32],
    mistakes: &mut Mistakes,
) -> Vec<u32> {
    let lengths = given.unwrap_or(default);
    if lengths.is_empty() {
        mistakes.add(key, "is empty; give at least one length");
    }
    if lengths.len() > MAX_CELLS {
        mistakes.add(key, format!("has {} lengths; the maximum is {MAX_CELLS}", lengths.len()));
        return Vec::new();
    }
    for (position, &length) in lengths.iter().enumerate() {
        if length == 0 || length > MAX_LENGTH {
            mistakes.add(
                key,
                format!("{length} is not a length; give a number from 1 to {MAX_LENGTH}"),
            );
        }
        if lengths[..position].contains(&length) {
            mistakes.add(key, format!("{length} is given twice"));
        }
    }
    lengths.to_vec()
}

/// The axis of the grid for lengths that come from a distribution. It has the single length 0. Adds a
/// mistake if the user gave lengths too.
fn own_axis(key: &'static str, given: Option<&[u32]>, mistakes: &mut Mistakes) -> Vec<u32> {
    if given.is_some() {
        mistakes.add(key, "is not used: these lengths have their own distribution");
    }
    vec![0]
}
