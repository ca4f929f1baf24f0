//! The errors that the profiles state of rows that were left out of a fit are those that a fit
//! without them has today.

use inferometer_engine::fit::{
    MeasuredTable, Outputs, TGI_CONSTANTS, V100_CONSTANTS, block_error_percent, constants_of,
    error_percent, fit, leave_blocks_out, leave_lengths_out, leave_table_out, parse_blocks,
    parse_rows, round_start,
};
use inferometer_engine::profile::{ColumnErrors, Profile, Provenance, profile};
use inferometer_engine::{EngineConfig, Weights};

/// Percent by which they may differ: fits end a little apart where floating point, or the constants
/// that a search began with, do.
const TOLERANCE: f64 = 0.1;

fn table(model: &str, text: &str, outputs: Outputs) -> MeasuredTable {
    let config = EngineConfig::of_model(model).expect("a known model");
    let rows = parse_rows(text, model, outputs).expect("rows that parse");
    MeasuredTable { config, rows, requests: 399 }
}

fn sixteen_bits() -> [MeasuredTable; 2] {
    [
        table("chatglm3-6b", include_str!("../data/rows/chatglm3-6b.csv"), Outputs::AsAsked),
        table("qwen-14b", include_str!("../data/rows/qwen-14b.csv"), Outputs::AsAsked),
    ]
}

fn stated<'a>(profile: &'a Profile, table: &str) -> &'a Provenance {
    let of = |provenance: &&Provenance| provenance.table == table;
    profile.provenance.iter().find(of).expect("a table that was fitted on")
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

/// Holds the errors without the rows of each length against those that a profile states.
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
fn a_table_that_is_left_out_has_the_errors_that_are_stated() {
    let tables = sixteen_bits();
    let profile = profile("a100-40g-vllm-0.2.7").expect("a known profile");
    let constants = constants_of(Weights::Fp16);
    let start = round_start(&profile, constants);
    for (at, table) in tables.iter().enumerate() {
        let errors = leave_table_out(&start, &tables, constants, at);
        let model = &table.config.model.name;
        let stated = &stated(&profile, model).left_out_table;
        assert_same(model, &error_percent(&errors.expect("a fit")), stated);
    }
}

#[test]
fn lengths_that_are_left_out_have_the_errors_that_are_stated_of_sixteen_bits() {
    lengths_left_out("a100-40g-vllm-0.2.7", &sixteen_bits(), constants_of(Weights::Fp16));
}

#[test]
fn lengths_that_are_left_out_have_the_errors_that_are_stated_of_gptq() {
    let text = include_str!("../data/rows/baichuan2-13b-gptq.csv");
    let tables = [table("baichuan2-13b-gptq", text, Outputs::AsAsked)];
    lengths_left_out("a100-40g-vllm-0.2.7", &tables, constants_of(Weights::Gptq));
}

#[test]
fn lengths_that_are_left_out_have_the_errors_that_are_stated_of_awq() {
    let text = include_str!("../data/rows/mistral-7b-openorca-awq.csv");
    let tables = [table("mistral-7b-openorca-awq", text, Outputs::AsAsked)];
    lengths_left_out("a100-40g-vllm-0.2.5-awq", &tables, constants_of(Weights::Awq));
}

#[test]
fn lengths_that_are_left_out_have_the_errors_that_are_stated_of_tgi() {
    let text = include_str!("../data/rows/mistral-7b-openorca-awq-tgi.csv");
    let tables = [table("mistral-7b-openorca-awq", text, Outputs::EndByThemselves)];
    lengths_left_out("a100-40g-tgi-1.3.4", &tables, &TGI_CONSTANTS);
}

#[test]
fn blocks_that_are_left_out_have_the_errors_that_are_stated_of_four_cards() {
    let profile = profile("v100-32g-x4-vllm-0.2").expect("a known profile");
    let config = EngineConfig::of_model("sus-chat-34b").expect("a known model");
    let text = include_str!("../data/rows/sus-chat-34b-v100.csv");
    let blocks = parse_blocks(text, "its log").expect("blocks that parse");
    let errors = leave_blocks_out(&profile, &config, &blocks, &V100_CONSTANTS).expect("fits");
    let stated = &stated(&profile, "sus-chat-34b").left_out_lengths;
    assert_same("its log", &block_error_percent(&errors), stated);
}
