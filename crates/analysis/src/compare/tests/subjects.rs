//! Tests the facts about figures: conditions that differ, loads, and figures that only one run has.

use super::super::*;
use crate::verdict::Met;

/// A subject with these figures. Each has the input length of its cell, its load, its name and its values.
fn with(name: &str, identity: &str, figures: &[(u32, &str, &str, &[f64])]) -> Subject {
    let series = figures.iter().map(|&(length, load, figure, values)| Series {
        cell: Some(CellPlan { input_length: length, output_length: 8 }),
        load: load.to_owned(),
        figure: figure.to_owned(),
        higher_is_better: true,
        values: values.to_vec(),
        times_s: Vec::new(),
    });
    let (identity, warnings) = (Some(vec![identity.to_owned()]), vec!["is suspect".to_owned()]);
    Subject { identity, warnings, ..Subject::of_series(name, series.collect()) }
}

#[test]
fn prompts_of_the_same_kind_with_another_salt_are_not_a_different_workload() {
    let figures = [(1, TABLE_LOAD, "requests_per_s", &[1.0][..])];
    let run = |name: &str, plan: &str, kind: Option<&str>| {
        let mut run = with(name, name, &figures);
        run.warnings.clear();
        run.conditions.insert("workload", format!("{name}{}", "0".repeat(64)));
        run.facts = [("salt", name), ("plan", plan)].map(|(k, v)| (k.into(), v.into())).into();
        run.kind_of_prompts = kind.map(str::to_owned);
        run
    };
    let a = run("a", "plan", Some("random"));
    for (b, is_other) in [
        (run("b", "plan", None), false),
        (run("b", "other plan", Some("random")), false),
        (run("b", "other plan", Some("sharegpt")), true),
        (run("b", "other plan", None), true),
    ] {
        let found = compare(&a, &b, Options::default()).unwrap();
        let told = format!("{:?}", found.differing);
        assert_eq!(found.warnings.len(), usize::from(is_other), "{:?}", found.warnings);
        assert_eq!(told.contains("other prompts of the same kind (salt)"), !is_other, "{told}");
        assert!(!told.contains(&"0".repeat(13)), "{told}");
    }
    // If the salts are equal and the prompts differ, the workloads differ.
    let mut b = run("b", "plan", Some("random"));
    b.facts.insert("salt".to_owned(), "a".to_owned());
    let found = compare(&a, &b, Options::default()).unwrap();
    assert!(found.warnings[0].starts_with("workload differs"), "{:?}", found.warnings);
}

#[test]
fn settings_that_change_with_every_run_are_not_reported_as_differences() {
    let run = |name: &str, facts: &[(&str, &str)]| {
        let mut run = with(name, name, &[(1, TABLE_LOAD, "requests_per_s", &[1.0][..])]);
        run.facts = facts.iter().map(|&(key, fact)| (key.to_owned(), fact.to_owned())).collect();
        run
    };
    let a = [
        ("plan", "0a1b"),
        ("salt", "1"),
        ("server_metrics", "http://127.0.0.1:4001/metrics"),
        ("command", "serve --port {port} --seqs 8"),
        ("url", "http://10.0.0.1:8000"),
    ];
    let b = [
        ("plan", "2c3d"),
        ("salt", "2"),
        ("server_metrics", "http://127.0.0.1:4002/metrics"),
        ("command", "serve --port {port} --seqs 64"),
        ("url", "http://10.0.0.1:8001"),
    ];
    let found = compare(&run("a", &a), &run("b", &b), Options::default()).unwrap();
    let told: Vec<&str> = found.differing.iter().map(|[key, ..]| key.as_str()).collect();
    assert_eq!(told, ["command", "url"]);
}

