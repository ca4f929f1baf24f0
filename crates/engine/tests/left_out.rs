//! Profiles state the errors of rows that were left out of a fit. These tests fit again without the rows, and compare
//! the errors.

use inferometer_engine::fit::{
    MeasuredTable, Outputs, TGI_CONSTANTS, V100_CONSTANTS, block_error_percent, constants_of,
    error_percent, errors, fit, leave_blocks_out, leave_lengths_out, leave_table_out, parse_blocks,
    parse_rows, round_start, score, signed, without_model,
};
use inferometer_engine::profile::{ColumnErrors, Profile, Provenance, SignedErrors, profile};
use inferometer_engine::{EngineConfig, Weights};

/// The allowed difference of errors, in percentage points. The result of a fit depends slightly on floating-point
/// rounding and on the constants at which the search begins.
const TOLERANCE: f64 = 0.1;

fn table(model: &str, text: &str, outputs: Outputs) -> MeasuredTable {
    let config = EngineConfig::of_model(model).expect("a known model");
    let rows = parse_rows(text, model, outputs).expect("rows that parse");
    MeasuredTable { config, rows, requests: 399 }
}

fn sixteen_bits() -> [MeasuredTable; 2] {
    [
        table(
            "chatglm3-6b",
            include_str!("../data/rows/chatglm3-6b.csv"),
            Outputs::RequestedLength,
        ),
        table("qwen-14b", include_str!("../data/rows/qwen-14b.csv"), Outputs::RequestedLength),
    ]
}

fn gptq() -> MeasuredTable {
    let text = include_str!("../data/rows/baichuan2-13b-gptq.csv");
    table("baichuan2-13b-gptq", text, Outputs::RequestedLength)
}

fn awq() -> MeasuredTable {
    let text = include_str!("../data/rows/mistral-7b-openorca-awq.csv");
    table("mistral-7b-openorca-awq", text, Outputs::RequestedLength)
}

fn awq_of_tgi() -> MeasuredTable {
    let text = include_str!("../data/rows/mistral-7b-openorca-awq-tgi.csv");
    table("mistral-7b-openorca-awq", text, Outputs::EndOfText)
}

fn stated<'a>(profile: &'a Profile, table: &str) -> &'a Provenance {
    let of = |provenance: &&Provenance| provenance.table == table;
    profile.provenance.iter().find(of).expect("a table of the fit")
}

fn assert_same(place: &str, found: &ColumnErrors, stated: &ColumnErrors) {
    assert!(!stated.is_empty(), "{place}: nothing is stated");
    for (column, stated) in stated {
        let found = &found[column];
        for (what, found, stated) in [
            ("mean", found.mean, stated.mean),
            ("median", found.median, stated.median),
            ("p90", found.p90, stated.p90),
            ("max", found.max, stated.max),
        ] {
            let near = (found - stated).abs() < TOLERANCE;
            assert!(near, "{place}: {column}: {what}: found {found}, stated {stated}");
        }
    }
}

fn assert_signed(place: &str, found: &SignedErrors, stated: &SignedErrors) {
    assert_eq!(stated.len(), 2, "{place}: nothing is stated");
    for (column, stated) in stated {
        let found = &found[column];
        assert_eq!(found.rows, stated.rows, "{place}: {column}");
        for (found, stated) in [(found.bias, stated.bias), (found.scatter, stated.scatter)] {
            assert!((found - stated).abs() < TOLERANCE, "{place}: {column}: {found} {stated}");
        }
    }
}

/// Compares the errors of fits without the rows of each length with the errors that a profile states.
fn lengths_left_out(name: &str, tables: &[MeasuredTable], constants: &[&str]) {
    let profile = profile(name).expect("a known profile");
    let start = round_start(&profile, constants);
    let found = leave_lengths_out(tables, |kept| fit(&start, kept, constants)).expect("fits");
    for (table, errors) in tables.iter().zip(&found) {
        let model = &table.config.model.name;
        let stated = &stated(&profile, model).left_out_lengths;
        assert_same(&format!("{name} on {model}"), &error_percent(errors), stated);
    }
}

#[test]
fn a_new_fit_without_a_table_has_the_errors_that_the_profile_states() {
    let tables = sixteen_bits();
    let profile = profile("a100-40g-vllm-0.2.7").expect("a known profile");
    let constants = constants_of(Weights::Fp16);
    let start = round_start(&profile, constants);
    for (at, table) in tables.iter().enumerate() {
        let errors = leave_table_out(&start, &tables, constants, at);
        let model = &table.config.model.name;
        let errors = errors.expect("a fit");
        let stated = stated(&profile, model);
        assert_same(model, &error_percent(&errors), &stated.left_out_table);
        assert_signed(model, &signed(&errors), &stated.without_table);
    }
}

