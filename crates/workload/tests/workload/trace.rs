//! Tests of traces in all formats: the rows that are read or left out, the times at which requests are
//! due, and the shared prefixes of prompts.

use std::path::Path;
use std::time::Duration;

use inferometer_model::request::{Prompt, Request};
use inferometer_model::time::Nanos;
use inferometer_plan::{DrawnPlan, Lengths, TraceFormat, TracePlan, TraceWindow, WorkloadPlan};
use inferometer_workload::trace::{Rows, Timeline};
use inferometer_workload::{Note, OpenWorkload, PromptForm, WorkloadError, embedded};
use proptest::prelude::*;

use crate::support::{cell, ids, place, plan_of, spec};

/// The files of the fixtures with their formats.
const FILES: [(&str, TraceFormat); 6] = [
    ("mooncake.jsonl", TraceFormat::Mooncake),
    ("azure-2023.csv", TraceFormat::Azure),
    ("azure-2024.csv", TraceFormat::Azure),
    ("burstgpt.csv", TraceFormat::Burstgpt),
    ("plain.csv", TraceFormat::Plain),
    ("plain.jsonl", TraceFormat::Plain),
];

fn path(name: &str) -> String {
    format!("{}/fixtures/trace-{name}", env!("CARGO_MANIFEST_DIR"))
}

fn plan(name: &str) -> TracePlan {
    TracePlan { dataset: path(name), ..any() }
}

/// The plan of a whole trace in any format.
pub fn any() -> TracePlan {
    let (dataset, window) = (String::new(), TraceWindow::default());
    let (format, max_tokens, block_tokens) = (None, None, None);
    TracePlan { dataset, format, window, scale: 1.0, max_tokens, block_tokens }
}

/// The plans of the traces that have a golden file, each with the name of its file.
pub fn traces() -> [(String, WorkloadPlan); 6] {
    FILES.map(|(file, _)| {
        let name = match file {
            // Without the extension, the two files in the plain format would have the same name.
            "plain.jsonl" => "plain-jsonl",
            other => other.split('.').next().expect("a name"),
        };
        (name.to_owned(), WorkloadPlan::Trace(plan(file)))
    })
}

fn read(text: &str) -> Result<Rows, WorkloadError> {
    Rows::read(text.as_bytes(), Path::new("trace"), &any())
}

/// For each request: when it is due (in milliseconds from the start), its input tokens, and its output
/// tokens.
pub fn played(rows: &Rows, window: TraceWindow, scale: f64) -> Vec<(u64, u32, u32)> {
    let timeline = Timeline::of(rows, window, scale);
    let told = |due: Nanos| due.0 / 1_000_000;
    timeline.arrivals.iter().map(|it| (told(it.due), it.row.input, it.row.output)).collect()
}

#[test]
fn every_trace_format_is_detected_from_its_first_line_and_read_in_time_order() {
    let expected: [&[(u64, u32, u32)]; 6] = [
        &[
            (0, 1100, 12),
            (250, 1050, 30),
            (250, 40, 5),
            (700, 512, 9),
            (900, 600, 7),
            (2000, 1400, 4),
        ],
        &[(0, 374, 44), (4314, 396, 109), (4541, 879, 55), (4541, 91, 16)],
        &[(0, 2162, 5), (0, 76, 15), (7, 2399, 6)],
        &[(0, 472, 18), (40_000, 1087, 230), (40_000, 417, 276), (113_000, 1360, 647)],
        &[(0, 20, 4), (500, 30, 5), (1500, 40, 7), (2250, 25, 6)],
        &[(0, 20, 4), (500, 30, 5)],
    ];
    for ((name, format), expected) in FILES.into_iter().zip(expected) {
        for format in [None, Some(format)] {
            let rows = Rows::load(Path::new(&path(name)), &TracePlan { format, ..any() }).unwrap();
            assert_eq!(played(&rows, TraceWindow::default(), 1.0), expected, "{name}");
        }
    }
}

