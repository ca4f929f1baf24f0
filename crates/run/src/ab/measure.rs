//! Compares two servers, or one server with itself: measures two runs in alternating blocks, and writes the answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inferometer_analysis::ab::{AbAnswer, AbEnding, AbSide, Block, Sides};
use inferometer_analysis::{PassSummary, Summary, compare::Condition};
use inferometer_model::digits::percent;
use inferometer_model::target::{Origin, Side};
use inferometer_model::url::parse_url;
use inferometer_model::{CellPlan, OutcomeCounts, PassPlan, StopReason, code};
use inferometer_net::http::client::lead_to_same_server;
use inferometer_plan::Plan;
use inferometer_plan::spec::{AbSpec, Spec, Variant};
use inferometer_report::ab::{AB_SCHEMA, AbDocument};
use inferometer_report::{PlotFiles, progress::Notice};

use super::settings::limits_not_reached;
use crate::session::{Pairing, carry_out_pairs};
use crate::verdict::{failures, suspect};
use crate::{
    Context, Events, Finished, Host, Member, Outputs, PlanError, PlanInputs, ReportFiles, RunError,
    RunRequest, Servers, Shortfall, Strictness, Variables, inputs::credentials,
    inputs::resolve::fresh_salt, resolve_with, results::outputs,
};

/// The prefix of the name of a comparison.
pub const AB: &str = "ab-";
/// The default names of the sides.
const NAMES: [&str; 2] = ["A", "B"];

/// A comparison with the resolved plans of both sides.
pub struct AbRun {
    /// The name of the comparison.
    pub name: String,
    /// Both sides, A first.
    pub sides: [Member; 2],
    /// Whether both sides are one server with the same settings.
    pub one_server: bool,
    /// Whether the two sides get different prompts of the same lengths. This is so if both sides send their requests to
    /// one server, because this server may cache prompts.
    pub different_prompts: bool,
    /// The gate: conditions on the differences between the sides.
    pub gate: Vec<Condition>,
}

/// A comparison that has ended, complete or not.
pub struct FinishedAb {
    /// The answer, with the results of both runs.
    pub document: AbDocument,
    /// The folder with the files of the answer.
    pub folder: PathBuf,
    /// The form and the colours of its plots.
    pub plots: PlotFiles,
    /// The cell and the load that were compared. A gate needs them.
    pub place: (CellPlan, PassPlan),
    /// Errors and shortfalls, each with the name of its side (empty for both sides).
    pub failures: Vec<(String, RunError)>,
}

