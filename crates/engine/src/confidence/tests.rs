//! Tests of the ranges of predictions: for models with measured rows, for other models, and for cells outside of the
//! measured range.

use super::*;
use crate::EngineConfig;

fn of(model: &str, input_length: u32, output_length: u32, sequences: u32) -> Confidence {
    let config = EngineConfig::of_model(model).unwrap().resolve().unwrap();
    confidence(&config, CellPlan { input_length, output_length }, sequences, &MeasuredOn::default())
}

#[test]
fn a_profile_scaled_to_few_rows_gets_its_ranges_from_errors_of_the_profile_before_scaling() {
    let mut config = EngineConfig::of_model("chatglm3-6b").unwrap();
    let own = config.profile.provenance.iter_mut();
    let own = own.into_iter().find(|own| own.table == "chatglm3-6b").unwrap();
    own.rows = 2;
    let of_start = std::mem::take(&mut own.left_out_lengths);
    let width = |config: &EngineConfig| {
        let cell = CellPlan { input_length: 512, output_length: 512 };
        let [low, high] =
            confidence(&config.clone().resolve().unwrap(), cell, 256, &MeasuredOn::default())
                .interval(ErrorColumn::Throughput, 100.0);
        high - low
    };
    // The errors of a fit to only two rows say nothing about other rows, so the range is a factor of two.
    let alone = width(&config);
    let own = config.profile.provenance.iter_mut();
    let own = own.into_iter().find(|own| own.table == "chatglm3-6b").unwrap();
    own.left_out_of_start = of_start;
    assert!(alone > 100.0 && (1.0..20.0).contains(&width(&config)), "{alone}");
}

#[test]
fn a_cell_within_the_fitted_rows_has_a_narrow_interval() {
    let seen = of("chatglm3-6b", 512, 512, 256);
    assert_eq!(seen.uncalibrated, None);
    for column in [ErrorColumn::Throughput, ErrorColumn::Latency] {
        let [low, high] = seen.interval(column, 100.0);
        assert!(90.0 < low && low < 99.9 && 100.1 < high && high < 110.0, "{low} {high}");
    }
}

#[test]
fn a_model_without_fitted_rows_has_a_wider_interval_than_a_fitted_model() {
    let mut config = EngineConfig::of_model("qwen-14b").unwrap();
    let cell = CellPlan { input_length: 512, output_length: 512 };
    let seen = confidence(&config.resolve().unwrap(), cell, 30, &MeasuredOn::default());
    config.model.name = "another".to_owned();
    let unseen = confidence(&config.resolve().unwrap(), cell, 30, &MeasuredOn::default());
    let width = |confidence: &Confidence| {
        let [low, high] = confidence.interval(ErrorColumn::Throughput, 100.0);
        high - low
    };
    assert!(width(&unseen) > width(&seen));
    assert_eq!(unseen.uncalibrated, None);
}

#[test]
fn only_a_column_without_fitted_rows_has_a_wide_interval() {
    let log = of("sus-chat-34b", 1400, 600, 16);
    assert_eq!(log.uncalibrated, None);
    assert_eq!(log.interval(ErrorColumn::Latency, 10.0), [5.0, 20.0]);
    assert!(log.interval(ErrorColumn::Throughput, 10.0)[0] > 8.0);
}

#[test]
fn models_and_options_without_fitted_rows_are_reported_as_uncalibrated() {
    type Change = fn(&mut EngineConfig);
    let cases: [(&str, Change); 4] = [
        ("fp32", |c| c.dtype = Some(crate::config::Dtype::Float32)),
        ("squeezellm", |c| c.weights = Some(crate::weights::Weights::SqueezeLlm)),
        ("2 pipeline stages", |c| c.pipeline_parallel_size = Some(2)),
        ("mixture of experts", |c| {
            c.model = crate::model::model("mixtral-8x7b").unwrap();
            c.tensor_parallel_size = Some(4);
        }),
    ];
    for (why, change) in cases {
        let mut config = EngineConfig::of_model("chatglm3-6b").unwrap();
        change(&mut config);
        let resolved = config.resolve().unwrap();
        let cell = CellPlan { input_length: 512, output_length: 512 };
        let found = confidence(&resolved, cell, 100, &MeasuredOn::default());
        assert!(found.uncalibrated.clone().unwrap().contains(why), "{found:?}");
        assert_eq!(found.interval(ErrorColumn::Throughput, 10.0), [5.0, 20.0]);
        assert!(resolved.caveats().iter().any(|caveat| caveat.contains(why)), "{why}");
    }
}

