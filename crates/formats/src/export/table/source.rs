//! Facts about the run and the pass of a record that the record itself does not contain.

use std::rc::Rc;

use inferometer_model::{CellPlan, PassPlan, Target};

/// The run of a record.
#[derive(Clone, Debug)]
pub struct RunSource {
    /// The run's identifier in the store.
    pub run_id: String,
    /// The server.
    pub target: Target,
    /// Whether the figures are predicted, not measured.
    pub predicted: bool,
    /// The wall time at the origin of the run's axis, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
}

/// The pass of a record.
#[derive(Clone, Debug)]
pub struct PassSource {
    /// The run.
    pub run: Rc<RunSource>,
    /// The cell of the grid.
    pub cell: CellPlan,
    /// The number of this repeat of the cell's load, from 1.
    pub repeat: u32,
    /// The kind of the pass: `one_by_one`, `saturated`, `closed` or `open`.
    pub kind: &'static str,
    /// The load as text, as in reports.
    pub load: String,
}

impl PassSource {
    /// Describes the pass `plan` of a run.
    pub fn new(run: Rc<RunSource>, cell: CellPlan, repeat: u32, plan: &PassPlan) -> Self {
        Self { run, cell, repeat, kind: plan.kind().name(), load: plan.to_string() }
    }
}
