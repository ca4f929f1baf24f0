//! Keys in wrong places of a command or a plan: they are refused, and no error prints them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{IN, KEY, assert_nowhere, command};
use crate::support::{BINARY, folder};

/// A key that is in no environment variable, so the program does not know it.
const OTHER: &str = "other-key-12";

fn assert_refused(what: &str, folder: &Path, output: &Output) {
    assert_eq!(output.status.code(), Some(2), "{what}: {output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains(OTHER), "{what}: {told}");
    assert_nowhere(what, folder, output);
}

#[test]
fn a_key_in_a_wrong_argument_is_refused_and_not_printed() {
    let in_user = format!("http://u:{OTHER}@h");
    for (flag, value) in [
        ("--model", "a-KEY"),
        ("--salt", "KEY"),
        ("--dialect", "KEY"),
        ("--tokenizer", "KEY"),
        ("--out", "KEY"),
        ("--store", "KEY"),
        ("--slo", "KEY"),
        ("--requests", "KEY"),
        ("--api-key", "KEY"),
        ("--header", OTHER),
        ("--header", "Authorization: other-key-12\nx: y"),
        ("--endpoint", "/v1/x?y=KEY"),
        ("--endpoint", "/v1/x?api_key=other-key-12"),
        ("--extra-body", r#"{"user":"KEY"}"#),
        ("--extra-body", r#"{"user":"KEY"#),
        ("--extra-body", r#"{"a":[{"api_key":"other-key-12"}]}"#),
        ("--extra-body", r#"{"a":[[{"api_key":"other-key-12"}]]}"#),
        ("--extra-body", r#"{"api_key":["other-key-12"]}"#),
        ("--extra-body", r#"{"api_key":[{"value":"other-key-12"}]}"#),
        ("--metrics-url", "/metrics?token=other-key-12"),
        ("--dcgm-url", &in_user),
        ("--api-key-env", OTHER),
        ("--target", "http://KEY:99999"),
        ("--target", "http://h:80/v1?api_key=other-key-12"),
        ("--target", "h?api_key=other-key-12"),
        ("--target", "http://u:other-key-12/x@h"),
        ("", "KEY"),
    ] {
        let folder = folder();
        let value = value.replace(IN, KEY);
        let mut arguments = vec!["run"];
        if flag != "--target" {
            arguments.extend(["--target", "http://127.0.0.1:1"]);
        }
        arguments.extend([flag, &value].into_iter().filter(|word| !word.is_empty()));
        let output = command(folder.path(), &arguments);
        assert_refused(&format!("{flag} {value}"), folder.path(), &output);
    }
}

#[test]
fn a_key_in_a_wrong_place_of_a_plan_is_refused_and_not_printed() {
    for plan in [
        "header = [\"Authorization: other-key-12]",
        "header = \"Authorization: other-key-12\"",
        "requests = \"other-key-12\"",
        "api_key = \"other-key-12\"",
        "[[target]]\nurl = \"http://h\"\nheader = \"Authorization: other-key-12\"",
        "[[target]]\nname = \"KEY\"\nurl = \"http://h\"\n[[target]]\nurl = \"http://g\"",
        "[server]\ncommand = [\"serve\", \"--token\", \"KEY\"]",
        "[server]\ncommand = \"serve --api-key other-key-12\"",
        "[server]\ncommand = [\"serve\"]\nenvironment = { A = \"KEY\" }",
    ] {
        let (folder, plans) = (folder(), folder());
        let file = plans.path().join("plan.toml");
        fs::write(&file, plan.replace(IN, KEY)).unwrap();
        let output = command(folder.path(), &["run", file.to_str().unwrap()]);
        assert_refused(plan, folder.path(), &output);
    }
}

#[test]
fn errors_about_an_address_or_a_header_do_not_print_its_secrets() {
    let folder = folder();
    fs::write(folder.path().join("plan.toml"), format!("header = \"Authorization: {KEY}\"\n"))
        .unwrap();
    for arguments in [
        vec!["run".to_owned(), "--target".to_owned(), format!("http://u:{KEY}@127.0.0.1:1")],
        vec!["run".to_owned(), "--target".to_owned(), format!("u:{KEY}@127.0.0.1:1")],
        vec!["run".to_owned(), "plan.toml".to_owned()],
        ["run", "--target", "http://127.0.0.1:1", "--header", KEY].map(str::to_owned).to_vec(),
    ] {
        let output =
            Command::new(BINARY).current_dir(folder.path()).args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!shown.contains(KEY), "{shown}");
    }
}
