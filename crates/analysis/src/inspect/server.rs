//! Compares the server's own metrics of a pass with the client's figures. This module does not decide which of the two
//! is right: the cause of a difference lies between the points where server and client measure.

use super::cached::MATERIAL_SHARE;
use crate::PassSummary;
use crate::observed::{ServerLatency, ServerMetrics};
use inferometer_model::metrics::{itl, ttft};
use inferometer_model::{Definition, Finding, code, stats::Distribution};

/// The share of the client's figure by which client and server may differ, in addition to [`Allowed`].
const SHARE: f64 = 0.05;
/// The share that applies instead of [`SHARE`] if the median lies in the lowest bucket of the server's histogram. The
/// histogram does not resolve such short times.
const SHARE_IN_LOWEST_BUCKET: f64 = 0.5;
/// Differences below these values in milliseconds do not matter: for TTFT, and for ITL.
const LEAST_TTFT_MS: f64 = 1.0;
const LEAST_ITL_MS: f64 = 0.2;
/// With at least this many values, a median without a confidence interval counts as exact.
const MANY: f64 = 100.0;
/// If two counts differ by at most this share, client and server counted the same requests or tokens.
const SAME_COUNT: f64 = 0.02;

/// Findings on the server's metrics of a pass: failed reads, differences from the client's figures, and prefix cache
/// hits. A difference of a latency counts only if the network, the client's own error and the histogram's buckets
/// together do not explain it. `in_common` is the number of cached tokens per prompt that belong to the chat template.
pub fn server_findings(pass: &PassSummary, in_common: u32) -> Vec<Finding> {
    let Some(metrics) = &pass.server else { return Vec::new() };
    let mut findings = Vec::new();
    findings.extend(missing(metrics));
    findings.extend(others(pass));
    findings.extend(cached(pass, metrics, in_common));
    let completed = pass.outcomes.complete as f64;
    let gaps = pass.output_tokens as f64 - completed;
    let ttft = (pass.latency(&ttft::FROM_SENT), metrics.ttft_ms, completed);
    let bound_ms = |metric: &Definition| {
        pass.instrument.bounds.bound(metric).map_or(0.0, |bound_us| bound_us.mean * 1e-3)
    };
    let ttft_ms =
        Allowed { way: metrics.took_ms_min, own: bound_ms(&ttft::FROM_SENT) + LEAST_TTFT_MS };
    // The client's gaps are times between tokens only if the server counted the tokens of its answers.
    let itl = (
        pass.latency(&itl::DEFINITION).filter(|_| pass.is_counted_by_usage()),
        metrics.itl_ms,
        gaps,
    );
    // The network may delay a first token by the time of the fastest request to the metrics endpoint. For the gap
    // between two tokens, this delay cancels out.
    let itl_ms = Allowed { way: 0.0, own: bound_ms(&itl::DEFINITION) + LEAST_ITL_MS };
    for (code, words, allowed, (client, server, count)) in [
        (code::SERVER_TTFT_DIFFERS, "time to first token", ttft_ms, ttft),
        (code::SERVER_ITL_DIFFERS, "time between tokens", itl_ms, itl),
    ] {
        if let (Some(client), Some(server)) = (client, server) {
            let differing = differs(words, client, &server, count, allowed);
            findings.extend(
                differing.map(|(message, advice)| Finding::of(code, message).advise(advice)),
            );
        }
    }
    findings
}

fn missing(metrics: &ServerMetrics) -> Option<Finding> {
    let why = metrics.first_failure.as_deref().filter(|_| metrics.failed > 0)?;
    let message = format!(
        "{} of {} reads of the server's metrics failed: {why}",
        metrics.failed, metrics.scrapes
    );
    Some(Finding::of(code::SERVER_METRICS_MISSING, message))
}

