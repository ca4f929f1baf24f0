//! Tests of the times of a request that servers state in their answers.

use inferometer_model::outcome::Outcome;
use inferometer_model::record::{
    ServerTime::{self, Decode, FirstToken, Inference, Prefill, Queue, Total},
    ServerTimes,
};

use crate::fixtures::read_fixture;
use crate::support::{read, sse};

#[test]
fn times_are_read_from_where_each_server_states_them() {
    let cases: [(_, _, &[(ServerTime, u32)]); 10] = [
        ("tgi/generate-whole", "tgi", &[(Queue, 0), (Inference, 318_000), (Total, 318_000)]),
        ("tgi/chat-whole", "openai-chat", &[(Queue, 0), (Inference, 233_000), (Total, 233_000)]),
        ("tgi/generate-stream", "tgi", &[]),
        ("vllm/chat-whole", "openai-chat", &[]),
        ("llama-cpp/chat-stream", "openai-chat", &[(Prefill, 1_078_915), (Decode, 431_583)]),
        (
            "llama-cpp/completions-whole",
            "openai-completions",
            &[(Prefill, 911_878), (Decode, 524_329)],
        ),
        ("llama-cpp/responses-stream", "openai-responses", &[(Prefill, 41_904), (Decode, 444_028)]),
        ("llama-cpp/completion-stream", "llama-cpp", &[(Prefill, 43_975), (Decode, 871_625)]),
        ("llama-cpp/completion-stream-progress", "llama-cpp", &[(Prefill, 4_277), (Decode, 181)]),
        (
            "sglang/generate-stream",
            "sglang",
            &[(Queue, 242), (Prefill, 2_253), (FirstToken, 4_099), (Total, 7_652)],
        ),
    ];
    for (name, dialect, stated) in cases {
        let stated = stated
            .iter()
            .fold(ServerTimes::default(), |times, &(time, us)| times.with(time, Some(us)));
        assert_eq!(read_fixture(name, dialect).server_times, stated, "{name}");
    }
}

#[test]
fn vllm_states_the_times_of_a_request_in_its_last_chunk() {
    let text = r#"{"choices":[{"index":0,"text":"a","finish_reason":null}]}"#;
    let end = r#"{"choices":[{"index":0,"text":"","finish_reason":"length"}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1},"metrics":{
        "time_to_first_token_ms":104.2,"generation_time_ms":null,"queue_time_ms":41900,"mean_itl_ms":1,
        "speculative_decoding":{"per_step_accepted":[1,2]}}}"#;
    let reading = read(
        "openai-completions",
        true,
        [&sse(&[text, end, &usage.replace('\n', ""), "[DONE]"])[..]],
    );
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "TFUD"));
    let times = ServerTimes::default().with(Queue, Some(41_900_000));
    assert_eq!(reading.server_times, times.with(Prefill, Some(104_200)));
}
