//! The plan of a bundled run, resolved again for a server here. What the bundle says of the server there is
//! not used: no address, no header, no certificate, no variable, and no command unless it is asked for.

use inferometer_model::cell::CellPlan;
use inferometer_plan::spec::{CommandLine, ObserveKeys, ServerSpec, Spec};
use inferometer_plan::{LaunchPlan, Plan, TargetPlan};
use inferometer_run::{
    Context, EarlierWork, Learned, PlanError, resolve_with, spelled_out, variants,
};
use inferometer_store::{RunKind, RunState};
use serde_json::Value;

use super::ReproduceError;
use super::data::placed;
use super::here::Here;
use crate::bundle::{Bundle, Bundled, CARD, name_instead};
use crate::plan_file;

/// A run to be measured again.
pub struct Again {
    /// Its plan.
    pub plan: Plan,
    /// What is needed beside it.
    pub context: Context,
}

/// Resolves the plan of a bundled run again.
///
/// # Errors
/// When it cannot be measured again, data are missing, or the plan comes out another.
pub fn again(
    bundle: &Bundle,
    run: &Bundled,
    here: &Here,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<Again, ReproduceError> {
    let there = measurable(run)?;
    let mut spec = asked(run, &there, here)?;
    let mut engine_flags = engine_flags(&there, here);
    for (key, file) in placed(bundle, &there, here)? {
        if key == CARD {
            // Another engine has another card.
            engine_flags.entry(key).and_modify(|named| *named = file.display().to_string());
            continue;
        }
        if !name_instead(&mut spec, &key, &file) {
            return Err(ReproduceError::refused(format!(
                "{}: its manifest has a file for `{key}`, which is not a key of a file",
                bundle.path.display()
            )));
        }
    }
    let spec = with_keys(&spec, here)?;
    let mut all = variants(&spec, &[])?;
    let only = all.pop().filter(|_| all.is_empty());
    let only = only.ok_or_else(|| ReproduceError::refused("its plan is of several servers"))?;
    let choose = |cells: Vec<CellPlan>| chosen(cells, &there);
    let learned = Learned { engine_flags, cells: Some(&choose) };
    let (plan, mut context) = resolve_with(&only.spec, learned, variables)?;
    check_same(run, &there, &plan)?;
    check_command(run, &there, &plan, here)?;
    context.store.clone_from(&here.store);
    context.out.clone_from(&here.out);
    context.same_work = earlier_work(run, here);
    Ok(Again { plan, context })
}

/// Refuses a command of the bundle that is not the one its run was started by: that one was shown.
fn check_command(
    run: &Bundled,
    there: &Plan,
    plan: &Plan,
    here: &Here,
) -> Result<(), ReproduceError> {
    let (Some(shown), Some(starts), true) = (&there.launch, &plan.launch, here.start_server) else {
        return Ok(());
    };
    let what = |launch: &LaunchPlan| {
        (launch.command.clone(), launch.environment.clone(), launch.directory.clone())
    };
    if what(shown) == what(starts) {
        return Ok(());
    }
    Err(ReproduceError::refused(format!(
        "run {} records that its server was started by `{}`, but its plan would start `{}`: start \
            the server yourself, and give --target or --server-command",
        run.id,
        shown.command.join(" "),
        starts.command.join(" ")
    )))
}

/// The plan of a run that can be measured again.
fn measurable(run: &Bundled) -> Result<Plan, ReproduceError> {
    let id = &run.id;
    let refused = |why: &str| Err(ReproduceError::refused(format!("run {id} {why}")));
    if run.kind == RunKind::Imported {
        return refused("was imported, not planned: its requests are unknown");
    }
    if run.state != RunState::Complete {
        return refused(
            "is not complete, so it cannot be compared; `inferometer import` can read it",
        );
    }
    let plan = run.plan()?;
    match plan.chooses_loads() {
        true => refused(
            "is a search or a sweep, whose loads depend on its measurements, so its work cannot be \
                repeated; measure one of its loads (`inferometer run`), and bundle that run",
        ),
        false => Ok(plan),
    }
}

/// What is asked for, but for the data.
fn asked(run: &Bundled, there: &Plan, here: &Here) -> Result<Spec, ReproduceError> {
    let environment = &run.summary.environment;
    // What was left open may follow from what the server is.
    let asked = spelled_out(&there.asked)?;
    let mut spec = Spec {
        seed: Some(there.seed),
        salt: environment.salt.clone().or_else(|| there.asked.salt.clone()),
        target: None,
        server: None,
        header: None,
        api_key_env: None,
        ca_cert: None,
        insecure: None,
        client_cert: None,
        client_key: None,
        proxy: None,
        wait: None,
        loops: None,
        observe: ObserveKeys::default(),
        store: None,
        out: None,
        dump_workload: None,
        ..asked
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
            return Err(ReproduceError::refused(format!(
                "run {} is a prediction, which is repeated in virtual time: leave out --target and \
                    --server-command",
                run.id
            )));
        }
        // The seed that its noise had, which may have followed from a salt that nobody knows any more.
        let noise = run.summary.target.facts.get("noise").cloned();
        spec.noise = noise.or(spec.noise);
    } else if gives_server && is_embedded {
        (spec.model, spec.profile, spec.speed, spec.noise) = (None, None, None, None);
    } else if !gives_server && !is_embedded {
        spec.server = Some(servers_own(run, there, here)?);
    }
    Ok(spec)
}

