//! Plans with several servers: arguments that are swept, and targets that are compared.

use std::fs;

use serde_json::Value;

use crate::support::{Engine, Running, folder, inferometer, told};

const LOAD: &str = "input_lengths = [16]\noutput_lengths = [8]\npasses = ['saturated']\n\
                    requests = 12\nwarmup = 0\n";

#[test]
fn an_argument_sweep_measures_each_combination_once_per_round_and_reports_each_effect() {
    let folder = folder();
    let plan = format!(
        "{LOAD}rounds = 2\n[server]\npreset = 'inferometer'\narguments = {{ speed = 100 }}\n\
         sweep = {{ max-num-seqs = [1, 12], block-size = [16, 32] }}\n"
    );
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let output = inferometer(folder.path(), &["run", "plan.toml", "--json", "--out", "out"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    // There are four servers in two rounds. The last server of the first round is measured first in the second round,
    // without a new start.
    assert_eq!(told.matches("\nstarting ").count(), 7, "{told}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 8);
    // All servers of a round get the same requests, and no server gets a request twice.
    let hash = |at: usize| &runs[at]["workload_hash"];
    assert!((1..4).all(|at| hash(at) == hash(0)) && (5..8).all(|at| hash(at) == hash(4)), "{told}");
    assert_ne!(hash(0), hash(4));
    let variants: Vec<&str> =
        runs.iter().filter_map(|run| run["target"]["facts"]["variant"].as_str()).collect();
    assert_eq!(variants[0], variants[7]);
    assert_eq!(variants[3], variants[4]);
    let starts: Vec<_> =
        runs.iter().map(|run| run["target"]["startup"]["start"].as_u64()).collect();
    let [once, again] = [Some(1), Some(2)];
    assert_eq!(starts, [once, once, once, once, None, again, again, again]);
    let effects = document["effects"].as_array().expect("effects");
    let of = |value: &str| {
        effects
            .iter()
            .find(|effect| {
                effect["argument"] == "max-num-seqs"
                    && effect["value"] == value
                    && effect["figure"] == "requests_per_s"
            })
            .expect("an effect")
    };
    assert_eq!(of("12")["pairs"], 4);
    // The size of the effect depends on the machine. On any machine, the effect must follow from the figures of these
    // runs.
    let rate = |run: &Value| run["cells"][0]["requests_per_s"].as_f64().expect("a figure");
    let fact = |run: &Value, name: &str| run["target"]["facts"][name].clone();
    let ratios: Vec<f64> = runs
        .chunks(4)
        .flat_map(|round| round.iter().map(move |run| (round, run)))
        .filter(|(_, run)| fact(run, "--max-num-seqs") == "12")
        .map(|(round, run)| {
            let alone = round.iter().find(|other| {
                fact(other, "--max-num-seqs") == "1"
                    && fact(other, "--block-size") == fact(run, "--block-size")
            });
            (rate(run) / rate(alone.expect("the run with the other value"))).ln()
        })
        .collect();
    let expected = (ratios.iter().sum::<f64>() / 4.0).exp_m1();
    let change = of("12")["change"].as_f64().expect("a change");
    assert!((change - expected).abs() <= 1e-9 * expected.abs(), "{change}, not {expected}");
    // The rounds of one server are compared with the rounds of another, even if their ports differ.
    let group = fact(&runs[0], "group");
    let [few, many] = ["1", "12"].map(|slots| {
        let group = group.as_str().expect("a name");
        format!("{group}/max-num-seqs={slots}, block-size=16")
    });
    let compared = inferometer(folder.path(), &["compare", &few, &many]);
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(text.contains("in turn, 2 rounds each"), "{text}{}", crate::support::told(&compared));
    assert!(!text.contains("tokenizer differs") && !text.contains("workload differs"), "{text}");
    let other = inferometer(folder.path(), &["compare", &few, &few.replace("=16", "=17")]);
    assert!(crate::support::told(&other).contains("has no server"));
    for file in ["comparison.md", "effects.csv", "effect-max-num-seqs-requests.png"] {
        assert!(folder.path().join("out").join(file).is_file(), "{file}");
    }
}

#[test]
fn all_targets_get_the_same_requests_and_a_failing_target_does_not_stop_the_others() {
    let folder = folder();
    let running = Engine::start(&[]);
    let plan = format!(
        "{LOAD}[[target]]\nname = 'running'\nurl = '{}'\n[[target]]\nname = 'broken'\n\
         server = {{ command = 'echo no card; exit 3' }}\n[[target]]\n\
         server = {{ preset = 'inferometer', arguments = {{ speed = 100 }} }}\n",
        running.url
    );
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let output = inferometer(folder.path(), &["run", "plan.toml", "--json"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error: broken: server: ended (exit status: 3)"), "{told}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2, "{told}");
    assert_eq!(runs[0]["workload_hash"], runs[1]["workload_hash"]);
    assert_eq!(document["failed"].as_array().map(Vec::len), Some(1));
    assert!(document["failed"][0].as_str().is_some_and(|line| line.contains("no card")));
}

#[test]
fn a_server_that_a_target_starts_has_the_model_of_the_target() {
    let folder = folder();
    let plan = format!(
        "{LOAD}[[target]]\nname = 'asked'\nmodel = 'qwen-14b'\nserver = {{ preset = 'inferometer', \
         arguments = {{ speed = 100 }} }}\n[[target]]\nname = 'by hub id'\nmodel = 'THUDM/chatglm3-6b'\n\
         server = {{ preset = 'inferometer', arguments = {{ speed = 100 }} }}\n"
    );
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let output = inferometer(folder.path(), &["run", "plan.toml", "--json"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let runs = document["runs"].as_array().expect("runs");
    let models: Vec<&Value> = runs.iter().map(|run| &run["target"]["model"]).collect();
    assert_eq!(models, ["qwen-14b", "chatglm3-6b"], "{told}");
}

#[test]
fn a_prediction_of_several_targets_ranks_them_and_contacts_no_server() {
    let folder = folder();
    let plan = format!(
        "{LOAD}[[target]]\nname = 'small'\nmodel = 'chatglm3-6b'\n[[target]]\nname = 'large'\n\
         url = 'http://127.0.0.1:1'\nmodel = 'qwen-14b'\n"
    );
    fs::write(folder.path().join("plan.toml"), &plan).expect("a plan");
    let output = inferometer(folder.path(), &["predict", "plan.toml", "--json", "--out", "out"]);
    let told_of_it = told(&output);
    assert_eq!(output.status.code(), Some(0), "{told_of_it}");
    assert!(told_of_it.contains("large: assumed: vllm 0.2.7"), "{told_of_it}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let runs = document["runs"].as_array().expect("runs");
    assert!(runs.len() == 2 && runs.iter().all(|run| run["predicted"] == true), "{told_of_it}");
    let models = ["small", "large"].map(|name| {
        let of = |run: &&Value| run["target"]["facts"]["variant"] == name;
        runs.iter().find(of).expect("a run")["target"]["model"].clone()
    });
    assert_eq!(models, ["chatglm3-6b", "qwen-14b"]);
    let answer = document["answers"][0].as_str().expect("an answer");
    assert!(answer.starts_with("predicted: 16 x 8, saturated: no server is clearly"), "{answer}");
    assert!(answer.contains("uncalibrated"), "{answer}");
    assert!(folder.path().join("out/comparison.html").is_file());
    let unnamed = plan.replace("model = 'qwen-14b'\n", "");
    fs::write(folder.path().join("plan.toml"), unnamed).expect("a plan");
    let output = inferometer(folder.path(), &["predict", "plan.toml"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("error: large: model: ") && told.contains("give `model`"), "{told}");
}

#[test]
fn predictions_that_differ_only_in_an_argument_have_a_difference_without_an_interval() {
    let folder = folder();
    let target = |name: &str, limit: u32| {
        format!(
            "[[target]]\nname = '{name}'\nmodel = 'qwen-14b'\nserver = {{ preset = 'inferometer', arguments = {{ \
             max-num-seqs = {limit} }} }}\n"
        )
    };
    // A prediction of several rounds has no interval either, because rounds do not show the error of a prediction.
    let plan = format!("rounds = 3\n{LOAD}{}{}", target("a", 2), target("b", 4));
    fs::write(folder.path().join("plan.toml"), &plan).expect("a plan");
    let output = inferometer(folder.path(), &["predict", "plan.toml", "--json", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let answer = document["answers"][0].as_str().expect("an answer");
    assert!(
        answer.starts_with("predicted: 16 x 8, saturated: b against a: requests/s "),
        "{answer}"
    );
    assert!(answer.contains("the error of these differences is unknown"), "{answer}");
    assert!(!answer.contains("best") && !answer.contains(" to "), "{answer}");
    let other = &document["ranking"][0]["others"][0];
    assert_eq!((&other["ratio_ci"], &other["told_apart"]), (&Value::Null, &false.into()));
}

#[test]
fn a_search_on_several_servers_has_one_answer_and_its_failure_names_each_server() {
    let folder = folder();
    let server = "server = { preset = 'inferometer', arguments = { speed = 100 } }\n";
    let plan = format!(
        "input_lengths = [16]\noutput_lengths = [8]\nwarmup = 0\nslo = 'ttft_p95<1us'\n\
         [search]\nfrom = 20\nmax_requests = 600\nmax_time = '1m'\n\
         [[target]]\nname = 'fast'\n{server}[[target]]\nname = 'slow'\n{server}"
    );
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let output = inferometer(folder.path(), &["search", "plan.toml", "--json"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("\nall runs take at most 2 min"), "{told}");
    assert!(told.contains("[2 of 2] slow; about "), "{told}");
    let verdict = told.lines().find(|line| line.starts_with("FAIL: ")).expect("a verdict");
    assert!(verdict.contains("FAIL: fast: ") && verdict.contains("; slow: "), "{verdict}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let answers = document["answers"].as_array().expect("answers");
    assert_eq!(answers.len(), 1, "{answers:?}");
    let words = "no load is known to meet";
    assert!(answers[0].as_str().is_some_and(|answer| answer.contains(words)), "{answers:?}");
    // The trials of the two servers have different loads, so their figures show no effect of the server.
    assert_eq!(document["effects"], Value::Array(Vec::new()));
}

#[test]
fn mistakes_in_any_server_are_reported_before_a_server_is_started() {
    let folder = folder();
    for (plan, words) in [
        ("[server]\npreset = 'vlm'\n", "did you mean `vllm`?"),
        ("[server]\ncomand = ['x']\n", "comand` is not a key (did you mean `command`?)"),
        ("[server]\npreset = 'vllm'\n", "model: is missing"),
        ("target = 'http://a:1'\n[server]\ncommand = ['x']\n", "leave out"),
        ("[[target]]\nurl = 'http://a:1'\nrate = [1]\n", "rate` is not a key"),
        ("rounds = 0\n", "rounds"),
        ("target = 'http://a:1'\nspeed = 2\nrounds = 3\n", "error: speed (--speed): applies"),
    ] {
        fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
        let output = inferometer(folder.path(), &["run", "plan.toml"]);
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{plan}: {told}");
        assert!(told.contains(words) && !told.contains("starting"), "{plan}: {told}");
    }
}

#[test]
fn a_killed_group_is_resumed_and_no_run_is_measured_twice() {
    let folder = folder();
    // The second server does not start until the run has been killed.
    let plan = format!(
        "store = 'runs.db'\n{LOAD}[server]\ncommand = '''case \"$*\" in *12*) test -e go || exec \
         sleep 100000; esac; exec {{inferometer}} engine --listen {{host}}:{{port}} --speed 100'''\n\
         sweep = {{ max-num-seqs = [1, 12] }}\n"
    );
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let mut run = Running::start(folder.path(), &["run", "plan.toml", "--no-progress"]);
    let mut group = String::new();
    for line in run.errors().map_while(Result::ok) {
        if let Some((name, _)) = line.split_once(": 2 runs") {
            group = name.to_owned();
        }
        if line.starts_with("[2 of 2]") {
            run.signal("-KILL");
            break;
        }
    }
    run.finish();
    fs::write(folder.path().join("go"), "").expect("a file");
    let resume = ["run", "plan.toml", "--resume", &group, "--json"];
    let resumed = inferometer(folder.path(), &resume);
    let told = told(&resumed);
    assert_eq!(resumed.status.code(), Some(0), "{told}");
    assert_eq!(
        (told.matches("copied from run").count(), told.matches("\nstarting ").count()),
        (1, 1)
    );
    let document: Value = serde_json::from_slice(&resumed.stdout).expect("one document");
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2, "{told}");
    assert_eq!(runs[0]["workload_hash"], runs[1]["workload_hash"]);
    for (arguments, words) in [
        (vec!["run", "--resume", &group, "--store", "runs.db"], "give that plan file"),
        (vec!["run", "plan.toml", "--resume", &group, "--salt", "z"], "salt (--salt)"),
        (vec!["run", "plan.toml", "--resume", &group, "--requests", "13"], "this plan differs"),
        (vec!["run", "plan.toml", "--resume", "latest"], "leave out the plan file"),
        (vec!["run", "plan.toml", "--resume", "group-none"], "no run of group-none"),
    ] {
        let output = inferometer(folder.path(), &arguments);
        let told = crate::support::told(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words) && !told.contains("[1 of 2]"), "{told}");
    }
}
