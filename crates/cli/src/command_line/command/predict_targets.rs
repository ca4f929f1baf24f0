//! `predict` of a plan with `[[target]]` tables: predicts each target, and ranks the targets as `run` does. No server
//! is started or contacted.

use std::collections::BTreeMap;

use inferometer_analysis::Summary;
use inferometer_engine::EngineConfig;
use inferometer_plan::spec::{Spec, Variant};
use inferometer_predict::{planned, predict as predict_plan};
use inferometer_report::{comparison, terminal};
use inferometer_run::{
    Events, Finished, FinishedGroup, Group, Host, PlanError, RunError, RunRequest, Servers,
    Strictness, variants,
};

use super::run::{gravest, tell_objectives};
use super::{engine_flags::EngineFlags, simulated_target::Simulated};
use crate::command_line::{Failure, print, screen, tell, variable};
use crate::plan_file::MultiTarget;

/// What is printed, and how strictly the results are judged.
#[derive(Clone, Copy)]
pub struct Printing {
    /// Whether one JSON document is printed.
    pub json: bool,
    /// Whether only errors are printed on stderr.
    pub quiet: bool,
    /// How strictly the results are judged.
    pub strictness: Strictness,
}

/// Predicts each target of a plan, prints the comparison, and evaluates the objectives. `flags` apply to each target
/// that does not state another value.
pub fn predict_targets(
    spec: &Spec,
    multi: &MultiTarget,
    flags: &EngineFlags,
    printing: Printing,
) -> Result<(), Failure> {
    let simulated = simulated(&variants(spec, &multi.targets)?, flags)?;
    let group = group(&simulated, multi.rounds)?;
    if !printing.quiet {
        simulated.iter().flat_map(|one| &one.told).for_each(|line| tell(line));
    }
    let measure = &mut measure(&simulated, printing.quiet);
    let finished = group.run_with(&Events::none(), printing.strictness, measure)?;
    print(&text(&finished, printing.json))?;
    let failures = finished.failures.into_iter().map(|(name, error)| (name, error.into()));
    gravest(failures.collect())?;
    tell_objectives(&finished.comparison.runs);
    Ok(())
}

/// Converts servers for the simulation.
///
/// # Errors
/// All mistakes, each with the name of its server.
pub(super) fn simulated(
    variants: &[Variant],
    flags: &EngineFlags,
) -> Result<Vec<Simulated>, PlanError> {
    let (mut simulated, mut mistakes) = (Vec::new(), Vec::new());
    for variant in variants {
        match Simulated::of(variant, flags) {
            Ok(found) => simulated.push(found),
            Err(error) => mistakes.extend(error.of(&variant.name).mistakes),
        }
    }
    if mistakes.is_empty() { Ok(simulated) } else { Err(mistakes.into()) }
}

/// Simulates each run of a group of predictions.
pub(super) fn measure(
    simulated: &[Simulated],
    quiet: bool,
) -> impl FnMut(RunRequest<'_>, &mut Servers) -> Result<Finished, RunError> {
    let configs: BTreeMap<&str, &EngineConfig> =
        simulated.iter().map(|one| (one.variant.name.as_str(), &one.config)).collect();
    move |request, _| {
        let name = request.context.origin.variant.as_deref().unwrap_or_default();
        let config = configs.get(name).expect("invariant: each member of the group is simulated");
        let found = predict_plan(request.plan, request.context, config, None)?;
        if !quiet {
            tell(&format!("{name}: {}", found.time));
        }
        let (summary, run, folder) = (found.summary, found.run, Some(found.folder));
        Ok(Finished { summary, run, folder, interrupted: false })
    }
}

/// The group of predictions, with the plan of each target.
pub(super) fn group(simulated: &[Simulated], rounds: u32) -> Result<Group, Failure> {
    let variants = simulated.iter().map(|one| one.variant.clone()).collect();
    let mut group = Group::resolve(variants, rounds, None, &Host::default(), &variable)?;
    let mut mistakes = Vec::new();
    for (member, one) in group.members.iter_mut().zip(simulated) {
        let salt = Some(member.context.salt.clone());
        let spec = Spec { salt, ..one.variant.spec.clone() };
        match planned(spec, one.flags.given(), None, &variable) {
            Ok((plan, context)) => (member.plan, member.context) = (plan, context),
            Err(error) => mistakes.extend(error.of(&one.variant.name).mistakes),
        }
    }
    if mistakes.is_empty() { Ok(group) } else { Err(PlanError::from(mistakes).into()) }
}

fn text(FinishedGroup { comparison, folder, plots, .. }: &FinishedGroup, json: bool) -> String {
    if json {
        return comparison::json(comparison);
    }
    let runs: Vec<Summary> = comparison::over_rounds(&comparison.runs);
    let mut text = terminal::text(&runs, screen()) + &comparison::text(comparison);
    if !runs.is_empty() {
        let (plots, folder) = (plots.place(folder), folder.display());
        text += &format!(
            "\ncomparison: {folder}/comparison.html, {folder}/comparison.md{plots}; a report of each \
             prediction in a subfolder\n"
        );
    }
    text
}
