//! Servers that share one load: addresses of the same server, differences that are reported, and servers that
//! are refused.

use inferometer_model::Url;
use inferometer_model::url::parse_url;
use inferometer_plan::spec::{Known, Spec};
use inferometer_wire::dialect::dialect;

use super::*;

fn plan(targets: &[&str]) -> Plan {
    let keys = serde_json::json!({
        "target": targets, "dialect": "openai-completions", "model": "m", "input_lengths": [8],
        "output_lengths": [8], "concurrency": [2],
    });
    let spec: Spec = serde_json::from_value(keys).unwrap();
    spec.resolve(&Known {
        dialects: &["openai-completions"],
        models: &[],
        model_of_hub_id: |_| None,
    })
    .unwrap()
}

/// A server at an address of this machine. `change` changes its description.
fn ready(url: &str, address: &str, change: impl FnOnce(&mut Target)) -> ReadyTarget {
    let parsed: Url = parse_url(url).unwrap();
    let dialect = dialect("openai-completions").unwrap();
    let mut target = Target {
        url: url.to_owned(),
        dialect: dialect.name.to_owned(),
        model: "m".to_owned(),
        engine_version: Some("1".to_owned()),
        ..Target::default()
    };
    change(&mut target);
    ReadyTarget {
        address: address.parse::<std::net::SocketAddr>().unwrap().into(),
        tunnel: None,
        tls: None,
        server: None,
        endpoint: Endpoint {
            dialect,
            authority: parsed.host_field(),
            path: format!("{}/v1/completions", parsed.prefix),
            headers: Vec::new(),
            model: target.model.clone(),
        },
        target,
        findings: Vec::new(),
        embedded: None,
        others: Vec::new(),
    }
}

const A: &str = "http://a:1";
const B: &str = "http://b:1";

fn both(a: ReadyTarget, b: ReadyTarget) -> Result<ReadyTarget, String> {
    together(&plan(&[A, B]), vec![a, b]).map_err(|error| error.to_string())
}

#[test]
fn equal_servers_form_one_target_that_lists_their_addresses() {
    let ready = both(ready(A, "127.0.0.1:1", |_| {}), ready(B, "127.0.0.1:2", |_| {})).unwrap();
    assert_eq!(ready.target.servers, [A, B]);
    assert_eq!(ready.target.url, "http://a:1, http://b:1");
    assert_eq!(ready.target.facts.others["balance"], "round-robin");
    assert_eq!((ready.others.len(), ready.findings.len()), (1, 0));
}

#[test]
fn servers_with_different_models_or_dialects_or_one_address_are_refused_by_name() {
    let a = || ready(A, "127.0.0.1:1", |_| {});
    let of = |change: fn(&mut Target)| {
        both(a(), ready(B, "127.0.0.1:2", change)).map(|_| ()).unwrap_err()
    };
    let told = of(|target| target.model = "n".to_owned());
    assert!(
        told.contains("http://a:1 has the model m and http://b:1 has n; give --model"),
        "{told}"
    );
    let told = of(|target| target.dialect = "tgi".to_owned());
    assert!(told.contains("http://b:1 has tgi; give --dialect"), "{told}");
    let told = both(a(), ready(B, "127.0.0.1:1", |_| {})).map(|_| ()).unwrap_err();
    assert!(
        told.contains("http://a:1 and http://b:1 lead to the same address, 127.0.0.1:1"),
        "{told}"
    );
}

#[test]
fn servers_with_different_engine_versions_are_accepted_with_a_finding() {
    let other = ready(B, "127.0.0.1:2", |target| target.engine_version = Some("2".to_owned()));
    let ready = both(ready(A, "127.0.0.1:1", |_| {}), other).unwrap();
    let [only] = &ready.findings[..] else { panic!("{:?}", ready.findings) };
    assert!(only.is(code::SERVERS_DIFFER));
    assert!(
        only.message.contains("http://a:1 and http://b:1 differ: version 1 and 2"),
        "{}",
        only.message
    );
}
