//! Tests of the encoder.

use super::*;
use inferometer_model::Prompt;
use inferometer_model::source::Prepared;
use inferometer_wire::dialect::dialect;

#[test]
fn a_loop_that_is_too_far_ahead_waits_until_the_loops_behind_take_their_requests() {
    let request = Request::new(Prompt::Text("a".to_owned()), 1, 1);
    let endpoint = Endpoint {
        dialect: dialect("openai-completions").expect("known"),
        authority: "h".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        model: "m".to_owned(),
    };
    let sampling = Sampling {
        temperature: 0.0,
        ignore_eos: true,
        stream: true,
        extra_body: serde_json::Map::new(),
    };
    let source = Box::new(Prepared::new(vec![request; 2 * MAX_REQUESTS_AHEAD]));
    let mut encoder = Encoder::new(source, endpoint, sampling, false);
    let far = MAX_REQUESTS_AHEAD as u32 + 7;
    assert!(matches!(encoder.request(far), NextRequest::Wait));
    assert_eq!(encoder.ahead.len(), MAX_REQUESTS_AHEAD);
    for behind in 0..8 {
        assert!(matches!(encoder.request(behind), NextRequest::Request(_)), "{behind}");
    }
    assert!(matches!(encoder.request(far), NextRequest::Request(_)));
}