impl AbRun {
    /// Resolves the plans of both sides. `variants` has two servers, or one server that is compared with itself.
    /// `engine_flags` has the arguments of the embedded engine on each side. `gate` has conditions on the differences.
    ///
    /// # Errors
    /// All mistakes in the plans of both sides. If there are none: the first reason why the sides or the conditions of
    /// the gate cannot be compared.
    pub fn resolve(
        variants: Vec<Variant>,
        engine_flags: [BTreeMap<String, String>; 2],
        gate: Vec<Condition>,
        (host, variables): (&Host, Variables<'_>),
    ) -> Result<Self, RunError> {
        let (variants, [is_same, lead_to_same_server]) = both(variants)?;
        let one_server = is_same && engine_flags[0] == engine_flags[1];
        let different_prompts = one_server || lead_to_same_server;
        let conditions: Vec<&str> = gate.iter().map(|condition| condition.text.as_str()).collect();
        let conditions = conditions.join(",");
        let salt = variants[0].spec.salt.clone().unwrap_or_else(fresh_salt);
        let name = format!("{AB}{}", fresh_salt());
        let folder = variants[0]
            .spec
            .out
            .clone()
            .map_or_else(|| Path::new(outputs::DEFAULT_FOLDER).join(&name), PathBuf::from);
        let mut mistakes: Vec<String> = Vec::new();
        let mut sides = Vec::new();
        for ((variant, side), engine_flags) in variants.into_iter().zip(Side::ALL).zip(engine_flags)
        {
            let learned = PlanInputs { engine_flags, ..PlanInputs::default() };
            // With different salts, the two sides get different prompts: one server may cache prompts.
            let own = if different_prompts {
                format!("{salt}-{}", NAMES[side.index()])
            } else {
                salt.clone()
            };
            let spec = Spec {
                salt: Some(own),
                ab: Some(variant.spec.ab.clone().unwrap_or_else(AbSpec::default)),
                ..variant.spec.clone()
            }
            .with_defaults_of_ab();
            let named = credentials::check_name(&variant.name, &spec, variables);
            match named.and_then(|()| resolve_with(&spec, learned, variables)) {
                Ok((plan, mut context)) => {
                    context.host = host.clone();
                    context.out = Some(folder.join(side.name()));
                    context.files = ReportFiles::Figures;
                    context.origin = Origin {
                        group: Some(name.clone()),
                        variant: Some(variant.name.clone()),
                        side: Some(side),
                        one_server: Some(one_server),
                        order_salt: Some(salt.clone()),
                        gate: (!gate.is_empty()).then(|| conditions.clone()),
                        ..Origin::default()
                    };
                    if side == Side::B {
                        // Side A asks the user, and looks for local servers, for both sides.
                        context.host.confirm = None;
                        context.host.find_local_servers = false;
                    }
                    sides.push(Member { variant, plan, context });
                }
                Err(error) => {
                    let secrets = credentials::secrets(&spec, variables);
                    for mistake in error.redacted(&secrets).mistakes {
                        if !mistakes.contains(&mistake) {
                            mistakes.push(mistake);
                        }
                    }
                }
            }
        }
        let sides: Result<[Member; 2], _> = sides.try_into();
        let sides = sides.map_err(|_| PlanError::from(mistakes))?;
        check_prompts(&sides[0].plan, different_prompts)?;
        check_launched(&sides, one_server)?;
        let found = Self { name, sides, one_server, different_prompts, gate };
        found.check_gate()?;
        Ok(found)
    }

    /// The cell and the load of a block.
    pub fn place(&self) -> (CellPlan, PassPlan) {
        place_of(&self.sides[0].plan)
    }

    /// Refuses a condition on a figure that is not compared.
    fn check_gate(&self) -> Result<(), PlanError> {
        let figures = self.sides[0].plan.procedure.ab().into_iter().flat_map(|ab| &ab.figures);
        let names: Vec<String> = figures.map(|figure| figure.name()).collect();
        match self.gate.iter().find(|condition| !names.contains(&condition.figure)) {
            None => Ok(()),
            Some(Condition { text, figure, .. }) => Err(PlanError::new(format!(
                "--gate: `{text}`: this comparison does not include {figure}; it \
                    includes {}; choose others with --metric",
                names.join(", ")
            ))),
        }
    }

    /// The document of a comparison. The times in the blocks of both sides must have the same origin.
    pub fn document(&self, blocks: [&[Block]; 2], runs: Vec<Summary>) -> AbDocument {
        let plan = &self.sides[0].plan;
        let ab =
            plan.procedure.ab().expect("invariant: the plan of a comparison has the part `ab`");
        let (cell, pass) = self.place();
        let sides = [0, 1].map(|at| AbSide {
            name: self.sides[at].variant.name.clone(),
            run_id: runs.get(at).map(|run| run.run_id.clone()).unwrap_or_default(),
        });
        let given = Sides {
            sides: &sides,
            one_server: self.one_server,
            blocks,
            order: (plan.seed, order_salt(&self.sides[0].context)),
            gate: &self.gate,
            out_of_time: is_out_of_time(&runs),
            without_noise: runs.iter().all(Summary::is_predicted_without_noise),
        };
        let answer = AbAnswer::of(ab, (cell, &pass), plan.repeat.at_most, given);
        document(self.name.clone(), answer, (&self.gate, cell, &pass), runs)
    }

    /// The shortfalls of a comparison, such as failed requests, each with the name of its side (empty for both sides).
    pub fn shortfalls(
        &self,
        document: &AbDocument,
        strictness: Strictness,
    ) -> Vec<(String, RunError)> {
        let answer = &document.ab;
        let is_too_short = answer.ended_by == AbEnding::MaxTime && answer.pairs == 0;
        let none = (answer.ended_by == AbEnding::NoFigure || is_too_short)
            .then(|| (String::new(), Shortfall::Failed(answer.sentence.clone()).into()));
        let of_side = |(summary, side): (&Summary, &Member)| {
            let why = shortfall(summary, side.plan.max_failures, strictness)?;
            Some((side.variant.name.clone(), why.into()))
        };
        let sides = document.runs.iter().zip(&self.sides).filter_map(of_side);
        none.into_iter().chain(sides).collect()
    }

    /// Creates and locks the folder of the answer.
    ///
    /// # Errors
    /// When the folder cannot be written, or another process writes a report there.
    pub fn outputs(&self) -> Result<Outputs, RunError> {
        Outputs::prepare(self.sides[0].context.out.as_deref().and_then(Path::parent))
    }

    /// The form and the colours of the plots of the answer.
    pub fn plots(&self) -> PlotFiles {
        self.sides[0].context.plots
    }

    /// Measures both sides and writes the answer.
    ///
    /// # Errors
    /// When one of the runs has no results, or the answer cannot be written. Recorded passes stay in the store.
    pub fn run(self, events: &Events, strictness: Strictness) -> Result<FinishedAb, RunError> {
        let outputs = self.outputs()?;
        let mut servers = [Servers::default(), Servers::default()];
        events.say(&Notice::AbBegins { name: self.name.clone() });
        let requests = self.sides.each_ref().map(|Member { plan, context, .. }| RunRequest {
            plan,
            context,
            events,
        });
        let pairing = Pairing {
            different_prompts: self.different_prompts,
            order_salt: order_salt(&self.sides[0].context),
            gate: &self.gate,
        };
        if self.different_prompts && !self.one_server {
            events.say(&Notice::DifferentPrompts);
        }
        let pairs = carry_out_pairs(requests, &mut servers, pairing);
        servers.iter_mut().for_each(|servers| servers.end(events));
        let pairs = pairs?;
        let mut failures = Vec::new();
        let mut finished: Vec<Finished> = Vec::new();
        for (run, side) in pairs.runs.into_iter().zip(&self.sides) {
            let name = || side.variant.name.clone();
            match run {
                Ok((run, broken)) => {
                    finished.push(run);
                    failures.extend(broken.map(|error| (name(), error)));
                }
                Err(error) => failures.push((name(), error)),
            }
        }
        let Ok(finished) = <[Finished; 2]>::try_from(finished) else {
            return Err(first(failures));
        };
        if finished.iter().any(|run| run.interrupted) {
            let why = format!(
                "interrupted; the records are kept: inferometer report {} prints the answer so far",
                self.name
            );
            failures.push((String::new(), Shortfall::Interrupted(why).into()));
        }
        // Both sides were measured in one process, so their clocks have the same origin.
        let blocks = pairs.blocks.each_ref().map(Vec::as_slice);
        let document = self.document(blocks, finished.map(|run| run.summary).to_vec());
        failures.extend(self.shortfalls(&document, strictness));
        outputs::write_ab(outputs.folder(), &document, self.plots())?;
        let folder = outputs.folder().to_owned();
        Ok(FinishedAb { document, folder, plots: self.plots(), place: self.place(), failures })
    }
}

/// The document of an answer. If a condition names a figure that no pair of blocks has, no condition is judged.
pub(crate) fn document(
    group: String,
    mut answer: AbAnswer,
    (gate, cell, pass): (&[Condition], CellPlan, &PassPlan),
    runs: Vec<Summary>,
) -> AbDocument {
    answer.findings.extend(limits_not_reached(&runs));
    let gate = answer.judged(gate, (cell, pass)).unwrap_or_default();
    AbDocument { schema: AB_SCHEMA.to_owned(), group, gate, ab: answer, runs }
}

/// Whether the time limit ended a block of one of the runs.
pub(crate) fn is_out_of_time(runs: &[Summary]) -> bool {
    let passes = runs.iter().flat_map(|run| &run.cells).flat_map(|cell| &cell.passes);
    passes.into_iter().any(|pass| pass.stopped == Some(StopReason::MaxTime))
}

/// Returns both sides with names, and two flags: whether both sides have the same server and the same spec, and whether
/// both addresses lead to the same server.
fn both(mut variants: Vec<Variant>) -> Result<([Variant; 2], [bool; 2]), RunError> {
    let count = variants.len();
    if count == 1 {
        variants.extend(variants.first().cloned());
    }
    let mut both: [Variant; 2] = variants.try_into().map_err(|_| {
        RunError::plan(format!(
            "target (--target): a comparison has one or two servers, but {count} were given; leave \
                out the others"
        ))
    })?;
    let [a, b] = &both;
    let url = |variant: &Variant| parse_url(variant.spec.target.as_ref()?.only()?).ok();
    let lead_to_same_server = url(a).zip(url(b)).is_some_and(|(a, b)| lead_to_same_server(&a, &b));
    // The addresses of one server may contain different host names.
    let target = if lead_to_same_server { a.spec.target.clone() } else { b.spec.target.clone() };
    let is_same = a.spec == Spec { target, ..b.spec.clone() };
    for (variant, name) in both.iter_mut().zip(NAMES) {
        if count == 1 || variant.name.is_empty() || variant.name.contains("://") {
            let place = url(variant).filter(|url| !lead_to_same_server && url.unix.is_none());
            let at = place.map_or_else(String::new, |url| format!(" ({})", url.authority()));
            variant.name = name.to_owned() + &at;
        }
    }
    Ok((both, [is_same, lead_to_same_server]))
}

/// Refuses a data set if one server would get each of its prompts twice: once from each side.
fn check_prompts(plan: &Plan, different_prompts: bool) -> Result<(), RunError> {
    if different_prompts && plan.workload.dataset().is_some() {
        return Err(RunError::plan(format!(
            "workload (--workload): to compare a server with itself, each side needs different \
                prompts of the same lengths, but {} has the same rows for both sides; use --workload random",
            plan.workload.name()
        )));
    }
    Ok(())
}

/// Refuses servers that cannot run at the same time.
fn check_launched(sides: &[Member; 2], one_server: bool) -> Result<(), RunError> {
    let launched = sides.each_ref().map(|side| side.plan.launch.as_ref());
    if one_server && launched[0].is_some() {
        return Err(RunError::plan(
            "server: to compare one server with itself, start it yourself and give its address \
                (--target); with [server], it would be started twice",
        ));
    }
    match launched.map(|launch| launch.and_then(|it| it.port)) {
        [Some(a), Some(b)] if a == b => Err(RunError::plan(format!(
            "server: both servers would listen on port {a}; leave out `port`"
        ))),
        _ => Ok(()),
    }
}

/// The cell and the load of a block.
pub(crate) fn place_of(plan: &Plan) -> (CellPlan, PassPlan) {
    let cell = *plan.cells.first().expect("invariant: the plan of a comparison has one cell");
    let pass = plan.passes_of(cell).into_iter().next();
    (cell, pass.expect("invariant: the plan of a comparison has one pass"))
}

fn first(failures: Vec<(String, RunError)>) -> RunError {
    let first = failures.into_iter().next();
    let (name, error) = first.expect("invariant: each run without results has an error");
    error.of(&name)
}

/// The shortfall of the results of one side, if there is one. A single block has too few requests to estimate the share
/// of failures, so failures are counted over all blocks.
fn shortfall(summary: &Summary, limit: f64, strictness: Strictness) -> Option<Shortfall> {
    if let Some(died) = summary.findings.iter().find(|finding| finding.is(code::SERVER_DIED)) {
        return Some(Shortfall::Failed(died.message.clone()));
    }
    let passes = || summary.cells.iter().flat_map(|cell| &cell.passes);
    let mut outcomes = OutcomeCounts::default();
    passes().for_each(|pass| outcomes.add_all(&pass.outcomes));
    // If the time limit ended a block before its first request completed, the server may work correctly.
    let is_cut = |pass: &PassSummary| pass.stopped == Some(StopReason::MaxTime);
    if outcomes.total() > 0 && outcomes.complete == 0 && !passes().all(is_cut) {
        return Some(Shortfall::Failed(format!("no request completed ({outcomes})")));
    }
    let [failed, of] =
        passes().map(failures).fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
    if failed as f64 > limit * of.max(1) as f64 {
        return Some(Shortfall::Failed(format!(
            "{failed} of {of} requests failed, more than --max-failures {}% ({outcomes})",
            percent(limit)
        )));
    }
    suspect(summary).filter(|_| strictness == Strictness::Strict)
}

/// The salt of the random order of blocks.
pub fn order_salt(context: &Context) -> &str {
    context.origin.order_salt.as_deref().unwrap_or_default()
}
