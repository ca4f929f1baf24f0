//! Tests of findings on tokens without an event, several answers, and skipped messages.

use super::*;
use inferometer_model::record::EventKind::Finish;
use inferometer_model::record::Skipped;

/// A stream of 100 tokens, one each 10 ms. The first `hidden` tokens have no event, and nor have those from `until` on.
fn partly_shown(hidden: u32, until: u32, reasoning: Option<u32>) -> Record {
    let at = |token: u32| 40.0 + 10.0 * f64::from(token);
    let shown = (hidden..until).map(|token| (at(token), Text, None));
    let events: Vec<_> = shown.chain([(at(99), Finish, None)]).collect();
    let usage = Usage { prompt: Some(8), completion: Some(100), reasoning, ..Usage::default() };
    Record { asked_input: 8, asked_output: 100, usage, ..stream(0.0, &events) }
}

#[test]
fn tokens_without_an_event_and_several_answers_are_reported() {
    for (record, code, words) in [
        (
            partly_shown(30, 100, Some(30)),
            "hidden_reasoning",
            "In 2 of 2 streams, the server counts 60 tokens",
        ),
        (
            partly_shown(0, 60, None),
            "hidden_tokens",
            "In 2 of 2 streams, the server counts output tokens",
        ),
        (
            partly_shown(0, 60, Some(90)),
            "hidden_tokens",
            "So TPOT and ITL of these streams are absent.",
        ),
        (
            partly_shown(0, 0, Some(100)),
            "hidden_tokens",
            "and shows no output while it generates them",
        ),
        (
            Record { choices: 2, ..good() },
            "several_answers",
            "2 of 2 completed requests have several",
        ),
    ] {
        let findings = inspect(&[record.clone(), record]);
        let found: Vec<_> = findings.iter().filter(|finding| finding.code == code).collect();
        let [finding] = found[..] else { panic!("{code}: {findings:#?}") };
        assert!(finding.message.contains(words), "{}", finding.message);
        // Another finding must not say that these tokens are spread over the events.
        assert!(!findings.iter().any(|of| of.is(code::CHUNKS_ARE_NOT_TOKENS)), "{findings:#?}");
        assert!(!findings.iter().any(|of| of.is(STREAM_IN_BUNDLES)), "{findings:#?}");
    }
}

#[test]
fn answers_that_begin_with_a_think_tag_are_counted_and_the_flag_is_offered() {
    let tagged = Record { begins_with_think: true, ..good() };
    let findings = inspect(&[tagged.clone(), good(), tagged]);
    finds(
        &findings,
        "think_in_text",
        &["2 of 3 answers begin with <think>", "`--split-think tagged`"],
    );
    assert!(inspect(&[good()]).is_empty());
}

#[test]
fn tokens_at_unknown_times_are_a_note_if_fewer_than_one_stream_in_a_hundred_has_them() {
    for (others, severity) in [(99, Severity::Warning), (100, Severity::Note)] {
        let mut records = vec![partly_shown(0, 100, None); others];
        records.push(partly_shown(0, 60, None));
        let findings = inspect(&records);
        let found: Vec<_> = findings.iter().filter(|it| it.code == "hidden_tokens").collect();
        let [finding] = found[..] else { panic!("{findings:#?}") };
        assert_eq!(finding.severity, severity, "{}", finding.message);
    }
}

#[test]
fn skipped_messages_are_named_once_with_their_numbers() {
    let mut skipped = Skipped::default();
    (0..3).for_each(|_| skipped.add("ping"));
    skipped.add("content_filter_offsets");
    let cell = CellPlan { input_length: 8, output_length: 100 };
    let mut inspector = Inspector::new(&cell, &PassPlan::saturated(2), &sampling(true, true));
    let record = Record { skipped, ..good() };
    (0..2).for_each(|_| inspector.add(&Timeline::new(&record)));
    let message = skipped_finding(inspector.skipped()).map(|finding| finding.message);
    let expected = "Messages of streams that are neither output, error, usage nor end were skipped: \
                    `content_filter_offsets` (2), `ping` (6).";
    assert_eq!(message.as_deref(), Some(expected));
    assert_eq!(skipped_finding(&Skipped::default()), None);
    assert_eq!(inspector.finish(), []);
    let mut many = Skipped::default();
    (0..20).for_each(|kind| many.add(&format!("kind {kind:02}")));
    assert_eq!(many.iter().last(), Some(("others", 12)));
}
