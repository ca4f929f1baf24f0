//! Tests of `[server]`.

use super::*;
use serde_json::json;

fn spec(value: Json) -> ServerSpec {
    serde_json::from_value(value).unwrap()
}

#[test]
fn named_arguments_become_flags_at_the_placeholder_of_the_command() {
    let server = spec(json!({
        "command": ["serve", "{model}", "--port", "{port}", "{arguments}", "--last"],
        "model": "m",
        "arguments": {"max-num-seqs": 32, "eager": true, "off": false, "c": 4,
                      "-fa": "on", "modules": ["a", "b"], "OLLAMA_NUM_PARALLEL": 2},
    }));
    let plan = server.resolve().unwrap();
    let command = plan.command.join(" ");
    assert_eq!(
        command,
        "serve m --port {port} --max-num-seqs 32 --eager -c 4 -fa on --modules a b --last"
    );
    assert_eq!(plan.environment["OLLAMA_NUM_PARALLEL"], "2");
    assert_eq!(plan.settings["max-num-seqs"], "32");
    assert_eq!(plan.ready_url.as_deref(), Some("/v1/models"));
}

#[test]
fn arguments_of_a_shell_line_are_passed_as_parameters_and_not_parsed_by_the_shell() {
    let server = spec(json!({"command": "X=1 exec serve", "arguments": {"json": "{\"a\": 1}"}}));
    let command = server.resolve().unwrap().command;
    assert_eq!(command, ["sh", "-c", "X=1 exec serve \"$@\"", "sh", "--json", "{\"a\": 1}"]);
}

#[test]
fn a_shell_line_has_arguments_and_model_at_its_placeholders() {
    let server = spec(json!({
        "command": "exec serve {model} {arguments} --last",
        "model": "$(touch x)",
        "arguments": {"aa": "two words"},
    }));
    let command = server.resolve().unwrap().command;
    let line = "exec serve '$(touch x)' \"$@\" --last";
    assert_eq!(command, ["sh", "-c", line, "sh", "--aa", "two words"]);
    // A shell line inside a command given as words is filled in the same way.
    let words = spec(json!({"command": ["bash", "-c", "serve {model}"], "model": "a b"}));
    assert_eq!(words.resolve().unwrap().command[2], "serve 'a b'");
    for (line, filled) in [("a {arguments} &", "a --aa 'b c' &"), ("a", "a --aa 'b c'")] {
        let words = json!({"command": ["bash", "-lc", line], "arguments": {"aa": "b c"}});
        assert_eq!(spec(words).resolve().unwrap().command, ["bash", "-lc", filled]);
    }
    let quoted = spec(json!({"command": "exec serve '{arguments}'"})).resolve().unwrap_err();
    assert!(quoted[0].contains("inside quotes"), "{quoted:?}");
}

#[test]
fn given_settings_override_those_of_the_preset_one_by_one() {
    let preset = spec(json!({"command": ["a"], "arguments": {"xx": 1, "yy": 2}, "grace": "5s"}));
    let own = spec(json!({"arguments": {"yy": 3}, "ready_line": "up"})).over(&preset);
    let plan = own.resolve().unwrap();
    assert_eq!(plan.command, ["a", "--xx", "1", "--yy", "3"]);
    assert_eq!((plan.grace.as_secs(), plan.ready_line.as_deref()), (5, Some("up")));
    assert_eq!(plan.ready_url, None);
}

#[test]
fn all_mistakes_are_reported_and_secrets_in_settings_are_refused_and_not_shown() {
    let server = spec(json!({
        "command": ["serve", "{model}", "--api-key=abc"],
        "ready_timeout": "soon",
        "ready_url": "health",
        "environment": {"HF_TOKEN": "abc", "TOKENIZERS_PARALLELISM": "false"},
        "arguments": {"limits": {"image": 1}, "max-num-batched-tokens": 8, "api-key": "abc",
                      "seed": null},
    }));
    let told = server.resolve().unwrap_err().join("\n");
    for words in [
        "ready_timeout: `soon`",
        "ready_url",
        "environment: `HF_TOKEN` looks like a secret",
        "arguments: `api-key` looks like a secret",
        "arguments: `limits` is a table",
        "arguments: `seed` has no value",
        "command: `api-key` looks like a secret",
        "model: is missing",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    assert_eq!(told.lines().count(), 8, "{told}");
    for line in ["serve --api-key abc", "HF_TOKEN=abc exec serve", "serve --api-key \"$KEY\""] {
        let told = spec(json!({"command": line})).resolve().unwrap_err().join("\n");
        assert!(told.contains("looks like a secret") && !told.contains("abc"), "{told}");
    }
    assert!(!told.contains("abc"), "{told}");
    let nothing = spec(json!({})).resolve().unwrap_err();
    assert!(nothing[0].contains("inferometer list presets"));
}
