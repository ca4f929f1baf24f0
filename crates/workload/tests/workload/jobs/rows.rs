//! Traces of jobs: rows that are easily read as something else. Each trace is told in words, of which the table has the
//! decisive ones.

use super::*;

/// What the rows are, the format if it must be named, the rows, and what is told of them.
const TABLE: &[(&str, Option<&str>, &str, &str)] = &[
    (
        "Mooncake: rows without ids that are what is new, one longer than the prompt before it",
        None,
        r#"{"session_id":"s","timestamp":0,"input_length":1000,"output_length":10}
        {"session_id":"s","delay":1,"input_length":50,"output_length":10}
        {"session_id":"s","delay":1,"input_length":500,"output_length":10}"#,
        "prompt Inferred(1570), keeps Inferred(1070)",
    ),
    (
        "LiteLLM: prompt tokens that have the cached tokens of Anthropic in them",
        None,
        r#"{"call_type":"completion","id":"a","trace_id":"s","startTime":1,"endTime":2,"prompt_tokens":1000,
            "response":{"usage":{"prompt_tokens":1000,"cache_read_input_tokens":800,"cache_creation_input_tokens":100}}}"#,
        "prompt Recorded(1000)",
    ),
    (
        "Anthropic: cached tokens that are no number",
        None,
        r#"{"request":{"messages":[]},"response":{"usage":{"input_tokens":9,"cache_read_input_tokens":"many"}}}"#,
        "rows left out: 1",
    ),
    (
        "Anthropic: marks of cache breakpoints that move to the newest message",
        None,
        r#"{"request":{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]},"response":{"usage":{"input_tokens":9,"output_tokens":1}}}
        {"request":{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]},"response":{"usage":{"input_tokens":12,"output_tokens":1}}}"#,
        "row 2 after [row 1]",
    ),
    (
        "Dynamo: an old name of the session of a tool",
        None,
        r#"{"event":{"event_type":"request_end","event_time_unix_ms":1000,"agent_context":{"program_id":"s"},"request":{"request_id":"a","output_tokens":1,"replay":{"trace_block_size":64,"input_length":64,"input_sequence_hashes":[1]}}}}
        {"event":{"event_type":"tool_end","event_time_unix_ms":1900,"agent_context":{"program_id":"s"},"tool":{"started_at_unix_ms":1100}}}
        {"event":{"event_type":"request_end","event_time_unix_ms":3000,"agent_context":{"program_id":"s"},"request":{"request_id":"b","output_tokens":1,"replay":{"trace_block_size":64,"input_length":64,"input_sequence_hashes":[1]}}}}"#,
        "b after [a], gap Absent, tool Inferred(800000000)",
    ),
    (
        "Dynamo: a tool without a begin",
        None,
        r#"{"event":{"event_type":"request_end","event_time_unix_ms":1000,"agent_context":{"session_id":"s"},"request":{"request_id":"a","output_tokens":1,"replay":{"trace_block_size":64,"input_length":64,"input_sequence_hashes":[1]}}}}
        {"event":{"event_type":"tool_end","event_time_unix_ms":1900,"agent_context":{"session_id":"s"},"tool":{}}}"#,
        "left out: 1 x no `started_at_unix_ms`",
    ),
    (
        "Dynamo: a call without its end is left out as a whole",
        None,
        r#"{"event":{"event_type":"request_end","event_time_unix_ms":1000,"agent_context":{"session_id":"s"},"request":{"request_id":"a","output_tokens":1,"replay":{"trace_block_size":64,"input_length":64,"input_sequence_hashes":[1]}}}}
        {"event":{"event_type":"request_end","event_time_unix_ms":"soon","agent_context":{"session_id":"s"},"request":{"request_id":"b","output_tokens":1,"replay":{"trace_block_size":64,"input_length":64,"input_sequence_hashes":[1]}}}}"#,
        "1 calls; left out: 1 x `event/event_time_unix_ms` is not a valid time",
    ),
    (
        "Dynamo: blocks of two sizes",
        None,
        r#"{"event":{"event_type":"request_end","event_time_unix_ms":1000,"agent_context":{"session_id":"s"},"request":{"request_id":"a","output_tokens":1,"replay":{"trace_block_size":64,"input_length":64,"input_sequence_hashes":[1]}}}}
        {"event":{"event_type":"request_end","event_time_unix_ms":2000,"agent_context":{"session_id":"s"},"request":{"request_id":"b","output_tokens":1,"replay":{"trace_block_size":32,"input_length":64,"input_sequence_hashes":[1,2]}}}}"#,
        "line 2: its blocks have 32 tokens, those of earlier rows 64",
    ),
    (
        "Weka: a think time from the end of a sub-agent in the background",
        None,
        r#"{"id":"w","block_size":64,"requests":[{"t":0.5,"in":70,"out":1,"api_time":1.0,"hash_ids":[1]},
            {"t":2.5,"type":"subagent","agent_id":"x","status":"async_launched",
                "requests":[{"t":2.5,"in":80,"out":1,"api_time":1.0,"hash_ids":[2]}]},
            {"t":10.5,"in":140,"out":1,"api_time":1.0,"think_time":7.0,"hash_ids":[1,3]}]}"#,
        "row 3 after [row 1], gap Inferred(9000000000)",
    ),
    (
        "Weka: a think time as measured",
        None,
        r#"{"id":"w","block_size":64,"requests":[{"t":0.5,"in":70,"out":1,"api_time":1.0,"hash_ids":[1]},
            {"t":3.5,"in":140,"out":1,"api_time":1.0,"think_time":2.0,"hash_ids":[1,3]}]}"#,
        "row 2 after [row 1], gap Recorded(2000000000)",
    ),
    (
        "Weka: a helper beside the main calls, which share blocks with each other only",
        None,
        r#"{"id":"w","block_size":64,"requests":[
            {"t":0.1,"in":640,"out":1,"api_time":1.4,"hash_ids":[1,2,3,4,5,6,7,8,9,10]},
            {"t":1.6,"in":128,"out":1,"api_time":1.5,"hash_ids":[101,102]},
            {"t":1.7,"in":704,"out":1,"api_time":0.9,"hash_ids":[1,2,3,4,5,6,7,8,9,10,11]},
            {"t":3.2,"in":768,"out":1,"api_time":1.0,"hash_ids":[1,2,3,4,5,6,7,8,9,10,11,12]}]}"#,
        "row 4 after [row 3]",
    ),
    (
        "Weka: ids of the session, then ids of all sessions",
        None,
        r#"{"id":"v","block_size":64,"hash_id_scope":"local","requests":[{"t":0.5,"in":128,"out":1,"api_time":1.0,"hash_ids":[91,92]}]}
        {"id":"w","block_size":64,"hash_id_scope":"global","requests":[{"t":9.5,"in":192,"out":1,"api_time":1.0,"hash_ids":[1,2,3]}]}"#,
        "ideal share 0.00",
    ),
    (
        "Weka: blocks of two sizes",
        None,
        r#"{"id":"v","block_size":64,"requests":[{"t":0.5,"in":128,"out":1,"api_time":1.0,"hash_ids":[91,92]}]}
        {"id":"w","block_size":32,"requests":[{"t":9.5,"in":64,"out":1,"api_time":1.0,"hash_ids":[1,2]}]}"#,
        "line 2: its blocks have 32 tokens, those of earlier rows 64",
    ),
    (
        "Weka: an end from a start and a duration",
        None,
        r#"{"id":"v","block_size":64,"requests":[{"t":0.5,"in":128,"out":1,"api_time":1.0,"hash_ids":[91,92]}]}"#,
        "end Inferred(1500000000)",
    ),
    (
        "Mooncake: a long row without ids",
        None,
        r#"{"session_id":"s","timestamp":0,"input_length":100,"output_length":10}
        {"session_id":"s","delay":1,"input_length":500,"output_length":10}"#,
        "line 2: cannot tell whether rows of session `s` are whole prompts or only what is new",
    ),
    (
        "Mooncake: a short row without ids",
        None,
        r#"{"session_id":"s","timestamp":0,"input_length":1000,"output_length":10}
        {"session_id":"s","delay":1,"input_length":500,"output_length":10}"#,
        "rows of a session are read as only what is new",
    ),
    (
        "Mooncake: times without a unit",
        None,
        r#"{"timestamp":0,"input_length":512,"output_length":10}"#,
        "times are read as milliseconds",
    ),
    (
        "agentic Mooncake: a gap from a delay and a tool",
        None,
        r#"{"request_id":"a","input_length":9,"output_length":1,"wait_for":[]}
        {"request_id":"b","input_length":9,"output_length":1,"wait_for":["a"],"delay":5,"tool_wait_ms":7}"#,
        "b after [a], gap Inferred(12000000), tool Recorded(7000000)",
    ),
    (
        "OpenTelemetry: other system instructions",
        None,
        r#"{"span_id":"a","name":"chat","start_time":"2026-01-05T09:00:00Z","end_time":"2026-01-05T09:00:01Z","attributes":{"gen_ai.conversation.id":"c",
            "gen_ai.usage.input_tokens":90,"gen_ai.system_instructions":"[\"one\"]","gen_ai.input.messages":[{"role":"user"}]}}
        {"span_id":"b","name":"chat","start_time":"2026-01-05T09:00:02Z","end_time":"2026-01-05T09:00:03Z","attributes":{"gen_ai.conversation.id":"c",
            "gen_ai.usage.input_tokens":99,"gen_ai.system_instructions":"[\"two\"]","gen_ai.input.messages":[{"role":"user"},{"role":"assistant"},{"role":"user"}]}}"#,
        "b after [a], gap Inferred(1000000000), tool Inferred(0), prompt Recorded(99), keeps Absent",
    ),
    (
        "Codex: a session that goes on with sums of an earlier file",
        None,
        r#"{"type":"session_meta","payload":{"id":"s"}}
        {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900000000},"last_token_usage":{"input_tokens":3000}}}}
        {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900000070},"last_token_usage":{"input_tokens":70}}}}"#,
        "prompt Inferred(3000), keeps Absent; row 2 after [row 1], gap Absent, tool Absent, prompt Inferred(70)",
    ),
    (
        "Codex: a sum that is too large for a call",
        None,
        r#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900000000}}}}
        {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900000500}}}}"#,
        "1 calls; left out: 1 x a prompt or an answer of more than 10000000 tokens",
    ),
    (
        "Claude Code: a session that is rewound",
        None,
        r#"{"sessionId":"s","type":"user","uuid":"1","timestamp":"2026-01-05T09:00:00Z","message":{"role":"user","content":"a"}}
        {"sessionId":"s","type":"assistant","uuid":"2","parentUuid":"1","requestId":"p","timestamp":"2026-01-05T09:00:01Z","message":{"usage":{"input_tokens":7,"output_tokens":1}}}
        {"sessionId":"s","type":"user","uuid":"3","parentUuid":"2","timestamp":"2026-01-05T09:00:02Z","message":{"role":"user","content":"b"}}
        {"sessionId":"s","type":"assistant","uuid":"4","parentUuid":"3","requestId":"q","timestamp":"2026-01-05T09:00:03Z","message":{"usage":{"input_tokens":20,"output_tokens":1}}}
        {"sessionId":"s","type":"user","uuid":"5","parentUuid":"2","timestamp":"2026-01-05T09:00:04Z","message":{"role":"user","content":"c"}}
        {"sessionId":"s","type":"assistant","uuid":"6","parentUuid":"5","requestId":"r","timestamp":"2026-01-05T09:00:05Z","message":{"usage":{"input_tokens":12,"output_tokens":1}}}"#,
        "r after [q], gap Inferred(1000000000), tool Inferred(0), prompt Recorded(12), keeps Absent",
    ),
    (
        "Claude Code: two side chains without names",
        None,
        r#"{"sessionId":"s","type":"user","uuid":"1","isSidechain":true,"timestamp":"2026-01-05T09:00:00Z","message":{"role":"user","content":"a"}}
        {"sessionId":"s","type":"user","uuid":"2","isSidechain":true,"timestamp":"2026-01-05T09:00:00Z","message":{"role":"user","content":"b"}}
        {"sessionId":"s","type":"assistant","uuid":"3","parentUuid":"1","isSidechain":true,"requestId":"p","timestamp":"2026-01-05T09:00:01Z","message":{"usage":{"input_tokens":7}}}
        {"sessionId":"s","type":"assistant","uuid":"4","parentUuid":"2","isSidechain":true,"requestId":"q","timestamp":"2026-01-05T09:00:02Z","message":{"usage":{"input_tokens":8}}}"#,
        "q after []",
    ),
    (
        "OpenAI: a request that continues another one by its id",
        None,
        r#"{"custom_id":"a","body":{"model":"m","input":"x"},"response":{"body":{"id":"resp_1","usage":{"input_tokens":50}}}}
        {"custom_id":"b","body":{"model":"m","input":"y","previous_response_id":"resp_1"},"response":{"body":{"id":"resp_2","usage":{"input_tokens":70}}}}"#,
        "b after [a]",
    ),
    (
        "OpenAI: a request that continues one that is not there",
        None,
        r#"{"custom_id":"b","body":{"model":"m","input":"y","previous_response_id":"resp_1"},"response":{"body":{"usage":{"input_tokens":70}}}}"#,
        "requests with `previous_response_id` have only what is new",
    ),
    (
        "trie: no final answer",
        None,
        r#"{"num_turns":1,"input_prompt_length":790,"assistant_response_length":[40],"tool_call_output_length":[130],"final_assistant_response_length":null}"#,
        "1 calls; left out: ;",
    ),
    (
        "trie: a session with a bad turn is left out as a whole",
        None,
        r#"{"num_turns":1,"input_prompt_length":790,"assistant_response_length":[40],"tool_call_output_length":[]}
        {"num_turns":2,"input_prompt_length":790,"assistant_response_length":[40,0],"tool_call_output_length":[130]}"#,
        "1 calls; left out: 1 x an answer without tokens",
    ),
    (
        "TraceLab: keys that are used",
        None,
        r#"{"session_id":"s","timing_events":[{"timestamp":"2026-01-05T09:00:00Z"}],"first_input_event_type":"tool_result",
            "input_tokens_total":9,"prefix_tokens":4,"newly_append_tokens":5,"colour":1}"#,
        "are not used: colour",
    ),
    (
        "BurstGPT: the median of two jobs",
        None,
        "Timestamp,Session ID,Elapsed time,Request tokens,Response tokens\n0,1,1,9,9\n0,2,99,9,9\n",
        "median 50",
    ),
    (
        "vLLM: a conversation with a bad message, and another one of its name",
        None,
        r#"{"id":"a","messages":[{"role":"assistant","content":"b"},{"content":"c"}]}
        {"id":"a","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#,
        "row 1 after [], gap Absent",
    ),
    (
        "vLLM: gaps of unknown length",
        None,
        r#"{"id":"a","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"d"}]}"#,
        r#""kind":"human","calls":1,"timed":0,"seconds":null"#,
    ),
];

