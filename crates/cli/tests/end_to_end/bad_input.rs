//! Bad input: each mistake gives one clear error, before anything is sent. The exit code is 2, or 1 for a port in use.

use std::fs;
use std::net::TcpListener;

use crate::support::{folder, inferometer, told};

/// A target that detects whether a client connects to it.
struct Silent(TcpListener);

impl Silent {
    fn new() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        (Self(listener), url)
    }

    fn was_spoken_to(&self) -> bool {
        self.0.accept().is_ok()
    }
}

#[test]
fn each_wrong_flag_is_named_with_a_remedy_and_nothing_is_sent() {
    let (target, url) = Silent::new();
    let folder = folder();
    fs::write(folder.path().join("text.txt"), "no tokenizer").unwrap();
    fs::write(folder.path().join("object.json"), "{\"a\": 1}").unwrap();
    fs::write(folder.path().join("file"), "in the way").unwrap();
    for (flags, words) in [
        (&["--dialect", "openai-completion"][..], &["--dialect", "openai-completions"][..]),
        (&["--tokenizer", "missing/tokenizer.json"], &["--tokenizer", "missing/tokenizer.json"]),
        (&["--tokenizer", "text.txt"], &["--tokenizer", "text.txt"]),
        (&["--tokenizer", "object.json"], &["--tokenizer", "object.json"]),
        (&["--workload", "sharegpt"], &["--dataset"]),
        (&["--workload", "sharegpt", "--dataset", "none.json"], &["--dataset", "none.json"]),
        (&["--workload", "ramdom"], &["--workload", "did you mean `random`"]),
        (&["--input-lengths", "0"], &["--input-lengths", "from 1"]),
        (&["--output-lengths", "16,0"], &["--output-lengths", "from 1"]),
        (&["--input-lengths", "many"], &["--input-lengths", "8k for 8192"]),
        (&["--requests", "0"], &["--requests", "at least 1"]),
        (&["--requests", "4294967295"], &["--requests", "the maximum is 10000000"]),
        (&["--concurrency", "4294967295"], &["--concurrency", "the maximum is 65536"]),
        (&["--workload", "jsonl", "--dataset", "/dev/zero"], &["--dataset", "a pipe or a device"]),
        (&["--tokenizer", "/dev/zero"], &["--tokenizer", "larger than the limit of 64 MiB"]),
        (&["--rate", "fast"], &["--rate", "requests per second"]),
        (&["--rate", "-1"], &["--rate", "requests per second"]),
        (&["--output-lengths", "-3"], &["--output-lengths", "'-3'"]),
        (&["--metrics-listen", "here"], &["--metrics-listen", "127.0.0.1:9464"]),
        (&["--timeout", "soon"], &["--timeout", "10s"]),
        (&["--temperature", "nan"], &["--temperature", "finite"]),
        (&["--range-ratio", "inf"], &["--range-ratio", "finite"]),
        (&["--slo", "ttft_p99=5"], &["--slo", "ttft_p99<500ms"]),
        (&["--extra-body", "[1]"], &["--extra-body", "object"]),
        (&["--header", "nothing"], &["--header", "Name: value"]),
        (&["--out", "file/below"], &["--out", "file/below"]),
        (&["--store", "missing/folder/x.db"], &["--store", "missing/folder/x.db"]),
        (&["--api-key-env", "SURELY_NOT_SET"], &["--api-key-env", "SURELY_NOT_SET"]),
        (&["--predict"], &["--predict", "`inferometer predict` takes the same plan"]),
        (&["--profile", "x"], &["--profile", "embedded engine"]),
        (&["--noise", "step=0.1"], &["--noise", "embedded engine"]),
    ] {
        let mut arguments = vec!["run", "--target", &url];
        arguments.extend(flags);
        let output = inferometer(folder.path(), &arguments);
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {told}");
        for word in words {
            assert!(told.contains(word), "{flags:?}: {word}: {told}");
        }
        assert!(output.stdout.is_empty(), "{flags:?}");
    }
    assert!(!target.was_spoken_to());
}

#[test]
fn an_invalid_target_address_is_refused_with_advice() {
    for (target, advice) in [
        ("localhost:8000", "http://localhost:8000"),
        ("http://", "has no host"),
        ("http://a:port", "1 to 65535"),
    ] {
        let output = inferometer(folder().path(), &["run", "--target", target]);
        assert_eq!(output.status.code(), Some(2));
        assert!(told(&output).contains(advice), "{}", told(&output));
    }
}

