//! Reads the measurements that a prediction is compared with: a published table, a log, a result file of a tool or a
//! stored run. It compares nothing.

mod differences;
pub(crate) mod measured_on;
mod passes;
mod published;
mod run;
mod source;

use inferometer_analysis::{prediction::Columns, table_import::PublishedRow};
use inferometer_engine::{EngineConfig, confidence::MeasuredOn, text_blocks::ClosedLoopLoad};
use inferometer_model::CellPlan;
use inferometer_plan::spec::{Spec, Value};

use inferometer_run::PlanError;

use crate::MeasuredPass;
pub use source::{Source, open};

/// Measured rows that a prediction is compared with.
#[derive(Default)]
pub struct MeasuredRows {
    /// The source of the rows, as text for messages.
    pub origin: String,
    /// The rows.
    pub rows: Vec<PublishedRow>,
    /// The load of each row, if the source is a log of text blocks; otherwise empty.
    pub blocks: Vec<ClosedLoopLoad>,
    /// The passes of a stored run or of a result file, each with its own load. If there are such passes, `rows` has
    /// their cells without figures. Empty for published pages, for imported logs, and for runs with fixed lengths and
    /// only the passes of a published table (one by one, saturated).
    pub passes: Vec<MeasuredPass>,
    /// The numbers of requests in the passes, if the source is a run of this program with only the passes of a
    /// published table.
    pub counts: Option<Counts>,
    /// Whether the rows are a run of this program, and not a published table or results of another tool.
    pub is_own_run: bool,
    /// The measured model, if known.
    pub model: Option<String>,
    /// The measured engine and card, as far as known.
    pub measured_on: MeasuredOn,
}

/// The planned numbers of requests in the passes of a stored run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The number of requests in the one-by-one pass; `None` if there was no such pass.
    pub one_by_one: Option<u32>,
    /// The number of requests in the saturated pass.
    pub saturated: u32,
    /// Whether the run is itself a prediction, so that nothing was measured.
    pub predicted: bool,
}

impl MeasuredRows {
    /// The measured figures of a cell.
    pub fn row(&self, cell: CellPlan) -> Option<&Columns> {
        self.rows.iter().find(|row| row.cell == cell).map(|row| &row.measured)
    }

    /// The load of a cell, if a log states it.
    pub fn block(&self, cell: CellPlan) -> Option<ClosedLoopLoad> {
        let logged = self.rows.iter().zip(&self.blocks).find(|(row, _)| row.cell == cell);
        logged.map(|(_, block)| *block)
    }

    /// Returns the cells among `cells` that were measured.
    ///
    /// # Errors
    /// If no cell was measured, because then nothing can be compared.
    pub fn common(&self, cells: &[CellPlan]) -> Result<Vec<CellPlan>, PlanError> {
        let common: Vec<CellPlan> =
            cells.iter().copied().filter(|cell| self.row(*cell).is_some()).collect();
        if !common.is_empty() {
            return Ok(common);
        }
        let rows: Vec<CellPlan> = self.rows.iter().map(|row| row.cell).collect();
        Err(PlanError::new(format!(
            "--against: {} has no row in common with the prediction: the measured rows are {}; the \
                predicted rows are {}",
            self.origin,
            some_of(&rows),
            some_of(cells)
        )))
    }

    /// Sets the absent numbers of requests in `spec` to the measured numbers, if these are known and the user gave no
    /// passes, concurrency or rate.
    pub fn set_counts(&self, spec: &mut Spec) {
        let Some(counts) = self.counts else { return };
        if spec.passes.is_none() && spec.concurrency.is_none() && spec.rate.is_none() {
            spec.requests.get_or_insert(counts.saturated);
            if let Some(one_by_one) = counts.one_by_one {
                spec.one_by_one.get_or_insert(one_by_one);
            }
        }
    }

    /// Sets the lengths in `spec` to those of the rows, and the requests in flight to those of a log.
    pub fn set_grid(&self, spec: &mut Spec) {
        let mut inputs: Vec<u32> = self.rows.iter().map(|row| row.cell.input_length).collect();
        let mut outputs: Vec<u32> = self.rows.iter().map(|row| row.cell.output_length).collect();
        for lengths in [&mut inputs, &mut outputs] {
            lengths.sort_unstable();
            lengths.dedup();
        }
        spec.input_lengths = Some(inputs);
        spec.output_lengths = Some(outputs);
        if !self.blocks.is_empty() {
            let mut in_flight: Vec<u32> = self.blocks.iter().map(|block| block.in_flight).collect();
            in_flight.sort_unstable();
            in_flight.dedup();
            let levels = in_flight.into_iter().map(|count| Value::Number(f64::from(count)));
            spec.concurrency = Some(levels.collect());
        }
    }
}

/// Lists the first 8 cells as text, and the number of further cells.
fn some_of(cells: &[CellPlan]) -> String {
    const SHOWN: usize = 8;
    let mut words: Vec<String> = cells.iter().take(SHOWN).map(CellPlan::to_string).collect();
    if cells.len() > SHOWN {
        words.push(format!("{} more", cells.len() - SHOWN));
    }
    words.join(", ")
}

/// Opens a file or a stored run with this name ([`open`]) and reads its rows.
///
/// # Errors
/// If the file or the run cannot be read, if not exactly one table or log matches, or if a prediction cannot be
/// compared with the figures.
pub fn read(
    name: &str,
    store: Option<&str>,
    config: &EngineConfig,
) -> Result<MeasuredRows, PlanError> {
    open(name, store)?.rows(config)
}
