//! Determines which settings apply to a run. A user defines a setting once for many runs. So a setting is ignored if a
//! run cannot use it, or if it contradicts the run. A flag or a plan key would be rejected in these cases.

use inferometer_plan::spec::{OF_EMBEDDED, OF_TLS};
use serde_json::Value;

/// Settings for the connection to a server; the embedded engine does not use them.
const OF_SERVERS: [&str; 12] = [
    "server_card", "endpoint", "header", "api_key_env", "wait", "proxy", "metrics_url", "dcgm_url",
    "cards", "session_header", "session_cookie", "traceparent",
];
/// Settings that are ignored if the plan has `[[target]]` tables, because each table has its own value.
const OF_EACH_TARGET: [&str; 3] = ["endpoint", "header", "metrics_url"];
/// Settings that select the loads: if a run has one of them, the others are ignored.
const LOADS: [&str; 5] = ["passes", "concurrency", "rate", "stages", "replay"];

/// The reason why a setting does not apply to a run; None if it applies. `given` returns the value of a key that the
/// run already has. The setting `target` must be checked first, because it determines which other settings apply.
pub(super) fn misfit<'a>(
    key: &str,
    given: &impl Fn(&str) -> Option<&'a Value>,
) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().any(|name| given(name).is_some());
    let launched = given("server").is_some();
    let target = given("target");
    let is_embedded = target.is_none_or(|target| target.as_str() == Some(super::EMBEDDED));
    if key == "target" && launched {
        return Some("the plan starts the server");
    }
    if key == "target" && has(&OF_EMBEDDED) {
        return Some("the run has keys of the embedded engine");
    }
    let are_tables =
        target.and_then(Value::as_array).is_some_and(|all| all.iter().any(Value::is_object));
    if OF_EACH_TARGET.contains(&key) && are_tables {
        return Some("each of several targets has its own value");
    }
    if OF_SERVERS.contains(&key) && is_embedded && !launched {
        return Some("the target is the embedded engine");
    }
    if ["wait", "proxy"].contains(&key) && launched {
        return Some("the plan starts the server");
    }
    if OF_TLS.contains(&key) && !target.is_some_and(is_secure) {
        return Some("not every target has an https:// address");
    }
    if key == "insecure" && has(&["ca_cert"]) || key == "ca_cert" && has(&["insecure"]) {
        return Some("ca_cert and insecure contradict each other");
    }
    if OF_EMBEDDED.contains(&key) && (!is_embedded || launched) {
        return Some("the target is not the embedded engine");
    }
    if LOADS.contains(&key)
        && (has(&LOADS) || given("search").is_some() || given("sweep").is_some())
    {
        return Some("the run has its own load");
    }
    None
}

/// Whether the address of the target begins with `https://`; for several targets, whether all addresses do.
fn is_secure(target: &Value) -> bool {
    match target {
        Value::String(url) => url.starts_with("https://"),
        Value::Array(several) => {
            let urls = several.iter().map(|target| target.as_str().or(target["url"].as_str()));
            let mut secure = urls.map(|url| url.is_some_and(|url| url.starts_with("https://")));
            secure.all(|is_secure| is_secure)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_setting_applies_only_to_a_run_that_can_use_it_and_does_not_contradict_it() {
        let (plain, secure) = (json!("http://h:1"), json!("https://h:1"));
        let (several, server) = (json!([{"url": "http://h:1"}]), json!({"preset": "vllm"}));
        let both = json!([{"url": "https://h:1"}, {"url": "https://h:2"}]);
        let one_of_two = json!([{"url": "https://h:1"}, {"server": {"preset": "vllm"}}]);
        let (load, embedded) = (json!([1]), json!("embedded"));
        for (key, given, fits) in [
            ("target", &[][..], true),
            ("target", &[("server", &server)], false),
            ("target", &[("speed", &load)], false),
            ("proxy", &[], false),
            ("proxy", &[("target", &embedded)], false),
            ("proxy", &[("target", &plain)], true),
            ("proxy", &[("server", &server)], false),
            ("header", &[("server", &server)], true),
            ("header", &[("target", &several)], false),
            ("api_key_env", &[("target", &several)], true),
            ("ca_cert", &[("target", &plain)], false),
            ("ca_cert", &[("target", &secure)], true),
            ("ca_cert", &[("target", &secure), ("insecure", &load)], false),
            ("client_cert", &[("target", &secure)], true),
            ("client_cert", &[("target", &both)], true),
            ("client_cert", &[("target", &one_of_two)], false),
            ("insecure", &[("target", &several)], false),
            ("speed", &[("target", &plain)], false),
            ("speed", &[], true),
            ("rate", &[("concurrency", &load)], false),
            ("rate", &[("search", &load)], false),
            ("rate", &[], true),
            ("store", &[("target", &plain)], true),
        ] {
            let value = |name: &str| {
                given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
            };
            assert_eq!(misfit(key, &value).is_none(), fits, "{key} {given:?}");
        }
    }
}
