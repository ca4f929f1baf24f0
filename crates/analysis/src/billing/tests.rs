//! Costs against computations by hand, and their intervals against the true cost of simulated servers.

use serde_json::json;

use super::*;
use crate::{Cell, PassFold};
use inferometer_model::fixture::{ms, steady};
use inferometer_model::metrics::request_objective;
use inferometer_model::stats::seed;
use inferometer_model::{Bound, Outcome, PassPlan, Timeline};

fn keys(price: &str, gpus: Option<u32>, split: &str) -> PriceKeys {
    PriceKeys { price: Some(price.to_owned()), gpus, price_split: Some(split.to_owned()) }
}

fn summary(pass: PassSummary, facts: serde_json::Value) -> Summary {
    let cell = Cell { passes: vec![pass], ..Cell::default() };
    let mut summary = Summary { cells: vec![cell], ..Summary::default() };
    summary.target.facts = serde_json::from_value(facts).expect("facts");
    summary
}

/// The costs of the pass, and the finding.
fn billed(mut summary: Summary, keys: &PriceKeys) -> (Option<PassCost>, Bill, Option<String>) {
    summary.set_price(keys, None);
    let told = summary.findings.first().map(|finding| finding.message.clone());
    let cost = summary.cells[0].passes[0].cost.clone();
    (cost, summary.price.expect("a bill"), told)
}

const HOUR_MS: f64 = 3.6e6;

/// A pass of 3 hours: four complete requests with 8 prompt tokens each and 1000, 2000, 3000 and 4000 output tokens, one
/// that failed after 500 tokens, and one that was cancelled in the third hour. The first two met the objective.
fn three_hours() -> PassSummary {
    let plan = PassPlan::closed(2, Bound::requests(6));
    let objectives = request_objective::parse("e2e<4000s").expect("an objective");
    let mut fold = PassFold::new(&plan).judging(&objectives);
    let mut add = |sent_h: f64, until_h: f64, tokens: u32, outcome: Outcome| {
        let gap_ms = (until_h - sent_h) * HOUR_MS / f64::from(tokens);
        let mut record = steady(sent_h * HOUR_MS, gap_ms, gap_ms, tokens);
        record.outcome = outcome;
        record.ended = Some(ms(until_h * HOUR_MS));
        fold.add(&Timeline::new(&record));
    };
    add(0.0, 1.0, 1_000, Outcome::Complete);
    add(0.0, 1.0, 2_000, Outcome::Complete);
    add(1.0, 2.5, 3_000, Outcome::Complete);
    add(1.0, 2.0, 500, Outcome::Truncated);
    add(1.0, 2.5, 4_000, Outcome::Complete);
    add(2.5, 3.0, 100, Outcome::Cancelled);
    fold.finish()
}

#[test]
fn a_bill_pays_all_gpus_for_the_whole_time_and_also_for_what_failed_or_was_cancelled() {
    let facts = json!({ "tensor_parallel_size": "4", "pipeline_parallel_size": "2" });
    let (cost, bill, told) =
        billed(summary(three_hours(), facts), &keys("2.5/gpu-hour", None, "tokens"));
    let cost = cost.expect("costs");
    // 8 GPUs x 2.5 $/h x 3 h; 32 + 10,000 tokens of complete requests; 16 + 3,000 of them within the objective.
    assert_eq!((bill.gpus, bill.usd_per_hour, told), (Some(8), Some(20.0), None));
    let cents = |money: Option<Money>| (money.expect("an amount").usd * 100.0).round() as u64;
    assert_eq!((cost.total * 100.0).round(), 6_000.0);
    let million = |tokens: f64| (60.0 / tokens * 1e6 * 100.0).round() as u64;
    assert_eq!(cents(cost.per_million_tokens), million(10_032.0));
    assert_eq!(cents(cost.per_million_input_tokens), million(10_032.0));
    assert_eq!(cents(cost.per_request), 1_500);
    assert_eq!(cents(cost.per_million_tokens_within), million(3_016.0));
    assert_eq!(cents(cost.per_request_within), 3_000);
    assert_eq!(cost.per_job, None);
}

#[test]
fn the_parts_of_a_split_bill_add_up_to_the_bill() {
    for (split, weight) in [("tokens", 1.0), ("4", 4.0)] {
        let (cost, ..) = billed(summary(three_hours(), json!({})), &keys("20/hour", None, split));
        let cost = cost.expect("costs");
        let [input, output] = [cost.per_million_input_tokens, cost.per_million_output_tokens]
            .map(|money| money.expect("an amount").usd / 1e6);
        assert!((32.0 * input + 10_000.0 * output - 60.0).abs() < 1e-9, "{split}");
        assert!((output / input - weight).abs() < 1e-9, "{split}");
    }
    let (cost, ..) = billed(summary(three_hours(), json!({})), &keys("20/hour", None, "output"));
    let cost = cost.expect("costs");
    assert_eq!(cost.per_million_input_tokens, None);
    let output = cost.per_million_output_tokens.expect("an amount").usd;
    assert!((output - 60.0 / 10_000.0 * 1e6).abs() < 1e-6);
}

