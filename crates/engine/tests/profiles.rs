//! Tests that the embedded profiles have the errors that they state for their rows. Predictions are computed in the
//! same way as for users.

use inferometer_engine::confidence::{MeasuredOn, confidence};
use inferometer_engine::fit::{
    MeasuredBlock, MeasuredRow, Outputs, PUBLISHED, RowError, block_error_percent, block_errors,
    error_percent, parse_blocks, parse_rows, serving_run,
};
use inferometer_engine::profile::{
    ColumnErrors, ErrorPercent, Profile, Provenance, Role, profile, profiles as all_profiles,
};
use inferometer_engine::{EngineConfig, model, table_with_mean_output};
use inferometer_model::cell::CellPlan;

/// The profiles with the older cost model. `tests/current` tests the other profiles.
fn profiles() -> impl Iterator<Item = &'static Profile> {
    all_profiles().iter().filter(|profile| profile.steps.is_none())
}

fn rows(engine: &str, table: &str) -> Vec<MeasuredRow> {
    let text = match table {
        "mistral-7b-openorca-awq" if engine == "tgi" => {
            include_str!("../data/rows/mistral-7b-openorca-awq-tgi.csv")
        }
        "chatglm3-6b" => include_str!("../data/rows/chatglm3-6b.csv"),
        "qwen-14b" => include_str!("../data/rows/qwen-14b.csv"),
        "baichuan2-13b-gptq" => include_str!("../data/rows/baichuan2-13b-gptq.csv"),
        "mistral-7b-openorca-awq" => include_str!("../data/rows/mistral-7b-openorca-awq.csv"),
        other => panic!("a profile names the table {other}, which has no rows"),
    };
    let outputs = if engine == "tgi" { Outputs::EndOfText } else { Outputs::RequestedLength };
    parse_rows(text, table, outputs).expect("rows that parse")
}

/// Computes the errors of a profile.
fn found(profile: &Profile, provenance: &Provenance) -> ColumnErrors {
    match (provenance.table.as_str(), provenance.role) {
        ("sus-chat-34b", _) => {
            let config = EngineConfig::of_model("sus-chat-34b").expect("a known model");
            let text = include_str!("../data/rows/sus-chat-34b-v100.csv");
            let blocks = parse_blocks(text, "its log").expect("blocks that parse");
            assert_eq!(blocks.len() as u32, provenance.rows);
            let errors = block_errors(profile, &config, &blocks).expect("blocks that run");
            block_error_percent(&errors)
        }
        (_, Role::HeldOut) => {
            let config = EngineConfig::of_model("sus-chat-34b").expect("a known model");
            let run = serving_run(&config).expect("a run");
            let error = run.output_tokens_per_s / PUBLISHED.output_tokens_per_s - 1.0;
            block_error_percent(&[error])
        }
        _ => error_percent(&predicted(profile, provenance)),
    }
}

fn predicted(profile: &Profile, provenance: &Provenance) -> Vec<RowError> {
    let mut config =
        EngineConfig::new(model::model(&provenance.table).expect("a known model"), profile.clone());
    let (requests, one_by_one) = provenance.requests;
    let measured = rows(&profile.engine, &provenance.table);
    assert_eq!(measured.len() as u32, provenance.rows);
    let errors = measured.iter().map(|row| {
        config.max_model_len = Some(row.max_model_len);
        let found =
            table_with_mean_output(&config, row.cell, row.mean_output, one_by_one, requests)
                .expect("a row that runs");
        let latency_ms = found.latency_per_output_token_ms.expect("some output");
        RowError {
            output_tokens_per_s: found.output_tokens_per_s / row.output_tokens_per_s - 1.0,
            latency_per_output_token_ms: latency_ms / row.latency_per_output_token_ms - 1.0,
        }
    });
    errors.collect()
}

