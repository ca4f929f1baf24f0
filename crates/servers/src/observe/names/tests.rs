//! Tests of parsing, with recorded answers of real servers.

use super::*;
use Quantity::{
    Accepted, Drafted, GenerationTokens, KvUse, Preemptions, PrefixHits, PrefixQueries, Running,
    Waiting,
};

const VLLM: &str = include_str!("../../../fixtures/vllm-0.32.txt");
const SGLANG: &str = include_str!("../../../fixtures/sglang-0.5.23.txt");
const TGI: &str = include_str!("../../../fixtures/tgi-3.3.6.txt");
const LLAMA_CPP: &str = include_str!("../../../fixtures/llama-cpp-b11434.txt");

#[test]
fn the_metrics_of_each_engine_are_read_under_its_own_metric_names() {
    for (text, expected) in [
        (
            VLLM,
            vec![
                (Running, 0.0),
                (Waiting, 0.0),
                (KvUse, 0.0),
                (Preemptions, 0.0),
                (PrefixQueries, 68.0),
                (PrefixHits, 0.0),
                (GenerationTokens, 39.0),
            ],
        ),
        (
            SGLANG,
            vec![
                (Running, 0.0),
                (Waiting, 0.0),
                (KvUse, 0.39),
                (PrefixQueries, 6_591.0),
                (PrefixHits, 3_448.0),
                (GenerationTokens, 2_203.0),
            ],
        ),
        (TGI, vec![(Running, 0.0), (Waiting, 0.0), (GenerationTokens, 88.0)]),
        (
            "dynamo_frontend_queued_requests{model=\"a\"} 2\n\
             dynamo_frontend_output_tokens_total{model=\"a\"} 9\n",
            vec![(Waiting, 2.0), (GenerationTokens, 9.0)],
        ),
        (
            "maxserve_num_requests_running 3.0\nmaxserve_num_requests_queued 1.0\n\
             maxserve_num_output_tokens_total 8.0\nmaxserve_cache_preemption_count_total 1.0\n",
            vec![(Running, 3.0), (Waiting, 1.0), (Preemptions, 1.0), (GenerationTokens, 8.0)],
        ),
        (
            LLAMA_CPP,
            vec![
                (Running, 0.0),
                (Waiting, 0.0),
                (PrefixQueries, 0.0),
                (PrefixHits, 0.0),
                (Drafted, 0.0),
                (Accepted, 0.0),
                (GenerationTokens, 0.0),
            ],
        ),
    ] {
        let sample = MetricNames::known().read(text, Histograms::Read).values;
        assert_eq!(sample, expected.into_iter().collect::<BTreeMap<_, _>>());
    }
}

#[test]
fn histograms_are_read_with_buckets_sum_and_count_or_skipped() {
    let sample = MetricNames::known().read(VLLM, Histograms::Read).histograms;
    let ttft = &sample[&Latency::Ttft];
    assert_eq!((ttft.count, ttft.sum), (11.0, 13.395433187484741));
    assert_eq!((ttft.below.len(), ttft.below[0].0), (22, 0.001));
    let itl = &sample[&Latency::Itl];
    assert_eq!((itl.count, itl.quantile_within(0.5)), (28.0, Some([0.0, 0.01])));
    let queue = &MetricNames::known().read(TGI, Histograms::Read).histograms[&Latency::Queue];
    assert_eq!((queue.count, queue.sum), (10.0, 0.00039034599999999997));
    // SGLang has one histogram for each of two kinds of requests. They are added.
    let sample = MetricNames::known().read(SGLANG, Histograms::Read).histograms;
    assert_eq!(sample[&Latency::Ttft].count, 57.0);
    assert!(MetricNames::known().read(VLLM, Histograms::Skip).histograms.is_empty());
}

