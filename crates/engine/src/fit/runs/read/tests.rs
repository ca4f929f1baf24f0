//! Tests of rows that are accepted, and of rows that are rejected.

use super::*;

fn read(header: &str, row: &str) -> Result<Vec<MeasuredRun>, EngineError> {
    let config = EngineConfig::of("llama-3.1-8b", Some("vllm-0.8-l40s")).expect("known");
    let text = format!("requests,input_length,output_length,tpot_p50_ms,{header}\n{row}\n");
    parse_runs(&text, "runs.csv", Some(&config), &|_| unreachable!("no row has details"))
}

#[test]
fn a_row_with_a_wrong_column_or_value_is_refused_with_what_is_allowed() {
    for (header, row, why) in [
        ("max_inflight", "8,100,20,9,4", "`max_inflight` (did you mean `max_in_flight`?)"),
        ("spread", "8,100,20,9,uniform", "exact or exponential"),
        ("arrival,rate", "8,100,20,9,at_once,2", "leave `rate` empty"),
        ("arrival", "8,100,20,9,constant", "needs a `rate`"),
        ("arrival", "8,100,20,9,vllm", "needs a `rate`"),
        ("arrival,rate", "8,100,20,9,vlm,2", "must be poisson, vllm, vllm_unscaled, constant"),
        ("rate", "8,100,20,9,25 rps", "line 2: column rate: `25 rps` is not a number; write it"),
        ("rate", "8,long,20,9,2", "line 2: column input_length: `long` is not a whole number"),
        ("rate", "4000000000,100,20,9,2", "must be 1000000 or less"),
        ("rate", "8,4294967295,20,9,2", "set --max-model-len to the measured server's value"),
        // The means are within the limit, but one of the lengths is not.
        ("spread", "1000,40000,20,9,exponential", "of request "),
    ] {
        let error = read(header, row).expect_err(row).to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_row_covers_sequences_up_to_the_number_that_ran_at_once() {
    for (header, row, sequences) in [
        ("max_in_flight", "32,100,20,9,8", 8),
        ("arrival", "32,100,20,9,at_once", 32),
        ("rate,max_in_flight", "32,100,20,9,2,5", 5),
        ("arrival,max_num_seqs", "32,100,20,9,at_once,16", 16),
    ] {
        let runs = read(header, row).expect(row);
        let found = super::super::run_provenances(&runs, [&[], &[], &[]]);
        assert_eq!(found[0].seen.sequences, (1, sequences), "{row}");
    }
}

#[test]
fn rows_with_different_numbers_of_cards_have_separate_provenances() {
    let rows = "8,100,20,9,1\n8,100,20,5,2";
    let runs = read("tensor_parallel_size", rows).expect("rows");
    let found = super::super::run_provenances(&runs, [&[], &[], &[]]);
    let cards: Vec<u32> = found.iter().map(|known| known.seen.cards).collect();
    assert_eq!(cards, [1, 2]);
}

#[test]
fn details_with_a_length_of_0_are_refused_and_the_error_names_the_request() {
    let of = |inputs: &str, outputs: &str| {
        let lengths = format!(r#""input_lens": {inputs}, "output_lens": {outputs}"#);
        details(&format!(r#"{{"send_s": [0, 1], {lengths}}}"#), "one.json")
    };
    for (inputs, outputs, request) in
        [("[5, 0]", "3", 2), ("[5, 6]", "0", 1), ("[5, 6]", "[3, 0]", 2)]
    {
        let told = of(inputs, outputs).expect_err(inputs).to_string();
        assert!(told.starts_with(&format!("one.json: request {request} has")), "{told}");
    }
    assert!(of("[5, 6]", "[3, 4]").is_ok());
}

#[test]
fn details_with_a_request_above_the_limit_of_the_engine_are_refused_with_the_request() {
    let config = EngineConfig::of("llama-3.1-8b", Some("vllm-0.8-l40s")).expect("known");
    let row = "requests,input_length,output_length,tpot_p50_ms,details\n3,100,20,9,one\n";
    for (inputs, why) in [("[5, 90, 7]", None), ("[5, 900000, 7]", Some("output of request 2"))] {
        let text = format!(r#"{{"send_s": [0, 1, 2], "input_lens": {inputs}, "output_lens": 3}}"#);
        let of_name = |name: &str| details(&text, name);
        let told = parse_runs(row, "runs.csv", Some(&config), &of_name).err();
        let told = told.map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(told.is_empty(), why.is_none(), "{told}");
        assert!(told.contains(why.unwrap_or_default()), "{told}");
    }
}
