//! Tests which findings are made from records, with their numbers, and which are not made.

use super::*;
use inferometer_model::fixture::{steady, stream};
use inferometer_model::record::EventKind::Text;
use inferometer_model::{Detail, Outcome, Phase, Record, Severity, Usage};

mod answers;
mod inputs;
mod output_lengths;

fn sampling(ignore_eos: bool, stream: bool) -> Sampling {
    Sampling { temperature: 0.0, ignore_eos, stream, extra_body: serde_json::Map::new() }
}

fn inspect_with(sampling: &Sampling, records: &[Record]) -> Vec<Finding> {
    let cell = CellPlan { input_length: 8, output_length: 100 };
    let mut inspector = Inspector::new(&cell, &PassPlan::saturated(4), sampling);
    let streamed = sampling.stream;
    records
        .iter()
        .for_each(|record| inspector.add(&Timeline::new(&Record { streamed, ..record.clone() })));
    inspector.finish()
}

fn inspect(records: &[Record]) -> Vec<Finding> {
    inspect_with(&sampling(true, true), records)
}

/// The code and the message of the only finding.
#[track_caller]
fn only(findings: &[Finding]) -> (&str, &str) {
    let [finding] = findings else { panic!("not one finding: {findings:#?}") };
    assert_eq!(finding.place.as_deref(), Some("8 x 100, saturated"));
    assert!(finding.advice.is_some(), "{}", finding.code);
    (&finding.code, &finding.message)
}

