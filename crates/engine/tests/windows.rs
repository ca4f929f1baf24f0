//! Models with sliding-window attention: memory, time and confidence of their predictions.

use inferometer_engine::confidence::{MeasuredOn, confidence};
use inferometer_engine::model::Windows;
use inferometer_engine::{Engine, EngineConfig, Memory, VirtualRecord, simulate};
use inferometer_model::cell::CellPlan;
use inferometer_model::load::AtOnce;
use proptest::prelude::*;

const PROFILE: &str = "vllm-0.23-h100-sxm";

fn config(model: &str) -> EngineConfig {
    EngineConfig::of(model, Some(PROFILE)).expect("a known model")
}

fn memory(config: &EngineConfig) -> Memory {
    Memory::of(&config.resolve().expect("a configuration"))
}

/// Simulates `count` requests that arrive at the same time.
fn played(config: EngineConfig, count: u32, lengths: (u32, u32)) -> Vec<VirtualRecord> {
    let mut engine = Engine::new(config).expect("it starts");
    let mut load = AtOnce::new(count);
    simulate(&mut engine, &mut load, &mut std::iter::repeat(lengths))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_window_that_is_not_shorter_than_the_longest_sequence_changes_nothing(
        beyond in 0_u32..10_000,
        layers in 1_u32..=40,
        count in 1_u32..40,
        prompt in 1_u32..4_000,
        output in 1_u32..100,
        asynchronous in any::<bool>(),
    ) {
        let mut whole = config("qwen3-14b");
        whole.max_model_len = Some(4_100);
        whole.async_scheduling = Some(asynchronous);
        whole.gpu_memory_utilization = Some(0.5);
        let mut windowed = whole.clone();
        windowed.model.windows = Some(Windows { tokens: 4_100 + beyond, layers });
        prop_assert_eq!(memory(&windowed), memory(&whole));
        let cell = CellPlan { input_length: prompt, output_length: output };
        let sure = |config: &EngineConfig| {
            confidence(&config.resolve().expect("resolved"), cell, count, &MeasuredOn::default())
        };
        prop_assert_eq!(sure(&windowed), sure(&whole));
        let lengths = (prompt, output);
        prop_assert_eq!(played(windowed, count, lengths), played(whole, count, lengths));
    }
}

/// Gemma 3 27B has 52 windowed layers and 10 others, so 7 groups of 10 layers: memory for 70 layers.
#[test]
fn a_sequence_beyond_the_window_holds_blocks_of_windowed_layers_only_for_the_window() {
    let model = config("gemma-3-27b");
    let memory = memory(&model);
    // Two times 70 layers, 16 heads of 128 numbers of two bytes.
    assert_eq!(memory.token_bytes, 2.0 * 70.0 * 16.0 * 128.0 * 2.0);
    for (tokens, blocks) in [
        (1024, 64),
        // (2048 / 16 + 6 x (1024 / 16 + 1)) / 7
        (2048, 74),
        (131_072, (8192_u32 + 6 * 65).div_ceil(7)),
    ] {
        assert_eq!(memory.sequences(tokens), memory.kv_blocks / blocks, "{tokens}");
    }
    // In a prompt step of 8,192 tokens, windowed layers hold the window and these tokens of the longest sequence.
    let of_step = (1023_u32 + 8192).div_ceil(16) + 1;
    let longest = memory.longest_sequence();
    let whole = longest / 16;
    let needed = |whole: u32| (whole + 6 * of_step).div_ceil(7);
    let fits_all = longest == 131_072;
    assert!(
        needed(whole) <= memory.kv_blocks && (fits_all || needed(whole + 1) > memory.kv_blocks)
    );
    // Versions before 0.10 keep the whole sequence in all layers if some layers have no window.
    let mut before = model;
    before.profile.engine_version = "0.9.2".to_owned();
    let before = Memory::of(&before.resolve().expect("resolved"));
    assert_eq!(before.token_bytes, 2.0 * 62.0 * 16.0 * 128.0 * 2.0);
    assert_eq!(before.sequences(131_072), before.kv_blocks / 8192);
}

#[test]
fn a_model_whose_layers_all_have_a_window_holds_at_most_the_window() {
    let memory = memory(&config("mistral-7b"));
    assert_eq!(memory.sequences(32_768), memory.kv_blocks / 257);
    assert_eq!(memory.sequences(4096), memory.kv_blocks / 256);
}

#[test]
fn decoding_beyond_the_window_is_faster_than_without_a_window_and_equal_within_it() {
    let per_token = |windows: Option<Windows>, prompt: u32| {
        let mut config = config("gemma-3-12b");
        config.model.windows = windows;
        let records = played(config, 8, (prompt, 200));
        let last = records.last().expect("a record");
        (last.last_token.expect("a token").0 - last.first_token.expect("a token").0) as f64
    };
    let windows = config("gemma-3-12b").model.windows;
    assert_eq!(windows, Some(Windows { tokens: 1024, layers: 40 }));
    assert_eq!(per_token(windows, 500), per_token(None, 500));
    assert!(per_token(windows, 30_000) < 0.8 * per_token(None, 30_000));
}

#[test]
fn a_windowed_model_is_uncalibrated_unless_its_profile_was_fitted_to_such_a_model() {
    let cell = CellPlan { input_length: 1000, output_length: 200 };
    let why = |config: &EngineConfig| {
        let resolved = config.resolve().expect("resolved");
        confidence(&resolved, cell, 8, &MeasuredOn::default()).uncalibrated
    };
    let mut gemma = config("gemma-3-12b");
    let told = why(&gemma).expect("it is uncalibrated");
    assert!(told.contains("sliding-window attention (1024 tokens in 40 of 48 layers)"), "{told}");
    let mut own = gemma.profile.provenance[0].clone();
    own.table = "gemma-3-12b".to_owned();
    gemma.profile.provenance.push(own);
    assert_eq!(why(&gemma), None);
    // Engines of 2023 are simulated without windows.
    let old = EngineConfig::of("mistral-7b", Some("a100-40g-vllm-0.2.7")).expect("a known model");
    let beyond = CellPlan { input_length: 4000, output_length: 200 };
    let old = old.resolve().expect("resolved");
    let told = confidence(&old, beyond, 8, &MeasuredOn::default()).uncalibrated;
    assert!(told.is_some_and(|told| told.contains("4200 tokens are more than")));
}
