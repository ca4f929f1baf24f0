//! The servers of a plan, each with the values of its preset. Starts no server.

use inferometer_plan::spec::{self, ServerSpec, Spec, TargetSpec, Variant};
use inferometer_servers::launch::preset;

use crate::PlanError;

/// The model name `auto`: the server states the name of its model.
const AUTO: &str = "auto";

/// The servers of a plan. Settings that a server does not have are filled in from its preset. A server that the plan
/// starts has the plan's model, if its table has no model of its own.
///
/// # Errors
/// The first mistake in a preset; if there is none, every mistake in the servers.
pub fn variants(spec: &Spec, targets: &[TargetSpec]) -> Result<Vec<Variant>, PlanError> {
    let mut base = spec.clone();
    let mut targets = targets.to_vec();
    for target in &mut targets {
        let model = target.model.clone().or_else(|| spec.model.clone());
        target.model = complete(&mut target.server, model)?;
    }
    base.model = complete(&mut base.server, base.model)?;
    spec::variants(&base, &targets).map_err(PlanError::from)
}

/// Fills in a server from its preset and from the model of the plan. Returns the name of the model in requests.
fn complete(
    server: &mut Option<ServerSpec>,
    model: Option<String>,
) -> Result<Option<String>, PlanError> {
    let Some(given) = server.take() else { return Ok(model) };
    let started_with = model.as_deref().filter(|name| *name != AUTO);
    // The embedded engine accepts hub ids and paths too, but serves the model under the name that the engine gives it.
    let is_renamed = given.preset.as_deref() == Some(preset::EMBEDDED) && given.model.is_none();
    *server = Some(preset::complete(given, started_with).map_err(PlanError::new)?);
    Ok(if is_renamed { model.map(|_| AUTO.to_owned()) } else { model })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The command of the server of each target, and the name of the model in its requests.
    fn started(model: Option<&str>, targets: serde_json::Value) -> Vec<(String, Option<String>)> {
        let targets: Vec<TargetSpec> = serde_json::from_value(targets).expect("targets");
        let spec = Spec { model: model.map(str::to_owned), ..Spec::default() };
        let found = variants(&spec, &targets).expect("servers");
        let one = |variant: &Variant| {
            let launch = variant.spec.server.as_ref().expect("a server").resolve();
            (launch.expect("a command").command.join(" "), variant.spec.model.clone())
        };
        found.iter().map(one).collect()
    }

    #[test]
    fn a_server_is_started_with_the_model_of_its_own_table_or_of_its_target_or_of_the_plan() {
        for (plan, target, server, command, in_requests) in [
            // The embedded engine.
            (None, None, json!({"preset": "inferometer"}), "--model chatglm3-6b", None),
            (
                None,
                Some("qwen-14b"),
                json!({"preset": "inferometer"}),
                "--model qwen-14b",
                Some("auto"),
            ),
            (
                Some("qwen-14b"),
                None,
                json!({"preset": "inferometer"}),
                "--model qwen-14b",
                Some("auto"),
            ),
            (Some("a"), Some("b"), json!({"preset": "inferometer"}), "--model b", Some("auto")),
            (
                Some("auto"),
                None,
                json!({"preset": "inferometer"}),
                "--model chatglm3-6b",
                Some("auto"),
            ),
            (
                None,
                Some("b"),
                json!({"preset": "inferometer", "model": "a"}),
                "--model a",
                Some("b"),
            ),
            // Other engines: the model in requests has the name with which the server is started.
            (None, Some("Qwen/Q"), json!({"preset": "vllm"}), "serve Qwen/Q", Some("Qwen/Q")),
            (
                None,
                Some("served"),
                json!({"preset": "vllm", "model": "Qwen/Q"}),
                "serve Qwen/Q",
                Some("served"),
            ),
            (None, Some("m"), json!({"command": ["s", "{model}"]}), "s m", Some("m")),
            (None, Some("m"), json!({"command": ["s"]}), "s", Some("m")),
        ] {
            let case = format!("{plan:?}, {target:?}, {server}");
            let found = started(plan, json!([{ "name": "t", "model": target, "server": server }]));
            let (started, name) = &found[0];
            assert!(started.contains(command), "{case}: {started}");
            assert_eq!(name.as_deref(), in_requests, "{case}");
        }
    }
}
