//! Settings from environment variables and from the user's settings file. Flags and plan files override both.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{Engine, command, folder, small_run, told};

/// Runs a command with these environment variables, in a folder that may contain a user's settings file.
fn with(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    command(folder).args(arguments).envs(variables.iter().copied()).output().unwrap()
}

/// The plan that a dry run resolves, with the origins of its values.
fn dry(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Value {
    let output = with(folder, variables, &[&["run", "--dry-run", "--json"], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)))
}

/// Writes the user's settings file.
fn write(folder: &Path, text: &str) {
    std::fs::create_dir_all(folder.join("inferometer")).unwrap();
    std::fs::write(folder.join("inferometer/config.toml"), text).unwrap();
}

#[test]
fn flags_override_the_plan_file_which_overrides_variables_and_the_user_file() {
    let folder = folder();
    write(folder.path(), "requests = 11\none_by_one = 12\nseed = 13\nwarmup = 14\n");
    std::fs::write(folder.path().join("plan.toml"), "requests = 21\none_by_one = 22\n").unwrap();
    let variables = [
        ("INFEROMETER_REQUESTS", "31"),
        ("INFEROMETER_ONE_BY_ONE", "32"),
        ("INFEROMETER_SEED", "33"),
    ];
    let shown = dry(folder.path(), &variables, &["plan.toml", "--requests", "41"]);
    let asked = &shown["plan"]["asked"];
    for (key, value, origin) in [
        ("requests", 41, "--requests"),
        ("one_by_one", 22, "plan.toml"),
        ("seed", 33, "INFEROMETER_SEED"),
        ("warmup", 14, "inferometer/config.toml"),
    ] {
        assert_eq!(asked[key].as_f64(), Some(f64::from(value)), "{key}");
        let said = shown["origins"][key].as_str().unwrap();
        assert!(said.ends_with(origin), "{key}: {said}");
    }
    let output = with(folder.path(), &variables, &["run", "--dry-run", "plan.toml", "--no-stream"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    for line in [
        "# requests: from plan.toml",
        "# seed: from INFEROMETER_SEED",
        "# stream: from --no-stream",
        "# all other values",
    ] {
        assert!(text.contains(line), "{text}");
    }
    toml::from_str::<toml::Table>(&text).unwrap();
    // Settings that are not on the command line are printed.
    assert!(told(&output).contains("setting: INFEROMETER_SEED"), "{}", told(&output));
    assert!(told(&output).contains("config.toml: warmup"), "{}", told(&output));
}

#[test]
fn openai_base_url_sets_the_target_and_the_first_line_says_so() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let base = format!("{}/v1", engine.url);
    let variables = [("OPENAI_BASE_URL", base.as_str())];
    let arguments: Vec<&str> =
        small_run("").into_iter().filter(|word| !["--target", ""].contains(word)).collect();
    let output = with(folder.path(), &variables, &arguments);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["target"]["url"], engine.url.as_str());
    let first = told(&output).lines().next().unwrap().to_owned();
    assert!(first.starts_with(&format!("target: {base}, from OPENAI_BASE_URL")), "{first}");

    let here = ["--input-lengths", "8", "--output-lengths", "4"];
    let target = |variables: &[(&str, &str)], flags: &[&str]| {
        dry(folder.path(), variables, &[&here, flags].concat())["plan"]["asked"]["target"].clone()
    };
    let both = [variables[0], ("INFEROMETER_TARGET", "http://other:1")];
    assert_eq!(target(&both, &[]), "http://other:1");
    assert_eq!(target(&both, &["--target", "http://third:1"]), "http://third:1");
    assert_eq!(target(&both, &["--target", "embedded"]), Value::Null);
    // If keys of the embedded engine are given, the embedded engine is measured.
    assert_eq!(target(&both, &["--speed", "10"]), Value::Null);
    write(folder.path(), "target = \"http://mine:1\"\n");
    assert_eq!(target(&variables, &[]), "http://mine:1");
}

