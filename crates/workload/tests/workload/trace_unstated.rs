//! Tests of traces in the form of Mooncake: the unit of their times and the tokens of a hash, which no file states.

use std::path::Path;

use inferometer_plan::{TraceFormat, TracePlan, TraceWindow, WorkloadPlan};
use inferometer_workload::trace::Rows;

use crate::support::{cell, place, spec};
use crate::trace::{any, common, played};

/// Rows in the form of Mooncake: a time, the input tokens and the number of hashes of each row.
fn mooncake(rows: impl IntoIterator<Item = (f64, u32, u32)>, more: &str) -> String {
    let row = |(at, input, hashes): (f64, u32, u32)| {
        let hashes: Vec<u32> = (0..hashes).collect();
        format!(
            "{{\"timestamp\":{at},\"input_length\":{input},\"output_length\":4,\"hash_ids\":{hashes:?}{more}}}\n"
        )
    };
    rows.into_iter().map(row).collect()
}

#[test]
fn the_unit_of_times_follows_from_the_rows_or_the_format_and_is_told_unless_it_is_certain() {
    let rows =
        |rows: u32, gap: f64| mooncake((0..rows).map(|row| (f64::from(row) * gap, 20, 1)), "");
    let gap = |gap: f64| rows(5, gap);
    let bailian = mooncake([(0.0, 20, 2), (500.0, 20, 2)], r#","parent_chat_id":-1"#);
    let (named, seconds) = (Some(TraceFormat::Mooncake), Some(TraceFormat::Bailian));
    for (text, format, last_ms, told) in [
        // Certain: milliseconds, as in the traces of Mooncake.
        (rows(101, 500.0), None, 50_000, None),
        // A server with few requests may have the same times in seconds.
        (gap(500.0), None, 2_000, Some("milliseconds: 5 rows in 2.000 s; --trace-format bailian")),
        (rows(101, 500.5), None, 50_050, Some("milliseconds")),
        (gap(1_788_000_000_000.0 / 4.0), None, 1_788_000_000_000, Some("milliseconds")),
        // As milliseconds, more than 1000 requests/s.
        (gap(0.5), None, 2_000, Some("seconds: 5 rows in 2.000 s; --trace-format mooncake")),
        (gap(0.4).replace("1.6}", "1.600}"), None, 1_600, Some("seconds")),
        // Either is possible.
        (gap(3.25), None, 13_000, Some("seconds: 5 rows in 13.000 s")),
        (gap(3.0), None, 12, Some("milliseconds: 5 rows in 0.012 s; --trace-format bailian")),
        (gap(0.0), None, 0, None),
        // Stated.
        (gap(0.5), named, 2, None),
        (gap(500.0), seconds, 2_000_000, None),
        (bailian.clone(), None, 500_000, None),
        (bailian, named, 500, None),
    ] {
        let plan = TracePlan { format, ..any() };
        let rows = Rows::read(text.as_bytes(), Path::new("trace"), &plan).unwrap();
        assert_eq!(played(&rows, TraceWindow::default(), 1.0)[..].last().unwrap().0, last_ms);
        let units: Vec<&String> =
            rows.derived.iter().filter(|it| it.starts_with("times are read as")).collect();
        assert_eq!(units.len(), usize::from(told.is_some()), "{units:?}");
        assert!(told.is_none_or(|told| units[0].contains(told)), "{units:?}");
    }
}

#[test]
fn a_row_that_is_too_long_for_the_plan_still_shows_the_unit_of_times() {
    let rows = (0..400).map(|row| (f64::from(row) * 0.5, if row % 399 == 0 { 9 } else { 900 }, 0));
    let plan = TracePlan { max_tokens: Some(100), ..any() };
    let rows = Rows::read(mooncake(rows, "").as_bytes(), Path::new("trace"), &plan).unwrap();
    assert_eq!(played(&rows, TraceWindow::default(), 1.0), [(0, 9, 4), (199_500, 9, 4)]);
}

#[test]
fn the_tokens_of_a_hash_follow_from_the_rows_or_the_plan_and_contradictions_are_errors() {
    let of = |lengths: &[(u32, u32)], block_tokens: Option<u32>| {
        let rows = lengths
            .iter()
            .zip(0_u32..)
            .map(|(&(input, hashes), row)| (f64::from(row) * 500.0, input, hashes));
        let plan = TracePlan { block_tokens, ..any() };
        Rows::read(mooncake(rows, "").as_bytes(), Path::new("trace"), &plan)
            .map(|rows| (rows.block_tokens, rows.rows.len(), rows.derived))
            .map_err(|error| error.to_string())
    };
    let of_16 = [(40, 3), (790, 50), (16, 1), (33, 2)];
    for (lengths, given, tokens, used) in [
        (&[(1100, 3), (512, 1), (600, 1)][..], None, 512, 3),
        (&[(20, 1), (30, 1)], None, 512, 2),
        (&of_16, None, 16, 4),
        (&of_16, Some(16), 16, 4),
        (&[(790, 7), (960, 8), (350, 3)], None, 128, 3),
        (&[(300, 3), (200, 2), (101, 2)], None, 100, 3),
        // One of three rows is wrong.
        (&[(1100, 3), (1100, 1), (1600, 4)], None, 512, 2),
    ] {
        let (found, rows, derived) = of(lengths, given).unwrap();
        assert_eq!((found, rows), (tokens, used), "{lengths:?}");
        let is_told = derived.iter().any(|told| told.starts_with("a hash stands for"));
        assert_eq!(is_told, given.is_none() && tokens != 512, "{derived:?}");
    }
    let told = of(&of_16, Some(512)).unwrap_err();
    assert!(told.contains("with 512 tokens") && told.contains("16 tokens fit 4"), "{told}");
    let told = of(&[(1100, 3), (1100, 30), (1100, 300)], None).unwrap_err();
    assert!(told.contains("with 512 tokens for each of its `hash_ids`, 1 of 3"), "{told}");
}

#[test]
fn blocks_of_another_size_are_shared_as_the_hashes_say() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bailian.jsonl");
    let text = mooncake([(0.0, 40, 3), (0.4, 50, 4)], "").replace("[0, 1, 2, 3]", "[0, 1, 7, 8]");
    std::fs::write(&file, text).unwrap();
    let plan = TracePlan { dataset: file.display().to_string(), ..any() };
    let spec = spec(&WorkloadPlan::Trace(plan), "salt");
    let built = spec.requests(cell(0), &place(), 2).unwrap().requests;
    assert_eq!(common(&built[0], &built[1]), 32);
}
