//! Resolves the plan of a prediction from a spec and from the measurements that it is compared with.

use std::collections::BTreeMap;

use inferometer_model::CellPlan;
use inferometer_plan::{Plan, spec::Spec};
use inferometer_run::{Context, PlanError, PlanInputs, Variables, resolve_with};

use crate::MeasuredRows;

/// Resolves the plan of a prediction. If the spec has no lengths, the lengths of the rows of `against` are used. If the
/// spec has no load and no number of requests, the number in `against` is used, if it is known. `engine_flags` are the
/// given arguments of the embedded engine, by name.
///
/// # Errors
/// All mistakes together. It is a mistake if the spec has a server, a search, a sweep or a comparison, if the plan is
/// invalid, or if `against` has no row for any cell of the grid. If `against` has passes, the keys of loads
/// (`passes`, `rate`, `stages`, `replay` and others) are a mistake.
pub fn planned(
    mut spec: Spec,
    engine_flags: BTreeMap<String, String>,
    against: Option<&MeasuredRows>,
    variables: Variables<'_>,
) -> Result<(Plan, Context), PlanError> {
    let misplaced = misplaced(&spec);
    let own_lengths = spec.input_lengths.is_some() || spec.output_lengths.is_some();
    if let Some(against) = against {
        if !own_lengths {
            against.set_grid(&mut spec);
        }
        against.set_counts(&mut spec);
    }
    let choose = |cells: Vec<CellPlan>| match against {
        Some(against) => {
            let common = against.common(&cells)?;
            Ok(if own_lengths { cells } else { common })
        }
        None => Ok(cells),
    };
    let resolved =
        resolve_with(&spec, PlanInputs { engine_flags, cells: Some(&choose) }, variables);
    let (mut plan, context) = match (resolved, misplaced.is_empty()) {
        (resolved, true) => resolved?,
        (resolved, false) => {
            let others = resolved.err().map_or_else(Vec::new, |error| error.mistakes);
            return Err([misplaced, others].concat().into());
        }
    };
    if let Some(against) = against.filter(|against| !against.passes.is_empty()) {
        // The measured passes replace the passes of the plan, so loads in the spec are rejected.
        refuse_loads(&spec, &against.origin)?;
        plan.passes.clear();
        for pass in &against.passes {
            if !plan.passes.contains(&pass.run.pass) {
                plan.passes.push(pass.run.pass.clone());
            }
        }
    }
    Ok((plan, context))
}

/// Rejects loads in the spec, because the measured passes provide them.
fn refuse_loads(spec: &Spec, origin: &str) -> Result<(), PlanError> {
    let loads = ["passes", "rate", "concurrency", "requests", "one_by_one", "stages", "replay"];
    let given = spec.given(&[&loads[..], &["replay_rows", "duration"]].concat());
    match given.first() {
        Some(key) => Err(PlanError::new(format!(
            "{key}: the load comes from {origin}; leave out {key}, or leave out --against"
        ))),
        None => Ok(()),
    }
}

/// Returns the mistakes in the settings of the engine, and the mistakes in the other keys of the plan, so that all
/// mistakes are reported together. If two mistakes concern the same key, the mistake of the engine is left out.
pub fn with_mistakes_of_plan(
    of_engine: PlanError,
    spec: &Spec,
    variables: Variables<'_>,
) -> PlanError {
    let resolved = planned(spec.clone(), BTreeMap::new(), None, variables);
    let others = resolved.err().map_or_else(Vec::new, |error| error.mistakes);
    let is_told = |mistake: &String| {
        let flag = mistake.split([':', ' ']).next().unwrap_or_default();
        others.iter().any(|other| other.contains(&format!("({flag})")))
    };
    let mut all: Vec<String> =
        of_engine.mistakes.into_iter().filter(|mistake| !is_told(mistake)).collect();
    all.extend(others);
    all.into()
}

/// Returns one mistake for each table or key of the spec that a prediction of a grid cannot have.
fn misplaced(spec: &Spec) -> Vec<String> {
    let mut mistakes = refuse_servers(spec).err().map_or_else(Vec::new, |error| error.mistakes);
    let tables = [
        (
            spec.sweep.is_some(),
            "sweep: use `inferometer sweep --predict` for a sweep in virtual time",
        ),
        (spec.ab.is_some(), "ab: use `inferometer ab --predict` to compare two settings"),
        (
            spec.search.is_some(),
            "search: use `inferometer search --predict` for a search in virtual time",
        ),
    ];
    let of_tables = tables.into_iter().filter(|(is_given, _)| *is_given);
    mistakes.extend(of_tables.map(|(_, mistake)| mistake.to_owned()));
    mistakes
}

/// Rejects a server, because predictions use the embedded engine.
///
/// # Errors
/// If the spec has a target or starts a server.
pub fn refuse_servers(spec: &Spec) -> Result<(), PlanError> {
    let given = [
        (
            spec.target.is_some(),
            "target: a prediction contacts no server; leave out target, or use `inferometer run`",
        ),
        (spec.server.is_some(), "server: a prediction starts no server; leave out server"),
    ];
    let mistakes: Vec<String> =
        given.into_iter().filter(|given| given.0).map(|given| given.1.to_owned()).collect();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_load_is_refused_if_the_measured_passes_provide_the_loads() {
        for (key, keys) in [
            ("passes", r#"{"passes": ["saturated"]}"#),
            ("rate", r#"{"rate": [2]}"#),
            ("concurrency", r#"{"concurrency": [2]}"#),
            ("requests", r#"{"requests": 5}"#),
            ("one_by_one", r#"{"one_by_one": 5}"#),
            ("stages", r#"{"stages": "30s@2,30s@8"}"#),
            ("replay", r#"{"replay": "times.txt"}"#),
            ("replay_rows", r#"{"replay_rows": true}"#),
            ("duration", r#"{"duration": "30s"}"#),
        ] {
            let spec: Spec = serde_json::from_str(keys).unwrap();
            let told = refuse_loads(&spec, "run 1").unwrap_err().mistakes.join("; ");
            assert_eq!(
                told,
                format!(
                    "{key}: the load comes from run 1; leave out {key}, or leave out --against"
                )
            );
        }
        assert!(refuse_loads(&Spec::default(), "run 1").is_ok());
    }
}
