//! Ranks with different clocks, ranks that start too late, and runs that are resumed with another number of ranks.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::ranks::{CELL, meeting, rank, rank_with, summary, two_of_three_ranks};
use crate::support::{Engine, folder, inferometer, told};

/// Compiles a shared library that gives a process a different clock, as if the process ran on another machine. Returns
/// its path.
fn other_clock(folder: &Path) -> PathBuf {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/end_to_end/clock_of_another_machine.c");
    let library = folder.join("clock.so");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    assert!(made.expect("a C compiler, which the build needs too").success());
    library
}

#[test]
fn a_fast_and_drifting_rank_clock_shifts_no_record_by_more_than_the_stated_bound() {
    const AHEAD_MS: f64 = 420_000.0;
    const PPM: f64 = 50.0;
    let engine = Engine::start(&[]);
    let (folder, at) = (folder(), meeting());
    let library = other_clock(folder.path());
    let load = ["--rate", "50", "--requests", "100", "--warmup", "0"];
    let plan = [&["run", "--target", &engine.url], &CELL[..], &load].concat();
    let set = [
        ("LD_PRELOAD", library.to_str().expect("a path")),
        ("TEST_CLOCK_AHEAD_S", "420"),
        ("TEST_CLOCK_PPM", "50"),
    ];
    let other = rank_with(folder.path(), (1, 2), &at, &plan, &set);
    let lead = rank(folder.path(), (0, 2), &at, &plan).finish();
    let member = other.finish();
    assert_eq!(member.status.code(), Some(0), "{}", told(&member));
    let summary = summary(&lead);
    let pass = &summary["cells"][0]["passes"][0];
    assert_eq!(pass["outcomes"]["complete"], 100, "{pass}");
    let of = |rank: usize| &summary["ranks"][rank];
    assert_eq!((&of(0)["clock"], &of(0)["state"]), (&Value::Null, &Value::from("complete")));
    for rank in [0, 1] {
        assert_eq!(of(rank)["requests"]["complete"], 50, "{}", summary["ranks"]);
    }
    let number = |key: &str| of(1)["clock"][key].as_f64().expect("a number");
    // The test does not know for how long the clocks drifted. It assumes 600 s, because no test waits longer for an
    // event.
    let drifted_ms = 600.0 * PPM / 1e3;
    let wrong = (number("offset_ms") + AHEAD_MS).abs();
    assert!(wrong <= number("bound_ms") + drifted_ms, "{}", of(1)["clock"]);
    if let Some(ppm) = of(1)["clock"]["drift_ppm"].as_f64() {
        // The drift relative to the fast clock differs from the drift relative to the correct clock by less than 0.01
        // ppm.
        assert!((ppm + PPM).abs() <= number("drift_bound_ppm") + 0.01, "{}", of(1)["clock"]);
    }
    // Requests are due in the order of their numbers, independent of the rank that sends them.
    let rows = inferometer(folder.path(), &["export", "latest", "--format", "jsonl"]);
    let rows = String::from_utf8(rows.stdout).expect("text");
    let rows = rows.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut due: Vec<(u64, u64, u64)> = rows
        .filter_map(|row| {
            Some((row["request"].as_u64()?, row["rank"].as_u64()?, row["due_ns"].as_u64()?))
        })
        .collect();
    due.sort_unstable();
    assert_eq!(due.len(), 100);
    assert!(due.iter().all(|(request, rank, _)| request % 2 == *rank));
    let bound_ns = (number("bound_ms") * 1e6) as u64;
    for pair in due.windows(2) {
        assert!(pair[0].2 <= pair[1].2 + bound_ns, "{pair:?}");
    }
}

#[test]
fn a_rank_that_misses_the_join_timeout_is_named_by_rank_0_and_by_itself() {
    let engine = Engine::start(&[]);
    let plan = [&["run", "--target", &engine.url, "--requests", "4"], &CELL[..]].concat();
    let short = [&plan[..], &["--join-timeout", "300ms"]].concat();
    let (folder, at) = (folder(), meeting());
    let lead = rank(folder.path(), (0, 2), &at, &short).finish();
    assert_eq!(lead.status.code(), Some(1), "{}", told(&lead));
    assert!(told(&lead).contains("within 0.3 s (--join-timeout): rank 1"), "{}", told(&lead));
    let late = rank(folder.path(), (1, 2), &at, &short).finish();
    assert_eq!(late.status.code(), Some(1), "{}", told(&late));
    let words = told(&late);
    assert!(
        words.contains("rank 1 (") && words.contains("within 0.3 s (--join-timeout)"),
        "{words}"
    );
}

#[test]
fn a_run_that_lost_a_rank_can_be_resumed_with_another_number_of_ranks() {
    let (folder, slow) = (folder(), Engine::start_at("1", &[]));
    let [lead, other] = two_of_three_ranks(folder.path(), &slow.url, "2000");
    assert_eq!([lead.finish().status.code(), other.finish().status.code()], [Some(1); 2]);
    let document = |arguments: &[&str]| -> Value {
        serde_json::from_slice(&inferometer(folder.path(), arguments).stdout).expect("JSON")
    };
    let stored = document(&["runs", "--json"])["runs"][0].clone();
    let name = stored["run_id"].as_str().expect("a name").to_owned();
    let before = document(&["report", &name, "--json", "--out", "before"]);
    let states: Vec<_> =
        before["ranks"].as_array().expect("ranks").iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["complete", "lost", "complete"], "{}", before["ranks"]);

    // The rest is measured with a faster engine at the same address.
    let listen = slow.url.strip_prefix("http://").expect("an address").to_owned();
    drop(slow);
    let _fast = Engine::start_on(&listen, "1000", &[]);
    let at = meeting();
    let resume = ["run", "--resume", &name, "--quiet", "--json"];
    let [lead, other] = [0, 1].map(|number| rank(folder.path(), (number, 2), &at, &resume));
    let other = other.finish();
    assert_eq!(other.status.code(), Some(0), "{}", told(&other));
    let after = summary(&lead.finish());
    assert_eq!(after["plan_hash"], before["plan_hash"]);
    for cell in [0, 1] {
        assert_eq!(after["cells"][cell]["passes"][0]["outcomes"]["complete"], 6, "{after}");
    }
    // Completely measured cells are copied, record by record.
    assert_eq!(after["cells"][0]["passes"][0]["e2e_ms"], before["cells"][0]["passes"][0]["e2e_ms"]);
    assert_eq!(after["ranks"].as_array().map(Vec::len), Some(2));
}