#[test]
fn constants_of_another_version_give_the_errors_that_profiles_state() {
    let newer = profile("a100-40g-vllm-0.2.7").expect("a known profile");
    let older = profile("a100-40g-vllm-0.2.5-awq").expect("a known profile");
    let gptq = gptq();
    let as_older = newer.with_version_of(&older);
    for table in sixteen_bits() {
        let model = &table.config.model.name;
        let stated = stated(&newer, model);
        let found = errors(&as_older, &table).expect("rows that run");
        assert_signed(model, &signed(&found), &stated.other_version);
    }
    let found = errors(&as_older, &gptq).expect("rows that run");
    let model = &gptq.config.model.name;
    assert_signed(model, &signed(&found), &stated(&newer, model).other_version);
    let awq = awq();
    let found = errors(&older.with_version_of(&newer), &awq).expect("rows that run");
    let model = &awq.config.model.name;
    assert_signed(model, &signed(&found), &stated(&older, model).other_version);
}

/// Asserts that at least 80 % of the rows are in their ranges, which are expected to contain 90 %.
fn assert_nine_of_ten(profile: &Profile, table: &MeasuredTable) {
    let found = score(profile, table).expect("rows that run");
    assert_eq!(found.uncalibrated, 0, "{found:?}");
    for inside in [found.throughput, found.latency] {
        assert!(10 * inside >= 8 * found.rows, "{found:?}");
    }
    // The ranges must not be so wide that they contain any value.
    assert!(found.range_pct.is_some_and(|range| range.iter().all(|it| *it < 30.0)), "{found:?}");
}

#[test]
fn most_rows_of_a_left_out_model_lie_in_the_ranges_stated_without_it() {
    let profile = profile("a100-40g-vllm-0.2.7").expect("a known profile");
    let constants = constants_of(Weights::Fp16);
    let start = round_start(&profile, constants);
    let tables = sixteen_bits();
    for (at, left) in tables.iter().enumerate() {
        let other = std::slice::from_ref(&tables[1 - at]);
        let mut fitted = fit(&start, other, constants).expect("a fit");
        fitted.provenance.clone_from(&profile.provenance);
        assert_nine_of_ten(&without_model(&fitted, &left.config.model.name), left);
    }
}

#[test]
fn rows_are_uncalibrated_if_no_other_model_with_the_same_weights_was_fitted() {
    for (name, table) in [
        ("a100-40g-vllm-0.2.7", gptq()),
        ("a100-40g-vllm-0.2.5-awq", awq()),
        ("a100-40g-tgi-1.3.4", awq_of_tgi()),
    ] {
        let profile = profile(name).expect("a known profile");
        let without = without_model(&profile, &table.config.model.name);
        let found = score(&without, &table).expect("rows that run");
        assert_eq!(found.uncalibrated, found.rows, "{found:?}");
    }
}

#[test]
fn new_fits_without_one_length_have_the_stated_errors_for_16_bit_weights() {
    lengths_left_out("a100-40g-vllm-0.2.7", &sixteen_bits(), constants_of(Weights::Fp16));
}

#[test]
fn new_fits_without_one_length_have_the_stated_errors_for_gptq() {
    lengths_left_out("a100-40g-vllm-0.2.7", &[gptq()], constants_of(Weights::Gptq));
}

#[test]
fn new_fits_without_one_length_have_the_stated_errors_for_awq() {
    lengths_left_out("a100-40g-vllm-0.2.5-awq", &[awq()], constants_of(Weights::Awq));
}

#[test]
fn new_fits_without_one_length_have_the_stated_errors_for_tgi() {
    lengths_left_out("a100-40g-tgi-1.3.4", &[awq_of_tgi()], &TGI_CONSTANTS);
}

#[test]
fn new_fits_without_blocks_of_one_length_have_the_stated_errors_for_four_cards() {
    let profile = profile("v100-32g-x4-vllm-0.2").expect("a known profile");
    let config = EngineConfig::of_model("sus-chat-34b").expect("a known model");
    let text = include_str!("../data/rows/sus-chat-34b-v100.csv");
    let blocks = parse_blocks(text, "its log").expect("blocks that parse");
    let errors = leave_blocks_out(&profile, &config, &blocks, &V100_CONSTANTS).expect("fits");
    let stated = &stated(&profile, "sus-chat-34b").left_out_lengths;
    assert_same("its log", &block_error_percent(&errors), stated);
}
