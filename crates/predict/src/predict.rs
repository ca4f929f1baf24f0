//! Predicts a plan: simulates it, stores the records, and writes the report.

use std::path::{Path, PathBuf};

use inferometer_analysis::{Cell, Summary, cell::cell as of_passes};
use inferometer_engine::EngineConfig;
use inferometer_model::{CellPlan, Timeline};
use inferometer_plan::Plan;
use inferometer_run::recording::pass_figures::PassFigures;
use inferometer_run::{Context, Outputs, RunError, noise_of};
use inferometer_store::RunId;

use crate::simulated_pass::SimulatedPass;
use crate::{MeasuredRows, PlayTime, play::play, stored::store, tables};

/// A predicted plan: passes, or a simulated search or sweep.
pub struct Prediction {
    /// The results, marked as predicted; with the answers for each cell of a search or a sweep.
    pub summary: Summary,
    /// The id of the predicted run in the store.
    pub run: RunId,
    /// The folder of the report.
    pub folder: PathBuf,
    /// How long the simulation took.
    pub time: PlayTime,
}

/// Simulates a plan with the embedded engine in virtual time, stores the records and writes the report. `against` is
/// the measurement that the prediction is compared with.
///
/// # Errors
/// If the plan cannot be predicted, or files cannot be written.
pub fn predict(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
    against: Option<&MeasuredRows>,
) -> Result<Prediction, RunError> {
    let outputs = Outputs::prepare(context.out.as_deref())?;
    let config = &EngineConfig { noise: noise_of(plan, context)?, ..config.clone() };
    let played = play(plan, context, config, against)?;
    let time = played.time;
    let origin = against.map(|against| against.origin.as_str());
    let (summary, run, traces) = store(plan, context, config, played, origin)?;
    let folder = outputs.write_all(&summary, plan, &run, &traces, context.plots)?;
    write_tables(&folder, &summary)?;
    Ok(Prediction { summary, run, folder, time })
}

/// The results of a plan that the engine of `config` simulates. Nothing is stored.
///
/// # Errors
/// If the plan cannot be predicted.
pub fn simulated_cells(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
) -> Result<Vec<Cell>, RunError> {
    let played = play(plan, context, config, None)?;
    let of_cell = |&CellPlan { input_length, output_length }: &CellPlan| {
        let own = played.passes.iter().filter(|pass| {
            (pass.begin.cell.input_length, pass.begin.cell.output_length)
                == (input_length, output_length)
        });
        let summary = |pass: &SimulatedPass| {
            let mut figures = PassFigures::new(plan, &pass.begin, 0, 0);
            pass.records().for_each(|record| figures.add(&Timeline::new(&record)));
            figures.finish(None).summary
        };
        of_passes(input_length, output_length, own.map(summary).collect())
    };
    Ok(plan.cells.iter().map(of_cell).collect())
}

/// Writes the tables of a prediction as `prediction.md` into `folder`, the folder of the report.
///
/// # Errors
/// If the file cannot be written.
pub fn write_tables(folder: &Path, summary: &Summary) -> Result<(), RunError> {
    let path = folder.join("prediction.md");
    let written = std::fs::write(&path, tables::markdown(summary));
    written.map_err(RunError::unwritable(&path))
}