#[test]
fn histograms_in_milliseconds_are_read_in_seconds() {
    let text = "maxserve_itl_milliseconds_bucket{le=\"5.0\"} 3\n\
                maxserve_itl_milliseconds_sum 12.0\nmaxserve_itl_milliseconds_count 4\n";
    let itl = &MetricNames::known().read(text, Histograms::Read).histograms[&Latency::Itl];
    assert_eq!((itl.count, itl.sum), (4.0, 0.012));
    assert_eq!(itl.below, [(0.005, 3.0)]);
}

#[test]
fn waiting_requests_of_triton_are_summed_over_all_models() {
    let text = "# TYPE nv_inference_pending_request_count gauge\n\
                nv_inference_pending_request_count{model=\"a\",version=\"1\"} 2\n\
                nv_inference_pending_request_count{model=\"b\",version=\"1\"} 3\n";
    let sample = MetricNames::known().read(text, Histograms::Read).values;
    assert_eq!(sample, BTreeMap::from([(Waiting, 5.0)]));
}

#[test]
fn counts_of_several_engines_at_one_address_are_summed_and_shares_are_averaged() {
    let text = "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} \
                5\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} \
                0.4\nvllm:gpu_cache_usage_perc{engine=\"0\"} 0.9\n";
    let sample = MetricNames::known().read(text, Histograms::Read).values;
    assert_eq!(sample[&Running], 8.0);
    assert!((sample[&KvUse] - 0.3).abs() < 1e-12, "the current name is used, not the older one");
}

#[test]
fn metric_names_of_the_user_come_first_and_unknown_quantities_are_refused() {
    let own = |quantity: &str, name: &str| {
        MetricNames::with(&BTreeMap::from([(quantity.to_owned(), name.to_owned())]))
    };
    let names = own("running", "mine_a + mine_b").unwrap();
    let sample = names.read("mine_a 1\nmine_b 2\nvllm:num_requests_running 9\n", Histograms::Skip);
    assert_eq!(sample.values[&Running], 3.0);
    let error = own("speed", "mine").unwrap_err();
    assert!(
        error.to_string().contains("`speed`") && error.to_string().contains("kv_use"),
        "{error}"
    );
}

#[test]
fn a_histogram_with_a_value_that_is_not_finite_is_ignored() {
    let text = |bucket: &str, sum: &str, count: &str| {
        let name = "vllm:time_to_first_token_seconds";
        format!("{name}_bucket{{le=\"1\"}} {bucket}\n{name}_sum {sum}\n{name}_count {count}\n")
    };
    let read = |text: String| MetricNames::known().read(&text, Histograms::Read).histograms.len();
    assert_eq!(read(text("1", "0.5", "1")), 1);
    for (bucket, sum, count) in
        [("NaN", "0.5", "1"), ("1", "NaN", "1"), ("1", "+Inf", "1"), ("1", "0.5", "NaN")]
    {
        assert_eq!(read(text(bucket, sum, count)), 0, "{bucket} {sum} {count}");
    }
}

#[test]
fn a_missing_metric_name_of_the_user_is_reported_and_not_replaced_by_a_known_name() {
    let own = BTreeMap::from([("running".to_owned(), "mine_a + mine_b".to_owned())]);
    let names = MetricNames::with(&own).unwrap();
    let text = "mine_a 1\nvllm:num_requests_running 9\nvllm:num_requests_waiting 2\n";
    assert_eq!(names.unknown_to(text), ["mine_b"]);
    let sample = names.read(text, Histograms::Skip).values;
    assert_eq!(sample, BTreeMap::from([(Waiting, 2.0)]), "neither half a sum nor vLLM's metric");
    assert_eq!(names.unknown_to("mine_a 1\n# TYPE mine_b gauge\n"), [""; 0]);
    for (name, text) in
        [("t_total", "# TYPE t counter\n"), ("h", "h_bucket{le=\"1\"} 0\nh_sum 0\nh_count 0\n")]
    {
        let own = BTreeMap::from([("ttft".to_owned(), name.to_owned())]);
        assert_eq!(MetricNames::with(&own).unwrap().unknown_to(text), [""; 0], "{name}");
    }
    assert_eq!(MetricNames::known().unknown_to(""), [""; 0]);
}