/// What a command is given beside its arguments, in words.
fn beside(launch: &LaunchPlan) -> String {
    let variables = launch.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let variables = variables.collect::<Vec<_>>().join(" ");
    let folder = launch.directory.as_ref().map(|folder| format!(" in the folder {folder}"));
    let with = if variables.is_empty() { variables } else { format!(" with {variables}") };
    format!("{with}{}", folder.unwrap_or_default())
}

/// The server as the bundle's run started it, if that is what is wanted.
fn servers_own(run: &Bundled, there: &Plan, here: &Here) -> Result<ServerSpec, ReproduceError> {
    let Some(launch) = &there.launch else {
        return Err(ReproduceError::refused(format!(
            "run {} measured {}: give the server to measure now with --target, or a command that \
                starts it with --server-command",
            run.id, run.summary.target.url
        )));
    };
    match (&there.asked.server, here.start_server) {
        (Some(server), true) => Ok(server.clone()),
        _ => Err(ReproduceError::refused(format!(
            "run {} started its server by the command `{}`{}: --start-server runs that command here, as you; \
             or give --target or --server-command",
            run.id,
            launch.command.join(" "),
            beside(launch)
        ))),
    }
}

/// The same with how the server is reached here.
fn with_keys(spec: &Spec, here: &Here) -> Result<Spec, ReproduceError> {
    let mut spec = spec.clone();
    if let Some(line) = &here.server_command {
        let model = here.keys.get("model").and_then(Value::as_str).map(str::to_owned);
        spec.server = Some(ServerSpec {
            command: Some(CommandLine::Shell(line.clone())),
            model: model.or_else(|| spec.model.clone()),
            ..ServerSpec::default()
        });
    }
    let Ok(Value::Object(mut keys)) = serde_json::to_value(&spec) else {
        return Err(ReproduceError::refused("its plan cannot be read"));
    };
    keys.retain(|_, value| !value.is_null());
    plan_file::override_with(&mut keys, here.keys.clone());
    Ok(plan_file::merge(None, keys, plan_file::Place::Flags)?)
}

/// The cells that were measured: a prediction may have been of a part of its grid.
fn chosen(cells: Vec<CellPlan>, there: &Plan) -> Result<Vec<CellPlan>, PlanError> {
    match there.cells.iter().find(|cell| !cells.contains(cell)) {
        None => Ok(there.cells.clone()),
        Some(cell) => Err(PlanError::new(format!("its plan has an unexpected cell {cell}"))),
    }
}

/// The arguments of the embedded engine, where it is what is measured here too.
fn engine_flags(there: &Plan, here: &Here) -> std::collections::BTreeMap<String, String> {
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

/// That this program makes of the plan what was measured. The requests are compared with their hash
/// later.
fn check_same(run: &Bundled, there: &Plan, here: &Plan) -> Result<(), ReproduceError> {
    // A recording is named by its file, which lies elsewhere here; its instants are in the hash.
    let is_recorded = there.passes.iter().any(|pass| pass.clone().recording_mut().is_some());
    let parts = [
        ("cells", there.cells == here.cells),
        ("loads", is_recorded || there.passes == here.passes),
        ("sampling", there.sampling == here.sampling),
        ("warm-up", there.warmup == here.warmup),
        ("rest between passes", there.cooldown == here.cooldown),
        ("token ids", there.token_ids == here.token_ids),
        ("chat template", there.count_template == here.count_template),
        ("prefix cache", there.reset_prefix_cache == here.reset_prefix_cache),
        ("workload", there.workload.name() == here.workload.name()),
    ];
    let differ: Vec<&str> =
        parts.iter().filter(|(_, is_same)| !is_same).map(|(name, _)| *name).collect();
    match differ.is_empty() {
        true => Ok(()),
        false => Err(ReproduceError::refused(format!(
            "run {}: this program ({}) resolves its plan differently: {} differ; use inferometer \
                {}, which created it",
            run.id,
            env!("CARGO_PKG_VERSION"),
            differ.join(", "),
            run.about.tool.version
        ))),
    }
}

/// What the run sent, to be sent again. Predictions make no requests that could be compared with it
/// first.
fn earlier_work(run: &Bundled, here: &Here) -> Option<EarlierWork> {
    let is_checked = run.kind == RunKind::Measured && !here.new_salt;
    let workload_hash = run.summary.workload_hash.clone().filter(|_| is_checked)?;
    let repeats = run.summary.cells.iter().map(|cell| {
        let repeats = cell.passes.iter().map(|pass| pass.repeat).max().unwrap_or(1);
        // A number that no pass stands behind comes from a stranger.
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
