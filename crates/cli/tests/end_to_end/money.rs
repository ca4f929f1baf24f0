//! `--price` at measurements, at stored runs and in comparisons.

use std::fs;

use crate::support::inferometer;
use serde_json::Value;
use tempfile::TempDir;

const RUN: &str = "run --speed 200 --input-lengths 16 --output-lengths 4 --concurrency 2 --requests 8 --warmup 0 \
                   --salt s --quiet --json --goodput e2e<10s";

fn said(folder: &TempDir, line: &str) -> (Option<i32>, String, String) {
    let out = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_price_bills_a_run_a_stored_run_and_a_comparison_and_changes_no_plan() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("prices.txt"), "# mine\n3.6/gpu-hour, quote of 2026-11-02\n")
        .expect("a file");
    let (code, plain, told) = said(&folder, RUN);
    assert_eq!(code, Some(0), "{told}");
    let (code, priced, told) = said(&folder, &format!("{RUN} --price prices.txt --gpus 2"));
    assert_eq!(code, Some(0), "{told}");
    let (plain, priced) = (json(&plain), json(&priced));
    assert_eq!(plain["plan_hash"], priced["plan_hash"]);
    assert!(plain.get("price").is_none());
    let schema = json(include_str!("../../../../schema/summary.schema.json"));
    jsonschema::validator_for(&schema).expect("a schema").validate(&priced).expect("valid");
    assert_eq!(priced["price"]["price"], "3.6/gpu-hour, quote of 2026-11-02");
    assert_eq!(priced["price"]["usd_per_hour"], 7.2);
    let pass = &priced["cells"][0]["passes"][0];
    let number = |value: &Value| value.as_f64().expect("a number");
    // 7.2 $/h are 0.002 $/s.
    let total = 0.002 * number(&pass["duration_s"]);
    assert!((number(&pass["cost"]["total"]) / total - 1.0).abs() < 1e-9);
    let per_request = total / number(&pass["outcomes"]["complete"]);
    assert!((number(&pass["cost"]["per_request"]["usd"]) / per_request - 1.0).abs() < 1e-9);
    // The price of the run is that of its reports, unless another one is given.
    let again = json(&said(&folder, "report latest --json --plots none").1);
    assert_eq!((&again["price"], &again["cells"]), (&priced["price"], &priced["cells"]));
    let other = json(&said(&folder, "report latest --json --plots none --price 3.6/hour").1);
    assert_eq!(other["price"]["usd_per_hour"], 3.6);
    let page = fs::read_dir(folder.path().join("inferometer-out")).expect("reports").count();
    assert_eq!(page, 2);
    let [a, b] = [&plain, &priced].map(|run| run["run_id"].as_str().expect("an id").to_owned());
    let line = format!("compare {a} {b} --price 2/hour --gate cost_per_million_tokens<+100000%");
    let (code, text, told) = said(&folder, &line);
    assert_eq!(code, Some(0), "{told}");
    assert!(text.contains("cost_per_million_tokens") && text.contains(" Cost: "), "{text}");
}

#[test]
fn what_is_no_price_is_refused_and_an_unknown_number_of_gpus_is_told() {
    let folder = TempDir::new().expect("a folder");
    for (flags, told) in [
        ("--price 2.5", "price (--price): `2.5` is not a price; write 2.5/gpu-hour"),
        ("--gpus 2", "gpus (--gpus): has no effect without --price"),
        ("--price 2/hour --price-split 0.5", "price_split (--price-split): `0.5` is not one of"),
    ] {
        let (code, _, error) = said(&folder, &format!("{RUN} {flags}"));
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(told), "{error}");
    }
    let (_, text, _) = said(&folder, &format!("{RUN} --price none=1/gpu-hour"));
    let run = json(&text);
    let found = run["findings"].as_array().expect("findings").iter();
    assert!(found.clone().any(|finding| finding["code"] == "cost_unknown"), "{run}");
    let (code, _, error) = said(&folder, "compare latest latest --price none=1/gpu-hour");
    assert!(code == Some(2) && error.contains("only for none"), "{error}");
}