/// The finding that the server's count of output tokens differs from the client's count.
fn others(pass: &PassSummary) -> Option<Finding> {
    let (counted, ours) = pass.counts_of_output()?;
    if (counted - ours).abs() <= SAME_COUNT * ours {
        return None;
    }
    let message = format!(
        "the server counted {counted:.0} output tokens during the pass, but this client received \
            {ours:.0}"
    );
    let advice = if counted > ours {
        "the server may have other users, or may generate tokens that it does not send: it had \
            more work than this plan"
    } else {
        "the server may count late or differently; check which of its metrics is read"
    };
    Some(Finding::of(code::SERVER_COUNTS_OTHER_TOKENS, message).advise(advice))
}

/// The finding that the server found prompt tokens in its prefix cache, in addition to those of the chat template.
/// Their number must be at least the share [`MATERIAL_SHARE`] of the looked-up tokens.
fn cached(pass: &PassSummary, metrics: &ServerMetrics, in_common: u32) -> Option<Finding> {
    let (hits, queries) = metrics.prefix_hits.zip(metrics.prefix_queries)?;
    let beyond = hits - f64::from(in_common) * pass.outcomes.total() as f64;
    if queries <= 0.0 || beyond < MATERIAL_SHARE * queries {
        return None;
    }
    let message = format!(
        "the server found {:.1} % of the looked-up prompt tokens in its prefix cache",
        100.0 * hits / queries
    );
    Some(Finding::of(code::SERVER_PREFIX_HITS, message))
}

/// The allowed difference between client and server in milliseconds, in addition to a share.
#[derive(Clone, Copy)]
struct Allowed {
    /// The duration of the fastest read of the server's metrics, or 0 if the network's delay cancels out.
    way: f64,
    /// The client's own error bound, plus the largest difference that does not matter.
    own: f64,
}

