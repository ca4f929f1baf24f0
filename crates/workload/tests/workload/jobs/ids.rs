//! Ids of blocks: which prompts share a prefix.

use super::*;

#[test]
fn ids_that_differ_only_above_32_bits_stay_distinct() {
    let row = |at: u64, id: u64| {
        format!(
            "{{\"timestamp\":{at},\"input_length\":512,\"output_length\":1,\"hash_ids\":[{id}]}}\n"
        )
    };
    let cached = |second| {
        let trace = of_text(&(row(0, 7) + &row(9, second))).unwrap();
        ideal::cached(&trace, 1, true)[1]
    };
    assert_eq!(cached(7 + (1 << 32)), Some(0));
    assert_eq!(cached(7), Some(511));
}

#[test]
fn local_ids_are_shared_only_in_their_session_and_prompts_of_parents_are_cached() {
    let weka = |scope: &str| {
        let row = |id: &str, at: u32| {
            format!(
                r#"{{"id":"{id}","block_size":64,"hash_id_scope":"{scope}","requests":[{{"t":{at}.5,"in":128,
                    "out":1,"api_time":1,"hash_ids":[1,2]}}]}}"#
            )
            .replace('\n', "")
        };
        ideal::cached(&of_text(&format!("{}\n{}\n", row("v", 0), row("w", 9))).unwrap(), 64, true)
    };
    assert_eq!(weka("local"), [Some(0), Some(0)]);
    assert_eq!(weka("global"), [Some(0), Some(64)]);
    let agents = of_text(
        r#"{"request_id":"a","session_id":"s","input_length":512,"output_length":1,"hash_ids":[1],"wait_for":[]}
        {"request_id":"b","session_id":"t","input_length":1024,"output_length":1,"hash_ids":[1,2],"wait_for":["a"],"delay":0}"#,
    );
    assert_eq!(ideal::cached(&agents.unwrap(), 512, true), [Some(0), Some(512)]);
}
