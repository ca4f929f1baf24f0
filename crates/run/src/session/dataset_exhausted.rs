//! Whether the data set had enough requests for a pass. Does not read the data set.

use inferometer_model::{Finding, PassPlan, code, load::ReplayPlan};

/// Findings on a pass that had `requests` requests. `trace_length` is the number of requests of a trace that is
/// repeated after its last request; `None` for other workloads.
pub fn findings(
    pass: &PassPlan,
    requests: u64,
    trace_length: Option<u64>,
) -> impl Iterator<Item = Finding> {
    let fewer = match pass {
        PassPlan::Replay(ReplayPlan { recording, bound, .. }) => bound
            .requests
            .filter(|asked| *asked > recording.requests)
            .map(|asked| (asked, recording.requests)),
        _ => None,
    };
    let fewer = fewer.map(|(asked, has)| {
        let told = format!(
            "--requests is {asked}, but the file has only {has} requests: the pass had {has}"
        );
        Finding::of(code::FEWER_REQUESTS_THAN_ASKED, told)
    });
    let again = trace_length.filter(|trace_length| requests > *trace_length).map(|trace_length| {
        let told = format!(
            "the trace has {trace_length} requests and the pass had {requests}: the trace was \
                repeated from its first request, with the same lengths and new words"
        );
        Finding::of(code::TRACE_BEGAN_AGAIN, told)
    });
    fewer.into_iter().chain(again)
}

#[cfg(test)]
mod tests {
    use inferometer_model::load::Recording;
    use inferometer_model::load::{Bound, OverLimit};
    use inferometer_model::time::Nanos;

    use super::*;

    fn replay(asked: u32, has: u64) -> PassPlan {
        let mut recording = Recording::of_file("trace");
        recording.write((0..has).map(Nanos));
        let (speed, bound) = (1.0, Bound::requests(asked));
        let (max_in_flight, over_limit) = (None, OverLimit::Queue);
        PassPlan::Replay(ReplayPlan { recording, speed, bound, max_in_flight, over_limit })
    }

    #[test]
    fn a_data_set_with_fewer_requests_than_a_pass_needs_gives_a_finding() {
        let saturated = PassPlan::saturated(9);
        for (pass, requests, trace_length, expected) in [
            (replay(9, 4), 4, Some(4), &["fewer_requests_than_asked"][..]),
            (replay(4, 4), 4, Some(4), &[]),
            (replay(3, 4), 3, Some(4), &[]),
            (saturated.clone(), 9, Some(4), &["trace_began_again"]),
            (saturated.clone(), 9, Some(9), &[]),
            (saturated, 9, None, &[]),
        ] {
            let found: Vec<_> = findings(&pass, requests, trace_length).collect();
            let codes: Vec<&str> = found.iter().map(|it| it.code.as_str()).collect();
            assert_eq!(codes, expected, "{pass}");
        }
    }
}