/// The message and the advice if client and server differ by more than is allowed. `None` if they do not, or if they
/// counted different events.
fn differs(
    words: &str,
    client: &Distribution,
    server: &ServerLatency,
    count: f64,
    allowed_ms: Allowed,
) -> Option<(String, &'static str)> {
    // If the server counts other events than the client, such as all tokens of one step as one event, their latencies
    // cannot be compared.
    if count <= 0.0 || (server.n - count).abs() > f64::max(1.0, SAME_COUNT * count) {
        return None;
    }
    let share = if server.p50_above > 0.0 { SHARE } else { SHARE_IN_LOWEST_BUCKET };
    let allowed = allowed_ms.way + allowed_ms.own + share * client.mean;
    let mean = (client.mean - server.mean).abs() > allowed;
    let lower = server.p50_above;
    let upper = server.p50_below.unwrap_or(f64::INFINITY);
    // If the values form two groups, their median is uncertain. So the whole confidence interval of the client's median
    // must lie outside the server's bucket.
    let [least, most] = client.p50_ci.unwrap_or([client.p50; 2]);
    let is_sure = client.p50_ci.is_some() || count >= MANY;
    let median = is_sure && (most < lower - allowed || least > upper + allowed);
    if !mean && !median {
        return None;
    }
    let p50 = if upper.is_finite() {
        format!("{lower:.1} to {upper:.1}")
    } else {
        format!("more than {lower:.1}")
    };
    let question = match allowed_ms.way {
        0.0 => String::new(),
        way => {
            format!("; the fastest read of its metrics took {way:.1} ms, including the connection")
        }
    };
    let message = format!(
        "{words}: the client measured {:.1} ms on average (median {:.1}), the server's histogram \
            has {:.1} ms (median {p50}){question}",
        client.mean, client.p50, server.mean
    );
    let advice = if client.mean > server.mean {
        "requests or tokens wait in a part that the server does not time: its HTTP front end, a \
            proxy, the network"
    } else {
        "the server measures between other events than the client, or with another clock"
    };
    Some((message, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributions::Distributions;
    use crate::fold::PassFold;
    use inferometer_model::TokensFrom;
    use inferometer_model::load::{Bound, PassPlan};

    fn distribution(mean: f64, p50: f64) -> Distribution {
        serde_json::from_value(serde_json::json!({
            "mean": mean, "mean_ci": null, "p50": p50, "p50_ci": null, "p90": p50, "p99": p50,
            "p99_ci": null, "max": p50, "n": 100
        }))
        .unwrap()
    }

    /// A pass of 100 requests with 1,000 tokens. `server` has the server's TTFT, `tokens` its token count.
    fn pass(server: ServerLatency, tokens: f64) -> PassSummary {
        let plan = PassPlan::one_by_one(Bound::requests(100));
        let mut pass = PassFold::new(&plan).finish();
        pass.outcomes.complete = 100;
        pass.output_tokens = 1_000;
        pass.tokens_from = Some(TokensFrom::Usage);
        *pass.latencies.entry(&ttft::FROM_SENT) = Some(distribution(100.0, 90.0));
        pass.server = Some(ServerMetrics {
            scrapes: 5,
            took_ms_min: 2.0,
            ttft_ms: Some(server),
            generation_tokens: Some(tokens),
            ..ServerMetrics::default()
        });
        pass
    }

    fn codes(pass: &PassSummary) -> Vec<String> {
        server_findings(pass, 0).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_ttft_difference_is_reported_only_if_network_and_bucket_width_do_not_explain_it() {
        for (mean, lower, upper, n, expected) in [
            (98.0, 80.0, 100.0, 100.0, vec![]),
            (92.5, 80.0, 100.0, 100.0, vec![]),
            (91.5, 80.0, 100.0, 100.0, vec!["server_ttft_differs"]),
            (98.0, 40.0, 81.0, 100.0, vec!["server_ttft_differs"]),
            (98.0, 40.0, 83.5, 100.0, vec![]),
            (50.0, 40.0, 60.0, 120.0, vec![]),
        ] {
            let server = ServerLatency { mean, p50_above: lower, p50_below: Some(upper), n };
            assert_eq!(codes(&pass(server, 1_000.0)), expected, "{mean} {lower} {upper} {n}");
        }
    }

    #[test]
    fn prefix_cache_hits_are_reported_unless_they_are_few_or_from_a_common_prefix() {
        for (hits, expected) in [(4.0, vec![]), (6.0, vec!["server_prefix_hits"])] {
            let server = ServerLatency { mean: 1.0, p50_above: 0.0, p50_below: None, n: 1.0 };
            let mut pass = pass(server, 1_000.0);
            let metrics = pass.server.as_mut().unwrap();
            (metrics.ttft_ms, metrics.prefix_queries, metrics.prefix_hits) =
                (None, Some(100.0), Some(hits));
            assert_eq!(codes(&pass), expected);
            let metrics = pass.server.as_mut().unwrap();
            // 100 prompts that begin with the same 20 tokens. The server has 16 of these tokens in its cache.
            (metrics.prefix_queries, metrics.prefix_hits) = (Some(3_200.0), Some(16.0 * 99.0));
            assert_eq!(codes(&pass), ["server_prefix_hits"]);
            assert_eq!(server_findings(&pass, 20), []);
        }
    }

    #[test]
    fn a_server_median_that_overlaps_the_clients_confidence_interval_is_no_difference() {
        let server = ServerLatency { mean: 98.0, p50_above: 40.0, p50_below: Some(60.0), n: 100.0 };
        let mut pass = pass(server, 1_000.0);
        pass.latencies.entry(&ttft::FROM_SENT).as_mut().unwrap().p50_ci = Some([50.0, 120.0]);
        assert_eq!(codes(&pass), Vec::<String>::new());
        pass.latencies.entry(&ttft::FROM_SENT).as_mut().unwrap().p50_ci = Some([80.0, 120.0]);
        assert_eq!(codes(&pass), ["server_ttft_differs"]);
    }

    #[test]
    fn itl_is_compared_with_the_server_only_if_both_sides_count_tokens() {
        let server = ServerLatency { mean: 98.0, p50_above: 80.0, p50_below: None, n: 100.0 };
        let mut slow = pass(server, 1_000.0);
        *slow.latencies.entry(&itl::DEFINITION) = Some(distribution(30.0, 30.0));
        slow.server.as_mut().unwrap().itl_ms = Some(ServerLatency { n: 900.0, ..server });
        assert_eq!(codes(&slow), ["server_itl_differs"]);
        slow.tokens_from = Some(TokensFrom::Events);
        assert_eq!(codes(&slow), [""; 0]);
    }

    #[test]
    fn network_time_does_not_explain_a_difference_of_itl() {
        let server = ServerLatency { mean: 5.0, p50_above: 4.0, p50_below: Some(6.0), n: 900.0 };
        let mut pass = pass(ServerLatency { n: 100.0, mean: 98.0, ..server }, 1_000.0);
        *pass.latencies.entry(&itl::DEFINITION) = Some(distribution(4.0, 5.0));
        let metrics = pass.server.as_mut().unwrap();
        (metrics.took_ms_min, metrics.ttft_ms, metrics.itl_ms) = (50.0, None, Some(server));
        let found = server_findings(&pass, 0);
        assert_eq!(found[0].code, "server_itl_differs");
        assert!(!found[0].message.contains("fastest read"), "{}", found[0].message);
    }

    #[test]
    fn itl_differences_that_are_small_or_within_the_clients_error_bound_are_not_reported() {
        // Columns: the client's mean, the server's mean, the bucket of the server's median, the client's bound in
        // microseconds, and whether a difference is reported.
        for (client, mean, p50, bound_us, is_told) in [
            (1.6, 1.5, [0.0, 10.0], 0.0, false),
            (3.0, 1.0, [0.0, 10.0], 0.0, true),
            (30.0, 28.3, [25.0, 50.0], 0.0, false),
            (30.0, 28.0, [25.0, 50.0], 0.0, true),
            (30.0, 28.0, [25.0, 50.0], 400.0, false),
        ] {
            let [p50_above, p50_below] = p50;
            let server = ServerLatency { mean, p50_above, p50_below: Some(p50_below), n: 900.0 };
            let mut pass = pass(server, 1_000.0);
            *pass.latencies.entry(&itl::DEFINITION) = Some(distribution(client, client));
            let bound = distribution(bound_us, bound_us);
            let of = |metric: &Definition| (metric == &itl::DEFINITION).then_some(bound);
            pass.instrument.bounds = Distributions::of_bounds(of);
            let metrics = pass.server.as_mut().unwrap();
            (metrics.ttft_ms, metrics.itl_ms) = (None, Some(server));
            let expected = &["server_itl_differs"][..usize::from(is_told)];
            assert_eq!(codes(&pass), expected, "{client} {mean} {bound_us}");
        }
    }

    #[test]
    fn tokens_of_other_clients_and_failed_metric_scrapes_are_reported() {
        let server = ServerLatency { mean: 98.0, p50_above: 80.0, p50_below: None, n: 100.0 };
        let mut busy = pass(server, 1_100.0);
        assert_eq!(codes(&busy), ["server_counts_other_tokens"]);
        for from in [Some(TokensFrom::Tokenizer), Some(TokensFrom::Events), None] {
            busy.tokens_from = from;
            assert_eq!(codes(&busy), [""; 0], "{from:?}");
        }
        busy.tokens_from = Some(TokensFrom::Usage);
        busy.outcomes.timed_out = 1;
        assert_eq!(codes(&busy), [""; 0]);
        let metrics = busy.server.as_mut().unwrap();
        (metrics.failed, metrics.first_failure) = (2, Some("it answered 500".to_owned()));
        let told = server_findings(&busy, 0);
        assert_eq!(told[0].code, "server_metrics_missing");
        assert!(told[0].message.contains("2 of 5") && told[0].message.contains("500"));
    }
}
