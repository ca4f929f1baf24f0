//! Tests of reading a `config.json`, and of rejecting invalid ones.

use super::*;

const LLAMA: &str = r#"{"model_type":"llama","hidden_size":5120,"num_hidden_layers":40,
    "num_attention_heads":40,"intermediate_size":13824,"vocab_size":32000,
    "max_position_embeddings":4096,"torch_dtype":"float16"}"#;

#[test]
fn a_llama_configuration_gives_its_sizes() {
    let spec = parse(LLAMA, None, "Llama-2-13b").unwrap();
    assert_eq!((spec.layers, spec.heads, spec.kv_heads, spec.head_dim), (40, 40, 40, 128));
    assert_eq!((spec.context, spec.weights, spec.mlp), (4096, Weights::Fp16, Mlp::Gated));
    assert!((spec.weight_bytes(Weights::Fp16) / 2e9 - 13.02).abs() < 0.01);
}

fn with(key: &str, value: Value) -> Result<ModelSpec, ConfigError> {
    let mut config: Map<String, Value> = serde_json::from_str(LLAMA).expect("JSON");
    config.insert(key.to_owned(), value);
    parse(&Value::Object(config).to_string(), None, "model")
}

#[test]
fn rope_scaling_extends_the_context_for_the_same_types_as_in_vllm() {
    for (scaling, context) in [
        (serde_json::json!({"type": "linear", "factor": 2.0}), 8192),
        (serde_json::json!({"rope_type": "llama3", "factor": 8.0}), 4096),
        (serde_json::json!({"rope_type": "longrope", "factor": 8.0}), 4096),
        (
            serde_json::json!({"type": "yarn", "factor": 4.0,
                "original_max_position_embeddings": 2048}),
            8192,
        ),
        (Value::Null, 4096),
    ] {
        assert_eq!(with("rope_scaling", scaling.clone()).unwrap().context, context, "{scaling}");
    }
    let why = with("rope_scaling", serde_json::json!({"factor": -4.0})).unwrap_err().to_string();
    assert!(why.contains("must be above 0"), "{why}");
}

#[test]
fn tied_embeddings_depend_on_the_model_type_unless_the_configuration_states_them() {
    for (model_type, stated, tied) in [
        ("llama", None, false),
        ("gemma", None, true),
        ("opt", None, true),
        ("opt", Some(false), false),
        ("llama", Some(true), true),
    ] {
        let mut config: Map<String, Value> = serde_json::from_str(LLAMA).expect("JSON");
        config.insert("model_type".to_owned(), model_type.into());
        config.extend(stated.map(|tied| ("tie_word_embeddings".to_owned(), tied.into())));
        let spec = parse(&Value::Object(config).to_string(), None, "model").unwrap();
        assert_eq!(spec.tied_embeddings, tied, "{model_type} {stated:?}");
    }
}

#[test]
fn impossible_sizes_are_refused_with_their_key() {
    for (key, value) in [
        ("hidden_size", 4_294_967_295_u32),
        ("head_dim", 0),
        ("num_key_value_heads", 0),
        ("num_key_value_heads", 80),
        ("num_key_value_heads", 7),
        ("intermediate_size", 0),
    ] {
        let why = with(key, value.into()).expect_err(key).to_string();
        assert!(why.contains(key) || why.contains("multiple"), "{key}: {why}");
    }
}

#[test]
fn a_model_is_named_after_its_folder_or_its_file() {
    for (path, name) in [
        ("models/Llama-2-13b/config.json", "Llama-2-13b"),
        ("models/small.json", "small"),
        ("small.json", "small"),
        ("config.json", "model"),
    ] {
        assert_eq!(name_of(Path::new(path)), name, "{path}");
    }
}

#[test]
fn the_different_key_names_of_chatglm_are_understood() {
    let text = r#"{"model_type":"chatglm","hidden_size":4096,"num_layers":28,
        "num_attention_heads":32,"multi_query_attention":true,"multi_query_group_num":2,
        "ffn_hidden_size":13696,"padded_vocab_size":65024,"seq_length":8192,
        "kv_channels":128}"#;
    let mut spec = parse(text, None, "chatglm3-6b").unwrap();
    let known = crate::model::model("chatglm3-6b").unwrap();
    spec.hub_id.clone_from(&known.hub_id);
    spec.default_profile.clone_from(&known.default_profile);
    assert_eq!(spec, known);
}