#[test]
fn figures_that_only_one_run_has_are_grouped_by_cell_and_load() {
    let both = (1, TABLE_LOAD, "requests_per_s", &[1.0][..]);
    let a: Vec<_> = [2, 3, 4, 5, 6]
        .iter()
        .flat_map(|&cell| {
            ["ttft_p50", "ttft_p99"].map(|name| (cell, "one by one", name, &[1.0][..]))
        })
        .chain([both])
        .collect();
    let b = [both, (1, "all at once", "e2e_p50", &[1.0][..])];
    let found = compare(&with("a", "a", &a), &with("b", "b", &b), Options::default()).unwrap();
    let told: Vec<String> = found.unmatched.iter().map(Unmatched::to_string).collect();
    assert_eq!(
        told,
        [
            "5 cells, one by one: only a has ttft_p50, ttft_p99 (no such load in b)",
            "1 x 8, all at once: only b has e2e_p50 (no such load in a)"
        ]
    );
    // The runs have common cells, but no common load. So there is no row, and all figures are unmatched.
    let (a, b) = ([(1, "1 in flight", "e2e_p50", &[1.0][..])], [(1, "8", "e2e_p50", &[1.0][..])]);
    let found = compare(&with("a", "a", &a), &with("b", "b", &b), Options::default()).unwrap();
    assert_eq!((found.rows.len(), found.unmatched.len()), (0, 2));
}

#[test]
fn columns_of_a_published_table_are_compared_with_the_load_that_provides_them_in_a_run() {
    let table = with("table", "t", &[(1, TABLE_LOAD, "requests_per_s", &[2.0][..])]);
    let run = Subject {
        loads_of_tables: vec![(
            CellPlan { input_length: 1, output_length: 8 },
            "requests_per_s",
            "saturated".to_owned(),
        )],
        ..with("run", "r", &[(1, "saturated", "requests_per_s", &[1.0][..])])
    };
    for (a, b) in [(&table, &run), (&run, &table)] {
        let found = compare(a, b, Options::default()).unwrap();
        assert_eq!((found.rows[0].load.as_str(), found.unmatched.len()), ("saturated", 0));
    }
}

#[test]
fn a_published_table_joined_with_a_measured_run_leaves_a_gate_undecided() {
    let [both, of_run] = ["requests_per_s", "ttft_p99"];
    let table =
        Subject { is_fixed: true, ..with("table", "t", &[(1, TABLE_LOAD, both, &[2.0][..])]) };
    let figures = [both, of_run].map(|figure| (1, "saturated", figure, &[1.0][..]));
    let run = Subject {
        loads_of_tables: vec![(
            CellPlan { input_length: 1, output_length: 8 },
            both,
            "saturated".to_owned(),
        )],
        ..with("run", "r", &figures)
    };
    let other = with("other", "o", &figures);
    let gate = parse_gate("ttft_p99<+5%").unwrap();
    for runs in [[&table, &run], [&run, &table]] {
        let joined = Subject::of_several("joined", runs.map(Subject::clone).into());
        let found = compare(&other, &joined, Options::default()).unwrap();
        assert_eq!((found.rows.len(), found.unmatched.len()), (2, 0), "{found:?}");
        for (figure, repeats) in [(both, [1, 2]), (of_run, [1, 1])] {
            let row = found.rows.iter().find(|row| row.figure == figure).unwrap();
            assert_eq!(row.repeats, repeats, "{row:?}");
            assert!(matches!(row.verdict, RowVerdict::NotEnoughData { .. }), "{row:?}");
        }
        assert_eq!(judge(&gate, &found).unwrap()[0].met, Met::Undecided);
        // The published table cannot be measured again, so the row has no interval.
        let found = compare(&table, &joined, Options::default()).unwrap();
        assert_eq!(
            (found.rows[0].repeats, found.rows[0].verdict),
            ([1, 2], RowVerdict::NoInterval)
        );
    }
}

#[test]
fn a_run_compared_with_itself_gets_a_warning_and_its_other_warnings_once() {
    let figures = [(1, TABLE_LOAD, "requests_per_s", &[1.0][..])];
    let warnings =
        |one: &Subject, other: &Subject| compare(one, other, Options::default()).unwrap().warnings;
    let told = warnings(&with("a", "run", &figures), &with("latest", "run", &figures));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("compares a run with itself"), "{told:?}");
    let told = warnings(&with("a", "run", &figures), &with("b", "other", &figures));
    assert!(told.len() == 2 && !told[0].contains("itself"), "{told:?}");
}