#[test]
fn unusable_rows_are_counted_by_reason_with_the_first_row_number() {
    for (name, told) in [
        (
            "mooncake.jsonl",
            &["object (row 8)", "`output_length` (row 7)", "tokens (row 9)", "512 tokens (row 6)"]
                [..],
        ),
        ("azure-2023.csv", &["first row (row 5)", "valid time (row 6)", "of tokens (row 7)"]),
        ("burstgpt.csv", &["of tokens (row 6)", "without tokens (row 5)"]),
    ] {
        let findings = spec(&WorkloadPlan::Trace(plan(name)), "salt").findings();
        let finding = findings.iter().find(|it| it.code == "data_set_rows_left_out").unwrap();
        let (_, reasons) = finding.message.split_once(". ").unwrap();
        let reasons: Vec<&str> = reasons.split("; ").collect();
        assert_eq!(reasons.len(), told.len(), "{reasons:?}");
        for (reason, told) in reasons.iter().zip(told) {
            assert!(reason.contains("1 x ") && reason.ends_with(told), "{told}: {reason}");
        }
    }
    let rows = spec(&WorkloadPlan::Trace(plan("plain.csv")), "salt").findings();
    let codes: Vec<&str> = rows.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["trace_out_of_order"]);
    let rows = spec(&WorkloadPlan::Trace(plan("burstgpt.csv")), "salt").findings();
    let told: Vec<&str> = rows.iter().map(|it| it.message.as_str()).collect();
    assert!(told.contains(&"3 unused columns: Log Type, Model, Total tokens"), "{told:?}");
}

