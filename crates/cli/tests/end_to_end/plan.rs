//! `plan` states how many servers carry a load; the figures follow from each other, and what does not fit is refused.

use serde_json::{Value, json};

use crate::support::{folder, inferometer, told};

const ASKED: [&str; 9] = [
    "plan", "--model", "qwen3-14b", "--input-length", "512", "--output-length", "64", "--slo",
    "ttft_p95<2s,tpot_p95<60ms",
];

#[test]
fn the_answer_of_plan_follows_from_the_capacity_of_one_server_its_price_and_the_day() {
    let folder = folder();
    std::fs::write(folder.path().join("day.csv"), "0,100\n6,1000\n18,0\n").expect("a file");
    std::fs::write(folder.path().join("prices"), "h100-sxm = 2/gpu-hour\nl4 = 0.5/gpu-hour\n")
        .expect("a file");
    let more =
        ["--traffic", "day.csv", "--cards", "h100-sxm,l4", "--counts", "1", "--price", "prices"];
    let ask = |chance: &str, spare: &str| -> Value {
        let last = ["--json", "--chance", chance, "--spare", spare];
        let output = inferometer(folder.path(), &[&ASKED[..], &more, &last].concat());
        assert!(output.status.success(), "{}", told(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let found = ask("90%", "0");
    assert_eq!(
        (&found["peak_requests_per_s"], &found["requests_per_day"]),
        (&json!(1000.0), &json!(45_360_000.0))
    );
    let answers = found["answers"].as_array().expect("answers");
    assert_eq!(answers.len(), 1, "{found}");
    let answer = &answers[0];
    assert_eq!(answer["server"]["card"], "h100-sxm");
    assert_eq!(
        (&found["model"], &answer["profile"]),
        (&json!("qwen3-14b"), &json!("vllm-0.23-h100-sxm"))
    );
    let number = |path: &str| answer.pointer(path).and_then(Value::as_f64).expect("a number");
    let servers = number("/servers");
    let [low, best] = ["low", "best"].map(|end| number(&format!("/requests_per_s_of_one/{end}")));
    // The load of one server lies between the lower end of the range and the prediction; one server less would be too few.
    assert!(low < best && 1000.0 / servers <= best && 1000.0 / (servers - 1.0) > low, "{answer}");
    assert!((0.9..=1.0).contains(&number("/chance")), "{answer}");
    assert!((number("/usd_per_hour") - 2.0 * servers).abs() < 1e-9);
    let hours = number("/server_hours_per_day");
    assert!(hours >= 12.0 * servers + 6.0 && hours < 18.0 * servers, "{answer}");
    let per_million = 24.0 * 2.0 * servers / (45_360_000.0 * 576.0) * 1e6;
    assert!((number("/usd_per_million_tokens") / per_million - 1.0).abs() < 1e-9, "{answer}");
    let left_out = &found["left_out"][0];
    assert_eq!(left_out["server"]["card"], "l4", "{found}");
    assert!(
        left_out["why"].as_str().is_some_and(|why| why.contains("weights alone")),
        "{left_out}"
    );

    let of = |found: &Value| found["answers"][0]["servers"].as_f64().expect("a number");
    let (more_sure, spare) = (ask("99%", "0"), ask("90%", "2"));
    assert!(of(&more_sure) > servers, "{more_sure}");
    assert!((of(&spare) - servers - 2.0).abs() < 1e-9, "{spare}");
}

#[test]
fn mistakes_in_what_is_asked_of_plan_are_told_with_their_flag() {
    let folder = folder();
    let cases: [(&[&str], &str); 8] = [
        (&["--traffic", "-1"], "--traffic -1"),
        (&["--traffic", "none.csv"], "neither a rate nor a file"),
        (&["--traffic", "1", "--chance", "20%"], "--chance"),
        (&["--traffic", "1", "--try", "max_num_seqs"], "--try max_num_seqs"),
        (&["--traffic", "1", "--try", "card=l4"], "--try card"),
        (&["--traffic", "1", "--try", "block_size=16", "--try", "block-size=32"], "given twice"),
        (&["--traffic", "1", "--start-minutes", "0"], "--start-minutes"),
        (&["--traffic", "1", "--price", "cheap"], "--price"),
    ];
    for (arguments, expected) in cases {
        let output = inferometer(folder.path(), &[&ASKED[..], arguments].concat());
        assert!(!output.status.success() && told(&output).contains(expected), "{}", told(&output));
    }
    for (arguments, expected) in
        [(["--model", "qwen3-14b"], "slo"), (["--slo", "ttft_p95<1s"], "--model")]
    {
        let output =
            inferometer(folder.path(), &[&["plan", "--traffic", "1"][..], &arguments].concat());
        assert!(!output.status.success() && told(&output).contains(expected), "{}", told(&output));
    }
}
