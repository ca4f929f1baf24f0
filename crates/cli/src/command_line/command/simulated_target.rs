//! Converts a target of a plan to the engine that `predict` simulates, from what the plan states about the server. This
//! module simulates nothing.

use inferometer_engine::{EngineConfig, profile::profiles};
use inferometer_plan::spec::{self, ObserveKeys, ServerSpec, Spec, Variant};
use inferometer_run::PlanError;
use inferometer_servers::launch::preset::EMBEDDED;
use serde_json::Value;

use super::engine_flags::{EngineFlags, config};
use super::run_flags::given;

/// Arguments of the preset for the embedded engine that are not engine flags.
const OF_EMBEDDED: [&str; 3] = ["profile", "noise", "speed"];

/// A target, converted for the simulation.
pub struct Simulated {
    /// The target with the embedded engine in place of its server.
    pub variant: Variant,
    /// The flags of the engine.
    pub flags: EngineFlags,
    /// The engine.
    pub config: EngineConfig,
    /// The names of arguments that the prediction does not use.
    pub left_out: Vec<String>,
    /// Messages: what is assumed because the plan does not state it, and which arguments are left out.
    pub told: Vec<String>,
}

impl Simulated {
    /// Converts a target. `flags` apply if the target does not state another value.
    ///
    /// # Errors
    /// If the plan does not state the model or the engine of a server, or if they cannot be simulated.
    pub fn of(variant: &Variant, flags: &EngineFlags) -> Result<Self, PlanError> {
        let Variant { name, spec, .. } = variant;
        let is_server = spec.target.is_some() || spec.server.is_some();
        if let (true, Some(key)) = (is_server, spec.given(&spec::OF_EMBEDDED).first()) {
            return Err(PlanError::new(format!("{key}: applies only to the embedded engine")));
        }
        let stated = Stated::of(spec, flags)?;
        let flags = stated.flags.clone();
        let config = config(Some(&stated.model), stated.profile.as_deref(), &flags)
            .map_err(|error| without_model(error, &stated.model))
            .map_err(|error| of_card(error, spec.server_card.as_deref()))?;
        let mut told = Vec::new();
        if !stated.left_out.is_empty() {
            let names = stated.left_out.join(", ");
            told.push(format!("{name}: not part of the prediction: {names}"));
        }
        let given = flags.given();
        let profile = &config.profile;
        let mut assumed = Vec::new();
        if is_server && stated.profile.is_none() && !given.contains_key("engine") {
            let (engine, version) = (&profile.engine, &profile.engine_version);
            assumed
                .push(format!("{engine} {version} (--engine of `predict` names another version)"));
        }
        if is_server && stated.profile.is_none() && !given.contains_key("card") {
            assumed.push(format!("the card {} (server_card names another one)", profile.card));
        }
        if !assumed.is_empty() {
            told.push(format!("{name}: assumed: {}", assumed.join(", ")));
        }
        let left_out = stated.left_out.clone();
        let variant = Variant { spec: stated.simulated(spec), ..variant.clone() };
        Ok(Self { variant, flags, config, left_out, told })
    }
}

/// What a plan states about the engine of a target.
struct Stated {
    model: String,
    profile: Option<String>,
    noise: Option<String>,
    flags: EngineFlags,
    /// The names of arguments that the prediction does not use.
    left_out: Vec<String>,
}

impl Stated {
    fn of(spec: &Spec, flags: &EngineFlags) -> Result<Self, PlanError> {
        let of_spec = spec.model.clone().filter(|model| model != "auto");
        let (profile, noise) = (spec.profile.clone(), spec.noise.clone());
        let own = Self {
            model: of_spec.clone().unwrap_or_default(),
            profile,
            noise,
            flags: flags.clone(),
            left_out: Vec::new(),
        };
        match (&spec.target, &spec.server) {
            (None, None) => {
                let model = of_spec.unwrap_or_else(|| "chatglm3-6b".to_owned());
                Ok(Self { model, ..own })
            }
            (None, Some(server)) => own.of_server(server, spec.server_card.as_deref()),
            (Some(_), Some(_)) => Err(PlanError::new("server: leave out `server` or `url`")),
            (Some(_), None) if own.model.is_empty() => Err(PlanError::new(
                "model: a prediction contacts no server, so the plan must name the model: give \
                 `model` in this [[target]] (`inferometer list models`, or the path of a config.json)",
            )),
            (Some(_), None) => own.on_card(spec.server_card.as_deref()),
        }
    }