#[test]
fn settings_that_do_not_apply_to_a_run_are_ignored_and_the_dry_run_says_so() {
    let folder = folder();
    write(folder.path(), "ca_cert = \"absent.pem\"\nproxy = \"http://p:1\"\nconcurrency = [8]\n");
    let output = with(folder.path(), &[], &["run", "--dry-run", "--rate", "2", "--requests", "4"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    for line in [
        "# proxy: not from ", "because the target is", "# concurrency: not from ",
        "because the run has",
    ] {
        assert!(text.contains(line), "{text}");
    }
    std::fs::write(folder.path().join("plan.toml"), "[server]\npreset = \"inferometer\"\n")
        .unwrap();
    let variables = [("OPENAI_BASE_URL", "http://other:1")];
    let output = with(folder.path(), &variables, &["run", "--dry-run", "plan.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_mistake_in_the_settings_is_reported_with_its_place_and_a_suggestion() {
    let folder = folder();
    let config = folder.path().join("other.toml").display().to_string();
    let named = ("INFEROMETER_CONFIG", config.as_str());
    for (text, words) in [
        ("reqests = 3", "other.toml: `reqests` is not a setting (did you mean `requests`?)"),
        ("requests = \"many\"", "other.toml: `requests` has a value of"),
        ("server = \"x\"", "`server` is allowed only"),
        ("quiet = [1]", "`quiet` has a value of"),
        ("requests =", "other.toml: is not TOML at line 1"),
    ] {
        std::fs::write(&config, text).unwrap();
        let output = with(folder.path(), &[named], &["run", "--dry-run"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(told(&output).contains(words), "{text}: {}", told(&output));
    }
    std::fs::remove_file(&config).unwrap();
    let output = with(folder.path(), &[named], &["run", "--dry-run"]);
    assert!(told(&output).contains("other.toml: cannot be read"), "{}", told(&output));
    for (variable, words) in [
        (
            ("INFEROMETER_REQUESTS", "s3cretword"),
            "INFEROMETER_REQUESTS: a whole number is expected",
        ),
        (("INFEROMETER_QUIET", "maybe"), "INFEROMETER_QUIET: is neither"),
    ] {
        let output = with(folder.path(), &[variable], &["run", "--dry-run"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(told(&output).contains(words), "{}", told(&output));
        assert!(!told(&output).contains("s3cretword"));
    }
    // Help works with invalid settings.
    assert_eq!(with(folder.path(), &[named], &["run", "--help"]).status.code(), Some(0));
}

#[test]
fn an_unknown_variable_gets_a_warning_but_variables_of_other_commands_do_not() {
    let folder = folder();
    let variables = [
        ("INFEROMETER_REQESTS", "3"),
        ("INFEROMETER_CACHE", "x"),
        ("INFEROMETER_WRITE_SCHEMAS", "1"),
        ("INFEROMETER_SEED", ""),
    ];
    let output = with(folder.path(), &variables, &["run", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0));
    let said = told(&output);
    assert!(
        said.contains(
            "INFEROMETER_REQESTS is not a setting (did you mean \
            `INFEROMETER_REQUESTS`?)"
        ),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let quiet = [&variables[..], &[("INFEROMETER_QUIET", "true")]].concat();
    assert_eq!(told(&with(folder.path(), &quiet, &["run", "--dry-run"])), "");
    // A variable can switch off a flag that the user's settings file switches on.
    write(folder.path(), "quiet = true\n");
    assert_eq!(told(&with(folder.path(), &variables, &["run", "--dry-run"])), "");
    let loud = [&variables[..], &[("INFEROMETER_QUIET", "no")]].concat();
    assert_ne!(told(&with(folder.path(), &loud, &["run", "--dry-run"])), "");
}

#[test]
fn run_and_runs_use_the_store_of_the_settings() {
    let folder = folder();
    let variables = [("INFEROMETER_STORE", "mine.db"), ("INFEROMETER_SPEED", "100")];
    let arguments = ["run", "--input-lengths", "8", "--output-lengths", "4", "--requests", "2"];
    let output =
        with(folder.path(), &variables, &[&arguments[..], &["--passes", "saturated"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(
        folder.path().join("mine.db").exists() && !folder.path().join("inferometer.db").exists()
    );
    let listed = with(folder.path(), &variables, &["runs"]);
    assert_eq!(listed.status.code(), Some(0), "{}", told(&listed));
    let listed = with(folder.path(), &variables, &["runs", "--store", "other.db"]);
    assert_eq!(listed.status.code(), Some(2), "the flag does not override the variable");
}

#[test]
fn connection_settings_apply_to_the_target_of_the_settings() {
    let folder = folder();
    let url = ("INFEROMETER_TARGET", "https://127.0.0.1:1");
    for (name, value, key) in [
        ("INFEROMETER_HEADER", "x-team: blue", "header"),
        ("INFEROMETER_INSECURE", "true", "insecure"),
        ("INFEROMETER_PROXY", "http://127.0.0.1:2", "proxy"),
    ] {
        let shown = dry(folder.path(), &[url, (name, value)], &["--model", "m"]);
        let said = shown["origins"][key].as_str().unwrap_or_default();
        assert!(said.contains(name), "{key}: {shown:#}");
        let base = ("OPENAI_BASE_URL", "https://127.0.0.1:1/v1");
        let shown = dry(folder.path(), &[base, (name, value)], &["--model", "m"]);
        assert!(shown["origins"][key].is_string(), "{key}: {shown:#}");
    }
    // If the settings contain a server and a key of the embedded engine, the key is ignored.
    let speed = ("INFEROMETER_SPEED", "1000");
    let output =
        with(folder.path(), &[speed, ("INFEROMETER_TARGET", "http://127.0.0.1:1")], &["run"]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("setting ignored: speed"), "{}", told(&output));
}

#[test]
fn a_wrong_setting_stops_only_commands_that_use_settings() {
    let folder = folder();
    let wrong = [("INFEROMETER_REQUESTS", "x")];
    assert_eq!(with(folder.path(), &wrong, &["run"]).status.code(), Some(2));
    assert_eq!(with(folder.path(), &wrong, &["completions", "bash"]).status.code(), Some(0));
}

#[test]
fn bench_serve_uses_the_store_of_the_settings() {
    let (engine, folder) = (Engine::start(&[]), folder());
    let line = "--random-input-len 8 --random-output-len 4 --num-prompts 2";
    let base = ["bench", "serve", "--base-url", &engine.url];
    let arguments: Vec<&str> = base.into_iter().chain(line.split(' ')).collect();
    let variables = [("INFEROMETER_STORE", "mine.db")];
    let output = with(folder.path(), &variables, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let exists = |name: &str| folder.path().join(name).exists();
    assert!(exists("mine.db") && !exists("inferometer.db"));
}
