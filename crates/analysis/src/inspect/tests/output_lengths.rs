//! Tests outputs that are longer or shorter than requested, or empty, or whose count is impossible.

use super::*;

#[test]
fn short_outputs_are_reported_only_if_the_requests_set_ignore_eos() {
    let short =
        |tokens| Record { asked_input: 8, asked_output: 100, ..steady(0.0, 1.0, 1.0, tokens) };
    let records = [good(), short(40), short(61)];
    let parts = ["2 of 3 ", "`ignore_eos`", "50.5 tokens on average instead of 100.0."];
    finds(&inspect(&records), "output_shorter_than_asked", &parts);
    assert_eq!(inspect_with(&sampling(false, true), &records), []);
}

#[test]
fn outputs_are_reported_if_they_exceed_the_requested_length_by_more_than_one_token() {
    let long = |tokens| {
        let limit = Some(16);
        let came = steady(0.0, 40.0, 10.0, tokens);
        Record { asked_input: 8, asked_output: 8, output_limit: limit, ..came }
    };
    assert_eq!(inspect(&[long(8), long(9)]), []);
    assert_eq!(inspect(&[Record { output_limit: None, ..long(16) }]), [], "no output limit");
    let findings = inspect(&[long(8), long(16)]);
    let (code, message) = only(&findings);
    assert_eq!(code, "output_longer_than_asked");
    assert!(
        message.starts_with(
            "1 of 2 completed requests have more output tokens than requested: these outputs have \
             16.0 tokens on average instead of 8.0."
        ),
        "{message}"
    );
}

#[test]
fn an_impossible_token_count_of_the_server_is_ignored_and_reported() {
    for (stated, limit) in [(0, None), (4_294_967_295, Some(100)), (101, Some(100))] {
        let mut record = Record { output_limit: limit, ..good() };
        record.usage.completion = Some(stated);
        assert_eq!(record.output_tokens(), (100, TokensFrom::Events));
        let findings = inspect(&[record.clone()]);
        let (code, message) = only(&findings);
        assert_eq!(code, "usage_not_possible");
        assert!(
            message.ends_with(&format!("the server states {stated}, and 100 is used instead.")),
            "{message}"
        );
        record.tokens_tokenizer = Some(99);
        assert_eq!(record.output_tokens(), (99, TokensFrom::Tokenizer));
    }
    let mut whole = Record { streamed: false, output_limit: Some(100), ..good() };
    whole.usage.completion = Some(4_294_967_295);
    whole.events.truncate(1);
    whole.events[0].tokens = whole.usage.completion;
    assert!(!whole.can_have(4_294_967_295), "the only event repeats the count");
    let two_choices = Record { output_limit: Some(200), ..steady(0.0, 40.0, 10.0, 200) };
    let least_length = Record { output_limit: Some(8), ..steady(0.0, 40.0, 10.0, 16) };
    for (record, expected) in [(two_choices, 200), (least_length, 16)] {
        assert_eq!(record.output_tokens(), (expected, TokensFrom::Usage));
    }
}

#[test]
fn fewer_events_than_requested_tokens_are_not_reported_as_a_short_output() {
    let mut bundled = stream(0.0, &[(10.0, Text, None), (20.0, Text, None)]);
    (bundled.asked_input, bundled.asked_output) = (8, 100);
    bundled.usage.prompt = Some(8);
    finds(&inspect(&[bundled]), "usage_missing", &["1 of 1 ", "for 1 of them, stream events"]);
}

#[test]
fn empty_outputs_are_reported_even_if_ignore_eos_is_not_set() {
    let empty = Record {
        asked_input: 8,
        asked_output: 100,
        usage: Usage { prompt: Some(8), completion: Some(0), cached: None, ..Usage::default() },
        ..stream(0.0, &[])
    };
    let findings = inspect_with(&sampling(false, true), &[empty, good()]);
    finds(&findings, "empty_output", &["1 of 2 "]);
}