/// Checks that there is one finding, with this code, and that its message has these parts: its figures.
#[track_caller]
fn finds(findings: &[Finding], code: &str, parts: &[&str]) {
    let (found, message) = only(findings);
    assert_eq!(found, code);
    for part in parts {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// Checks the code, the severity and the beginning of the message of each finding.
#[track_caller]
fn begin(findings: &[Finding], expected: &[(&str, Severity, &str)]) {
    assert_eq!(findings.len(), expected.len(), "{findings:?}");
    for (finding, (code, severity, beginning)) in findings.iter().zip(expected) {
        assert_eq!((finding.code.as_str(), finding.severity), (*code, *severity));
        assert!(finding.message.starts_with(beginning), "{finding:?}");
    }
}

/// A completed request with the requested lengths: 8 prompt tokens and 100 output tokens.
fn good() -> Record {
    Record { asked_input: 8, asked_output: 100, ..steady(0.0, 40.0, 10.0, 100) }
}

fn failed(outcome: Outcome, detail: Option<&str>) -> Record {
    Record { outcome, detail: detail.map(Detail::from), ..good() }
}

#[test]
fn responses_as_requested_give_no_finding() {
    assert_eq!(inspect(&[good(), good()]), []);
    assert_eq!(inspect(&[]), []);
}

#[test]
fn unknown_finish_reasons_are_listed_and_counted() {
    let ended = |reason: &str| Record { finish_reason: Some(reason.to_owned()), ..good() };
    let known = ["stop", "length", "content_filter"].map(ended);
    assert_eq!(inspect(&known), []);
    let odd = ["tea_time", "tea_time", "a", "b", "c", "d", "e", "f"].map(ended);
    let reasons = "`a` (1), `b` (1), `c` (1), `d` (1), `tea_time` (2), others (2).";
    finds(&inspect(&odd), "finish_reason_unknown", &[reasons]);
}

#[test]
fn advice_on_short_outputs_omits_ignore_eos_if_the_server_does_not_support_it() {
    let cell = CellPlan { input_length: 8, output_length: 100 };
    let sampling = sampling(true, true);
    let inspector = Inspector::new(&cell, &PassPlan::saturated(4), &sampling);
    let mut inspector = inspector.with_ignore_eos(false);
    inspector.add(&Timeline::new(&Record {
        asked_input: 8,
        asked_output: 100,
        ..steady(0.0, 1.0, 1.0, 40)
    }));
    let findings = inspector.finish();
    let parts = ["1 of 1 ", "end-of-text", "40.0 tokens on average instead of 100.0"];
    finds(&findings, "output_shorter_than_asked", &parts);
    assert!(!findings[0].advice.as_ref().unwrap().contains("ignore_eos"));
}

#[test]
fn short_outputs_are_no_finding_if_the_body_takes_ignore_eos_back() {
    let short = Record { asked_input: 8, asked_output: 100, ..steady(0.0, 1.0, 1.0, 40) };
    for (own, is_told) in [("{}", true), (r#"{"ignore_eos": false}"#, false)] {
        let extra_body = serde_json::from_str(own).unwrap();
        let sampling = Sampling { extra_body, ..sampling(true, true) };
        let findings = inspect_with(&sampling, std::slice::from_ref(&short));
        let told = findings.iter().any(|finding| finding.code == "output_shorter_than_asked");
        assert_eq!(told, is_told, "{own}");
    }
}

#[test]
fn prompt_token_counts_that_differ_from_the_request_are_reported_with_their_spread() {
    let counted = |tokens| {
        let mut record = good();
        record.usage.prompt = Some(tokens);
        record
    };
    let records = [good(), counted(9), counted(9), counted(6)];
    let spread = "is -2 to +1 tokens, median +0; the mean is 8.0 tokens, as requested.";
    finds(&inspect(&records), "input_length_differs", &["In 3 of 4 ", "these 4 requests", spread]);
    for (tokens, words) in [
        (&[9, 9][..], "the difference is +1 tokens; the mean is 9.0 tokens"),
        (&[10, 16], "the difference is +2 or +8 tokens, median +2; the mean is 13.0"),
        (&[10, 12, 16], "the difference is +2 to +8 tokens, median +4; the mean is 12.7"),
        (&[&[9][..], &[8; 39]].concat(), "together, they have 321 tokens instead of 320"),
    ] {
        let records: Vec<Record> = tokens.iter().map(|&tokens| counted(tokens)).collect();
        let findings = inspect(&records);
        assert!(only(&findings).1.contains(words), "{findings:?}");
        let is_rounded = words.starts_with("together");
        assert_eq!(findings[0].severity == Severity::Note, is_rounded, "{findings:?}");
    }
}

#[test]
fn advice_does_not_question_a_tokenizer_that_counts_the_same_prompt_tokens_as_the_server() {
    let counted = |prompt, own, output| {
        let mut record = good();
        record.usage.prompt = Some(prompt);
        (record.prompt_tokens_tokenizer, record.tokens_tokenizer) = (Some(own), output);
        record
    };
    for (own, doubted) in [(10, false), (9, true)] {
        let findings = inspect(&[counted(10, own, None), counted(10, 10, None)]);
        assert_eq!(only(&findings).0, "input_length_differs");
        let advice = findings[0].advice.as_deref().unwrap_or_default();
        assert_eq!(advice.contains("--tokenizer"), doubted, "{advice}");
    }
    for (own, doubted) in [(8, false), (9, true)] {
        let findings = inspect(&[counted(8, own, Some(90))]);
        assert_eq!(only(&findings).0, "token_counts_disagree");
        let advice = findings[0].advice.as_deref().unwrap_or_default();
        assert_eq!(advice.contains("--tokenizer"), doubted, "{advice}");
        assert_eq!(findings[0].severity == Severity::Warning, doubted);
    }
}

#[test]
fn events_with_several_tokens_are_a_note_if_their_counts_are_known_else_a_warning() {
    for (known, severity) in [(None, Severity::Warning), (Some(5), Severity::Note)] {
        let events: Vec<_> = (0..20).map(|i| (10.0 * f64::from(i), Text, known)).collect();
        let mut record = stream(0.0, &events);
        (record.asked_input, record.asked_output) = (8, 100);
        record.usage =
            Usage { prompt: Some(8), completion: Some(100), cached: None, ..Usage::default() };
        let findings = inspect(&[record.clone(), good()]);
        let (code, message) = only(&findings);
        assert_eq!((code, findings[0].severity), ("chunks_are_not_tokens", severity));
        let start =
            "Events are not tokens: 200 tokens arrived in 120 events, 1.67 tokens per event. In 1";
        assert!(message.starts_with(start), "{message}");
        assert_eq!(inspect_with(&sampling(true, false), &[record]), []);
    }
}

#[test]
fn one_token_more_than_events_is_not_reported_because_the_end_of_text_token_has_no_event() {
    let mut record = good();
    record.usage.completion = Some(101);
    assert_eq!(inspect(&[record]), []);
}

#[test]
fn a_tokenizer_that_disagrees_with_the_server_on_output_tokens_is_reported() {
    let counted = |tokens| {
        let mut record = good();
        record.tokens_tokenizer = Some(tokens);
        record
    };
    assert_eq!(inspect(&[counted(98), counted(102)]), []);
    let parts =
        ["In 1 of 2 ", "these 2 requests, the server counts 200 tokens, and the tokenizer 197."];
    finds(&inspect(&[counted(97), counted(100), good()]), "token_counts_disagree", &parts);
}

#[test]
fn prompt_tokens_from_the_servers_prefix_cache_are_reported() {
    let mut record = good();
    record.usage.cached = Some(6);
    let mut none = good();
    none.usage.cached = Some(0);
    let parts = ["6 of 16 prompt tokens", "1 of 2 completed requests."];
    finds(&inspect(&[record, none]), "cached_prompt_tokens", &parts);
}

#[test]
fn few_cached_tokens_and_those_of_a_chat_template_are_not_reported() {
    let of = |prompt: u32, cached: &[u32]| {
        let record = |&cached: &u32| {
            let mut record = Record { asked_input: prompt, ..good() };
            (record.usage.prompt, record.usage.cached) = (Some(prompt), Some(cached));
            record
        };
        inspect(&cached.iter().map(record).collect::<Vec<_>>())
    };
    for (prompt, cached) in [
        (487, &[1][..]),
        // Cached tokens of a chat template. The first request may find the cache empty.
        (128, &[16, 16, 16]),
        (128, &[0, 16, 16]),
        (128, &[16, 20, 16]),
    ] {
        assert_eq!(of(prompt, cached), [], "{cached:?}");
    }
    for (prompt, cached) in [
        (487, &[0, 0, 100][..]),
        (128, &[112, 112, 112]),
        (128, &[16, 16, 96]),
        // 16 of 24 tokens are more than half of a prompt, so they cannot be a template.
        (24, &[16, 16, 16]),
        // Only half of the requests have cached tokens.
        (128, &[0, 0, 0, 0, 48, 48, 48, 48]),
    ] {
        assert_eq!(only(&of(prompt, cached)).0, "cached_prompt_tokens", "{cached:?}");
    }
}

#[test]
fn a_prompt_without_token_count_is_reported() {
    let mut record = good();
    record.usage.prompt = None;
    assert_eq!(only(&inspect(&[record])).0, "input_tokens_unknown");
}

#[test]
fn missing_usage_is_reported_with_the_tokenizer_that_counted_instead() {
    let mut record = good();
    record.usage.completion = None;
    record.tokens_tokenizer = Some(100);
    finds(&inspect(&[record]), "usage_missing", &["--tokenizer"]);
}

#[test]
fn failures_are_reported_by_kind_with_the_first_error_message() {
    let busy = Outcome::Rejected { status: 429 };
    let records = [
        good(),
        failed(Outcome::TimedOut { phase: Phase::FirstToken }, None),
        failed(busy, None),
        failed(busy, Some("queue is full")),
        failed(busy, Some("queue is still full")),
        failed(Outcome::Skipped, None),
    ];
    let rejected = "3 requests got the HTTP status 429. First: queue is full";
    let late = "1 request timed out (timeout: first token).";
    let expected = [
        ("requests_failed", Severity::Warning, rejected),
        ("requests_failed", Severity::Warning, late),
        ("requests_interrupted", Severity::Note, "1 request did not start"),
    ];
    begin(&inspect(&records), &expected);
}

#[test]
fn failures_for_lack_of_open_files_come_with_the_advice_to_raise_the_limit() {
    let connection = Outcome::Connection { phase: Phase::Connect };
    for (outcome, is_own) in [(connection, true), (Outcome::Rejected { status: 500 }, false)] {
        let found = inspect(&[good(), failed(outcome, Some("Too many open files (os error 24)"))]);
        let advice = found[0].advice.as_deref().unwrap_or_default();
        assert_eq!(advice.contains("ulimit -n"), is_own, "{advice}");
    }
}

#[test]
fn turns_skipped_after_a_failed_turn_are_reported_apart_from_those_skipped_at_the_end() {
    let earlier = Detail::earlier_turn(Outcome::Rejected { status: 503 });
    let skipped = |why: &Detail| failed(Outcome::Skipped, Some(why.text()));
    let records = [good(), skipped(&earlier), skipped(&earlier), skipped(&Detail::Interrupted)];
    let found = inspect(&records);
    let expected = [
        ("requests_failed", Severity::Warning, "2 requests did not start"),
        ("requests_interrupted", Severity::Note, "1 request did not start"),
    ];
    begin(&found, &expected);
    assert!(found[0].message.ends_with(&format!("First: {}", earlier.text())), "{found:?}");
    assert!(
        found[1].message.ends_with(&format!("First: {}", Detail::Interrupted.text())),
        "{found:?}"
    );
    let advice = found[0].advice.as_deref().unwrap_or_default();
    assert!(!advice.contains("repeat the run"), "{advice}");
}

#[test]
fn the_most_frequent_rejection_is_named_even_if_more_turns_were_skipped_because_of_it() {
    let earlier = Detail::earlier_turn(Outcome::Rejected { status: 400 });
    let earlier = Some(earlier.text());
    let of = |status: u16, detail: Option<&str>| failed(Outcome::Rejected { status }, detail);
    let records = [
        of(503, None),
        of(400, None),
        of(400, Some("the prompt is too long.")),
        failed(Outcome::Skipped, earlier),
        failed(Outcome::Skipped, earlier),
        failed(Outcome::Skipped, earlier),
    ];
    let rejection = |records: &[Record]| {
        let cell = CellPlan { input_length: 8, output_length: 100 };
        let sampling = sampling(true, true);
        let mut inspector = Inspector::new(&cell, &PassPlan::saturated(4), &sampling);
        records.iter().for_each(|record| inspector.add(&Timeline::new(record)));
        inspector.rejection()
    };
    let expected = "HTTP status 400: the prompt is too long";
    assert_eq!(rejection(&records).as_deref(), Some(expected));
    assert_eq!(rejection(&records[..1]).as_deref(), Some("HTTP status 503"));
    assert_eq!(rejection(&records[3..]), None);
}

#[test]
fn a_single_dropped_request_is_reported_in_the_singular() {
    for (dropped, words) in [(1, "1 request was dropped, because"), (2, "2 requests were dropped,")]
    {
        let dropped = vec![failed(Outcome::Dropped, None); dropped];
        let found = inspect(&[vec![good()], dropped].concat());
        assert!(found[0].message.starts_with(words), "{found:?}");
    }
}

#[test]
fn a_pass_without_completed_requests_is_reported() {
    let found = inspect(&[failed(Outcome::Malformed, Some("not JSON"))]);
    let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["nothing_completed", "requests_failed"]);
    assert!(found[0].message.contains("the 1 planned"), "{found:?}");
}

#[test]
fn the_number_of_reported_failure_kinds_is_limited() {
    let records: Vec<Record> =
        (400..450).map(|status| failed(Outcome::Rejected { status }, None)).collect();
    let found = inspect(&records);
    assert_eq!(found.len(), 10);
    let last = &found.last().expect("ten").message;
    assert!(last.starts_with("42 more ") && last.contains("42 other"), "{last}");
}

#[test]
fn each_finding_code_has_a_unique_name_and_a_meaning() {
    let codes = codes();
    let mut names: Vec<&str> = codes.iter().map(|code| code.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), codes.len(), "two codes have the same name");
    for code in codes {
        let is_snake = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(code.name.chars().all(is_snake), "{}", code.name);
        assert!(code.means.ends_with('.') && !code.means.contains('\n'), "{}", code.name);
        assert!(code.advice.is_none_or(|advice| !advice.is_empty()), "{}", code.name);
    }
}
