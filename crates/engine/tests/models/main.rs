//! The configurations of 24 models of 2024 to 2026 (`configs.json`, without keys that no size depends on), held against a
//! count of the tensors of their checkpoints (`tensors.txt`), and against the sizes that their makers state.

mod tensors;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use inferometer_engine::cost::{CostModel, StepShape};
use inferometer_engine::model::layout::Role;
use inferometer_engine::model::{ModelSpec, model};
use inferometer_engine::{
    Engine, EngineConfig, KvCacheDtype, Memory, VirtualRecord, Weights, choose, simulate,
};
use inferometer_model::load::AtOnce;
use serde_json::{Value, json};
use tensors::{Counted, counted};

const CONFIGS: &str = include_str!("configs.json");

fn configs() -> serde_json::Map<String, Value> {
    serde_json::from_str(CONFIGS).expect("an object")
}

/// Reads a configuration, and the file of ModelOpt beside it, from a folder with the name of the model.
fn read(name: &str, config: &Value, beside: Option<&Value>) -> Result<ModelSpec, String> {
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed).to_string();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(number).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("config.json");
    std::fs::write(&path, config.to_string()).expect("a file");
    let other = folder.join("hf_quant_config.json");
    if let Some(beside) = beside {
        std::fs::write(&other, beside.to_string()).expect("a file");
    }
    let found = model(path.to_str().expect("UTF-8")).map_err(|error| error.to_string());
    std::fs::remove_dir_all(folder).expect("the folder");
    found
}