#[test]
fn a_mistyped_key_of_a_plan_gets_a_suggestion_and_every_mistake_is_reported() {
    let folder = folder();
    fs::write(
        folder.path().join("plan.toml"),
        "input_lenghts = [128]\nrequests = 8\ncolour = \"red\"\n",
    )
    .unwrap();
    let output = inferometer(folder.path(), &["run", "plan.toml"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("plan.toml: `input_lenghts` is not a key"), "{told}");
    assert!(told.contains("did you mean `input_lengths`?"), "{told}");
    assert!(told.contains("`colour`"), "{told}");
}

#[test]
fn findings_are_explained_by_name_and_a_misspelt_name_gets_a_suggestion() {
    let folder = folder();
    let output = inferometer(folder.path(), &["findings", "stream_in_bundles", "run-incomplete"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(text.starts_with("stream_in_bundles (warning)"), "{text}");
    assert_eq!(text.matches("\n\n").count(), 2, "{text}");
    let output = inferometer(folder.path(), &["findings", "stream_in_bundle"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("did you mean `stream_in_bundles`?"), "{}", told(&output));
}

#[test]
fn a_dry_run_of_several_servers_states_the_number_of_runs() {
    let folder = folder();
    let plan =
        "rounds = 3\n[server]\npreset = \"inferometer\"\nsweep = { max-num-seqs = [8, 64] }\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let output = inferometer(folder.path(), &["run", "--dry-run", "plan.toml"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("# 6 runs: 2 servers, each in 3 rounds\n"), "{text}");
}

#[test]
fn a_server_command_with_a_port_in_use_is_reported_without_waiting() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let plan = format!(
        "[server]\ncommand = [\"sleep\", \"1000\", \"--port\", \"{port}\"]\nready_url = \"/health\"\n"
    );
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let output = inferometer(folder.path(), &["run", "plan.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains(&format!("127.0.0.1:{port} is in use")), "{}", told(&output));
}

#[test]
fn the_error_for_a_plan_value_of_the_wrong_type_names_its_key_or_line() {
    let folder = folder();
    for (text, place) in [
        ("input_lengths = \"128\"\n", "input_lengths"),
        ("requests = -1\n", "requests"),
        ("requests = \n", "line 1"),
    ] {
        fs::write(folder.path().join("plan.toml"), text).unwrap();
        let output = inferometer(folder.path(), &["run", "plan.toml"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(told(&output).contains(place), "{text}: {}", told(&output));
    }
    let output = inferometer(folder.path(), &["run", "none.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("none.toml"));
}

#[test]
fn an_unknown_model_or_profile_is_refused_with_a_suggestion_or_the_known_names() {
    for (flags, words) in [
        (["--model", "chatglm-6b"], "did you mean `chatglm3-6b`?"),
        (["--profile", "h900"], "a100-40g-vllm-0.2.7"),
    ] {
        let output = inferometer(folder().path(), &["run", flags[0], flags[1]]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
    }
}

#[test]
fn every_command_refuses_weights_that_are_larger_than_the_memory_of_a_card() {
    let folder = folder();
    let model = ["--model", "llama-3.3-70b", "--quiet"];
    for command in [
        &["predict"][..],
        &["run"],
        &["run", "--dry-run"],
        &["run", "--workload", "blocks"],
        &["run", "--workload", "blocks", "--dry-run"],
        &["search", "--slo", "ttft_p99<500ms"],
        &["sweep", "--workload", "blocks"],
        &["ab", "--predict", "--concurrency", "2", "--b", "max-num-seqs=8"],
        &["engine", "--listen", "127.0.0.1:0"],
        &["memory"],
    ] {
        // The commands `engine` and `memory` have no flag --quiet.
        let is_short = ["engine", "memory"].contains(&command[0]);
        let flags = if is_short { &model[..2] } else { &model[..] };
        let output = inferometer(folder.path(), &[command, flags].concat());
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {told}");
        for words in [
            "the weights alone need 141.1 GB, but only 77.0 GB",
            "--tensor-parallel-size",
            "--weights",
        ] {
            assert!(told.contains(words), "{command:?} {words}: {told}");
        }
        assert!(!told.contains("--max-model-len"), "{command:?}: {told}");
        assert!(!told.contains("message is above"), "{command:?}: {told}");
        // `run` has no engine flags, so its message names the command that has them.
        let is_elsewhere = told.contains("these are flags of `inferometer engine`");
        assert!(is_elsewhere || command[0] != "run", "{command:?}: {told}");
    }
}

#[test]
fn unknown_keys_and_wrong_values_of_a_plan_are_reported_together() {
    let folder = folder();
    let plan = "inpt_lengths = [12]\nmodel = 5\nconcurrency = [0]\nrequests = 0\nrepeat = 0\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    for command in
        [&["run"][..], &["sweep"], &["predict"], &["ab", "--predict", "--b", "max-num-seqs=2"]]
    {
        let output = inferometer(folder.path(), &[command, &["plan.toml"]].concat());
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {told}");
        for words in [
            "plan.toml: `inpt_lengths` is",
            "(did you mean `input_lengths`?)",
            "plan.toml: `model` has a value of",
        ] {
            assert!(told.contains(words), "{command:?} {words}: {told}");
        }
        if ["run", "predict"].contains(&command[0]) {
            for key in ["requests", "concurrency", "repeat"] {
                assert!(told.contains(&format!("error: {key} (--{key}): ")), "{key}: {told}");
            }
        }
    }
    // With several servers, a mistake in the plan is still printed only once.
    let servers =
        "[[target]]\nurl = 'http://127.0.0.1:9'\n[[target]]\nurl = 'http://127.0.0.1:9/b'\n";
    fs::write(folder.path().join("plan.toml"), format!("{plan}{servers}")).unwrap();
    let told = told(&inferometer(folder.path(), &["run", "plan.toml"]));
    assert_eq!(told.matches("is not a key of a plan").count(), 1, "{told}");
    assert!(told.contains("repeat (--repeat)"), "{told}");
}

#[test]
fn predict_reports_all_mistakes_of_the_plan_and_the_engine_together() {
    let folder = folder();
    let plan = "target = 'http://127.0.0.1:9'\nmodel = 'chatglm-6b'\nconcurrency = [0]\nrepeat = 0\n\
        input_lengths = [0]\nslo = 'ttft_p99'\nwarmup = 'long'\ninpt = 1\n[search]\nover = 'load'\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let output = inferometer(folder.path(), &["predict", "plan.toml"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    for key in [
        "target", "model", "concurrency", "repeat", "input_lengths", "slo", "warmup", "`inpt`",
        "search",
    ] {
        assert!(told.lines().any(|line| line.contains(key)), "{key}: {told}");
    }
    assert!(told.contains("no model named `chatglm-6b`"), "{told}");
    // If the plan and the engine have the same mistake, it is printed once.
    fs::write(folder.path().join("plan.toml"), "model = 'chatglm-6b'\nrepeat = 0\n").unwrap();
    let told = self::told(&inferometer(folder.path(), &["predict", "plan.toml"]));
    assert!(told.contains("did you mean `chatglm3-6b`?") && told.contains("repeat"), "{told}");
    assert_eq!(told.matches("chatglm-6b").count(), 1, "{told}");
    let plan = "repeat = 0\nwarmup = 'long'\nprofile = 'h900'\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let told = self::told(&inferometer(folder.path(), &["predict", "plan.toml"]));
    for words in ["no profile named `h900`", "repeat (--repeat)", "warmup (--warmup)"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn a_missing_file_is_wrong_usage_in_reproduce_compare_and_predict() {
    let folder = folder();
    for arguments in [
        &["reproduce", "missing.tar.zst"][..],
        &["compare", "missing.json", "missing.json"],
        &["predict", "missing.toml"],
    ] {
        let out = inferometer(folder.path(), arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {}", told(&out));
        assert!(told(&out).contains("missing."), "{arguments:?}: {}", told(&out));
    }
}

#[test]
fn a_share_without_a_percent_sign_and_a_wrong_key_of_a_target_get_a_remedy() {
    let folder = folder();
    let plan = "[[target]]\ntarget = \"http://a\"\n[[target]]\ntarget = \"http://b\"\n";
    fs::write(folder.path().join("two.toml"), plan).unwrap();
    let search = ["search", "--predict", "--slo", "ttft_p99<1s", "--precision", "5"];
    for (arguments, words) in [
        (&search[..], "`5` is not a share"),
        (
            &["predict", "two.toml"],
            "`target[0].target`: `target` is not a key; there are: name, url",
        ),
        (&["predict", "--card", "rtx4090"], "(did you mean `rtx-4090`?)"),
        (&["predict", "--model", "llama-3-70b"], "(did you mean `llama-3.1-70b`?)"),
    ] {
        let out = inferometer(folder.path(), arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {}", told(&out));
        assert!(told(&out).contains(words), "{arguments:?}: {}", told(&out));
    }
}
