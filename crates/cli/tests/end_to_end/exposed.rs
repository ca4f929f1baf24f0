//! Tests of `--metrics-listen`: a client reads the metrics of a run, which is then interrupted. An address that is in
//! use is refused.

use serde_json::Value;

use crate::support::{Engine, Scraped, folder, get, inferometer, told, value};

#[test]
fn metrics_can_be_scraped_during_a_run_but_not_after_its_end() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let lengths = ["--input-lengths", "24", "--output-lengths", "12", "--warmup", "0"];
    let load = ["--concurrency", "2", "--duration", "1h", "--json", "--out", "there"];
    // A port that the system chose is printed even with `--quiet`.
    let target = ["--target", &engine.url, "--quiet"];
    let scraped = Scraped::start(folder.path(), &[&target[..], &lengths, &load].concat());
    let address = scraped.address.clone();
    let complete = "inferometer_requests_total{outcome=\"complete\"}";
    let first = value(&scraped.metrics(), complete);
    let text = scraped.wait_for(complete, first + 3.0);
    let before = value(&scraped.metrics(), complete);
    assert!(before >= value(&text, complete), "a counter decreased: {before} after {text}");
    assert!(text.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{text}");
    assert!(text.contains("inferometer_pass_info{pass=\"1\",input_length=\"24\""), "{text}");
    assert!(value(&text, "inferometer_requests_begun_total") >= value(&text, complete));
    assert!(get(&address, "/").is_some_and(|text| text.starts_with("HTTP/1.1 404 ")));
    let (said, output) = scraped.interrupt();
    assert_eq!(output.status.code(), Some(130), "{said:?}");
    // Another program may listen on the port by now.
    let after = get(&address, "/metrics");
    assert!(!after.is_some_and(|text| text.contains(complete)), "metrics after the run");

    let summary = std::fs::read_to_string(folder.path().join("there/summary.json")).expect("kept");
    let summary: Value = serde_json::from_str(&summary).expect("a summary");
    let kept = summary["cells"][0]["passes"][0]["outcomes"]["complete"].as_f64();
    assert!(kept >= Some(before), "{before} scraped, {kept:?} in the summary");
    let run = summary["run_id"].as_str().expect("a name");
    let advice = format!("inferometer run --resume {run}");
    assert!(said.iter().any(|line| line.contains(&advice)), "{said:?}");
    let ended = "0 of 1 passes are complete";
    assert!(summary["findings"].to_string().contains(ended), "{}", summary["findings"]);

    // The resumed run has the output folder of the first run. The settings for the connection also apply to the resumed
    // run.
    let plan = crate::support::command(folder.path())
        .args(["run", "--resume", run, "--dry-run"])
        .env("INFEROMETER_PROXY", "none")
        .output()
        .expect("it runs");
    let told = told(&plan);
    let plan = String::from_utf8(plan.stdout).expect("a plan");
    for part in ["out = \"there\"", "proxy: from INFEROMETER_PROXY"] {
        assert!(plan.contains(part), "{part}: {plan} {told}");
    }
}

#[test]
fn a_metrics_address_in_use_is_reported_before_the_run_begins() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let taken = engine.url.trim_start_matches("http://");
    let output =
        inferometer(folder.path(), &["run", "--target", &engine.url, "--metrics-listen", taken]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("--metrics-listen 127.0.0.1:"), "{}", told(&output));
    assert!(told(&output).contains("another program listens there"), "{}", told(&output));
    assert!(!folder.path().join("inferometer.db").exists(), "a store was created");
}
