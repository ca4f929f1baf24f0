//! Computes the answer of a stored comparison of two servers again, from the logs of its two runs, and writes the new
//! answer.

use std::path::{Path, PathBuf};

use inferometer_analysis::ab::{AbAnswer, AbSide, Sides};
use inferometer_analysis::{Summary, compare::parse_gate};
use inferometer_model::{CellPlan, PassPlan, target::Side};
use inferometer_plan::Plan;
use inferometer_report::{PlotFiles, ab::AbDocument};
use inferometer_store::{Store, StoredRun};

use super::measure::{document, is_out_of_time, place_of};
use crate::{FromLog, Outputs, RunError, results::outputs, summarise_log};

/// An answer that was computed again.
pub struct AnsweredAgain {
    /// The answer.
    pub document: AbDocument,
    /// The cell and the load that were compared. A gate needs them.
    pub place: (CellPlan, PassPlan),
    /// For each log that is cut off, for example because the process was killed: the name of the run, and where its
    /// log ends.
    pub cut: Vec<String>,
}

/// Writes the answer of a stored comparison into a folder. If `folder` is `None`, this is the default folder of the
/// comparison.
///
/// # Errors
/// When a file cannot be written, or another process writes a report into the folder.
pub fn write(
    folder: Option<&Path>,
    document: &AbDocument,
    plots: PlotFiles,
) -> Result<PathBuf, RunError> {
    let default = || Path::new(outputs::DEFAULT_FOLDER).join(&document.group);
    let folder = folder.map_or_else(default, Path::to_path_buf);
    let _outputs = Outputs::prepare(Some(&folder))?;
    outputs::write_ab(&folder, document, plots)?;
    Ok(folder)
}

/// The answer of a stored comparison, computed again from the logs of its two runs.
///
/// # Errors
/// When the store has no such comparison in blocks, when a log cannot be read, or when a plan or the gate was written
/// by an incompatible version of this program.
pub fn answered_again(store: &Store, name: &str) -> Result<AnsweredAgain, RunError> {
    let mut sides: [Option<StoredRun>; 2] = [None, None];
    for row in store.runs()? {
        // A run that cannot be read is skipped. If it belongs to this comparison, a run is missing, which is an error
        // below.
        let Ok(run) = store.run(row.id.as_str()) else { continue };
        let origin = &run.target.facts.origin;
        if origin.group.as_deref() == Some(name) {
            let index = origin.side.unwrap_or(Side::A).index();
            sides[index] = Some(run);
        }
    }
    let [Some(a), Some(b)] = sides else {
        return Err(RunError::plan(format!(
            "{name}: the store does not contain both runs of this comparison; check the name and \
                --store"
        )));
    };
    let origin = &a.target.facts.origin;
    let plan_of = |run: &StoredRun| {
        Plan::from_json(&run.plan_json).map_err(|error| {
            RunError::plan(format!(
                "run {}: its plan was written by an incompatible version of this program: {error}",
                run.row.id
            ))
        })
    };
    let plans = [plan_of(&a)?, plan_of(&b)?];
    let Some(ab) = plans[0].procedure.ab() else {
        return Err(RunError::plan(format!(
            "{name}: its runs do not belong to a comparison in blocks (`inferometer ab`)"
        )));
    };
    let mut made: Vec<FromLog> = Vec::new();
    for (run, plan) in [&a, &b].into_iter().zip(&plans) {
        made.push(summarise_log(run, plan)?);
    }
    let given_sides = [&a, &b].map(|run| AbSide {
        name: run.target.facts.origin.variant.clone().unwrap_or_default(),
        run_id: run.row.id.to_string(),
    });
    let cut = [&a, &b]
        .into_iter()
        .zip(&made)
        .filter_map(|(run, made)| Some(format!("run {}: {}", run.row.id, made.cut.as_ref()?)));
    let cut = cut.collect();
    let place = place_of(&plans[0]);
    let gate = origin.gate.as_deref().map(parse_gate);
    let gate = gate.transpose().map(Option::unwrap_or_default).map_err(|_| {
        RunError::plan(format!(
            "{name}: its gate was written by an incompatible version of this program"
        ))
    })?;
    let blocks = made.iter_mut().map(|made| std::mem::take(&mut made.blocks)).collect::<Vec<_>>();
    let runs: Vec<Summary> = made.into_iter().map(|made| made.summary).collect();
    let given = Sides {
        sides: &given_sides,
        one_server: origin.one_server == Some(true),
        blocks: [&blocks[0], &blocks[1]],
        order: (plans[0].seed, origin.order_salt.as_deref().unwrap_or_default()),
        gate: &gate,
        out_of_time: is_out_of_time(&runs),
        without_noise: runs.iter().all(Summary::is_predicted_without_noise),
    };
    let answer = AbAnswer::of(ab, (place.0, &place.1), plans[0].repeat.at_most, given);
    let document = document(name.to_owned(), answer, (&gate, place.0, &place.1), runs);
    Ok(AnsweredAgain { document, place, cut })
}