fn told(read: Result<Trace, JobsError>) -> String {
    let trace = match read {
        Ok(trace) => trace,
        Err(error) => return error.to_string(),
    };
    let figures = Figures::of(&trace, None);
    let of_call = |call: &Call| {
        let parents: Vec<&str> =
            call.parents.iter().map(|at| trace.calls[*at as usize].id.as_str()).collect();
        format!(
            "{} after [{}], gap {:?}, tool {:?}, prompt {:?}, keeps {:?}; ",
            call.id,
            parents.join(" "),
            call.gap_ns,
            call.tool_ns,
            call.prompt,
            call.keeps
        )
    };
    let ends: Vec<String> =
        trace.calls.iter().map(|call| format!("end {:?}", call.end_ns)).collect();
    format!(
        "{}\n{}\n{} calls; left out: {};\n{:?}\n{}\nideal share {:.2}, median {:?}",
        trace.calls.iter().map(of_call).collect::<String>(),
        ends.join(", "),
        trace.calls.len(),
        trace.left_out,
        trace.notes,
        serde_json::json!(figures.gaps),
        figures.ideal.map_or(-1.0, |ideal| ideal.share),
        figures.job_duration_median_s.unwrap_or(-1.0),
    )
}

#[test]
fn rows_are_read_as_their_format_means_them_and_not_as_something_else() {
    let wrong: String = TABLE
        .iter()
        .filter_map(|(what, format, text, expected)| {
            let text = text.replace("\n            ", " ");
            let found = told(jobs::read_bytes(text.as_bytes(), Path::new("trace"), *format));
            (!found.contains(expected))
                .then(|| format!("{what}:\n{found}\ninstead of: {expected}\n\n"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn rows_of_several_files_have_their_own_numbers_and_errors_name_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let told = |texts: [&str; 2]| {
        let files = ["one", "two"].map(|name| folder.path().join(name));
        files.iter().zip(texts).for_each(|(file, text)| std::fs::write(file, text).unwrap());
        told(jobs::read(&files, None))
    };
    let batch = r#"{"custom_id":"A1","body":{"model":"m","input":"x"},"response":{"body":{"usage":{"input_tokens":50}}}}"#;
    assert!(told([batch, batch]).contains("2 calls"), "{}", told([batch, batch]));
    let spawns = r#"{"session_id":"s","turns":[{"text":"a","spawns":[{"children":["t"]}]}]}"#;
    let alone = r#"{"session_id":"r","turns":[{"text":"a"}]}"#;
    assert!(told([alone, spawns]).contains("two, line 1: "), "{}", told([alone, spawns]));
}

/// Rows with something peculiar, the prompt tokens of their calls, and the number of calls without parents.
const PECULIAR: &[(&str, &str, &[u32], usize)] = &[
    (
        "Codex: a line without sums, a line twice, and sums that begin anew",
        r#"{"type":"session_meta","payload":{"id":"s"}}
        {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":99000000},"last_token_usage":{"input_tokens":900}}}}
        {"type":"event_msg","payload":{"type":"token_count","info":null}}
        {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":99000500}}}}
        {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":99000500}}}}
        {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":70}}}}"#,
        &[900, 500, 70],
        1,
    ),
    (
        "Claude Code: a line of a call after the result of its tool, a copy of the call, and no call at all",
        r#"{"sessionId":"s","type":"user","timestamp":"2026-01-05T09:00:00Z","message":{"role":"user","content":"a"}}
        {"sessionId":"s","type":"assistant","requestId":"q","timestamp":"2026-01-05T09:00:01Z","message":{"usage":{"input_tokens":7}}}
        {"sessionId":"s","type":"user","timestamp":"2026-01-05T09:00:02Z","message":{"role":"user","content":"b"}}
        {"sessionId":"s","type":"assistant","requestId":"q","timestamp":"2026-01-05T09:00:03Z","message":{"usage":{"input_tokens":7}}}
        {"sessionId":"t","type":"assistant","requestId":"q","timestamp":"2026-01-05T09:00:03Z","message":{"usage":{"input_tokens":7}}}
        {"sessionId":"s","type":"assistant","requestId":"r","timestamp":"2026-01-05T09:00:03Z","message":{"model":"<synthetic>"}}"#,
        &[7],
        1,
    ),
    (
        "Weka: times of whole seconds, where a call seems to start before the end of the one before it",
        r#"{"id":"w","block_size":64,"requests":[{"t":0,"in":70,"out":1,"api_time":1.2,"hash_ids":[1]},
            {"t":1,"in":140,"out":1,"api_time":1.2,"hash_ids":[1,2]}]}"#,
        &[70, 140],
        1,
    ),
    (
        "Weka: a sub-agent in the background, for which no call waits",
        r#"{"id":"w","block_size":64,"requests":[{"t":0.5,"in":70,"out":1,"api_time":1.0,"hash_ids":[1]},
            {"t":2,"type":"subagent","agent_id":"x","status":"async_launched",
                "requests":[{"t":2,"in":80,"out":1,"api_time":1.0,"hash_ids":[2]}]},
            {"t":4,"in":140,"out":1,"api_time":1.0,"hash_ids":[1,3]}]}"#,
        &[70, 80, 140],
        1,
    ),
    (
        "Weka: a sub-agent that ends after the next call of its parent has started",
        r#"{"id":"w","block_size":64,"requests":[{"t":0.5,"in":70,"out":1,"api_time":1.0,"hash_ids":[1]},
            {"t":2,"type":"subagent","agent_id":"x","status":"completed",
                "requests":[{"t":2,"in":80,"out":1,"api_time":9.0,"hash_ids":[2]}]},
            {"t":4,"in":140,"out":1,"api_time":1.0,"hash_ids":[1,3]}]}"#,
        &[70, 80, 140],
        1,
    ),
    (
        "OpenAI: two requests that continue the same one, and one of its own",
        r#"{"model":"m","messages":[{"role":"user","content":"a"}]}
        {"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}
        {"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"d"}]}
        {"model":"m","messages":[{"role":"user","content":"e"}]}"#,
        &[],
        2,
    ),
    (
        "OpenAI: a request of the Responses API, whose input tokens have the cached ones in them",
        r#"{"custom_id":"a","body":{"model":"m","input":"x"},"response":{"body":{"usage":{"input_tokens":50,"output_tokens":5,
            "input_tokens_details":{"cached_tokens":16}}}}}"#,
        &[50],
        1,
    ),
    (
        "OTLP: attributes as a list, and times in nanoseconds",
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"a","traceId":"t","name":"chat m",
            "startTimeUnixNano":"1767603600000000000","endTimeUnixNano":"1767603601000000000",
            "attributes":[{"key":"gen_ai.usage.input_tokens","value":{"intValue":"90"}}]}]}]}]}"#,
        &[90],
        1,
    ),
];

#[test]
fn peculiar_rows_are_read_as_their_format_means_them() {
    for (what, text, prompts, roots) in PECULIAR {
        let trace = of_text(text).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found: Vec<u32> = trace.calls.iter().filter_map(|call| call.prompt.get()).collect();
        assert_eq!(found, *prompts, "{what}");
        let found = trace.calls.iter().filter(|call| call.parents.is_empty()).count();
        assert_eq!(found, *roots, "{what}");
        assert!(trace.calls.iter().all(|call| call.parents.len() < 2), "{what}");
        assert_eq!(trace.left_out.total(), 0, "{what}: {}", trace.left_out);
    }
}