#[test]
fn tokenizers_are_compared_by_file_hash_and_not_by_path() {
    let run = |path: &str, hash: Option<&str>| {
        let mut run = with(path, path, &[(1, "saturated", "requests_per_s", &[1.0][..])]);
        run.warnings.clear();
        run.conditions.insert("tokenizer", path.to_owned());
        let hash = hash.map(|hash| ("tokenizer's file (SHA-256)", hash.to_owned()));
        run.conditions.extend(hash);
        run
    };
    for (a, b, told) in [
        (run("/a/x.json", Some("00")), run("/b/x.json", Some("00")), 0),
        (run("/a/x.json", Some("00")), run("/a/x.json", Some("11")), 1),
        (run("/a/x.json", None), run("/b/x.json", Some("11")), 1),
    ] {
        let found = compare(&a, &b, Options::default()).unwrap();
        assert_eq!(found.warnings.len(), told, "{:?}", found.warnings);
    }
}

#[test]
fn a_duplicate_run_in_a_list_is_found() {
    let run = |name: &str, identity: &str| with(name, identity, &[]);
    let several = Subject::of_several("d", vec![run("", "3"), run("", "2")]);
    let twice = [run("a", "1"), run("b", "2"), run("c", "1")];
    assert_eq!(Subject::first_duplicate(&twice), Some("c"));
    assert_eq!(Subject::first_duplicate(&twice[..2]), None);
    assert_eq!(Subject::first_duplicate(&[run("b", "2"), several]), Some("d"));
}

#[test]
fn results_of_other_tools_are_duplicates_only_if_file_and_section_are_equal() {
    let result = |file: &str, section: &[&str]| {
        let summary = serde_json::from_value(serde_json::json!({
            "schema": "", "tool": {"name": "", "version": ""}, "started_at": "", "run_id": "",
            "plan_hash": "", "workload_hash": "", "body_hash": "", "predicted": false,
            "findings": [], "cells": [], "environment": {},
            "target": inferometer_model::target::Target::default(),
            "verdict": crate::verdict::Verdict::default(),
            "imported": {"format": "vllm bench serve", "file": "", "sha256": file, "section": section},
        }));
        Subject::of_run(format!("{file}{section:?}"), &summary.expect("a summary"))
    };
    let all = [
        result("0a", &[]),
        result("1b", &[]),
        result("1b", &["Qwen 14B"]),
        result("1b", &["Qwen 7B"]),
        result("2c", &["Qwen 7B"]),
    ];
    assert_eq!(Subject::first_duplicate(&all), None);
    for one in &all {
        let twice = [&all[..], std::slice::from_ref(one)].concat();
        assert_eq!(Subject::first_duplicate(&twice), Some(&*one.name));
    }
}

#[test]
fn cells_of_different_tools_pair_by_nearly_equal_lengths_and_the_counted_ones_are_told() {
    let run = |tool: &str, cell: (u32, u32), counted: [f64; 2]| {
        let cell = CellPlan { input_length: cell.0, output_length: cell.1 };
        let mut run = with(tool, tool, &[(1, "closed loop, 8 in flight", "ttft_p50", &[1.0][..])]);
        run.series[0].cell = Some(cell);
        run.warnings.clear();
        Subject { tool: tool.to_owned(), counted: vec![(cell, counted)], ..run }
    };
    let vllm = run("vllm bench serve", (0, 32), [127.6, 32.0]);
    for (other, pairs) in [
        (run("GuideLLM", (128, 32), [139.0, 32.0]), true),
        (run("AIPerf", (128, 32), [128.0, 31.0]), true),
        // A chat template adds tokens to the prompt, never to the output.
        (run("SGLang bench_serving", (143, 32), [143.0, 32.0]), true),
        (run("AIPerf", (128, 64), [128.0, 64.0]), false),
        (run("AIPerf", (1024, 32), [1024.0, 32.0]), false),
        // The cells of one tool are never joined.
        (run("vllm bench serve", (128, 32), [128.0, 32.0]), false),
    ] {
        let found = compare(&vllm, &other, Options::default());
        let Ok(found) = found else {
            assert!(!pairs, "{}: {found:?}", other.tool);
            continue;
        };
        assert!(pairs, "{}: {:?}", other.tool, found.rows);
        assert_eq!(found.rows[0].cell, Some(CellPlan { input_length: 0, output_length: 32 }));
        assert_eq!(found.tools, Some([vllm.tool.clone(), other.tool.clone()]));
        let told = &found.differing[0];
        assert!(told[0].contains("counted tokens per request"), "{told:?}");
        assert_eq!(told[1], "127.6 x 32.0");
        assert!(found.warnings.iter().any(|told| told.contains("their clients")), "{found:?}");
    }
}
