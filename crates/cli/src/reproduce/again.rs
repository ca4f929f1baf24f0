//! Resolves the plan of a bundled run again, to measure it from this machine. The address, headers, certificates and
//! API key variable of the original run are not used. The command of its server is used only if requested.

use inferometer_model::CellPlan;
use inferometer_plan::spec::{CommandLine, ObserveKeys, ServerSpec, Spec};
use inferometer_plan::{LaunchPlan, Plan, TargetPlan};
use inferometer_run::{
    Context, EarlierWork, PlanError, PlanInputs, resolve_with, spelled_out, variants,
};
use inferometer_store::{RunKind, RunState};
use serde_json::Value;

use super::{data::locate_files, here::LocalSetup};
use crate::bundle::{Bundle, Bundled, CARD, set_file};
use crate::{plan_file, stored_error::StoredRunError};

/// A run that will be measured again.
pub struct RepeatedRun {
    /// The plan, resolved for this machine.
    pub plan: Plan,
    /// The context of the run.
    pub context: Context,
}

/// Resolves the plan of a bundled run again.
///
/// # Errors
/// If the run cannot be measured again, if a data file is missing, if the plan resolves to other loads or settings than
/// in the bundle, or if the plan would start another server command than the run.
pub fn again(
    bundle: &Bundle,
    run: &Bundled,
    here: &LocalSetup,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<RepeatedRun, StoredRunError> {
    let there = measurable(run)?;
    let mut spec = asked(run, &there, here)?;
    let mut engine_flags = engine_flags(&there, here);
    for (key, file) in locate_files(bundle, &there, here)? {
        if key == CARD {
            // If a server is measured here instead of the embedded engine, there is no flag for a card.
            engine_flags.entry(key).and_modify(|named| *named = file.display().to_string());
            continue;
        }
        if !set_file(&mut spec, &key, &file) {
            return Err(StoredRunError::refused(format!(
                "{}: its manifest has a file for the key `{key}`, but the value of this key \
                    cannot be a file",
                bundle.path.display()
            )));
        }
    }
    let spec = with_keys(&spec, here)?;
    let mut all = variants(&spec, &[])?;
    let only = all.pop().filter(|_| all.is_empty());
    let only = only.ok_or_else(|| StoredRunError::refused("the plan measures several servers"))?;
    let choose = |cells: Vec<CellPlan>| chosen(cells, &there);
    let learned = PlanInputs { engine_flags, cells: Some(&choose) };
    let (plan, mut context) = resolve_with(&only.spec, learned, variables)?;
    check_same(run, &there, &plan)?;
    check_command(run, &there, &plan, here)?;
    context.store.clone_from(&here.store);
    context.out.clone_from(&here.out);
    context.same_work = earlier_work(run, here);
    Ok(RepeatedRun { plan, context })
}

/// Rejects a bundle if its plan would start a server command that differs from the recorded command. The user has seen
/// only the recorded command.
fn check_command(
    run: &Bundled,
    there: &Plan,
    plan: &Plan,
    here: &LocalSetup,
) -> Result<(), StoredRunError> {
    let (Some(shown), Some(starts), true) = (&there.launch, &plan.launch, here.start_server) else {
        return Ok(());
    };
    let what = |launch: &LaunchPlan| {
        (launch.command.clone(), launch.environment.clone(), launch.directory.clone())
    };
    if what(shown) == what(starts) {
        return Ok(());
    }
    Err(StoredRunError::refused(format!(
        "run {} records that its server was started by `{}`, but its plan would start `{}`: start \
            the server yourself and give --target, or give --server-command",
        run.id,
        shown.command.join(" "),
        starts.command.join(" ")
    )))
}

/// The plan of a run, if the run can be measured again.
fn measurable(run: &Bundled) -> Result<Plan, StoredRunError> {
    let id = &run.id;
    let refused = |why: &str| Err(StoredRunError::refused(format!("run {id} {why}")));
    if run.kind == RunKind::Imported {
        return refused("was imported, not planned: its requests are unknown");
    }
    if run.state != RunState::Complete {
        return refused(
            "is not complete, so it cannot be compared; `inferometer import` can read it",
        );
    }
    let plan = run.plan()?;
    match plan.procedure.chooses_loads() {
        true => refused(
            "is a search or a sweep, whose loads depend on its measurements, so its requests cannot be \
                repeated; measure one of its loads (`inferometer run`), and bundle that run",
        ),
        false => Ok(plan),
    }
}

/// The spec of the new run. The paths of data files are set later.
fn asked(run: &Bundled, there: &Plan, here: &LocalSetup) -> Result<Spec, StoredRunError> {
    let environment = &run.summary.environment;
    // With another server, absent keys could get other defaults. So the spec states all keys.
    let asked = spelled_out(&there.spec)?;
    let mut spec = Spec {
        seed: Some(there.seed),
        salt: environment.salt.clone().or_else(|| there.spec.salt.clone()),
        server_card: None,
        loops: None,
        observe: ObserveKeys::default(),
        store: None,
        out: None,
        dump_workload: None,
        ..asked.without_server()
    };
    if here.new_salt {
        spec.salt = None;
    }
    if let Some(repeat) = here.repeat {
        (spec.repeat, spec.until, spec.max_repeats) = (Some(repeat), None, None);
    }
    let gives_server = here.keys.contains_key("target") || here.server_command.is_some();
    let is_embedded = matches!(there.target, TargetPlan::Embedded { .. });
    if run.kind == RunKind::Predicted {
        if gives_server || here.start_server {
            return Err(StoredRunError::refused(format!(
                "run {} is a prediction, which is repeated in virtual time: leave out \
                    --target, --server-command and --start-server",
                run.id
            )));
        }
        // Use the seed of the original noise, which may have been derived from a salt that is no longer known.
        let noise = run.summary.target.facts.noise.clone();
        spec.noise = noise.or(spec.noise);
    } else if gives_server && is_embedded {
        (spec.model, spec.profile, spec.speed, spec.noise) = (None, None, None, None);
    } else if !gives_server && !is_embedded {
        spec.server = Some(servers_own(run, there, here)?);
    }
    Ok(spec)
}

/// The environment variables and the working folder of a server's command, as text for a message.
fn beside(launch: &LaunchPlan) -> String {
    let variables = launch.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let variables = variables.collect::<Vec<_>>().join(" ");
    let folder = launch.directory.as_ref().map(|folder| format!(" in the folder {folder}"));
    let with = if variables.is_empty() { variables } else { format!(" with {variables}") };
    format!("{with}{}", folder.unwrap_or_default())
}

/// The server that the bundle's run started, if the user requested to start it.
fn servers_own(
    run: &Bundled,
    there: &Plan,
    here: &LocalSetup,
) -> Result<ServerSpec, StoredRunError> {
    let Some(launch) = &there.launch else {
        return Err(StoredRunError::refused(format!(
            "run {} measured {}: give the server to measure now with --target, or a command that \
                starts it with --server-command",
            run.id, run.summary.target.url
        )));
    };
    match (&there.spec.server, here.start_server) {
        (Some(server), true) => Ok(server.clone()),
        _ => Err(StoredRunError::refused(format!(
            "run {} started its server by the command `{}`{}: --start-server runs that command here, as \
             you; instead of this flag, you can give --target or --server-command",
            run.id,
            launch.command.join(" "),
            beside(launch)
        ))),
    }
}

/// The spec with the user's keys for the connection to the server. If the user gave a command that starts the server,
/// the spec also has this command.
fn with_keys(spec: &Spec, here: &LocalSetup) -> Result<Spec, StoredRunError> {
    let mut spec = spec.clone();
    if let Some(line) = &here.server_command {
        let model = here.keys.get("model").and_then(Value::as_str).map(str::to_owned);
        let mut server =
            ServerSpec { command: Some(CommandLine::Shell(line.clone())), ..ServerSpec::default() };
        if server.has_place_for_model() {
            server.model = model.or_else(|| spec.model.clone());
        }
        spec.server = Some(server);
    }
    let mut keys = spec.keys();
    keys.retain(|_, value| !value.is_null());
    plan_file::override_with(&mut keys, here.keys.clone());
    Ok(plan_file::merge(None, keys, plan_file::OverrideOrigin::Flags)?)
}

/// Returns the cells of the original run, because a prediction may have covered only a part of its grid. Returns an
/// error if the resolved plan does not have one of these cells.
fn chosen(cells: Vec<CellPlan>, there: &Plan) -> Result<Vec<CellPlan>, PlanError> {
    match there.cells.iter().find(|cell| !cells.contains(cell)) {
        None => Ok(there.cells.clone()),
        Some(cell) => {
            Err(PlanError::new(format!("the run has the cell {cell}, but its plan does not")))
        }
    }
}

/// The flags of the embedded engine, without `noise`, which is a key of the spec. Empty if a server is measured here.
fn engine_flags(there: &Plan, here: &LocalSetup) -> std::collections::BTreeMap<String, String> {
    match &there.target {
        TargetPlan::Embedded { engine_flags, .. }
            if !here.keys.contains_key("target") && here.server_command.is_none() =>
        {
            let flags = engine_flags.iter().filter(|(name, _)| *name != "noise");
            flags.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        _ => std::collections::BTreeMap::new(),
    }
}

/// Checks that this program resolves the plan to the same loads and settings as in the bundle. The requests are
/// compared later, by their hash.
fn check_same(run: &Bundled, there: &Plan, here: &Plan) -> Result<(), StoredRunError> {
    // A load from a recording contains the path of the recording, which differs here. So the loads of a plan with a
    // recording are not compared; the hash of the requests covers the due times.
    let is_recorded = there.passes.iter().any(|pass| pass.clone().recording_mut().is_some());
    let parts = [
        ("cells", there.cells == here.cells),
        ("loads", is_recorded || there.passes == here.passes),
        ("sampling", there.sampling == here.sampling),
        ("warm-up", there.warmup == here.warmup),
        ("limit in prefill", there.max_in_prefill == here.max_in_prefill),
        ("pause between passes", there.cooldown == here.cooldown),
        ("token ids", there.token_ids == here.token_ids),
        ("chat template", there.count_template == here.count_template),
        ("prefix cache", there.reset_prefix_cache == here.reset_prefix_cache),
        ("workload", there.workload.name() == here.workload.name()),
    ];
    let differ: Vec<&str> =
        parts.iter().filter(|(_, is_same)| !is_same).map(|(name, _)| *name).collect();
    match differ.is_empty() {
        true => Ok(()),
        false => Err(StoredRunError::refused(format!(
            "run {}: this program ({}) resolves its plan differently: {} differ; use inferometer \
                {}, which created it",
            run.id,
            env!("CARGO_PKG_VERSION"),
            differ.join(", "),
            run.about.tool.version
        ))),
    }
}

/// The hash of the requests that the bundle's run sent. The new run must send the same requests. None for predictions,
/// if new prompts were requested, and if the run has no hash.
fn earlier_work(run: &Bundled, here: &LocalSetup) -> Option<EarlierWork> {
    let is_checked = run.kind == RunKind::Measured && !here.new_salt;
    let workload_hash = run.summary.workload_hash.clone().filter(|_| is_checked)?;
    let repeats = run.summary.cells.iter().map(|cell| {
        let repeats = cell.passes.iter().map(|pass| pass.repeat).max().unwrap_or(1);
        // In a bundle of unknown origin, the number of repeats may be wrong, so it is limited to the number of passes.
        let passes = u32::try_from(cell.passes.len()).unwrap_or(u32::MAX);
        (cell.plan(), repeats.min(passes))
    });
    Some(EarlierWork {
        run: run.id.to_string(),
        workload_hash,
        repeats: repeats.collect(),
        environment: run.summary.environment.clone(),
        tool_version: run.about.tool.version.clone(),
    })
}