fn known(name: &str) -> ModelSpec {
    read(name, &configs()[name], None).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn is_near(found: f64, expected: f64, share: f64) -> bool {
    (found - expected).abs() <= share * expected
}

#[test]
fn the_bytes_of_weights_equal_a_count_of_the_tensors_of_each_checkpoint() {
    let counted = counted();
    assert_eq!(counted.len(), 24);
    for (name, config) in configs() {
        let spec = read(&name, &config, None).unwrap_or_else(|why| panic!("{name}: {why}"));
        let Counted { bytes, .. } = counted[&name];
        let found = spec.weight_bytes(spec.weights);
        assert!(is_near(found, bytes, 0.004), "{name}: {found} instead of {bytes}");
    }
}

#[test]
fn the_cache_of_a_sequence_has_the_counted_bytes_per_token_per_window_and_per_sequence() {
    for (name, Counted { cache, .. }) in counted() {
        let spec = known(&name);
        let [whole, near, window, state] = cache;
        let Some(layout) = &spec.layout else {
            assert_eq!([spec.kv_bytes_per_token(), 0.0, 0.0, 0.0], cache, "{name}");
            continue;
        };
        let kept = layout.kept(2.0, 1);
        let found = [kept.whole, kept.windowed, f64::from(kept.window), kept.state];
        assert_eq!(found, [whole, near, window, state], "{name}");
        let tokens = 10_000_u32;
        let expected = 10_000.0 * whole + window * near + state;
        assert!(is_near(kept.bytes(tokens), expected, 1e-9), "{name}");
    }
}

#[test]
fn the_numbers_of_parameters_are_those_that_the_makers_state() {
    for (name, Counted { stated: [total, active], .. }) in counted() {
        let spec = known(&name);
        let Some(layout) = &spec.layout else {
            let all = spec.linear_parameters() + 2.0 * spec.head_parameters();
            assert!(is_near(all / 1e9, total, 0.01), "{name}: {all}");
            continue;
        };
        let for_text = layout.loaded().filter(|it| it.role != Role::Vision);
        let found = for_text.map(|it| it.parameters).sum::<u64>() as f64 / 1e9;
        assert!(total == 0.0 || is_near(found, total, 0.03), "{name}: {found}");
        let found = layout.active_parameters() / 1e9;
        assert!(active == 0.0 || is_near(found, active, 0.05), "{name}: {found} active");
    }
}

/// A configuration on cards of a kind of which 16 hold each of the models.
fn on_cards(name: &str, cards: u32) -> EngineConfig {
    let model = known(name);
    let start = EngineConfig::of_model("qwen3-14b").expect("a known model").profile;
    let wanted = (model.name.as_str(), model.weights);
    let profile = choose(&start, Some("vllm-0.23"), Some("b200"), wanted).expect("a profile");
    let mut config = EngineConfig::new(model, profile);
    config.tensor_parallel_size = Some(cards);
    config.max_model_len = Some(32_768);
    config
}

fn played(config: EngineConfig, count: u32, lengths: (u32, u32)) -> Vec<VirtualRecord> {
    let mut engine = Engine::new(config).expect("it starts");
    simulate(&mut engine, &mut AtOnce::new(count), &mut std::iter::repeat(lengths))
}

#[test]
fn every_model_is_served_and_longer_contexts_and_more_requests_never_take_less_time() {
    for name in configs().keys() {
        let cards =
            if ["qwen3.5-27b", "gemma-4-26b-a4b"].contains(&name.as_str()) { 8 } else { 16 };
        let ended = |count, lengths| {
            let records = played(on_cards(name, cards), count, lengths);
            assert_eq!(records.len(), count as usize, "{name}");
            records.iter().map(|record| record.ended).max().expect("a request")
        };
        let few = ended(1, (100, 50));
        assert!(ended(1, (20_000, 50)) > few, "{name}");
        assert!(ended(64, (100, 50)) > few, "{name}");
    }
}

fn memory(config: &EngineConfig) -> Memory {
    Memory::of(&config.resolve().expect("a configuration"))
}

#[test]
fn tensor_parallel_cards_split_heads_and_states_but_each_has_all_latents_and_at_least_one_head() {
    for (name, [one, eight, sixteen]) in [
        // One latent of 576 numbers in 61 layers on each card.
        ("deepseek-v3", [70_272.0, 70_272.0, 70_272.0]),
        // 8 key-value heads of 128 numbers.
        ("minimax-m2.5", [253_952.0, 253_952.0 / 8.0, 253_952.0 / 8.0]),
        // 2 key-value heads of 256 numbers in 15 layers.
        ("qwen3.5-397b-a17b", [30_720.0, 15_360.0, 15_360.0]),
    ] {
        for (cards, expected) in [(1, one), (8, eight), (16, sixteen)] {
            assert_eq!(memory(&on_cards(name, cards)).token_bytes, expected, "{name} {cards}");
        }
    }
    let state =
        |cards| on_cards("qwen3.5-397b-a17b", cards).resolve().unwrap().kept().unwrap().state;
    assert_eq!(state(8) * 8.0, state(1));
    // 0.92e9 parameters of the projections to latents, 0.21 GB of routers and the norms are on each card.
    let spec = known("deepseek-v3");
    let (all, part) =
        (spec.weight_bytes(spec.weights), memory(&on_cards("deepseek-v3", 8)).weight_bytes);
    let replicated = (part * 8.0 - all) / 7.0;
    assert!(is_near(replicated, 0.924e9 + 0.213e9, 0.01), "{replicated}");
}

#[test]
fn an_eight_bit_cache_halves_heads_and_latents_but_not_states_and_not_the_format_of_sparse_attention()
 {
    for (name, expected) in [
        ("deepseek-v3", 61.0 * 576.0),
        // 656 bytes of a latent and 132 of a key of the indexer.
        ("deepseek-v3.2", 61.0 * (656.0 + 132.0)),
        ("gpt-oss-120b", 73_728.0 / 2.0),
        ("deepseek-v4-flash", 3850.25 + 25_112.0),
    ] {
        let mut config = on_cards(name, 1);
        config.kv_cache_dtype = Some(KvCacheDtype::Fp8);
        assert_eq!(memory(&config).token_bytes, expected, "{name}");
    }
}

#[test]
fn sequences_in_the_cache_count_windows_once_and_states_for_each_sequence() {
    for (name, tokens) in [
        ("gemma-4-26b-a4b", 20_000),
        ("gpt-oss-20b", 20_000),
        ("qwen3.5-35b-a3b", 500),
        ("deepseek-v4-flash", 30_000),
    ] {
        let config = on_cards(name, 1);
        let found = memory(&config);
        let kept = config.resolve().unwrap().kept().unwrap();
        let room = f64::from(found.kv_blocks) * f64::from(found.block_size) * found.token_bytes;
        // Blocks are whole, and a block beyond the window is kept.
        let (most, least) = (room / kept.bytes(tokens), room / (1.1 * kept.bytes(tokens)));
        let sequences = f64::from(found.sequences(tokens));
        assert!(least <= sequences && sequences <= most, "{name}: {sequences}, {least} to {most}");
    }
}

#[test]
fn other_weights_replace_the_formats_of_layers_but_not_those_of_routers_and_embeddings() {
    let spec = known("qwen3.5-35b-a3b");
    let stored = |weights| spec.weight_bytes(weights) / 1e9;
    let plain: f64 = 0.042 + 2.035 + 0.893 + 0.002;
    let layers = 70.214 - plain;
    for (weights, bytes) in
        [(Weights::Fp8, 0.5), (Weights::Nvfp4, 0.5625 / 2.0), (Weights::Fp16, 1.0)]
    {
        let expected = plain + layers * bytes;
        assert!(is_near(stored(weights), expected, 0.001), "{weights}: {}", stored(weights));
    }
}

#[test]
fn the_formats_of_modelopt_are_read_from_the_file_beside_the_configuration() {
    let llama = &configs()["meta-llama-3.1-70b"];
    let experts = &configs()["qwen3-30b-a3b"];
    let beside = |algorithm: &str, excluded: &[&str]| {
        json!({"producer": {"name": "modelopt"}, "quantization": {
            "quant_algo": algorithm, "kv_cache_quant_algo": "FP8", "exclude_modules": excluded}})
    };
    // 68.45e9 parameters in layers, of which 12.08e9 in attention, and 2.10e9 in embeddings.
    for (file, gigabytes) in [
        (beside("NVFP4", &["lm_head"]), 68.45 * 0.5625 + 2.10 * 2.0),
        (beside("FP8", &["lm_head"]), 68.45 + 2.10 * 2.0),
        (
            beside("NVFP4", &["lm_head", "model.layers.*.self_attn*"]),
            (68.45 - 12.08) * 0.5625 + (12.08 + 2.10) * 2.0,
        ),
    ] {
        let spec = read("modelopt-llama", llama, Some(&file)).expect("a model");
        let found = spec.weight_bytes(spec.weights) / 1e9;
        assert!(is_near(found, gigabytes, 0.002), "{file}: {found}, not {gigabytes}");
    }
    let mut mixed = beside("MIXED_PRECISION", &["lm_head"]);
    mixed["quantization"]["quantized_layers"] = json!({
        "model.layers.*.mlp.experts*": {"quant_algo": "NVFP4", "group_size": 16}});
    let spec = read("modelopt-qwen", experts, Some(&mixed)).expect("a model");
    // 28.99e9 parameters of experts, 0.91e9 of attention, 0.01e9 of routers and 0.62e9 of embeddings.
    let expected = 28.99 * 0.5625 + (0.91 + 0.01 + 0.62) * 2.0;
    let found = spec.weight_bytes(spec.weights) / 1e9;
    assert!(spec.weights == Weights::Nvfp4 && is_near(found, expected, 0.002), "{found}");
    let why = read("modelopt-llama", llama, Some(&beside("W2A2", &[]))).unwrap_err();
    assert!(why.contains("`quant_algo` \"W2A2\" is not known"), "{why}");
}

#[test]
fn a_configuration_without_a_needed_key_is_refused_with_this_key() {
    for (name, key) in [
        ("deepseek-v3", "qk_rope_head_dim"),
        ("deepseek-v3", "v_head_dim"),
        ("glm-5", "index_n_heads"),
        ("deepseek-v4-flash", "sliding_window"),
        ("deepseek-v4-flash", "compress_ratios"),
        ("gpt-oss-120b", "num_experts_per_tok"),
        ("qwen3.5-27b", "linear_num_value_heads"),
        ("qwen3.5-27b", "spatial_merge_size"),
        ("minimax-m2.5", "vocab_size"),
    ] {
        let mut config = configs()[name].clone();
        for part in ["", "/text_config", "/vision_config"] {
            if let Some(Value::Object(part)) = config.pointer_mut(part) {
                part.remove(key);
                // The other name of this key.
                part.remove("experts_per_token");
            }
        }
        let why = read("incomplete", &config, None).unwrap_err();
        assert!(why.contains(&format!("`{key}`")), "{name} {key}: {why}");
    }
}

#[test]
fn rope_parameters_of_transformers_5_give_the_same_length_as_rope_scaling() {
    for (scaling, length) in [
        (
            json!({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}),
            131_072,
        ),
        (json!({"rope_type": "default", "rope_theta": 1e6}), 40_960),
        (json!({"rope_type": "linear", "factor": 2.0}), 81_920),
        (
            json!({"full_attention": {"rope_type": "linear", "factor": 2.0},
                "sliding_attention": {"rope_type": "default"}}),
            81_920,
        ),
    ] {
        for key in ["rope_scaling", "rope_parameters"] {
            let mut config = configs()["qwen3-32b"].clone();
            config["rope_scaling"] = Value::Null;
            config[key] = scaling.clone();
            assert_eq!(read("rope", &config, None).expect("a model").context, length, "{config}");
        }
    }
}

#[test]
fn models_with_a_layout_need_a_profile_of_todays_engines_and_are_uncalibrated() {
    let old = EngineConfig::of_model("qwen-14b").unwrap().profile;
    let why = EngineConfig::new(known("gpt-oss-20b"), old).resolve().unwrap_err().to_string();
    assert!(why.contains("--engine vllm-0.2.7: cannot serve gpt-oss-20b"), "{why}");
    let caveats = on_cards("gpt-oss-20b", 1).resolve().unwrap().caveats();
    assert!(caveats.iter().any(|it| it.contains("gpt-oss-20b") && it.contains("uncalibrated")));
}

#[test]
fn prefix_caching_is_off_by_default_for_models_with_recurrent_layers() {
    for (name, expected) in [("qwen3.5-27b", false), ("gpt-oss-20b", true), ("deepseek-v3", true)] {
        let mut config = on_cards(name, 8);
        assert_eq!(config.resolve().unwrap().prefix_caching, expected, "{name}");
        config.prefix_caching = Some(true);
        assert!(config.resolve().unwrap().prefix_caching, "{name}");
    }
}

#[test]
fn data_parallel_ranks_split_only_the_routed_experts() {
    // 653.95e9 bytes of experts of DeepSeek V3, and 29.54e9 parameters of experts of Qwen3 30B in sixteen bits.
    for (name, cards, experts) in [
        ("deepseek-v3", 1, 654.07e9),
        ("deepseek-v3", 4, 654.07e9),
        ("qwen3-30b-a3b", 2, 2.0 * 28.99e9),
    ] {
        let resolved = on_cards(name, cards).resolve().expect("a configuration");
        let of = |ranks| Memory::of_ranks(&resolved, ranks);
        let saved = of(1).weight_bytes - of(8).weight_bytes;
        let expected = experts / f64::from(cards) * 7.0 / 8.0;
        assert!(is_near(saved, expected, 0.002), "{name} {cards}: {saved}, not {expected}");
        assert_eq!(of(1).token_bytes, of(8).token_bytes);
    }
}

#[test]
fn activations_grow_with_the_tokens_of_a_step_and_the_widest_layer_except_for_built_in_models() {
    let of = |name: &str, cards: u32, tokens: u32| {
        let mut config = on_cards(name, cards);
        (config.max_num_batched_tokens, config.max_num_seqs) = (Some(tokens), Some(256));
        memory(&config).activation_bytes
    };
    for (name, cards, numbers) in [
        // Residual stream, and two workspaces of 8 experts of a token.
        ("deepseek-v3", 8, 2 * 7168 + 8 * (7168 + 7168) + 3 * 2048 / 8),
        // Gate, up and their product.
        ("meta-llama-3.1-70b", 8, 2 * 8192 + 3 * 28_672 / 8),
        // Queries, keys, values and outputs of 24 heads with 4 key-value heads are less than 3 x 17,408.
        ("qwen3.5-27b", 1, 2 * 5120 + 3 * 17_408),
    ] {
        let more = of(name, cards, 32_768) - of(name, cards, 16_384);
        let expected = 2.0 * 16_384.0 * f64::from(numbers);
        assert!(is_near(more, expected, 1e-6), "{name}: {more}, not {expected}");
    }
    let mut config = EngineConfig::of("qwen3-32b", Some("vllm-0.23-h100-sxm")).expect("a model");
    config.tensor_parallel_size = Some(4);
    assert_eq!(memory(&config).activation_bytes, 150_000_000.0);
}

#[test]
fn decoding_reads_the_latents_on_each_card_and_multiplies_them_with_all_heads_of_the_card() {
    let seconds_per_token = |cards: u32| {
        let cost = CostModel::new(&on_cards("deepseek-v3", cards).resolve().expect("resolved"));
        // Contexts of such models are counted in units of 1 / 65,536 of what a token needs.
        let decode = |tokens: u64| {
            cost.seconds(StepShape::Decode { sequences: 1, context: tokens << 16, generated: 0 })
        };
        (decode(1_000_000) - decode(0)) / 1e6
    };
    // 128 heads multiply each latent of 576 numbers 1,088 times on one card: more than the card does in the time in which
    // it reads the latent. On 16 cards each card has 8 heads, but reads all of the latents.
    let (one, eight, sixteen) = (seconds_per_token(1), seconds_per_token(8), seconds_per_token(16));
    assert!(one > 1.05 * sixteen, "{one} {sixteen}");
    assert!(is_near(eight, sixteen, 1e-9), "{eight} {sixteen}");
    let read = 70_272.0 / sixteen / 8e12;
    assert!((0.5..1.0).contains(&read), "the share of the bandwidth of the card: {read}");
}

#[test]
fn a_configuration_with_impossible_numbers_is_refused_or_read_without_overflow() {
    for (name, config) in configs() {
        let text = config.to_string();
        // The first number of each key in turn, as none, as the largest that is accepted, and far above.
        let mut seen = BTreeSet::new();
        let digits = |at: &usize| {
            let before = text[..*at].bytes().last();
            before == Some(b':') && text.as_bytes()[*at].is_ascii_digit()
        };
        for at in (1..text.len()).filter(digits) {
            let key = text[..at].rsplit('"').nth(1).unwrap_or_default();
            if !seen.insert(key) {
                continue;
            }
            let end = at + text[at..].find(|it: char| !it.is_ascii_digit()).expect("an end");
            for number in ["0", "16777216", "99999999999"] {
                let changed = format!("{}{number}{}", &text[..at], &text[end..]);
                let Ok(config) = serde_json::from_str(&changed) else { continue };
                if let Ok(spec) = read(&name, &config, None) {
                    let bytes = spec.weight_bytes(spec.weights);
                    assert!(bytes > 0.0 && bytes.is_finite(), "{changed}");
                }
            }
        }
    }
}
