//! Turns a plan file with several servers into the specs of single runs: merges `[[target]]` tables with
//! the common keys, and combines the values of a sweep. This module does not resolve the specs.

use std::collections::BTreeMap;

use inferometer_model::{Secrets, secrets::secrets_in_words};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Addresses, ObserveKeys, ServerSpec, Spec, Value, limits::MAX_SERVERS};

/// The keys of a `[[target]]`: the options that may differ between servers that get the same requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetSpec {
    /// The name of the target in tables and plots.
    pub name: Option<String>,
    /// The address of the server, if it is already running.
    pub url: Option<String>,
    /// How the server is started, if it is not running.
    pub server: Option<ServerSpec>,
    /// As in [`Spec`], for this target only.
    pub server_card: Option<String>,
    /// As in [`Spec`], for this target only.
    pub endpoint: Option<String>,
    /// As in [`Spec`], for this target only.
    pub dialect: Option<String>,
    /// As in [`Spec`], for this target only.
    pub model: Option<String>,
    /// As in [`Spec`], for this target only.
    pub profile: Option<String>,
    /// As in [`Spec`], for this target only.
    pub speed: Option<Value>,
    /// As in [`Spec`], for this target only.
    pub noise: Option<String>,
    /// As in [`Spec`], for this target only.
    pub header: Option<Vec<String>>,
    /// As in [`Spec`], for this target only.
    pub api_key_env: Option<String>,
    /// As in [`Spec`], for this target only.
    pub ca_cert: Option<String>,
    /// As in [`Spec`], for this target only.
    pub insecure: Option<bool>,
    /// As in [`Spec`], for this target only.
    pub client_cert: Option<String>,
    /// As in [`Spec`], for this target only.
    pub client_key: Option<String>,
    /// As in [`Spec`], for this target only.
    pub proxy: Option<String>,
    /// As in [`Spec`], for this target only.
    pub wait: Option<Value>,
    /// As in [`Spec`], for this target only.
    pub extra_body: Option<Map<String, Json>>,
    /// As in [`Spec`], for this target only.
    pub metrics_url: Option<Addresses>,
    /// As in [`Spec`], for this target only.
    pub dcgm_url: Option<String>,
    /// As in [`Spec`], for this target only.
    pub cards: Option<Vec<u32>>,
}

/// The name of the setting that contains the name of the target, if there are several targets. Two
/// targets are compared by pairs of runs that differ only in this setting. The values of an argument are
/// compared only between runs of the same target.
const TARGET: &str = "target";

/// One of the servers of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The name of the target and its arguments in the sweep, such as `vllm, max-num-seqs=16`; empty if the
    /// plan has no `[[target]]` table and no sweep.
    pub name: String,
    /// The arguments of the sweep, with their values in this run. If there are several targets, also `target`
    /// with the name of the target.
    pub settings: BTreeMap<String, String>,
    /// What to measure.
    pub spec: Spec,
}

/// The servers of a plan, in the order of the plan file. In a product of values, the value of the last
/// argument changes from each server to the next.
///
/// # Errors
/// All mistakes, each with its key.
pub fn variants(base: &Spec, targets: &[TargetSpec]) -> Result<Vec<Variant>, Vec<String>> {
    let mut mistakes = Vec::new();
    if !targets.is_empty() {
        mistakes.extend(shared_mistakes(base));
    }
    let mut found = Vec::new();
    if targets.len() > MAX_SERVERS {
        return Err(vec![format!("target: {}", too_many(targets.len()))]);
    }
    let named: Vec<(String, Spec)> = match targets {
        [] => vec![(String::new(), base.clone())],
        targets => targets.iter().zip(1..).map(|(target, n)| target.laid_over(base, n)).collect(),
    };
    for (name, spec) in named {
        let combinations = spec.server.as_ref().map_or(Ok(vec![Map::new()]), combinations);
        match combinations {
            Ok(all) => found.extend(all.into_iter().map(|values| {
                let mut variant = variant(&name, &spec, values);
                if targets.len() > 1 {
                    variant.settings.insert(TARGET.to_owned(), name.clone());
                }
                variant
            })),
            Err(problems) => {
                mistakes.extend(problems.iter().map(|p| format!("server: sweep: {p}")))
            }
        }
    }
    if found.len() > MAX_SERVERS {
        return Err(vec![format!("target: {}", too_many(found.len()))]);
    }
    for (at, variant) in found.iter().enumerate() {
        if found[..at].iter().any(|other: &Variant| other.name == variant.name) {
            mistakes.push(format!("target: `{}` is given twice; give each a `name`", variant.name));
        }
    }
    if !mistakes.is_empty() {
        return Err(base.unread.iter().cloned().chain(mistakes).collect());
    }
    // The mistakes of the common keys are reported once.
    found.iter_mut().skip(1).for_each(|variant| variant.spec.unread.clear());
    Ok(found)
}

