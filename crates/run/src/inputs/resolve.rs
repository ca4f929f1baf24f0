//! Resolves a plan file and flags into a plan. Mistakes in keys and values are reported in one error; a mistake in
//! `noise`, or in a file that the plan names, is reported alone. This module reads these files, and sends nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inferometer_engine::{card::is_card_file, model::ModelSpec, profile::profiles};
use inferometer_model::{CellPlan, PassPlan, load::Recording, sha256::sha256_hex, target::Origin};
use inferometer_net::file::{self, MAX_RESULTS_BYTES, MAX_SETTINGS_BYTES};
use inferometer_plan::spec::{Known, Spec, SpecError};
use inferometer_plan::{Plan, TargetPlan, template::Template};
use inferometer_report::{PlotFiles, plot::Form};

use super::access;
use super::credentials::{self, Variables};
use crate::{Context, Host, PlanError, ReportFiles};

/// Inputs of a plan in addition to the plan file and the flags.
#[derive(Default)]
pub struct PlanInputs<'a> {
    /// Arguments for the embedded engine that the user gave, by name.
    pub engine_flags: BTreeMap<String, String>,
    /// Which cells of the grid are measured; absent: all.
    pub cells: Option<&'a CellChoice<'a>>,
}

/// A function that chooses some cells of a grid.
pub type CellChoice<'a> = dyn Fn(Vec<CellPlan>) -> Result<Vec<CellPlan>, PlanError> + 'a;

/// Resolves a plan file and flags into a complete plan, and into the other inputs of a run. `variables` are
/// the environment variables of the calling program; one of them may contain the server's API key.
///
/// # Errors
/// All mistakes of the spec, a file that cannot be read, or a variable for the API key that is not set.
pub fn resolve(spec: &Spec, variables: Variables<'_>) -> Result<(Plan, Context), PlanError> {
    resolve_with(spec, PlanInputs::default(), variables)
}

/// Like [`resolve`], with inputs in addition to the spec. The plan is final: nothing changes it later.
///
/// # Errors
/// The errors of [`resolve`], and the error of the choice of cells.
pub fn resolve_with(
    spec: &Spec,
    learned: PlanInputs<'_>,
    variables: Variables<'_>,
) -> Result<(Plan, Context), PlanError> {
    // A message quotes the value that is wrong. This value may be an API key that the user gave in the wrong place.
    let secrets = credentials::secrets(spec, variables);
    credentials::check_places(spec, variables)
        .and_then(|()| checked(spec, learned, variables))
        .map_err(|error| error.redacted(&secrets))
}

fn checked(
    spec: &Spec,
    learned: PlanInputs<'_>,
    variables: Variables<'_>,
) -> Result<(Plan, Context), PlanError> {
    let resolved = with_known_names(|known| spec.resolve(known)).map_err(mistakes);
    let mut plan = match (resolved, spec.unread.as_slice()) {
        (resolved, []) => resolved?,
        (resolved, unread) => {
            let of_values = resolved.err().map_or_else(Vec::new, |error| error.mistakes);
            return Err(unread.iter().cloned().chain(of_values).collect::<Vec<_>>().into());
        }
    };
    inferometer_workload::prepare(&mut plan)
        .map_err(|error| PlanError::new(format!("workload (--workload): {error}")))?;
    plan.passes
        .iter_mut()
        .filter_map(PassPlan::recording_mut)
        .filter(|recording| !recording.is_read())
        .try_for_each(read_recording)?;
    plan.passes.iter_mut().for_each(PassPlan::limit_count_to_duration);
    plan.workload.template_mut().map_or(Ok(()), read_template)?;
    inferometer_servers::observe::MetricNames::with(&plan.observe.names)
        .map_err(|why| PlanError::new(format!("metrics_names: {why}")))?;
    check_counts(spec, &plan)?;
    let mut headers = spec.headers().map_err(mistakes)?;
    headers.extend(credentials::authorization(spec, variables)?);
    let context = Context {
        host: Host::default(),
        salt: spec.salt.clone().unwrap_or_else(fresh_salt),
        headers,
        access: access::access(spec, &plan, variables)?,
        wait: spec.wait().map_err(|error| mistakes(vec![error]))?,
        store: spec.store.clone().unwrap_or_else(|| "inferometer.db".to_owned()).into(),
        out: spec.out.clone().map(PathBuf::from),
        plots: plots(spec)?,
        files: ReportFiles::All,
        origin: Origin::default(),
        resumed: Vec::new(),
        same_work: None,
        team: crate::team::Team::Alone,
        dump: spec.dump_workload.clone().map(PathBuf::from),
    };
    if let TargetPlan::Embedded { model, profile, engine_flags, card_hash, file_hashes, .. } =
        &mut plan.target
    {
        if let Some(noise) = engine_flags.get("noise") {
            inferometer_engine::Noise::parse(noise).map_err(PlanError::new)?;
        }
        engine_flags.extend(learned.engine_flags);
        *card_hash = engine_flags.get("card").map_or(Ok(None), |card| hash_of_card(card))?;
        *file_hashes = hashes_of_files(model, profile.as_deref());
    }
    if let Some(choose) = learned.cells {
        plan.cells = choose(plan.cells)?;
    }
    Ok((plan, context))
}

