//! Tests of the times and tokens of reasoning.

use super::*;
use crate::TokensFrom::{Events, Usage};
use crate::metrics::{PassData, reasoning, tool_call};

#[test]
fn ttfr_ends_with_the_first_reasoning_and_ttfot_with_the_first_text_or_tool_call() {
    for (kinds, first, reasoning, answer) in [
        (&[Role, Reasoning, Reasoning, Text][..], Some(20.0), Some(20.0), Some(40.0)),
        (&[EmptyText, Reasoning, ToolCall, Text], Some(20.0), Some(20.0), Some(30.0)),
        (&[Text, Reasoning], Some(10.0), Some(20.0), Some(10.0)),
        (&[Reasoning, EmptyText], Some(10.0), Some(10.0), None),
        (&[Text, ToolCall], Some(10.0), None, Some(10.0)),
        (&[EmptyText], None, None, None),
    ] {
        let at = (1_u8..).map(|event| 5.0 + 10.0 * f64::from(event));
        let events: Vec<_> = at.zip(kinds).map(|(at, kind)| (at, *kind, None)).collect();
        let mut record = stream(5.0, &events);
        record.due = ms(3.0);
        for (sent, due, value) in [
            (&ttft::FROM_SENT, &ttft::FROM_DUE, first),
            (&ttfr::FROM_SENT, &ttfr::FROM_DUE, reasoning),
            (&ttfot::FROM_SENT, &ttfot::FROM_DUE, answer),
        ] {
            expect(sent, &record, value);
            expect(due, &record, value.map(|value| value + 2.0));
        }
    }
}

#[test]
fn reasoning_tokens_are_those_of_the_usage_if_it_states_any_else_those_of_the_events() {
    let two_of_five = [Reasoning, Reasoning, Text, Text, Text];
    for (kinds, tokens, (output, stated), expected) in [
        (&two_of_five[..], None, (Some(5), Some(2)), Some((2, Usage))),
        (&two_of_five, None, (Some(5), Some(0)), Some((2, Events))),
        (&two_of_five, None, (Some(5), None), Some((2, Events))),
        // One token more than events is the end of the text; ten times more are bundles.
        (&two_of_five, None, (Some(6), None), Some((2, Events))),
        (&two_of_five, None, (Some(50), None), Some((20, Events))),
        (&two_of_five, Some(3), (Some(15), None), Some((6, Events))),
        (&two_of_five, None, (None, None), Some((2, Events))),
        // Stated reasoning that the server does not show, and more of it than output.
        (&[Text, Text], None, (Some(5), Some(3)), Some((3, Usage))),
        (&[Text, Text], None, (Some(5), Some(6)), None),
        (&two_of_five, None, (Some(5), Some(6)), Some((2, Events))),
        (&[Text, Text], None, (Some(2), Some(0)), None),
        (&[Text, ToolCall], None, (Some(2), None), None),
    ] {
        let at = (1_u8..).map(|event| 10.0 * f64::from(event));
        let events: Vec<_> = at.zip(kinds).map(|(at, kind)| (at, *kind, tokens)).collect();
        let mut record = stream(0.0, &events);
        (record.usage.completion, record.usage.reasoning) = (output, stated);
        let case = format!("{kinds:?}, {tokens:?}, {output:?}, {stated:?}");
        assert_eq!(Timeline::new(&record).reasoning, expected, "{case}");
        expect(&reasoning::TOKENS, &record, expected.map(|(tokens, _)| f64::from(tokens)));
        record.streamed = false;
        let whole = expected.filter(|(_, from)| *from == Usage);
        assert_eq!(Timeline::new(&record).reasoning, whole, "{case}, not streamed");
    }
}

#[test]
fn the_reasoning_share_is_absent_without_reasoning_and_with_uncounted_output() {
    for (reasoning_tokens, uncounted, expected) in
        [(30, 0, Some(75.0)), (0, 0, None), (30, 1, None)]
    {
        let data =
            PassData { reasoning_tokens, uncounted, output_tokens: 40, ..PassData::default() };
        assert_eq!(reasoning::SHARE.value.of_pass(&data), expected);
    }
}

#[test]
fn tool_calls_begin_with_their_first_part_and_end_with_the_last_part_of_the_last_call() {
    for (kinds, begin, end) in [
        (&[Role, Text, ToolCall, ToolCall][..], Some(30.0), Some(40.0)),
        (&[Reasoning, ToolCall, Text, ToolCall, Text], Some(20.0), Some(40.0)),
        (&[ToolCall], Some(10.0), Some(10.0)),
        (&[Text], None, None),
    ] {
        let at = (1_u8..).map(|event| 5.0 + 10.0 * f64::from(event));
        let events: Vec<_> = at.zip(kinds).map(|(at, kind)| (at, *kind, None)).collect();
        let record = stream(5.0, &events);
        expect(&tool_call::BEGIN, &record, begin);
        expect(&tool_call::END, &record, end);
    }
}