#[test]
fn a_file_that_is_not_a_trace_is_refused_with_what_was_found() {
    for (text, told) in [
        ("a,b,c\n1,2,3\n", "its first line is `a,b,c`; azure has TIMESTAMP, ContextTokens"),
        ("{\"prompt\": 1}\n", "keys prompt; mooncake and bailian have timestamp"),
        ("0,5,0\n1,0,5\n", "none of its 2 rows can be used; 1 x a prompt without tokens (row 2)"),
        ("timestamp,input_tokens,output_tokens\n", "has no rows"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let azure = TracePlan { format: Some(TraceFormat::Azure), ..any() };
    let error = Rows::load(Path::new(&path("burstgpt.csv")), &azure).unwrap_err();
    assert!(error.to_string().contains("azure has TIMESTAMP"), "{error}");
}

#[test]
fn columns_and_keys_that_are_not_used_are_named_once() {
    for (text, unused) in [
        (
            "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2026-01-05 09:00:00,1,7,4\n",
            "NumImages",
        ),
        ("{\"timestamp\":0,\"input_length\":5,\"output_length\":4,\"delay\":3}\n", "delay"),
        ("{\"timestamp\":0,\"input_tokens\":5,\"output_tokens\":4,\"hash_ids\":[]}\n", "hash_ids"),
    ] {
        let rows = read(&text.repeat(2)).unwrap();
        assert_eq!(rows.unused.into_iter().collect::<Vec<_>>(), [unused]);
    }
}

#[test]
fn a_scale_that_gives_too_many_requests_is_an_error() {
    let trace = TracePlan { scale: 1e9, ..plan("plain.csv") };
    let open = |trace| OpenWorkload::open(&WorkloadPlan::Trace(trace), embedded(), 1, "s");
    let error = open(trace.clone()).err().unwrap().to_string();
    assert!(error.contains("--trace-scale 1000000000") && error.contains("rows"), "{error}");
    assert!(open(TracePlan { scale: 2.0, ..trace }).is_ok());
}

#[test]
fn rows_outside_the_window_are_counted_and_reported() {
    let window = TraceWindow { from: Duration::from_millis(400), to: Some(Duration::from_secs(2)) };
    let played = TracePlan { window, ..plan("plain.csv") };
    let findings = spec(&WorkloadPlan::Trace(played), "salt").findings();
    let told: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    let is_told =
        |told: &&str| told.starts_with("2 of 4 ") && told.contains(": 1 before its start, 1 after");
    assert!(told.iter().any(is_told), "{told:?}");
}

#[test]
fn rows_above_the_maximum_length_are_skipped_and_counted() {
    let most = inferometer_plan::spec::MAX_LENGTH;
    let over = most + 1;
    let text = format!("0,{most},5\n1,3000000000,5\n2,5,{over}\n");
    let rows = read(&text).unwrap();
    assert_eq!(played(&rows, TraceWindow::default(), 1.0), [(0, most, 5)]);
    let told = rows.left_out.to_string();
    assert!(
        told.starts_with("2 x ") && told.ends_with("10000000 tokens (first in row 2)"),
        "{told}"
    );
}

#[test]
fn notes_on_inexact_lengths_are_merged_into_one_and_so_are_notes_on_short_tags() {
    let inexact = |prompts, asked, farthest| Note::Inexact { prompts, asked, farthest };
    let mut notes = Vec::new();
    for note in [
        inexact(2, 10, 11),
        Note::ShortTag { tokens: 3, full: 6 },
        inexact(1, 40, 37),
        inexact(5, 7, 8),
        Note::ShortTag { tokens: 2, full: 6 },
    ] {
        note.add_to(&mut notes);
    }
    assert_eq!(notes, [inexact(8, 40, 37), Note::ShortTag { tokens: 2, full: 6 }]);
}

#[test]
fn rows_longer_than_the_longest_allowed_request_are_skipped_and_counted() {
    let short = TracePlan { max_tokens: Some(700), ..any() };
    let rows = Rows::load(Path::new(&path("burstgpt.csv")), &short).unwrap();
    assert_eq!(played(&rows, TraceWindow::default(), 1.0).len(), 2);
    assert!(
        rows.left_out.to_string().contains("2 x more input and output tokens together"),
        "{}",
        rows.left_out
    );
}

#[test]
fn window_times_are_relative_to_the_first_row_and_the_end_is_exclusive() {
    let rows = read("10,1,1\n11,2,1\n12,3,1\n13,4,1\n").unwrap();
    let seconds = Duration::from_secs;
    let window = TraceWindow { from: seconds(1), to: Some(seconds(3)) };
    assert_eq!(played(&rows, window, 1.0), [(0, 2, 1), (1000, 3, 1)]);
    let timeline = Timeline::of(&rows, window, 1.0);
    assert_eq!((timeline.before, timeline.behind), (1, 1));
    let outside =
        TracePlan { window: TraceWindow { from: seconds(60), to: None }, ..plan("plain.csv") };
    let mut plan = plan_of(WorkloadPlan::Trace(outside));
    let error = inferometer_workload::prepare(&mut plan).unwrap_err().to_string();
    assert!(error.contains("outside of --trace-window"), "{error}");
}

/// The plan of a run with this trace as its workload.
#[test]
fn by_default_a_trace_is_replayed_at_its_own_arrival_times() {
    let mut plan = plan_of(WorkloadPlan::Trace(plan("plain.csv")));
    inferometer_workload::prepare(&mut plan).unwrap();
    let [pass] = &plan.passes[..] else { panic!("one pass") };
    assert_eq!(pass.requests(), Some(4));
    assert!((pass.last_due_s(0.0) - 2.25).abs() < 1e-9);
}

#[test]
fn scaling_a_trace_adds_or_drops_requests_and_does_not_shift_the_others() {
    let rows = read("0,10,1\n1,11,1\n4,12,1\n").unwrap();
    let all = TraceWindow::default();
    let twice =
        [(0, 10, 1), (500, 10, 1), (1000, 11, 1), (2500, 11, 1), (4000, 12, 1), (5000, 12, 1)];
    assert_eq!(played(&rows, all, 2.0), twice);
    let copies: Vec<u32> =
        Timeline::of(&rows, all, 2.0).arrivals.iter().map(|arrival| arrival.copy).collect();
    assert_eq!(copies, [0, 1, 0, 1, 0, 1]);
    let rows = read("0,10,1\n1,11,1\n4,12,1\n9,13,1\n").unwrap();
    assert_eq!(played(&rows, all, 0.5), [(0, 10, 1), (4000, 12, 1)]);
}

#[test]
fn prompts_have_their_stated_length_as_text_and_as_token_ids() {
    for (name, _) in FILES {
        let mut spec = spec(&WorkloadPlan::Trace(plan(name)), "salt");
        for form in [PromptForm::Text, PromptForm::TokenIds] {
            spec.context.form = form;
            let built = spec.requests(cell(0), &place(), 2).unwrap();
            assert_eq!(built.notes, [], "{name}");
            for request in built.requests {
                let counted = ids(&embedded(), &request).len() as u32;
                assert_eq!(counted, request.input_tokens, "{name}");
            }
        }
    }
}

#[test]
fn prompts_too_short_to_be_made_unique_are_reported_also_if_the_server_adds_tokens() {
    let mut spec = spec(&WorkloadPlan::Trace(plan("plain.jsonl")), "salt");
    spec.context.reserve = 16;
    let built = spec.requests(cell(0), &place(), 2).unwrap();
    assert_eq!(built.notes, [Note::ShortTag { tokens: 4, full: 6 }]);
}

/// The number of tokens of the common prefix of two prompts.
pub fn common(one: &Request, other: &Request) -> usize {
    let (one, other) = (ids(&embedded(), one), ids(&embedded(), other));
    one.iter().zip(&other).take_while(|(one, other)| one == other).count()
}

#[test]
fn equal_block_hashes_give_equal_blocks_and_different_hashes_share_no_prefix() {
    let mut spec = spec(&WorkloadPlan::Trace(plan("mooncake.jsonl")), "salt");
    for form in [PromptForm::Text, PromptForm::TokenIds] {
        spec.context.form = form;
        let built = spec.requests(cell(0), &place(), 6).unwrap().requests;
        // The hashes of the rows in the order of time: 0 1 2; 0 1 3; none; 0; 0 4; 0 8.
        for (other, tokens) in [(1, 1024), (2, 0), (3, 512), (4, 512), (5, 512)] {
            assert_eq!(common(&built[0], &built[other]), tokens, "{form:?} {other}");
        }
        let again = spec.requests(cell(0), &place(), 12).unwrap().requests;
        assert_eq!(common(&again[0], &again[6]), 0, "the repeated trace shares no prefix");
    }
}

#[test]
fn a_chunk_of_the_requests_equals_the_same_range_of_all_requests() {
    let drawn = DrawnPlan {
        input: Lengths::Around { ratio: 0.5 },
        output: Lengths::Around { ratio: 0.5 },
        prefix_length: 3,
    };
    let trace = WorkloadPlan::Trace(plan("mooncake.jsonl"));
    for (plan, length) in [(trace, 0), (WorkloadPlan::Random, 32), (WorkloadPlan::Drawn(drawn), 32)]
    {
        let mut spec = spec(&plan, "salt");
        assert!(spec.workload().can_begin_anywhere());
        for form in [PromptForm::Text, PromptForm::TokenIds] {
            spec.context.form = form;
            let all = spec.requests(cell(length), &place(), 9).unwrap().requests;
            let part = spec.requests_from(cell(length), &place(), 4, 5).unwrap().requests;
            assert_eq!(all[4..], part, "{}", plan.name());
        }
    }
}

#[test]
fn prompts_of_another_salt_or_pass_share_no_prefix() {
    let plan = WorkloadPlan::Trace(plan("mooncake.jsonl"));
    let first = |salt: &str, pass: &str| {
        let mut place = place();
        place.pass = pass.to_owned();
        spec(&plan, salt).requests(cell(0), &place, 1).unwrap().requests.remove(0)
    };
    let one = first("salt", "pass");
    assert!(matches!(one.prompt, Prompt::Text(_)));
    assert_eq!(common(&one, &first("salt", "pass")), 1100);
    assert_eq!(common(&one, &first("other", "pass")), 0);
    assert_eq!(common(&one, &first("salt", "other")), 0);
}

proptest! {
    #[test]
    fn due_times_are_sorted_and_their_number_is_the_scaled_number_of_rows(
        seconds in prop::collection::vec(0_u32..1_000, 1..60), scale in 0.05_f64..20.0,
    ) {
        let text: String = seconds.iter().map(|second| format!("{second},5,5\n")).collect();
        let rows = read(&text).unwrap();
        let timeline = Timeline::of(&rows, TraceWindow::default(), scale);
        let due: Vec<Nanos> = timeline.arrivals.iter().map(|arrival| arrival.due).collect();
        prop_assert!(due.is_sorted());
        prop_assert_eq!(due[0], Nanos::ZERO);
        let expected = (seconds.len() as f64 * scale).round().max(1.0) as usize;
        prop_assert_eq!(due.len(), expected);
        // Before the time of each row, the number of requests differs from `scale` times the number of rows
        // by at most one request plus the requests of one row.
        let first = *seconds.iter().min().unwrap();
        for &until in &seconds {
            let of_trace = seconds.iter().filter(|&&second| second < until).count() as f64;
            let limit = Nanos(u64::from(until - first) * 1_000_000_000);
            let of_played = due.iter().filter(|&&at| at < limit).count() as f64;
            prop_assert!((of_played - of_trace * scale).abs() <= 1.0 + scale.max(1.0));
        }
    }
}