/// The form of the plot files, in the default colours.
fn plots(spec: &Spec) -> Result<PlotFiles, PlanError> {
    let Some(given) = &spec.plots else { return Ok(PlotFiles::default()) };
    let form = Form::named(given).ok_or_else(|| {
        PlanError::new(format!("plots (--plots): `{given}` is unknown; use png, svg or none"))
    })?;
    Ok(PlotFiles { form, ..PlotFiles::default() })
}

/// The hash of the figures of the user's own card; `None` if `card` is the name of a built-in card.
fn hash_of_card(card: &str) -> Result<Option<String>, PlanError> {
    if !is_card_file(card) {
        return Ok(None);
    }
    let wrong = |error: &dyn std::fmt::Display| PlanError::new(format!("card (--card): {error}"));
    let figures = inferometer_engine::card::card(card).map_err(|error| wrong(&error))?;
    let text = serde_json::to_vec(&figures).map_err(|error| wrong(&error))?;
    Ok(Some(sha256_hex(&text)))
}

/// The hashes of the contents of a model and a profile that are given as files, by the names `model` and `profile`. A
/// file that cannot be read has no hash. The engine reports such a file as an error when it starts.
fn hashes_of_files(model: &str, profile: Option<&str>) -> BTreeMap<String, String> {
    let is_file = inferometer_engine::model::built_in(model).is_none();
    let sizes = is_file.then(|| inferometer_engine::model::model(model).ok()).flatten();
    // The name of the model follows from the path of the file, so the name is not part of the hash.
    let sizes = sizes.map(|sizes| ModelSpec { name: String::new(), ..sizes });
    let sizes = sizes.and_then(|sizes| serde_json::to_vec(&sizes).ok());
    let own = profile.filter(|name| !profiles().iter().any(|known| known.name == *name));
    let constants = own.and_then(|name| inferometer_engine::profile::profile(name).ok());
    let constants = constants.and_then(|constants| constants.with_own_card().ok());
    let constants = constants.and_then(|constants| serde_json::to_vec(&constants).ok());
    let found = [("model", sizes), ("profile", constants)];
    let hashed = found
        .into_iter()
        .filter_map(|(name, contents)| Some((name.to_owned(), sha256_hex(&contents?))));
    hashed.collect()
}

/// A spec with all defaults that can be written as keys. It resolves to the same plan.
///
/// # Errors
/// Every mistake of the spec.
pub fn spelled_out(spec: &Spec) -> Result<Spec, PlanError> {
    with_known_names(|known| spec.spelled_out(known)).map_err(mistakes)
}