#[test]
fn every_profile_has_the_errors_that_it_states() {
    for profile in profiles() {
        let is_uncalibrated = profile.name == "a100-40g-vllm-0.32";
        assert_eq!(profile.provenance.is_empty(), is_uncalibrated, "{}", profile.name);
        for provenance in &profile.provenance {
            let place = format!("{} on {}", profile.name, provenance.table);
            let found = found(profile, provenance);
            for (column, stated) in &provenance.errors {
                let ErrorPercent { mean, median, p90, max } = found[column];
                let ErrorPercent { mean: m, median: d, p90: p, max: x } = *stated;
                for (found, stated) in [(mean, m), (median, d), (p90, p), (max, x)] {
                    assert!(
                        (found - stated).abs() < 0.0051,
                        "{place}: {column}: found {found}, stated {stated}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_row_that_a_profile_was_fitted_on_is_reported_as_uncalibrated() {
    for profile in profiles() {
        let fitted = profile.provenance.iter().filter(|it| it.role != Role::HeldOut);
        for provenance in fitted {
            let model = model::model(&provenance.table).expect("a known model");
            let mut config = EngineConfig::new(model, profile.clone());
            for (cell, max_model_len, in_flight) in loads(profile, provenance) {
                config.max_model_len = max_model_len;
                let resolved = config.resolve().expect("a configuration that runs");
                let sequences = in_flight.min(resolved.limits.max_num_seqs);
                let found =
                    confidence(&resolved, cell, sequences, &MeasuredOn::default()).uncalibrated;
                assert_eq!(found, None, "{} on {}, {cell}", profile.name, provenance.table);
            }
        }
    }
}

/// Returns the lengths of each row of a table, its `max_model_len` if that is known, and the requests in flight.
fn loads(profile: &Profile, provenance: &Provenance) -> Vec<(CellPlan, Option<u32>, u32)> {
    if provenance.table == "sus-chat-34b" {
        let text = include_str!("../data/rows/sus-chat-34b-v100.csv");
        let blocks = parse_blocks(text, "its log").expect("blocks that parse");
        let of_block = |row: &MeasuredBlock| {
            let output_length = row.block.mean_output as u32;
            let cell = CellPlan { input_length: row.block.prompt, output_length };
            (cell, None, row.block.in_flight)
        };
        return blocks.iter().map(of_block).collect();
    }
    let of_row = |row: &MeasuredRow| (row.cell, Some(row.max_model_len), provenance.requests.0);
    rows(&profile.engine, &provenance.table).iter().map(of_row).collect()
}

#[test]
fn the_median_errors_that_profiles_state_are_at_most_a_few_percent() {
    for profile in profiles() {
        for provenance in &profile.provenance {
            let place = format!("{} on {}", profile.name, provenance.table);
            let (throughput, latency) = match (profile.engine.as_str(), profile.cards) {
                ("tgi", _) => (4.0, 8.0),
                // The serving run of the same page, to which nothing was fitted.
                (_, 4) if provenance.role == Role::HeldOut => (10.0, 0.0),
                (_, 4) => (3.0, 0.0),
                _ => (2.0, 1.5),
            };
            for (column, error) in &provenance.errors {
                let most = if column == "output_tokens_per_s" { throughput } else { latency };
                assert!(error.median <= most, "{place}: {column}");
            }
        }
    }
}

#[test]
fn stated_median_errors_of_left_out_rows_are_at_most_1_5_times_those_of_the_profile() {
    for profile in profiles() {
        for provenance in &profile.provenance {
            for left_out in [&provenance.left_out_lengths, &provenance.left_out_table] {
                for (column, error) in left_out {
                    let place = format!("{} on {}: {column}", profile.name, provenance.table);
                    let most = 1.5 * provenance.errors[column].median;
                    assert!(error.median <= most, "{place}: {} above {most}", error.median);
                }
            }
        }
    }
}

#[test]
fn the_held_out_serving_run_is_predicted_within_10_percent_of_the_published_figures() {
    let mut config = EngineConfig::of_model("sus-chat-34b").expect("a known model");
    config.profile = profile("v100-32g-x4-vllm-0.2").expect("a known profile");
    let found = serving_run(&config).expect("a run");
    for (what, found, published) in [
        ("total time", found.total_s, PUBLISHED.total_s),
        ("latency", found.latency_s, PUBLISHED.latency_s),
        ("per token", found.latency_per_token_s, PUBLISHED.latency_per_token_s),
        ("per output", found.latency_per_output_token_s, PUBLISHED.latency_per_output_token_s),
    ] {
        assert!((found / published - 1.0).abs() < 0.1, "{what}: {found} instead of {published}");
    }
}