#[test]
fn a_mixture_of_experts_is_calibrated_if_the_profile_has_rows_of_this_model() {
    let mut config = EngineConfig::of("qwen3-30b-a3b", Some("vllm-0.23-h100-sxm")).unwrap();
    let cell = CellPlan { input_length: 512, output_length: 512 };
    let of = |config: &EngineConfig| {
        confidence(&config.resolve().unwrap(), cell, 16, &MeasuredOn::default()).uncalibrated
    };
    let told = of(&config).unwrap();
    let words = "is of qwen3-30b-a3b, a mixture of experts";
    assert!(told.contains(words), "{told}");
    config.profile.provenance[0].table = "qwen3-30b-a3b".to_owned();
    assert_eq!(of(&config), None);
}

#[test]
fn an_fp8_kv_cache_is_reported_as_uncalibrated() {
    let mut config = EngineConfig::of("llama-3.1-8b", Some("vllm-0.23-h100-sxm")).unwrap();
    let cell = CellPlan { input_length: 512, output_length: 512 };
    let of = |config: &EngineConfig| {
        confidence(&config.resolve().unwrap(), cell, 16, &MeasuredOn::default()).uncalibrated
    };
    assert_eq!(of(&config), None);
    config.kv_cache_dtype = Some(crate::config::KvCacheDtype::Fp8);
    assert!(of(&config).unwrap().contains("fp8 KV cache"));
}

#[test]
fn lengths_and_batches_beyond_the_fitted_rows_are_uncalibrated_with_a_wide_interval() {
    for (input, output, sequences, why) in [
        (4096, 512, 10, "4096 input tokens"),
        (512, 8, 10, "8 output tokens"),
        (512, 512, 2000, "2000 sequences"),
    ] {
        let found = of("chatglm3-6b", input, output, sequences);
        let reason = found.uncalibrated.clone().unwrap();
        let words = "the measured rows of the profile have";
        assert!(reason.contains(why) && reason.contains(words), "{reason}");
        assert_eq!(found.interval(ErrorColumn::Latency, 10.0), [5.0, 20.0]);
    }
}

/// The columns of the tables of the older cost model.
const OF_2023: [ErrorColumn; 2] = [ErrorColumn::Throughput, ErrorColumn::Latency];

/// The confidence for a model without measured rows, with the sizes, weights and profile of a known model.
fn unseen(of: &str, measured: &MeasuredOn) -> Confidence {
    let mut config = EngineConfig::of_model(of).unwrap();
    config.model.name = "another".to_owned();
    let cell = CellPlan { input_length: 512, output_length: 512 };
    confidence(&config.resolve().unwrap(), cell, 30, measured)
}

fn width(confidence: &Confidence, column: ErrorColumn) -> f64 {
    let [low, high] = confidence.interval(column, 100.0);
    high - low
}

#[test]
fn other_models_with_weights_of_only_one_measured_model_are_uncalibrated() {
    let of = |model: &str| unseen(model, &MeasuredOn::default());
    let fp16 = of("qwen-14b");
    assert!(fp16.uncalibrated.is_none() && fp16.of.unwrap().contains("2 models of fp16 weights"));
    let mut of_today = EngineConfig::of("llama-3.1-8b", Some("vllm-0.8-l40s")).unwrap();
    of_today.weights = Some(crate::Weights::Fp8);
    let cell = CellPlan { input_length: 512, output_length: 256 };
    let of_fp8 = |config: &EngineConfig| {
        confidence(&config.clone().resolve().unwrap(), cell, 8, &MeasuredOn::default()).uncalibrated
    };
    assert_eq!(of_fp8(&of_today), None);
    of_today.model.name = "another".to_owned();
    for (told, first) in [
        (of("baichuan2-13b-gptq").uncalibrated, "baichuan2-13b-gptq is the only measured model"),
        (of("mistral-7b-openorca-awq").uncalibrated, "mistral-7b-openorca-awq is the only"),
        (of_fp8(&of_today), "llama-3.1-8b is the only measured model with fp8 weights"),
    ] {
        let told = told.expect("a reason");
        assert!(told.contains(first), "{told}");
    }
}

