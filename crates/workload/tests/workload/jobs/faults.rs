//! Traces that are refused, and rows that cannot be used.

use super::*;

/// Traces that are refused, and the error.
const BAD: &[(&str, &str)] = &[
    ("", "trace: it has no call that can be read"),
    ("{\"colour\":1}", "its format is not recognised, because its first row has only the keys `colour`"),
    (
        "{\"input_length\":9,\"output_length\":1,\"timestamp\":0}\n{\"input_length\":9,\"outp",
        "line 2: the file ends in the middle of a value; remove this line, or get the whole file",
    ),
    ("{\"spans\":[\n{\"name\":", "line 2: the file ends in the middle of a value"),
    ("{\"spans\":[\n oops]}\n", "line 2: is not JSON (expected value"),
    (
        "{\"request_id\":\"a\",\"input_length\":9,\"output_length\":1,\"wait_for\":[\"b\"]}
         {\"request_id\":\"b\",\"input_length\":9,\"output_length\":1,\"wait_for\":[\"a\"]}",
        "line 1: `a` waits for itself, through its parents; remove one of them",
    ),
    (
        "{\"request_id\":\"a\",\"input_length\":9,\"output_length\":1,\"wait_for\":[]}
         {\"request_id\":\"b\",\"input_length\":9,\"output_length\":1,\"wait_for\":[\"c\"]}",
        "line 2: `b` waits for `c`, but no usable row has this id",
    ),
    (
        "{\"request_id\":\"a\",\"input_length\":9,\"output_length\":1,\"wait_for\":[]}
         {\"request_id\":\"a\",\"input_length\":9,\"output_length\":1,\"wait_for\":[]}",
        "line 2: a second call has the id `a`",
    ),
    (
        "{\"timestamp\":0,\"input_length\":700,\"output_length\":1,\"hash_ids\":[1,2]}
         {\"timestamp\":1,\"input_length\":1500,\"output_length\":1,\"hash_ids\":[1,2,3]}",
        "line 1: the last block of `row 1` has 188 tokens, and 512 in another row",
    ),
    (
        "{\"timestamp\":0,\"input_length\":1000,\"output_length\":1,\"hash_ids\":[1,2]}
         {\"timestamp\":1,\"input_length\":1000,\"output_length\":1,\"hash_ids\":[3,2]}",
        "line 2: the block id 2 follows other ids than in an earlier row",
    ),
    (
        "{\"timestamp\":0,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[1,2]}
         {\"timestamp\":1,\"input_length\":9000,\"output_length\":1,\"hash_ids\":[1]}",
        "block ids do not fit",
    ),
    (
        "{\"session_id\":\"s\",\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}
         {\"session_id\":\"s\",\"delay\":1,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[2,3]}",
        "line 2: cannot tell whether rows of session `s` are whole prompts or only what is new",
    ),
    (
        "{\"id\":\"w\",\"block_size\":64,\"requests\":[{\"t\":9.5,\"type\":\"subagent\",\"agent_id\":\"x\",\
         \"requests\":[{\"t\":0.5,\"in\":70,\"out\":1,\"hash_ids\":[1]}]}]}",
        "line 1: a call of sub-agent `x` starts before it",
    ),
    (
        "{\"session_id\":\"s\",\"turns\":[{\"text\":\"a\",\"spawns\":[{\"children\":[\"t\"]}]}]}",
        "line 1: `row 1` waits for `t`, but no usable row has this id",
    ),
];

#[test]
fn a_trace_that_contradicts_itself_is_one_error_with_its_line_and_what_to_do() {
    for (text, expected) in BAD {
        let found = of_text(text)
            .map(|trace| format!("{:#?}", trace.calls))
            .expect_err(expected)
            .to_string();
        assert!(found.contains(expected), "{found}\ninstead of: {expected}");
    }
}

#[test]
fn every_cut_of_every_file_is_read_or_refused_without_a_panic() {
    for (files, ..) in TABLE {
        let bytes = std::fs::read(folder().join(files.split(' ').next().unwrap())).unwrap();
        for end in (0..bytes.len()).step_by(97) {
            let read = jobs::read_bytes(&bytes[..end], Path::new("cut"), None);
            let _ = read.map(|trace| Figures::of(&trace, Some(16)));
        }
    }
}

#[test]
fn rows_that_cannot_be_used_are_counted_by_reason() {
    let trace = of_text(
        "{\"timestamp\":0,\"input_length\":9,\"output_length\":1}\n[]\nno json\n\
         {\"timestamp\":1,\"input_length\":9,\"output_length\":0}\n\
         {\"timestamp\":2,\"input_length\":-9,\"output_length\":1}\n\
         {\"timestamp\":2,\"input_length\":9,\"output_length\":1,\"hash_ids\":[-1]}\n\
         {\"timestamp\":3,\"output_length\":1}\n",
    );
    let trace = trace.unwrap();
    assert_eq!(trace.calls.len(), 1);
    assert_eq!(trace.left_out.total(), 6, "{}", trace.left_out);
}
