//! The plan of a prediction: the one of a run, of a grid, with what it is compared with.

use std::collections::BTreeMap;

use inferometer_model::cell::CellPlan;
use inferometer_plan::Plan;
use inferometer_plan::spec::Spec;
use inferometer_run::{Context, Learned, PlanError, Variables, resolve_with};

use crate::against::Against;

/// Resolves the plan of a prediction. Without lengths in the spec, the rows of `against` are the grid;
/// they also say how many requests are predicted, where that is known and the spec does not.
/// `engine_flags`: arguments of the embedded engine that were given, by name.
///
/// # Errors
/// A server or a search in the spec, every mistake of the plan, and an `against` without a row of the
/// grid.
pub fn planned(
    mut spec: Spec,
    engine_flags: BTreeMap<String, String>,
    against: Option<&Against>,
    variables: Variables<'_>,
) -> Result<(Plan, Context), PlanError> {
    refuse_servers(&spec)?;
    if spec.search.is_some() {
        return Err(PlanError::new("search: is played in virtual time by `search --predict`"));
    }
    let own_lengths = spec.input_lengths.is_some() || spec.output_lengths.is_some();
    if let Some(against) = against {
        if !own_lengths {
            against.ask_for_its_grid(&mut spec);
        }
        against.ask_for_its_counts(&mut spec);
    }
    let choose = |cells: Vec<CellPlan>| match against {
        Some(against) => {
            let common = against.common(&cells)?;
            Ok(if own_lengths { cells } else { common })
        }
        None => Ok(cells),
    };
    resolve_with(&spec, Learned { engine_flags, cells: Some(&choose) }, variables)
}

/// Refuses a server: a prediction is of the embedded engine.
///
/// # Errors
/// When the spec has a target or starts a server.
pub fn refuse_servers(spec: &Spec) -> Result<(), PlanError> {
    if spec.target.is_some() {
        return Err(PlanError::new("target: nothing is sent to a server; leave it out, or `run`"));
    }
    if spec.server.is_some() {
        return Err(PlanError::new("server: nothing is started for a prediction; leave it out"));
    }
    Ok(())
}