#[test]
fn prompts_in_the_prefix_cache_are_calibrated_only_by_rows_with_such_prompts() {
    let known = profiles();
    let of = |model: &str, profile: &str, share: f64| {
        let config = EngineConfig::of(model, Some(profile)).unwrap().resolve().unwrap();
        let cell = CellPlan { input_length: 512, output_length: 128 };
        let load = (8, Some(share));
        confidence_from(known, &config, cell, load, &MeasuredOn::default()).uncalibrated
    };
    let without_hits = |share| of("llama-3.1-8b", "vllm-0.11-h100-sxm", share);
    assert_eq!([0.0, 0.2].map(without_hits), [None, None]);
    let told = without_hits(0.6).expect("a reason");
    assert!(told.contains("60 % of the prompt tokens are in the prefix cache"), "{told}");
    let with_hits = |share| of("llama-2-7b", "vllm-0.15-h100-sxm", share);
    assert!(with_hits(0.9).is_none() && with_hits(0.0).is_some());
}

#[test]
fn a_different_version_widens_the_range_and_a_different_series_or_card_is_uncalibrated() {
    let on = |version: &str, card: &str| MeasuredOn {
        engine: Some("vllm".to_owned()),
        engine_version: Some(version.to_owned()),
        card: Some(card.to_owned()),
    };
    let same = unseen("qwen-14b", &on("0.2.7", "A100 40G"));
    let other = unseen("qwen-14b", &on("0.2.3", "A100 40G"));
    for column in OF_2023 {
        assert!(width(&other, column) > width(&same, column), "{column:?}");
    }
    assert!(other.of.unwrap().contains("wider, because vllm 0.2.3 was measured"));
    let later = unseen("qwen-14b", &on("0.11.0", "A100 40G"));
    assert!(later.uncalibrated.unwrap().contains("vllm 0.11.0 was measured"));
    let card = unseen("qwen-14b", &on("0.2.7", "V100-PCIE-32G"));
    assert!(card.uncalibrated.unwrap().contains("V100-PCIE-32G was measured"));
    assert_eq!(card.of, None);
}

#[test]
fn a_range_wider_than_a_factor_of_two_is_not_calibrated_and_not_narrowed() {
    let config = EngineConfig::of("qwen3-8b", Some("vllm-0.23-h100-sxm")).unwrap();
    let cell = CellPlan { input_length: 1024, output_length: 128 };
    let found = confidence(&config.resolve().unwrap(), cell, 4, &MeasuredOn::default());
    let column = ErrorColumn::TtftP99;
    assert!(found.uncalibrated.is_none() && !found.is_calibrated(column));
    let [low, high] = found.interval(column, 10.0);
    assert!(low < 5.0 && high > 20.0, "{low} {high}");
}

#[test]
fn ranges_of_a_users_profile_for_other_models_cover_the_errors_of_built_in_profiles_and_its_own() {
    let built_in = crate::profile::profile("vllm-0.23-h100-sxm").unwrap();
    let cell = CellPlan { input_length: 512, output_length: 128 };
    let width = |profile: &Profile| {
        let mut config = EngineConfig::of_model("qwen3-8b").unwrap();
        config.profile = profile.clone();
        let resolved = config.resolve().unwrap();
        let sure = confidence(&resolved, cell, 8, &MeasuredOn::default());
        let [low, high] = sure.interval(ErrorColumn::Tpot, 1.0);
        high / low
    };
    let with_error = |percent: f64| {
        let mut own = Profile { name: "mine".to_owned(), ..built_in.clone() };
        own.provenance.truncate(1);
        own.provenance[0].without_half.clear();
        for error in own.provenance[0].left_out_lengths.values_mut() {
            error.p90 = percent;
        }
        own
    };
    assert!((width(&with_error(0.1)) / width(&built_in) - 1.0).abs() < 1e-9);
    assert!(width(&with_error(60.0)) > 1.2 * width(&built_in));
}