    /// Adds the arguments, the engine and the model of a server that a run would start.
    fn of_server(mut self, server: &ServerSpec, card: Option<&str>) -> Result<Self, PlanError> {
        let preset = server.preset.as_deref().unwrap_or_default();
        let model = server.model.clone().or(Some(self.model).filter(|name| !name.is_empty()));
        self.model = model.ok_or_else(|| {
            PlanError::new("model: is missing; give `model` in this [[target]] or in its server")
        })?;
        let mut all = given(&self.flags).unwrap_or_default();
        let keywords = EngineFlags::keywords();
        for (name, value) in server.arguments.iter().flatten() {
            let key = name.trim_start_matches('-').replace('-', "_");
            match key.as_str() {
                "profile" if preset == EMBEDDED => self.profile = Some(text_of(value)),
                "noise" if preset == EMBEDDED => self.noise = Some(text_of(value)),
                // `speed` has no effect on a prediction, because virtual time is independent of real time.
                "speed" if preset == EMBEDDED => {}
                _ if keywords.contains(&key) => drop(all.insert(key, parsed(value))),
                _ if preset == EMBEDDED => {
                    return Err(PlanError::new(format!(
                        "server: arguments: `{name}` cannot be predicted; leave it out. A prediction accepts the \
                         flags of the engine (`inferometer predict --help`) and {}",
                        OF_EMBEDDED.join(", ")
                    )));
                }
                _ => self.left_out.push(name.clone()),
            }
        }
        if preset != EMBEDDED && !all.contains_key("engine") {
            all.extend(engine_of(preset)?.map(|engine| ("engine".to_owned(), engine.into())));
        }
        self.flags = EngineFlags::take_from(&mut all).map_err(|error| error.of("server"))?;
        self.on_card(card)
    }

    /// Adds the card that the plan states for the server. [`config`] rejects an unknown card.
    fn on_card(mut self, card: Option<&str>) -> Result<Self, PlanError> {
        let Some(card) = card else { return Ok(self) };
        let mut all = given(&self.flags).unwrap_or_default();
        all.insert("card".to_owned(), card.into());
        self.flags = EngineFlags::take_from(&mut all)?;
        Ok(self)
    }

    /// The spec of the target with the embedded engine in place of its server.
    fn simulated(self, spec: &Spec) -> Spec {
        Spec {
            server_card: None,
            endpoint: None,
            dialect: None,
            model: Some(self.model),
            profile: self.profile,
            noise: self.noise,
            extra_body: None,
            balance: None,
            session_header: None,
            session_cookie: None,
            traceparent: None,
            observe: ObserveKeys::default(),
            ..spec.clone().without_server()
        }
    }
}