#[test]
fn the_number_of_gpus_is_counted_or_stated_and_without_it_nothing_is_billed() {
    let of = |facts: serde_json::Value, engine: Option<&str>, servers: usize, gpus: Option<u32>| {
        let mut summary = summary(three_hours(), facts);
        summary.target.engine = engine.map(str::to_owned);
        summary.target.servers = (0..servers).map(|at| format!("http://{at}")).collect();
        let (cost, bill, told) = billed(summary, &keys("1/gpu-hour", gpus, "tokens"));
        assert_eq!(cost.is_none(), told.is_some());
        bill.gpus
    };
    assert_eq!(of(json!({ "tp_size": "4" }), None, 0, None), Some(4));
    assert_eq!(of(json!({ "tp_size": "4" }), None, 3, None), Some(12));
    assert_eq!(of(json!({ "tp_size": "4" }), None, 0, Some(5)), Some(5));
    assert_eq!(of(json!({ "command": "vllm serve m -tp 2" }), Some("vllm"), 0, None), Some(2));
    assert_eq!(of(json!({ "command": "vllm serve m" }), Some("vllm"), 0, None), Some(1));
    assert_eq!(of(json!({}), Some("vllm"), 0, None), None);
    assert_eq!(of(json!({ "command": "llama-server" }), Some("llama.cpp"), 0, None), None);
    let (cost, _, told) =
        billed(summary(three_hours(), json!({})), &keys("h200 = 2/gpu-hour", Some(1), "tokens"));
    assert!(cost.is_none() && told.is_some_and(|told| told.contains("the card is not known")));
}

#[test]
fn a_cost_per_job_follows_from_the_jobs_per_hour() {
    let pass = three_hours().with_figure(&jobs::PER_HOUR, 8.0);
    let (cost, ..) = billed(summary(pass, json!({})), &keys("20/hour", None, "tokens"));
    assert!((cost.expect("costs").per_job.expect("jobs").usd - 2.5).abs() < 1e-9);
}

/// A load of 400 requests, whose answers have 20 to 60 tokens, which take 10 ms each: a closed loop of 16, or Poisson
/// arrivals. The objective is met by answers of less than 450 ms. One request in twenty fails.
fn random(plan: &PassPlan, seed: u64) -> PassSummary {
    let mut rng = seed::rng(seed, &["cost"]);
    let objectives = request_objective::parse("e2e<450ms").expect("an objective");
    let mut fold = PassFold::new(plan).judging(&objectives);
    let gaps: Vec<f64> = (0..400).map(|_| -(1.0 - seed::unit(&mut rng)).ln()).collect();
    // As without --no-scale, 400 arrivals span exactly 400 x 30 ms.
    let scale = 400.0 * 30.0 / gaps.iter().sum::<f64>();
    let (mut free_ms, mut now_ms) = ([0.0_f64; 16], 0.0);
    for index in 0..400 {
        let slot = (0..16).min_by(|a, b| free_ms[*a].total_cmp(&free_ms[*b])).unwrap_or(0);
        now_ms += scale * gaps[index as usize];
        let sent_ms = if plan.rate().is_some() { now_ms } else { free_ms[slot] };
        let tokens = 20 + seed::below(&mut rng, 41) as u32;
        let mut record = steady(sent_ms, 10.0, 10.0, tokens);
        record.index = index;
        if seed::unit(&mut rng) < 0.05 {
            record.outcome = Outcome::Truncated;
        }
        fold.add(&Timeline::new(&record));
        free_ms[slot] += 10.0 * f64::from(tokens);
    }
    fold.finish()
}

#[test]
fn the_interval_of_a_cost_holds_the_true_cost_in_19_of_20_passes() {
    type Of = fn(&PassCost) -> Option<Money>;
    let closed = PassPlan::closed(16, Bound::requests(400));
    let open = PassPlan::open(1e3 / 30.0, Bound::requests(400));
    let of_all: Of = |cost| cost.per_million_tokens;
    let cases: [(&str, &PassPlan, &str, Of); 6] = [
        ("all tokens", &closed, "tokens", of_all),
        ("output tokens", &closed, "4", |cost| cost.per_million_output_tokens),
        ("output pays", &closed, "output", |cost| cost.per_million_output_tokens),
        ("request", &closed, "tokens", |cost| cost.per_request),
        ("within", &closed, "tokens", |cost| cost.per_million_tokens_within),
        ("within, at a rate", &open, "tokens", |cost| cost.per_million_tokens_within),
    ];
    for (what, plan, split, of) in cases {
        let keys = keys("10/hour", None, split);
        let money = |seed| {
            let (cost, ..) = billed(summary(random(plan, seed), json!({})), &keys);
            of(&cost.expect("costs")).expect("an amount")
        };
        let all: Vec<Money> = (0..400).map(money).collect();
        // The true cost is that at the mean rate over all passes.
        let truth = 1.0 / (all.iter().map(|one| 1.0 / one.usd).sum::<f64>() / all.len() as f64);
        let stated: Vec<[f64; 2]> = all.iter().filter_map(|one| one.ci).collect();
        let held = stated.iter().filter(|[low, high]| (*low..=*high).contains(&truth)).count();
        // 380 of 400 should hold it; three standard deviations are 13.
        let is_right = stated.len() >= 390 && held as f64 >= 0.92 * stated.len() as f64;
        assert!(is_right, "{what}: {held} of {}", stated.len());
    }
}
