//! Tests of plans that name or start a server.

use super::*;

#[test]
fn a_plan_has_no_secrets_of_the_servers_command_but_the_server_gets_them() {
    let server = serde_json::json!({
        "command": "exec serve --header 'X-Api-Key: key-of-the-line' --model chatglm3-6b",
        "arguments": {"header": "Authorization: Bearer key-of-an-argument",
                      "overrides": "{\"a\": {\"token\": \"token-in-json\"}}"},
        "environment": {"URL": "http://u:password-in-address@h"},
    });
    let server = Some(serde_json::from_value(server).unwrap());
    let spec = Spec { server, ..Spec::default() };
    let plan = spec.resolve(&KNOWN).unwrap();
    let (stored, shown) = (serde_json::to_string(&plan).unwrap(), format!("{plan:?}"));
    let with_secrets = plan.launch.unwrap().with_secrets.expect("secrets");
    let real = format!("{:?} {:?}", with_secrets.command, with_secrets.environment);
    for secret in ["key-of-the-line", "key-of-an-argument", "token-in-json", "password-in-address"]
    {
        assert!(!stored.contains(secret) && !shown.contains(secret), "{stored} {shown}");
        assert!(real.contains(secret), "{real}");
    }
    assert!(stored.contains("chatglm3-6b") && stored.contains("X-Api-Key: ***"), "{stored}");
    // The secrets are not stored, so a stored plan alone cannot start the server.
    let again = Plan::from_json(&stored).unwrap().spec;
    assert!(mistakes(&again).concat().contains("a secret that is not stored"));
}

#[test]
fn a_plan_with_a_target_has_the_request_counts_of_the_published_tables() {
    let spec = Spec { target: Some("http://127.0.0.1:8000/v1".into()), ..Spec::default() };
    let plan = spec.resolve(&KNOWN).unwrap();
    let counts: Vec<_> = plan.passes.iter().map(|pass| pass.requests()).collect();
    assert_eq!(counts, [Some(10), Some(399)]);
}