#[test]
fn first_generation_qwen_states_the_sum_of_gate_and_up_projection_sizes() {
    let text = LLAMA.replace("llama", "qwen").replace("13824", "27392");
    assert_eq!(parse(&text, None, "qwen-14b").unwrap().intermediate, 13_696);
}

#[test]
fn configurations_of_mixtures_of_experts_match_the_built_in_models() {
    let mixtral = r#"{"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,
        "num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,
        "vocab_size":32000,"max_position_embeddings":32768,"num_local_experts":8,
        "num_experts_per_tok":2}"#;
    let qwen = r#"{"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,
        "num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,
        "intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,
        "num_experts_per_tok":8,"decoder_sparse_step":1,"mlp_only_layers":[],
        "vocab_size":151936,"max_position_embeddings":40960}"#;
    for (text, name) in [(mixtral, "mixtral-8x7b"), (qwen, "qwen3-30b-a3b")] {
        let known = crate::model::model(name).unwrap();
        let spec = parse(text, None, name).unwrap();
        assert_eq!(spec.context, known.context_limit.unwrap_or(known.context));
        let (hub_id, context) = (known.hub_id.clone(), known.context);
        let context_limit = known.context_limit;
        assert_eq!(ModelSpec { hub_id, context, context_limit, ..spec }, known);
    }
    let sparse = qwen.replace("\"decoder_sparse_step\":1", "\"decoder_sparse_step\":2");
    assert!(parse(&sparse, None, "x").unwrap_err().to_string().contains("decoder_sparse_step"));
}

#[test]
fn the_parameters_of_deepseek_include_dense_first_layers_and_shared_experts() {
    let text = r#"{"model_type":"deepseek","hidden_size":2048,"num_hidden_layers":28,
        "num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":10944,
        "moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,
        "num_experts_per_tok":6,"first_k_dense_replace":1,"moe_layer_freq":1,
        "vocab_size":102400,"max_position_embeddings":4096}"#;
    let found = parse(text, None, "x").unwrap().weight_bytes(Weights::Fp16) / 2e9;
    assert!((found - 16.38).abs() < 0.01, "{found}");
}

#[test]
fn an_unsupported_configuration_is_an_error_that_names_the_key() {
    for (from, to, key) in [
        ("\"llama\"", "\"mamba\"", "model_type"),
        ("\"hidden_size\"", "\"width\"", "hidden_size"),
        ("\"intermediate_size\"", "\"x\"", "intermediate_size"),
        ("\"torch_dtype\"", "\"kv_lora_rank\":512,\"torch_dtype\"", "kv_lora_rank"),
        ("\"torch_dtype\"", "\"num_local_experts\":8,\"torch_dtype\"", "num_local_experts"),
        (
            "\"torch_dtype\"",
            "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":8},\"torch_dtype\"",
            "`quantization_config`: method gptq with 8 bits is not known",
        ),
    ] {
        let message = parse(&LLAMA.replace(from, to), None, "x").unwrap_err().to_string();
        assert!(message.contains(key), "{key}: {message}");
    }
}

#[test]
fn the_text_model_of_gemma_3_is_read_with_its_defaults_and_its_windows() {
    let config = r#"{
        "model_type": "gemma3", "vocab_size": 1,
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 3840, "intermediate_size": 15360,
            "num_attention_heads": 16, "num_hidden_layers": 48, "num_key_value_heads": 8,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024,
            "max_position_embeddings": 131072, "vocab_size": 262208
        }
    }"#;
    let mut found = parse(config, None, "gemma-3-12b").expect("a model");
    let known = crate::model::model("gemma-3-12b").expect("a known model");
    found.hub_id.clone_from(&known.hub_id);
    found.default_profile.clone_from(&known.default_profile);
    assert_eq!(Some(found.context), known.context_limit);
    (found.context, found.context_limit) = (known.context, known.context_limit);
    assert_eq!(found, known);
}
