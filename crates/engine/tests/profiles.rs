//! The embedded profiles do as well on their rows as they state, by the way that a user predicts.

use inferometer_engine::fit::{MeasuredRow, Outputs, RowError, error_percent, parse_rows};
use inferometer_engine::profile::{ErrorPercent, Profile, Provenance, profiles};
use inferometer_engine::{EngineConfig, model, table_ending};

fn rows(engine: &str, table: &str) -> Vec<MeasuredRow> {
    let text = match table {
        "mistral-7b-openorca-awq" if engine == "tgi" => {
            include_str!("../data/rows/mistral-7b-openorca-awq-tgi.csv")
        }
        "chatglm3-6b" => include_str!("../data/rows/chatglm3-6b.csv"),
        "qwen-14b" => include_str!("../data/rows/qwen-14b.csv"),
        "baichuan2-13b-gptq" => include_str!("../data/rows/baichuan2-13b-gptq.csv"),
        "mistral-7b-openorca-awq" => include_str!("../data/rows/mistral-7b-openorca-awq.csv"),
        other => panic!("a profile speaks of {other}, of which there are no rows"),
    };
    let outputs = if engine == "tgi" { Outputs::EndByThemselves } else { Outputs::AsAsked };
    parse_rows(text, table, outputs).expect("rows that parse")
}

fn predicted(profile: &Profile, provenance: &Provenance) -> Vec<RowError> {
    let mut config =
        EngineConfig::new(model::model(&provenance.table).expect("a known model"), profile.clone());
    let (requests, one_by_one) = provenance.requests;
    let measured = rows(&profile.engine, &provenance.table);
    assert_eq!(measured.len() as u32, provenance.rows);
    let errors = measured.iter().map(|row| {
        config.max_model_len = Some(row.max_model_len);
        let found = table_ending(&config, row.cell, row.mean_output, one_by_one, requests)
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
        assert!(!profile.provenance.is_empty(), "{} states no error", profile.name);
        for provenance in &profile.provenance {
            let place = format!("{} on {}", profile.name, provenance.table);
            let found = error_percent(&predicted(profile, provenance));
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
fn the_profiles_predict_what_they_were_fitted_on_within_a_few_percent() {
    for profile in profiles() {
        for provenance in &profile.provenance {
            let place = format!("{} on {}", profile.name, provenance.table);
            let median = |column: &str| provenance.errors[column].median;
            let (throughput, latency) =
                if profile.engine == "tgi" { (4.0, 8.0) } else { (2.0, 1.5) };
            assert!(median("output_tokens_per_s") <= throughput, "{place}");
            assert!(median("latency_per_output_token_ms") <= latency, "{place}");
        }
    }
}
