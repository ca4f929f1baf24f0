//! Functions that measure and predict plans.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use inferometer::command_line::{EngineFlags, Prepared, engine_config, prepared};
use inferometer::plan_file::{OverrideOrigin, merge, merge_multi_target, with_lists};
use inferometer::{
    Context, EngineConfig, Event, Events, Group, Host, Interrupt, LiveState, Plan, PlanError,
    Strictness, Subscriber, Summary, judge, predict as predict_plan, resolve,
    search as search_plan,
};
use inferometer_plan::spec::Spec;
use inferometer_predict::{planned, refuse_servers};
use inferometer_report::{comparison, json};
use inferometer_run::{PlanInputs, Shortfall, judge_results, resolve_with, variants};
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use serde_json::{Map, Value, json};

use crate::waiting::{FromWorker, Listening, OnSignal, Waited, wait};
use crate::{errors::Error, progress};

/// Parses the keys of a plan from a JSON object.
fn keys_of(text: &str) -> Result<Map<String, Value>, Error> {
    let keys = serde_json::from_str(text).map_err(PlanError::new)?;
    Ok(with_lists(keys))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Sends events as JSON documents. The sender is in a mutex, because several threads of a run emit events.
struct Sending<T>(Mutex<Sender<FromWorker<T>>>);

impl<T: Send> Subscriber for Sending<T> {
    fn on_event(&self, event: &Event<'_>) {
        if let Some(document) = progress::document(event) {
            let sender = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // If the caller has stopped waiting, the event is dropped.
            let _ = sender.send(FromWorker::Event(document.to_string()));
        }
    }
}

/// Measures a plan. `keys` are the keys of a plan file, as a JSON object; they override the keys in the file
/// `plan`. `program` is the file of the command, which serves the embedded engine in its own process. Returns
/// a JSON document, and whether a signal interrupted the run. The document has the key `run` for a single
/// run, and the key `group` for several servers or rounds.
#[pyfunction]
#[pyo3(signature = (keys, plan, program, strict, on_event))]
pub fn run(
    py: Python<'_>,
    keys: &str,
    plan: Option<PathBuf>,
    program: Option<PathBuf>,
    strict: bool,
    on_event: Option<Py<PyAny>>,
) -> PyResult<(String, bool)> {
    let keys = keys_of(keys)?;
    refuse_engine_arguments(&keys)?;
    let (spec, multi) =
        merge_multi_target(plan.as_deref(), keys, OverrideOrigin::Keywords).map_err(Error::from)?;
    let servers = variants(&spec, &multi.targets).map_err(Error::from)?;
    let interrupt = Interrupt::default();
    let host = Host { interrupt: interrupt.clone(), program, ..Host::default() };
    let strictness = if strict { Strictness::Strict } else { Strictness::Lenient };
    let is_group = servers.len() > 1 || multi.rounds > 1;
    let (sender, receiver) = channel();
    let events = Events::to(Sending(Mutex::new(sender.clone())));
    let live = events.live().clone();
    let listening = Listening { receiver, live: &live, on_event: on_event.as_ref() };
    let on_signal = OnSignal::Stop(&interrupt);
    let Waited { result, raised } = if is_group {
        let group =
            Group::resolve(servers, multi.rounds, None, &host, &variable).map_err(Error::from)?;
        let work = move || group_document(group, &events, strictness);
        wait(py, sender, listening, &on_signal, work)?
    } else {
        let spec = servers.first().map_or(&spec, |server| &server.spec);
        let (plan, mut context) = resolve(spec, &variable).map_err(Error::from)?;
        context.host = host;
        let work = move || run_document(&plan, &context, &events, strictness);
        wait(py, sender, listening, &on_signal, work)?
    };
    match raised {
        // An exception of the callback is raised here. After a signal, the caller receives the run and a
        // flag.
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => {
            if let Err(of_run) = result {
                error.set_cause(py, Some(of_run.into()));
            }
            Err(error)
        }
        raised => Ok((result?, raised.is_some())),
    }
}

fn run_document(
    plan: &Plan,
    context: &Context,
    events: &Events,
    strictness: Strictness,
) -> Result<String, Error> {
    let finished = inferometer::run(plan, context, events)?;
    let shortfall = judge(plan, context, &finished, strictness).err();
    Ok(document(
        &finished.summary,
        context,
        finished.folder.as_deref(),
        shortfall.as_ref().map(shortfall_document),
    ))
}

fn document(
    summary: &Summary,
    context: &Context,
    folder: Option<&Path>,
    shortfall: Option<Value>,
) -> String {
    // The summary is inserted as the JSON text that the report has, so that its numbers have the same digits.
    let head = json!({
        "run_id": summary.run_id,
        "store": context.store,
        "folder": folder,
        "shortfall": shortfall,
    });
    format!("{{\"run\":{head},\"summary\":{}}}", json::summary(summary))
}

/// The reason why the results of a run are not a success, as a JSON document; null if they are a success.
pub fn shortfall_of(summary: &Summary, max_failures: f64, strictness: Strictness) -> Value {
    let shortfall = judge_results(summary, max_failures, strictness).err();
    shortfall.as_ref().map_or(Value::Null, shortfall_document)
}

fn shortfall_document(shortfall: &Shortfall) -> Value {
    let (kind, message) = match shortfall {
        Shortfall::Interrupted(message) => ("interrupted", message),
        Shortfall::Failed(message) => ("failed", message),
        Shortfall::Objective(message) => ("objective", message),
        Shortfall::Suspect(message) => ("suspect", message),
        Shortfall::Undecided(message) => ("undecided", message),
    };
    json!({ "kind": kind, "message": message })
}

fn group_document(group: Group, events: &Events, strictness: Strictness) -> Result<String, Error> {
    let first = group.members.first();
    let store = first.map(|member| member.context.store.clone());
    let max_failures = first.map_or(1.0, |member| member.plan.max_failures);
    let finished = group.run(events, strictness)?;
    let failures: Vec<Value> = finished
        .failures
        .iter()
        .map(|(server, error)| json!({ "server": server, "message": error.to_string() }))
        .collect();
    let shortfalls: Vec<Value> = finished
        .comparison
        .runs
        .iter()
        .map(|summary| shortfall_of(summary, max_failures, strictness))
        .collect();
    let head = json!({
        "store": store, "folder": finished.folder, "failures": failures, "shortfalls": shortfalls,
    });
    Ok(format!("{{\"group\":{head},\"comparison\":{}}}", comparison::json(&finished.comparison)))
}

/// Predicts a plan in virtual time; nothing is sent. `against` is a published table, a result file or a stored run.
#[pyfunction]
#[pyo3(signature = (keys, plan, against))]
pub fn predict(
    py: Python<'_>,
    keys: &str,
    plan: Option<PathBuf>,
    against: Option<String>,
) -> PyResult<String> {
    let (mut spec, flags) = spec_and_flags(keys, plan.as_deref())?;
    let prepared = prepared(&mut spec, &flags, against.as_deref()).map_err(Error::from)?;
    let Prepared { config, flags, against, .. } = prepared;
    let (plan, context) =
        planned(spec, flags.given(), against.as_ref(), &variable).map_err(Error::from)?;
    virtually(py, move || {
        let found = predict_plan(&plan, &context, &config, against.as_ref())?;
        let shortfall = judge_results(&found.summary, plan.max_failures, Strictness::Lenient);
        let shortfall = shortfall.err().as_ref().map(shortfall_document);
        Ok(document(&found.summary, &context, Some(&found.folder), shortfall))
    })
}

/// Searches or sweeps in virtual time; nothing is sent.
#[pyfunction]
#[pyo3(signature = (keys, plan))]
pub fn predict_search(py: Python<'_>, keys: &str, plan: Option<PathBuf>) -> PyResult<String> {
    let (spec, flags, config) = of_engine(keys, plan.as_deref())?;
    let learned = PlanInputs { engine_flags: flags.given(), ..PlanInputs::default() };
    let (plan, context) = resolve_with(&spec, learned, &variable).map_err(Error::from)?;
    virtually(py, move || {
        let found = search_plan(&plan, &context, &config)?;
        let lenient = Strictness::Lenient;
        let shortfall = judge_results(&found.summary, plan.max_failures, lenient).err();
        let shortfall = shortfall.as_ref().map(shortfall_document);
        Ok(document(&found.summary, &context, Some(&found.folder), shortfall))
    })
}

fn virtually(
    py: Python<'_>,
    work: impl FnOnce() -> Result<String, Error> + Send + 'static,
) -> PyResult<String> {
    let (sender, receiver) = channel();
    let live = LiveState::default();
    let listening = Listening { receiver, live: &live, on_event: None };
    let waited = wait(py, sender, listening, &OnSignal::Leave, work)?;
    Ok(waited.result?)
}

/// The plan, the arguments of the engine, and the engine's configuration. All mistakes in the keys are
/// reported together.
fn of_engine(keys: &str, plan: Option<&Path>) -> Result<(Spec, EngineFlags, EngineConfig), Error> {
    let (spec, flags) = spec_and_flags(keys, plan)?;
    let config = engine_config(spec.model.as_deref(), spec.profile.as_deref(), &flags)?;
    Ok((spec, flags, config))
}

/// The plan, and the arguments of the engine. All mistakes in the keys are reported together.
fn spec_and_flags(keys: &str, plan: Option<&Path>) -> Result<(Spec, EngineFlags), Error> {
    let mut keys = keys_of(keys)?;
    let flags = EngineFlags::take_from(&mut keys);
    let spec = merge(plan, keys, OverrideOrigin::Keywords);
    let (spec, flags) = match (spec, flags) {
        (Ok(spec), Ok(flags)) => (spec, flags),
        (spec, flags) => {
            let of_flags = flags.err().map(|error| error.mistakes);
            let of_plan = spec.map_or_else(|error| error.mistakes, |spec| spec.unread);
            let all: Vec<String> =
                of_plan.into_iter().chain(of_flags.unwrap_or_default()).collect();
            return Err(PlanError::from(all).into());
        }
    };
    refuse_servers(&spec)?;
    Ok((spec, flags))
}

/// Refuses arguments of the embedded engine in a measurement: a measured server has its own arguments.
fn refuse_engine_arguments(keys: &Map<String, Value>) -> Result<(), Error> {
    let known = EngineFlags::keywords();
    let given: Vec<&str> =
        keys.keys().filter(|key| known.contains(key)).map(String::as_str).collect();
    if given.is_empty() {
        return Ok(());
    }
    Err(PlanError::new(format!(
        "{}: engine arguments are for predictions; to measure an engine with them, start it with \
            server=dict(preset=\"inferometer\", arguments={{...}})",
        given.join(", ")
    ))
    .into())
}

/// The names of the engine's arguments, which are keywords of predictions.
#[pyfunction]
pub fn engine_keywords() -> Vec<String> {
    EngineFlags::keywords()
}