/// Calls `with` with the names of dialects and models that a spec may use.
fn with_known_names<T>(with: impl FnOnce(&Known<'_>) -> T) -> T {
    let dialects: Vec<&str> =
        inferometer_wire::dialect::dialects().iter().map(|dialect| dialect.name).collect();
    let models: Vec<&str> =
        inferometer_engine::model::models().iter().map(|model| model.name.as_str()).collect();
    let model_of_hub_id =
        |id: &str| inferometer_engine::model::built_in(id).map(|model| model.name.as_str());
    with(&Known { dialects: &dialects, models: &models, model_of_hub_id })
}

fn mistakes(errors: Vec<SpecError>) -> PlanError {
    PlanError { mistakes: errors.iter().map(ToString::to_string).collect() }
}

/// Refuses passes that are limited only by time if a shared prefix or `--dump-workload` needs the number of requests.
fn check_counts(spec: &Spec, plan: &Plan) -> Result<(), PlanError> {
    let Some(pass) = plan.passes.iter().find(|pass| pass.requests().is_none()) else {
        return Ok(());
    };
    let mut mistakes = Vec::new();
    let is_missing = format!("give --requests: the pass {pass} has no number of requests");
    if plan.workload.prefix_length() > 0 {
        mistakes.push(format!(
            "workload (--workload): prompts with a shared prefix need passes with a number of \
                requests; {is_missing}"
        ));
    }
    if spec.dump_workload.is_some() {
        mistakes.push(format!(
            "dump_workload (--dump-workload): requests that are generated during a pass cannot be \
                written to a file; {is_missing}"
        ));
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.into()) }
}

/// Reads the file of a template that is not built into this program. Checks every template.
fn read_template(template: &mut Template) -> Result<(), PlanError> {
    let wrong =
        |why: &dyn std::fmt::Display| PlanError::new(format!("template (--template): {why}"));
    if template.text.is_empty() {
        let file = &template.name;
        template.text = file::read_text(Path::new(file), MAX_SETTINGS_BYTES)
            .map_err(|error| wrong(&format!("{file}: cannot be read: {error}")))?;
    }
    template.check().map_err(|error| wrong(&format!("{} {error}", template.name)))
}

/// Reads the request times of a replay.
fn read_recording(recording: &mut Recording) -> Result<(), PlanError> {
    let file = recording.file.clone();
    let text = file::read_text(Path::new(&file), MAX_RESULTS_BYTES)
        .map_err(|error| PlanError::new(format!("replay (--replay): {file}: {error}")))?;
    recording
        .read(&text)
        .map_err(|error| PlanError::new(format!("replay (--replay): {file}: {error}")))
}

/// A salt that is very unlikely to be that of another run: 8 hexadecimal digits of a hash of the wall-clock time and
/// the process id.
pub(crate) fn fresh_salt() -> String {
    let text = format!("{}-{}", inferometer_net::wall_clock_ns(), std::process::id());
    sha256_hex(text.as_bytes())[..8].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of the plan of the embedded engine with this model and profile.
    fn hash(model: &str, profile: Option<&Path>) -> String {
        let spec = Spec {
            model: Some(model.to_owned()),
            profile: profile.map(|path| path.display().to_string()),
            ..Spec::default()
        };
        resolve(&spec, &|_: &str| None).expect("a plan").0.hash()
    }

    #[test]
    fn the_plan_hash_depends_on_the_contents_of_a_profile_and_a_model_and_not_on_their_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
            std::fs::write(&file, text).expect("written");
            file
        };
        let text = include_str!("../../../engine/data/profiles/vllm-0.23-h100-sxm.toml");
        let own = text.replacen("name = \"", "name = \"my-", 1);
        let other = own.replacen("my-", "other-", 1);
        let [one, same, changed] =
            [("a/mine.toml", &own), ("b/mine.toml", &own), ("c/mine.toml", &other)]
                .map(|(name, text)| hash("qwen3-14b", Some(&write(name, text))));
        assert_eq!(one, same);
        assert_ne!(one, changed);
        let config = |layers: u32| {
            format!(
                "{{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 14336, \
                 \"num_hidden_layers\": {layers}, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \
                 \"vocab_size\": 128256, \"max_position_embeddings\": 8192, \"torch_dtype\": \"bfloat16\"}}"
            )
        };
        let [one, same, changed] =
            [("m/config.json", 32), ("n/config.json", 32), ("o/config.json", 16)].map(
                |(name, layers)| hash(&write(name, &config(layers)).display().to_string(), None),
            );
        assert_eq!(one, same);
        assert_ne!(one, changed);
    }

    #[test]
    fn a_plan_without_own_files_has_no_hashes_of_files() {
        assert!(hashes_of_files("qwen3-14b", None).is_empty());
        assert!(hashes_of_files("Qwen-14B", Some("vllm-0.23-h100-sxm")).is_empty());
        assert!(hashes_of_files("no-model.json", Some("nothing.toml")).is_empty());
    }
}