/// One mistake for each key that is given for all targets, although it must be given in each
/// `[[target]]` table.
fn shared_mistakes(base: &Spec) -> Vec<String> {
    // A path applies to every server, but an address belongs to only one server.
    let metrics = base.observe.metrics_url.iter().flat_map(Addresses::all);
    let is_address = metrics.into_iter().any(|url| !url.starts_with('/'));
    let given = base.given(&["server", "endpoint", "profile", "speed", "noise", "header"]);
    let given = given.into_iter().chain(is_address.then_some("metrics_url"));
    given.map(|key| format!("{key}: move it into the [[target]] tables")).collect()
}

impl TargetSpec {
    fn laid_over(&self, base: &Spec, number: u32) -> (String, Spec) {
        let preset = self.server.as_ref().and_then(|server| server.preset.clone());
        let name = self.name.clone().or(preset).or_else(|| self.url.clone());
        // Keys for connecting to a running server do not apply to a server that is started.
        let elsewhere = |value: &Option<String>| self.url.as_ref().and_then(|_| value.clone());
        // A certificate and its key belong together.
        let identity = |own: &Option<String>, base: &Option<String>| match self.client_cert {
            Some(_) => own.clone(),
            None => own.clone().or_else(|| elsewhere(base)),
        };
        let spec = Spec {
            target: self.url.clone().map(Addresses::from),
            server: self.server.clone(),
            // The embedded engine does not use `server_card`.
            server_card: self.server_card.clone().or_else(|| {
                let is_server = self.url.is_some() || self.server.is_some();
                base.server_card.clone().filter(|_| is_server)
            }),
            endpoint: self.endpoint.clone(),
            dialect: self.dialect.clone().or_else(|| base.dialect.clone()),
            model: self.model.clone().or_else(|| base.model.clone()),
            profile: self.profile.clone(),
            speed: self.speed.clone(),
            noise: self.noise.clone(),
            header: self.header.clone(),
            api_key_env: self.api_key_env.clone().or_else(|| base.api_key_env.clone()),
            ca_cert: self.ca_cert.clone().or_else(|| base.ca_cert.clone()),
            insecure: self.insecure.or(base.insecure),
            client_cert: identity(&self.client_cert, &base.client_cert),
            client_key: identity(&self.client_key, &base.client_key),
            proxy: self.proxy.clone().or_else(|| elsewhere(&base.proxy)),
            // The wait applies only to a running server. A server that is started has its own time
            // limit, and the embedded engine is always ready.
            wait: self.wait.clone().or_else(|| self.url.as_ref().and(base.wait.clone())),
            extra_body: self.extra_body.clone().or_else(|| base.extra_body.clone()),
            observe: ObserveKeys {
                metrics_url: self.metrics_url.clone().or_else(|| base.observe.metrics_url.clone()),
                dcgm_url: self.dcgm_url.clone().or_else(|| base.observe.dcgm_url.clone()),
                cards: self.cards.clone().or_else(|| base.observe.cards.clone()),
                ..base.observe.clone()
            },
            ..base.clone()
        };
        (name.unwrap_or_else(|| format!("target {number}")), spec)
    }
}

/// Returns a server with these values of the arguments in the sweep.
fn variant(name: &str, spec: &Spec, values: Map<String, Json>) -> Variant {
    // Names are stored and shown, so they contain no secrets.
    let text = |value: &Json| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Secrets::of_headers(&secrets_in_words([&*text])).redact_name(&text).into_owned()
    };
    let settings: BTreeMap<String, String> =
        values.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    let words = values.iter().map(|(name, value)| format!("{name}={}", text(value)));
    let named = Some(name.to_owned()).filter(|name| !name.is_empty());
    let name = named.into_iter().chain(words).collect::<Vec<_>>().join(", ");
    let mut spec = spec.clone();
    if let Some(server) = &mut spec.server {
        server.sweep = None;
        server.sweep_mode = None;
        if !values.is_empty() {
            server.arguments.get_or_insert_default().extend(values);
        }
    }
    Variant { name, settings, spec }
}

