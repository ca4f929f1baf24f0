//! `ab`: two servers in alternating blocks, over sockets and in virtual time. The tests check outcomes, counts and
//! documents, but never measured speeds.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Engine, Nobody, Running, folder, get, inferometer};

const LENGTHS: [&str; 4] = ["--input-lengths", "24", "--output-lengths", "6"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn valid(document: &Value) {
    let schema = include_str!("../../../../schema/ab.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(document).map(|it| it.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

fn document(folder: &Path, code: i32, arguments: &[&str]) -> Value {
    let out = inferometer(folder, &[&["ab", "--json", "--quiet"], arguments].concat());
    assert_eq!(out.status.code(), Some(code), "{}", text(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

#[test]
fn two_settings_differ_in_virtual_time_and_the_report_reproduces_the_answer() {
    let folder = folder();
    let flags = ["--predict", "--b", "max-num-seqs=2", "--noise", "drift=0.05:10s", "--seed", "3"];
    let found = document(folder.path(), 0, &[&flags[..], &LENGTHS].concat());
    valid(&found);
    assert_eq!(found["ab"]["decision"], "a_faster");
    assert_eq!(found["ab"]["ended_by"], "known");
    let sentence = found["ab"]["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("A is faster than B (max-num-seqs=2): for B, output_tokens_per_s is "),
        "{sentence}"
    );
    let pairs = found["ab"]["pairs"].as_u64().expect("a count");
    let blocks = found["ab"]["blocks"].as_array().expect("blocks");
    assert_eq!(blocks.len() as u64, 2 * pairs);
    // The start times of all blocks are on one clock, in order.
    let starts: Vec<f64> = blocks.iter().filter_map(|one| one["started_s"].as_f64()).collect();
    assert!(starts.windows(2).all(|two| two[0] < two[1]), "{starts:?}");
    let group = found["group"].as_str().expect("a name");
    let again = inferometer(folder.path(), &["report", group, "--json", "--out", "again"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["ab"], found["ab"]);
    for file in ["ab.html", "ab.md", "ab.json", "ab-blocks.png", "ab-ratio.png"] {
        assert!(folder.path().join("again").join(file).is_file(), "{file}");
    }
    let page = fs::read_to_string(folder.path().join("again/ab.md")).expect("a page");
    assert!(page.contains("A is faster than B (max-num-seqs=2)"), "{page}");
    // The two runs are ordinary runs. `compare` recognises that they were measured in turn.
    let runs: Vec<&str> =
        (0..2).filter_map(|at| found["ab"]["sides"][at]["run_id"].as_str()).collect();
    let compared = inferometer(folder.path(), &["compare", runs[0], runs[1], "--json"]);
    let compared: Value = serde_json::from_slice(&compared.stdout).expect("JSON");
    assert_eq!(compared["comparisons"][0]["design"]["kind"], "alternated");
}

#[test]
fn a_comparison_prints_few_lines_of_progress_that_name_both_sides() {
    let (a, b) = (Engine::start(&[]), Engine::start(&[]));
    let folder = folder();
    let load = ["--concurrency", "2", "--requests", "6", "--max-requests", "144", "--seed", "1"];
    let both = ["ab", "--target", &a.url, "--target", &b.url, "--minimal-effect", "0.1%"];
    let out = inferometer(folder.path(), &[&both[..], &load, &LENGTHS].concat());
    let told = text(&out.stderr);
    let pairs: Vec<&str> = told.lines().filter(|line| line.starts_with("  pair ")).collect();
    let numbers: Vec<&str> = pairs
        .iter()
        .filter_map(|line| line.trim().strip_prefix("pair ")?.split(':').next())
        .collect();
    // A comparison has at least 8 pairs, and may end before the limit of 12 pairs (144 requests).
    assert!(numbers.len() >= 3 && ["1", "2", "5", "10"].starts_with(&numbers), "{told}");
    assert!(pairs.iter().all(|line| line.contains(" (A) and ") && line.contains(" (B)")), "{told}");
    for words in ["measuring ", "a comparison ends when"] {
        assert_eq!(told.lines().filter(|line| line.starts_with(words)).count(), 1, "{told}");
    }
}

#[test]
fn settings_that_the_load_does_not_reach_are_named_with_a_load_that_reaches_them() {
    let folder = folder();
    let flags = ["--predict", "--max-num-seqs", "64", "--b", "max-num-seqs=8"];
    let found = document(folder.path(), 0, &[&flags[..], &LENGTHS].concat());
    valid(&found);
    let finding = &found["ab"]["findings"][0];
    assert_eq!(finding["code"], "ab_limits_not_reached", "{finding}");
    let advice = finding["advice"].as_str().expect("advice");
    assert!(advice.ends_with("--concurrency 64"), "{advice}");
    let more = [&flags[..], &["--concurrency", "32"], &LENGTHS].concat();
    let found = document(folder.path(), 0, &more);
    assert!(found["ab"]["findings"].as_array().is_none_or(Vec::is_empty), "{found}");
}

#[test]
fn two_servers_get_the_same_requests_and_a_single_server_gets_no_request_twice() {
    let (a, b) = (Engine::start(&[]), Engine::start(&[]));
    let folder = folder();
    let load = ["--concurrency", "2", "--requests", "6", "--max-requests", "96", "--seed", "1"];
    let both = ["--target", &a.url, "--target", &b.url];
    let found = document(folder.path(), 0, &[&both[..], &load, &LENGTHS].concat());
    valid(&found);
    let hashes = |found: &Value| [0, 1].map(|at| found["runs"][at]["workload_hash"].clone());
    let [first, second] = hashes(&found);
    assert_eq!(first, second);
    assert_eq!(found["ab"]["one_server"], false);
    assert_eq!((&found["ab"]["pairs"], &found["ab"]["requests"]), (&8.into(), &96.into()));
    assert_eq!(found["ab"]["ended_by"], "max_requests");
    let group = found["group"].as_str().expect("a name");
    let again = inferometer(folder.path(), &["report", group, "--json", "--out", "again"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["ab"], found["ab"], "the logs give the same answer");
    let one = document(folder.path(), 0, &[&both[..2], &load, &LENGTHS].concat());
    let [first, second] = hashes(&one);
    assert_ne!(first, second, "on a single server, the two sides have different prompts");
    assert_eq!(one["ab"]["one_server"], true);
    let lengths = |at: usize| one["runs"][at]["cells"][0]["passes"][0]["input_tokens"].clone();
    assert_eq!(lengths(0), lengths(1), "the prompts of both sides have the same lengths");
    // One server under two host names is recognised as one server.
    let other_name = a.url.replace("127.0.0.1", "localhost");
    let names = ["--target", &a.url, "--target", &other_name];
    let one = document(folder.path(), 0, &[&names[..], &load, &LENGTHS].concat());
    let [first, second] = hashes(&one);
    assert_ne!(first, second, "on a single server, the two sides have different prompts");
    assert_eq!(one["ab"]["one_server"], true);
}

#[test]
fn the_time_limit_of_a_comparison_also_ends_a_block_and_a_cooldown() {
    let engine = Engine::start_at("0.1", &[]);
    let folder = folder();
    let one = ["--passes", "one_by_one", "--cooldown", "10m"];
    for load in [&["--concurrency", "2", "--requests", "40"][..], &one] {
        let time = ["ab", "--json", "--target", &engine.url, "--max-time", "2s", "--warmup", "0"];
        let output = inferometer(folder.path(), &[&time[..], load, &LENGTHS].concat());
        let found: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
        assert_eq!(found["ab"]["ended_by"], "max_time", "{}", found["ab"]);
        let group = found["group"].as_str().expect("a name");
        let again = inferometer(folder.path(), &["report", group, "--json", "--out", "again"]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        assert_eq!(again["ab"], found["ab"]);
    }
}

#[test]
fn the_warm_up_of_both_servers_shares_the_time_limit_of_a_comparison() {
    let [a, b] = [(); 2].map(|()| Engine::start_at("1", &[]));
    let folder = folder();
    let targets = ["ab", "--quiet", "--target", &a.url, "--target", &b.url];
    let limit = ["--max-time", "2s", "--warmup", "100000"];
    let output = inferometer(folder.path(), &[&targets[..], &limit, &LENGTHS].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    assert!(
        told.contains("--max-time was reached") && !told.contains("no request completed"),
        "{told}"
    );
    // The warm-up of A uses the whole time, so B has no warm-up. B only gets the requests before the warm-up.
    let completed = |engine: &Engine| {
        let metrics = get(engine.url.trim_start_matches("http://"), "/metrics").expect("metrics");
        let of_success = |line: &&str| line.starts_with("vllm:request_success_total{");
        let counts = metrics.lines().filter(of_success).filter_map(|line| line.rsplit_once(' '));
        counts.filter_map(|(_, count)| count.parse::<f64>().ok()).sum::<f64>()
    };
    let [of_a, of_b] = [&a, &b].map(completed);
    assert!(of_b < 6.0 && of_a >= of_b, "{of_a} and {of_b}");
}

#[test]
fn a_gate_decides_the_last_line_and_the_exit_code() {
    let folder = folder();
    let slow = ["--predict", "--b", "max-num-seqs=2"];
    let flags =
        [&["ab", "--quiet", "--gate", "output_tokens_per_s>-3%"], &slow[..], &LENGTHS].concat();
    let junit = ["--junit", "gate.xml", "--markdown", "gate.md"];
    let missed = inferometer(folder.path(), &[&flags[..], &junit].concat());
    assert_eq!(missed.status.code(), Some(3), "{}", text(&missed.stderr));
    let last = text(&missed.stderr).lines().last().map(str::to_owned);
    assert!(last.is_some_and(|line| line.starts_with("FAIL: not met: output_tokens_per_s -")));
    let junit = fs::read_to_string(folder.path().join("gate.xml")).expect("a file");
    assert!(junit.contains("<failure"), "{junit}");
    let page = fs::read_to_string(folder.path().join("gate.md")).expect("a file");
    assert!(page.starts_with("## FAIL"), "{page}");
    let same = ["ab", "--quiet", "--predict", "--gate", "output_tokens_per_s>-3%,ttft_p50<+3%"];
    let met = inferometer(folder.path(), &[&same[..], &LENGTHS].concat());
    assert_eq!(met.status.code(), Some(0), "{}", text(&met.stderr));
    assert!(text(&met.stderr).trim_end().starts_with("PASS: met: "), "{}", text(&met.stderr));
    assert!(
        text(&met.stdout).trim_end().lines().last().is_some_and(|it| it.starts_with("answer: "))
    );
    // `report` evaluates the gate again.
    let shown = text(&missed.stdout);
    let group = shown.split("inferometer report ").nth(1).and_then(|rest| rest.lines().next());
    let arguments = ["report", group.expect("a name"), "--out", "again", "--theme", "dark"];
    let again = inferometer(folder.path(), &arguments);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!(text(&again.stderr).starts_with("FAIL: not met: output_tokens_per_s -"));
    let document = fs::read_to_string(folder.path().join("again/ab.json")).expect("a file");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["gate"][0]["met"], "no");
    let arguments = ["report", group.expect("a name"), "--failures-as-inf"];
    let refused = inferometer(folder.path(), &arguments);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn an_interrupted_comparison_prints_an_undecided_answer_and_the_report_command() {
    let engine = Engine::start_at("20", &[]);
    let folder = folder();
    let url = engine.url.as_str();
    let load = ["--concurrency", "2", "--minimal-effect", "0.001%", "--max-requests", "100000"];
    let arguments = [&["ab", "--target", url], &load[..], &LENGTHS].concat();
    let mut run = Running::start(folder.path(), &arguments);
    let mut errors = run.errors();
    let second = errors.find(|line| line.as_ref().is_ok_and(|line| line.contains("pair 2: ")));
    assert!(second.is_some());
    run.signal("-INT");
    let rest: Vec<String> = errors.map_while(Result::ok).collect();
    let out = run.finish();
    assert_eq!(out.status.code(), Some(130), "{rest:?}");
    let shown = text(&out.stdout);
    assert!(shown.contains("answer: Undecided, because the comparison was interrupted"), "{shown}");
    assert!(rest.last().is_some_and(|line| line.contains("inferometer report ab-")), "{rest:?}");
}

#[test]
fn a_server_that_dies_ends_the_comparison_and_neither_run_is_complete() {
    let folder = folder();
    let server = |name: &str, arguments: &str| {
        let command = "['{inferometer}', 'engine', '--listen', '{host}:{port}']";
        format!(
            "[[target]]\nname = '{name}'\nserver = {{ command = {command}, arguments = {{ {arguments} }} }}\n"
        )
    };
    let load =
        "input_lengths = [24]\noutput_lengths = [6]\nconcurrency = [2]\nrequests = 6\nwarmup = 0\n";
    // A server gets fewer than 40 requests before its first block. So B ends during a block.
    let servers = server("A", "speed = 100") + &server("B", "speed = 100, fault = 'die@40'");
    fs::write(folder.path().join("plan.toml"), load.to_owned() + &servers).expect("a plan");
    let arguments = ["ab", "plan.toml", "--minimal-effect", "0.001%"];
    let out = inferometer(folder.path(), &arguments);
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("error: B: pair 7: the server ended: exit status: 1; its first error:"),
        "{errors}"
    );
    let stored = inferometer(folder.path(), &["runs", "--json"]);
    let stored: Value = serde_json::from_slice(&stored.stdout).expect("JSON");
    let states: Vec<&Value> =
        stored["runs"].as_array().expect("runs").iter().map(|run| &run["state"]).collect();
    assert_eq!(states, ["failed", "failed"], "{stored}");
}

#[test]
fn a_comparison_that_cannot_begin_leaves_no_run() {
    let (folder, engine, nobody) = (folder(), Engine::start(&[]), Nobody::new());
    let flags = ["--target", &engine.url, "--target", &nobody.url, "--quiet"];
    let out = inferometer(folder.path(), &[&["ab"][..], &flags, &LENGTHS].concat());
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let stored = inferometer(folder.path(), &["runs", "--json"]);
    let stored: Value = serde_json::from_slice(&stored.stdout).expect("JSON");
    assert_eq!(stored["runs"].as_array().map(Vec::len), Some(0), "{stored}");
}

#[test]
fn flags_that_a_comparison_cannot_use_are_refused_and_nothing_is_measured() {
    let folder = folder();
    for (flags, words) in [
        (&["--input-lengths", "8,16", "--output-lengths", "4"][..], "one pair of lengths"),
        (
            &["--concurrency", "2,4"],
            "concurrency (--concurrency): a comparison in blocks has one load, but 2 ",
        ),
        (&["--rate", "2,4"], "rate (--rate): a comparison in blocks has one load, but 2 "),
        (&["--repeat", "3"], "repeat (--repeat): cannot be used: blocks are repeated until"),
        (&["--metric", "failures"], "`failures` cannot be compared in blocks"),
        (&["--metric", "ttft_p50,ttft_p50"], "`ttft_p50` is given twice"),
        (&["--requests", "0"], "requests (--requests): "),
        (&["--passes", "one_by_one", "--one-by-one", "0"], "one_by_one (--one-by-one): "),
        (&["--concurrency", "32", "--requests", "32"], "are too few for 32 requests in flight"),
        (&["--uncounted", "17"], "give at least 33"),
        (&["--stop-when-saturated"], "a block that ends early cannot be compared"),
        (&["--uncounted", "32"], "a block has only 32 requests"),
        (&["--max-requests", "60"], "60 is less than 8 pairs of blocks of 32 requests"),
        (
            &["--max-requests", "1048577"],
            "1048577 is more than 16384 pairs of blocks of 32 requests",
        ),
        (&["--minimal-effect", "0%"], "`0%` must be above 0%"),
        (&["--minimal-effect", "100%"], "and below 100%"),
        (&["--gate", "ttft_p99<5%"], "this comparison does not include ttft_p99"),
        (&["--b", "requests=3"], "`requests` cannot differ"),
        (&["--b", "extra_body={}"], "`extra_body` cannot differ"),
        (&["--predict", "--b", "speed=0.5"], "`speed` cannot differ"),
        (&["--predict", "--b", "endpoint=chat"], "`endpoint` cannot differ"),
        (&["--b", "max-num-seqs=3"], "add --predict"),
        (&["--predict", "--b", "max-num-seq=3"], "(did you mean `max_num_seqs`?); only model"),
        (
            &["--workload", "jsonl", "--dataset", "x.jsonl", "--replay-rows"],
            "replay_rows (--replay-rows): cannot be used: each block would have different arrivals",
        ),
        (&["--slo", "ttft_p99<1s"], "is for one server (`inferometer run`)"),
        (
            &["--target", "http://a", "--target", "http://b", "--target", "http://c"],
            "one or two servers",
        ),
        (&["--resume", "x"], "a comparison cannot be resumed"),
        (&["--predict", "--target", "http://a"], "no server is contacted"),
    ] {
        let out = inferometer(folder.path(), &[&["ab"], flags].concat());
        let told = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{flags:?}: {told}");
        assert!(told.contains(words), "{flags:?}: {told}");
    }
    assert!(!folder.path().join("inferometer.db").exists());
    fs::write(
        folder.path().join("plan.toml"),
        "rate = [4]\ninput_lengths = [8]\noutput_lengths = [4]\n[ab]\n",
    )
    .expect("a file");
    for command in ["run", "predict"] {
        let out = inferometer(folder.path(), &[command, "plan.toml", "--quiet"]);
        let told = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{command}: {told}");
        assert!(told.contains("ab: "), "{command}: {told}");
    }
}

#[test]
fn two_predictions_without_noise_differ_by_a_number_without_an_interval() {
    let folder = folder();
    let flags = ["--predict", "--b", "max-num-seqs=2", "--gate", "output_tokens_per_s>-3%"];
    let out = inferometer(folder.path(), &[&["ab"][..], &flags, &LENGTHS].concat());
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    assert!(shown.contains("a difference of two predictions"), "{shown}");
    assert!(!shown.contains("(95 % interval"), "{shown}");
    // Neither the table of figures nor that of the gate has a range such as `0.5870 to 0.5870`.
    let is_number = |word: &str| word.trim_end_matches('%').parse::<f64>().is_ok();
    let words: Vec<&str> = shown.split_whitespace().collect();
    let mut ranges = words.windows(3).filter(|it| it[1] == "to" && is_number(it[2]));
    assert_eq!(ranges.next(), None, "{shown}");
    // With noise, the blocks differ, so there is an interval.
    let flags = ["--predict", "--b", "max-num-seqs=2", "--noise", "drift=0.05:10s", "--seed", "3"];
    let out = inferometer(folder.path(), &[&["ab"][..], &flags, &LENGTHS].concat());
    assert!(text(&out.stdout).contains("(95 % interval "), "{}", text(&out.stdout));
}

#[test]
fn a_locked_folder_is_refused_before_anything_is_measured_or_simulated() {
    let folder = folder();
    let out = folder.path().join("out");
    fs::create_dir(&out).expect("a folder");
    // Lock the folder as another process does while it writes a report there.
    let lock = fs::File::create(out.join(".report.lock")).expect("a file");
    lock.try_lock().expect("no other process has the lock");
    for mode in [&["--predict"][..], &[]] {
        let flags = [&["ab", "--quiet", "--out", "out", "--max-requests", "600"], mode, &LENGTHS];
        let refused = inferometer(folder.path(), &flags.concat());
        let told = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{mode:?}: {told}");
        assert!(told.contains("another process is writing a report there"), "{mode:?}: {told}");
        assert!(!folder.path().join("inferometer.db").exists(), "{mode:?}: a store was created");
    }
}
