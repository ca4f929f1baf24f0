//! Named scenarios: keys of a plan, with values for a kind of application. Plan files and flags override the keys. A
//! scenario can set only keys of a plan.

use serde::Deserialize;
use serde_json::{Map, Value};

use inferometer_run::PlanError;

/// A kind of application, as data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name for `--scenario`.
    pub name: String,
    /// A short description.
    pub title: String,
    /// What the application requires of a server.
    pub asks: String,
    /// The source of the numbers.
    pub source: String,
    /// The default model of the embedded engine for this scenario. None if the context length of the usual default
    /// model is enough.
    pub embedded_model: Option<String>,
    /// The keys of a plan that the scenario sets.
    pub plan: Map<String, Value>,
}

/// Keys that state which server or model is measured.
const WHAT_IS_MEASURED: [&str; 3] = ["target", "server", "model"];

#[derive(Deserialize)]
struct Scenarios {
    scenario: Vec<Scenario>,
}

/// All scenarios, in the order of the list.
pub fn scenarios() -> Vec<Scenario> {
    let read: Scenarios = toml::from_str(include_str!("../data/scenarios.toml"))
        .expect("invariant: the scenarios are this program's own");
    read.scenario
}

/// If `keys` name a scenario, adds the keys of the scenario that are absent. Also adds the scenario's model of the
/// embedded engine, if `keys` name neither a server nor a model. A workload other than the scenario's is an error,
/// because other workloads have different keys.
///
/// # Errors
/// If there is no such scenario, or if `keys` contain another workload.
pub fn add_defaults(keys: &mut Map<String, Value>) -> Result<(), PlanError> {
    let Some(name) = keys.get("scenario") else { return Ok(()) };
    let wrong = |why: String| PlanError::new(format!("scenario (--scenario): {why}"));
    let name = name.as_str().ok_or_else(|| wrong(format!("{name} is not a name")))?.to_owned();
    let known = scenarios();
    let names = || known.iter().map(|scenario| scenario.name.as_str());
    let Some(scenario) = known.iter().find(|scenario| scenario.name == name) else {
        let near = inferometer_model::suggest::did_you_mean(&name, names());
        let all = names().collect::<Vec<_>>().join(", ");
        return Err(wrong(format!("`{name}` is not a scenario{near}; there are {all}")));
    };
    let workload = &scenario.plan["workload"];
    if keys.get("workload").is_some_and(|own| own != workload) {
        return Err(wrong(format!(
            "{name} has the workload {workload}; leave out --workload or --scenario"
        )));
    }
    for (key, value) in &scenario.plan {
        keys.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some(model) = &scenario.embedded_model
        && !WHAT_IS_MEASURED.iter().any(|key| keys.contains_key(*key))
    {
        keys.insert("model".to_owned(), model.as_str().into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_plan::spec::Spec;

    #[test]
    fn every_scenario_resolves_to_a_valid_plan() {
        for scenario in scenarios() {
            let name = Value::String(scenario.name.clone());
            let mut keys = Map::from_iter([("scenario".to_owned(), name)]);
            add_defaults(&mut keys).unwrap_or_else(|error| panic!("{error}"));
            let spec: Spec = serde_json::from_value(Value::Object(keys)).unwrap();
            let plan = inferometer_run::resolve(&spec, &|_| None);
            let (plan, _) = plan.unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
            assert_eq!(plan.workload.name(), scenario.plan["workload"]);
            assert!(!scenario.source.is_empty() && !scenario.asks.is_empty());
        }
    }

    #[test]
    fn a_scenario_sets_the_model_only_if_the_user_names_no_model_and_no_server() {
        let model = |key: &str| {
            let pair = |key: &str, value: &str| (key.to_owned(), Value::String(value.to_owned()));
            let mut keys = Map::from_iter([pair("scenario", "agent"), pair(key, "x")]);
            add_defaults(&mut keys).unwrap_or_else(|error| panic!("{error}"));
            keys.get("model").and_then(Value::as_str).map(str::to_owned)
        };
        assert_eq!(model("salt"), Some("mistral-7b-openorca-awq".to_owned()));
        assert_eq!((model("target"), model("server")), (None, None));
        assert_eq!(model("model"), Some("x".to_owned()));
    }

    #[test]
    fn user_values_override_a_scenario_but_another_workload_is_refused() {
        let with = |key: &str, value: &str| {
            let text = |text: &str| Value::String(text.to_owned());
            let pair = |key: &str, value| (key.to_owned(), text(value));
            let mut keys = Map::from_iter([pair("scenario", "rag"), pair(key, value)]);
            add_defaults(&mut keys).map(|()| keys)
        };
        let keys = with("output_distribution", "uniform:1..2").expect("a scenario");
        assert_eq!(keys["output_distribution"], "uniform:1..2");
        assert_eq!(keys["workload"], "random");
        let why = with("workload", "blocks").map(|_| ()).unwrap_err().to_string();
        assert!(why.contains("rag has the workload"), "{why}");
        let why = with("scenario", "summarizing").map(|_| ()).unwrap_err().to_string();
        assert!(why.contains("did you mean `summarising`"), "{why}");
    }
}