/// Returns the values of the arguments in the sweep: one map for each server.
fn combinations(server: &ServerSpec) -> Result<Vec<Map<String, Json>>, Vec<String>> {
    let mode = server.sweep_mode.as_deref();
    match (&server.sweep, mode) {
        (None, None) => Ok(vec![Map::new()]),
        (None, Some(_)) => Err(vec!["sweep_mode needs sweep".to_owned()]),
        (Some(Json::Array(listed)), None) if listed.len() > MAX_SERVERS => {
            Err(vec![too_many(listed.len())])
        }
        (Some(Json::Array(listed)), None) => listed
            .iter()
            .map(|one| match one {
                Json::Object(values) => Ok(values.clone()),
                other => Err(vec![format!("`{other}` is not a table of arguments")]),
            })
            .collect(),
        (Some(Json::Array(_)), Some(_)) => {
            Err(vec!["sweep_mode does not apply to a list of tables; leave it out".to_owned()])
        }
        (Some(Json::Object(lists)), mode) => {
            let lists = value_lists(lists)?;
            match mode {
                None | Some("product") => {
                    let sizes = lists.iter().map(|(_, values)| values.len());
                    match sizes.fold(1, usize::saturating_mul) {
                        count if count > MAX_SERVERS => Err(vec![too_many(count)]),
                        _ => Ok(product(&lists)),
                    }
                }
                Some("zip") => zip(&lists),
                Some(other) => {
                    Err(vec![format!("sweep_mode: `{other}` is unknown; there are product, zip")])
                }
            }
        }
        (Some(_), _) => Err(vec!["must be a table of lists, or a list of tables".to_owned()]),
    }
}

fn too_many(count: usize) -> String {
    format!("{count} servers are too many; the maximum for one plan is {MAX_SERVERS}")
}

type Lists<'a> = Vec<(&'a String, &'a Vec<Json>)>;

fn value_lists(lists: &Map<String, Json>) -> Result<Lists<'_>, Vec<String>> {
    let (mut found, mut mistakes) = (Vec::new(), Vec::new());
    for (name, values) in lists {
        match values {
            Json::Array(values) if !values.is_empty() => found.push((name, values)),
            _ => mistakes.push(format!("`{name}` needs a list of values")),
        }
    }
    if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
}

fn product(lists: &Lists<'_>) -> Vec<Map<String, Json>> {
    lists.iter().fold(vec![Map::new()], |all, (name, values)| {
        all.iter()
            .flat_map(|before| {
                values.iter().map(move |value| {
                    let mut more = before.clone();
                    more.insert((*name).clone(), value.clone());
                    more
                })
            })
            .collect()
    })
}

