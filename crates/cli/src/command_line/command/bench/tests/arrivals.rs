//! Tests for which loads the arrivals are those of vLLM.

use serde_json::json;

use super::keys;

#[test]
fn an_infinite_rate_sends_all_requests_at_once() {
    assert_eq!(keys("--request-rate inf")["rate"], json!(["inf"]));
}

#[test]
fn the_arrivals_are_those_of_vllm_only_if_its_gaps_are_known() {
    assert_eq!(keys("--request-rate 4")["arrivals"], "vllm");
    assert_eq!(keys("--request-rate 4 --burstiness 0.5")["arrivals"], "vllm");
    for other in [
        "--request-rate inf",
        "--request-rate 4 --burstiness inf",
        "--request-rate 4 --dataset-name prefix_repetition",
        "--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 4",
    ] {
        assert!(!keys(other).contains_key("arrivals"), "{other}");
    }
}