/// The engine that a preset starts, with the version of its latest profile; `None` for the engine of the default
/// profiles, whose version depends on the card.
fn engine_of(preset: &str) -> Result<Option<String>, PlanError> {
    let name = preset.split('-').next().unwrap_or_default();
    let latest = profiles().iter().rfind(|profile| profile.engine == name);
    match (name, latest) {
        ("vllm", _) => Ok(None),
        (_, Some(profile)) => Ok(Some(format!("{name}-{}", profile.engine_version))),
        (_, None) => {
            let what = match preset {
                "" => "the server of this command".to_owned(),
                preset => preset.to_owned(),
            };
            let mut known: Vec<&str> =
                profiles().iter().map(|profile| profile.engine.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            Err(PlanError::new(format!(
                "server: {what} cannot be predicted: there are only profiles of {}; --engine names the engine to \
                 assume",
                known.join(", ")
            )))
        }
    }
}

/// An argument as text.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An argument as a value of a flag: a text that is a number becomes that number.
fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// Adds to the error of an unknown model which plan key can name another model.
fn without_model(error: PlanError, model: &str) -> PlanError {
    let is_known = inferometer_engine::model::model(model).is_ok();
    let add = |mistake: String| match is_known {
        true => mistake,
        false => format!(
            "{mistake}; give a known model as `model` of the [[target]] (`inferometer list models`, or the path of a \
             config.json)"
        ),
    };
    error.mistakes.into_iter().map(add).collect::<Vec<_>>().into()
}

/// Names the key of the plan in the error of an unknown card.
fn of_card(error: PlanError, card: Option<&str>) -> PlanError {
    let named = |mistake: String| match (card, mistake.strip_prefix("--card ")) {
        (Some(_), Some(rest)) => format!("server_card: {rest}"),
        _ => mistake,
    };
    error.mistakes.into_iter().map(named).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use inferometer_plan::spec::TargetSpec;
    use inferometer_run::variants;
    use serde_json::{Map, json};

    use super::*;

    fn of(target: Value, flags: Value) -> Result<Simulated, PlanError> {
        let target: TargetSpec = serde_json::from_value(target).expect("a target");
        let mut flags: Map<String, Value> = flags.as_object().cloned().expect("flags");
        let flags = EngineFlags::take_from(&mut flags).expect("flags");
        let found = variants(&Spec::default(), &[target]).expect("a server");
        Simulated::of(&found[0], &flags)
    }

    #[test]
    fn a_target_is_simulated_with_what_the_plan_states_about_its_server() {
        for (target, flags, model, engine, card, seqs, told) in [
            (json!({}), json!({}), "chatglm3-6b", "vllm 0.2.7", "a100-pcie-40gb", None, ""),
            (
                json!({"model": "qwen-14b", "server": {"preset": "inferometer", "arguments": {"speed": 9}}}),
                json!({"max_num_seqs": 4}),
                "qwen-14b",
                "vllm 0.2.7",
                "a100-pcie-40gb",
                Some(4),
                "assumed: vllm 0.2.7 (--engine of `predict` names another version), the card a100-pcie-40gb",
            ),
            (
                json!({"server": {"preset": "vllm", "model": "Qwen/Qwen3-14B", "arguments":
                    {"max-num-seqs": "8", "enforce-eager": true}}, "server_card": "h100-sxm"}),
                json!({"max_num_seqs": 4, "engine": "vllm-0.23"}),
                "qwen3-14b",
                "vllm 0.23",
                "h100-sxm",
                Some(8),
                "not part of the prediction: enforce-eager",
            ),
            (
                json!({"server": {"preset": "tgi", "model": "mistral-7b-openorca-awq"}}),
                json!({}),
                "mistral-7b-openorca-awq",
                "tgi 1.3.4",
                "a100-pcie-40gb",
                None,
                "assumed: the card",
            ),
            (
                json!({"url": "http://a:1", "model": "qwen-14b", "api_key_env": "NOT_SET"}),
                json!({}),
                "qwen-14b",
                "vllm 0.2.7",
                "a100-pcie-40gb",
                None,
                "assumed: vllm 0.2.7",
            ),
        ] {
            let found = of(target.clone(), flags).unwrap_or_else(|why| panic!("{target}: {why}"));
            let EngineConfig { profile, model: spec, max_num_seqs, .. } = &found.config;
            let engine = (format!("{} {}", profile.engine, profile.engine_version), engine);
            assert!(engine.0.starts_with(engine.1), "{target}: {engine:?}");
            assert_eq!((spec.name.as_str(), profile.card.as_str()), (model, card), "{target}");
            assert_eq!(*max_num_seqs, seqs, "{target}");
            assert!(found.told.join("\n").contains(told), "{target}: {:?}", found.told);
            assert_eq!(found.told.is_empty(), told.is_empty(), "{target}: {:?}", found.told);
            let spec = &found.variant.spec;
            assert!(spec.target.is_none() && spec.server.is_none(), "no server is contacted");
            assert!(spec.api_key_env.is_none());
        }
    }

    #[test]
    fn a_target_that_cannot_be_predicted_is_refused_with_what_to_give() {
        for (target, words) in [
            (json!({"url": "http://a:1"}), "give `model` in this [[target]]"),
            (
                json!({"url": "http://a:1", "model": "acme-9b"}),
                "give a known model as `model` of the [[target]]",
            ),
            (
                json!({"server": {"preset": "sglang", "model": "qwen-14b"}}),
                "sglang cannot be predicted",
            ),
            (
                json!({"server": {"command": "serve", "port": 1}, "model": "qwen-14b"}),
                "--engine names",
            ),
            (
                json!({"server": {"preset": "inferometer", "arguments": {"fault": "cut@3"}}}),
                "`fault` cannot be predicted",
            ),
            (
                json!({"url": "http://a:1", "model": "qwen-14b", "server_card": "h100-sxn"}),
                "server_card: h100-sxn: is unknown (did you mean `h100-sxm`?)",
            ),
            (
                json!({"url": "http://a:1", "model": "qwen-14b", "profile": "p"}),
                "profile: applies only",
            ),
        ] {
            let told = match of(target.clone(), json!({})) {
                Ok(_) => panic!("{target} is refused"),
                Err(error) => error.to_string(),
            };
            assert!(told.contains(words), "{words}: {told}");
        }
    }
}