fn zip(lists: &Lists<'_>) -> Result<Vec<Map<String, Json>>, Vec<String>> {
    let length = lists.first().map_or(0, |(_, values)| values.len());
    if length > MAX_SERVERS {
        return Err(vec![too_many(length)]);
    }
    if let Some((name, values)) = lists.iter().find(|(_, values)| values.len() != length) {
        return Err(vec![format!(
            "zip needs lists of the same length; `{name}` has {} values, the first list has {length}",
            values.len()
        )]);
    }
    let at = |index: usize| {
        lists.iter().map(|(name, values)| ((*name).clone(), values[index].clone())).collect()
    };
    Ok((0..length).map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with_server(server: Json) -> Spec {
        Spec { server: Some(serde_json::from_value(server).unwrap()), ..Spec::default() }
    }

    fn names(spec: &Spec) -> Vec<String> {
        variants(spec, &[]).unwrap().into_iter().map(|variant| variant.name).collect()
    }

    #[test]
    fn a_server_sweep_is_a_product_a_zip_or_a_list_of_settings() {
        let lists = json!({"a": [1, 2], "b": ["x", "y"]});
        let spec = with_server(json!({"sweep": lists}));
        assert_eq!(names(&spec), ["a=1, b=x", "a=1, b=y", "a=2, b=x", "a=2, b=y"]);
        let spec = with_server(json!({"sweep": lists, "sweep_mode": "zip"}));
        assert_eq!(names(&spec), ["a=1, b=x", "a=2, b=y"]);
        let spec = with_server(json!({"sweep": [{"a": 1}, {"a": 2, "b": true}]}));
        assert_eq!(names(&spec), ["a=1", "a=2, b=true"]);
        let spec = with_server(json!({"arguments": {"a": 9, "c": 3}, "sweep": {"a": [1]}}));
        let only = &variants(&spec, &[]).unwrap()[0];
        let server = only.spec.server.as_ref().unwrap();
        assert_eq!(Json::from(server.arguments.clone().unwrap()), json!({"a": 1, "c": 3}));
        assert_eq!((server.sweep.as_ref(), &only.settings["a"]), (None, &"1".to_owned()));
    }

    #[test]
    fn targets_share_the_settings_of_the_plan_and_keep_their_own() {
        let base =
            Spec { input_lengths: Some(vec![64]), model: Some("m".into()), ..Spec::default() };
        let targets: Vec<TargetSpec> = serde_json::from_value(json!([
            {"name": "one", "url": "http://a:1", "dialect": "tgi"},
            {"server": {"preset": "vllm", "sweep": {"a": [1, 2]}}},
            {"url": "http://b:1", "model": "n"},
        ]))
        .unwrap();
        let found = variants(&base, &targets).unwrap();
        let named: Vec<&str> = found.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(named, ["one", "vllm, a=1", "vllm, a=2", "http://b:1"]);
        assert!(found.iter().all(|variant| variant.spec.input_lengths == Some(vec![64])));
        assert_eq!(found[0].spec.dialect.as_deref(), Some("tgi"));
        let of_target = |at: usize| found[at].settings["target"].as_str();
        assert_eq!((of_target(1), of_target(2), found[1].settings.len()), ("vllm", "vllm", 2));
        assert_eq!(found[3].spec.model.as_deref(), Some("n"));
        assert_eq!(found[1].spec.model.as_deref(), Some("m"));
    }

    #[test]
    fn invalid_sweeps_and_targets_are_refused_with_the_reason() {
        let hundred: Vec<u32> = (0..100).collect();
        for (server, words) in [
            (json!({"sweep": {"a": 1}}), "`a` needs a list"),
            (json!({"sweep": {"a": [1, 2], "b": [1]}, "sweep_mode": "zip"}), "the same length"),
            (json!({"sweep": {"a": [1]}, "sweep_mode": "each"}), "`each` is unknown"),
            (json!({"sweep": [1]}), "not a table"),
            (
                json!({"sweep": {"a": hundred, "b": hundred, "c": hundred, "d": hundred, "e": hundred}}),
                "10000000000 servers are too many; the maximum for one plan is 1024",
            ),
            (json!({"sweep": {"a": vec![0; 1_025]}, "sweep_mode": "zip"}), "1025 servers"),
            (json!({"sweep": vec![json!({}); 1_025]}), "1025 servers"),
            (json!({"sweep_mode": "zip"}), "sweep_mode needs sweep"),
            (json!({"sweep": [{"a": 1}, {"a": 1}]}), "is given twice"),
        ] {
            let told = variants(&with_server(server), &[]).unwrap_err().join("\n");
            assert!(told.contains(words), "{words}: {told}");
        }
        let at = |metrics: &str| {
            let metrics_url = Some(Addresses::from(metrics.to_owned()));
            let observe = ObserveKeys { metrics_url, ..ObserveKeys::default() };
            let target = TargetSpec { url: Some("http://a:1".into()), ..TargetSpec::default() };
            variants(&Spec { observe, ..Spec::default() }, &[target])
        };
        assert!(at("/m").is_ok());
        assert!(at("http://b:1/metrics").unwrap_err()[0].starts_with("metrics_url: move it into"));
        let base = with_server(json!({}));
        let told = variants(&base, &[TargetSpec::default()]).unwrap_err().join("\n");
        assert!(told.contains("[[target]]"), "{told}");
    }
}
