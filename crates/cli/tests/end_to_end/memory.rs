//! `memory` as users run it, and models that it reads from files.

use serde_json::Value;

use crate::support::{folder, inferometer, told};

#[test]
fn memory_reports_what_fits_and_how_many_cards_a_larger_model_needs() {
    let folder = folder();
    let of = |arguments: &[&str]| inferometer(folder.path(), &[&["memory"], arguments].concat());
    let resid = ["--model", "qwen3-14b", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let output = of(&[&resid[..], &["--json", "--lengths", "1000,2000"]].concat());
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // A real server with these settings reported 288,608 tokens.
    let tokens = found["kv_tokens"].as_f64().expect("tokens");
    assert!((tokens / 288_608.0 - 1.0).abs() < 0.01, "{tokens}");
    let fit = |at: usize| found["sequences"][at]["fit"].as_u64().expect("sequences");
    assert_eq!(fit(0), found["kv_blocks"].as_u64().expect("blocks") / 63);
    assert_eq!(fit(1), found["kv_blocks"].as_u64().expect("blocks") / 125);
    let text = String::from_utf8(of(&resid).stdout).expect("text");
    for word in ["weights", "keys and values", "longest sequence", "40960", "--max-num-seqs 1024"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let large = ["--model", "llama-3.1-70b", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let output = of(&large);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("--tensor-parallel-size 4"), "{}", told(&output));
    for (lengths, why) in [("0", "0"), ("41000", "longer than the maximum of the engine, 40960")] {
        let output = of(&[&resid[..], &["--lengths", lengths]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(why), "{}", told(&output));
    }
}

/// A model with latent attention and an indexer, and eight-bit weights in blocks.
const LATENT: &str = r#"{"model_type": "deepseek_v32", "hidden_size": 2048, "num_hidden_layers": 8,
    "num_attention_heads": 16, "num_key_value_heads": 16, "kv_lora_rank": 512, "q_lora_rank": 768,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "index_topk": 2048,
    "index_n_heads": 16, "index_head_dim": 128, "intermediate_size": 8192,
    "moe_intermediate_size": 1024, "n_routed_experts": 64, "n_shared_experts": 1,
    "num_experts_per_tok": 4, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1,
    "vocab_size": 64000, "max_position_embeddings": 65536, "tie_word_embeddings": false,
    "time_limit": Infinity,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}"#;

#[test]
fn memory_and_predict_read_a_model_with_latent_attention_from_its_configuration() {
    let folder = folder();
    let path = folder.path().join("config.json");
    std::fs::write(&path, LATENT).expect("a file");
    let file = path.to_str().expect("UTF-8");
    let model = ["--model", file, "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let memory =
        |more: &[&str]| inferometer(folder.path(), &[&["memory"], &model[..], more].concat());
    let found: Value = serde_json::from_slice(&memory(&["--json"]).stdout).expect("JSON");
    // 8 layers with a latent of 576 numbers of two bytes, and a key of the indexer of 132 bytes.
    assert_eq!(found["kv_bytes_per_token"], 8.0 * (1152.0 + 132.0));
    let experts = found["modules"].as_array().expect("modules").iter();
    let experts: Vec<_> = experts.filter(|it| it["name"] == "routed experts").collect();
    assert_eq!(experts[0]["parameters"], 7 * 64 * 3 * 1024 * 2048_u64);
    assert_eq!(
        (&experts[0]["weights"], &experts[0]["routed"]["per_token"]),
        (&"fp8".into(), &4.into())
    );
    let text = String::from_utf8(memory(&[]).stdout).expect("text");
    for told in [
        "   1 x latent attention (MLA), 16 heads, 512 + 64, indexer for 2048; dense 8192",
        "   7 x latent attention",
        "layers that draft tokens are loaded only for speculative decoding",
        "uncalibrated",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    // Seven of eight ranks hold the experts that this one does not.
    let weights = |more: &[&str]| {
        let found = memory(&[more, &["--json"]].concat());
        serde_json::from_slice::<Value>(&found.stdout).expect("JSON")["weight_bytes"].as_f64()
    };
    let (one, eight) = (weights(&[]).expect("bytes"), weights(&["--data-parallel-size", "8"]));
    let saved = one - eight.expect("bytes");
    assert!(
        (saved / (7.0 / 8.0 * 7.0 * 64.0 * 3.0 * 1024.0 * 2048.0) - 1.0).abs() < 1e-3,
        "{saved}"
    );
    let output = inferometer(
        folder.path(),
        &["memory", "--model", "qwen3-14b", "--data-parallel-size", "2"],
    );
    assert!(told(&output).contains("--data-parallel-size 2: qwen3-14b has no experts to split"));
    let lengths = ["--input-lengths", "1000", "--output-lengths", "50", "--concurrency", "4"];
    let output =
        inferometer(folder.path(), &[&["predict", "--json"], &model[..], &lengths[..]].concat());
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tpot = &found["cells"][0]["passes"][0]["tpot_ms"]["mean"];
    assert!(tpot.as_f64().is_some_and(|tpot| tpot > 0.0), "{found}");
    assert!(found.to_string().contains("uncalibrated"), "{found}");
}

#[test]
fn memory_marks_a_context_that_does_not_fit_and_ends_with_the_longest_one_that_fits() {
    let folder = folder();
    let large = ["--model", "llama-3.1-70b", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let of = |more: &[&str]| {
        let two = ["memory", "--tensor-parallel-size", "2"];
        inferometer(folder.path(), &[&two[..], &large, more].concat())
    };
    let text = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    for (lengths, mark) in [
        (&[][..], "131072            0            0  does not fit"),
        (&["--lengths", "1024,40000"], "40000            0            0  does not fit"),
    ] {
        let output = of(lengths);
        // The user did not give --max-model-len, so a context that does not fit is not an error.
        assert_eq!((output.status.code(), told(&output)), (Some(0), String::new()));
        let text = text(&output);
        let answer = text.lines().last().unwrap_or_default();
        for part in ["is 38240 tokens", "131072 tokens does not", "--max-model-len 38240"] {
            assert!(answer.contains(part), "{part}: {answer}");
        }
        assert!(text.contains(mark), "{text}");
    }
    let given = of(&["--max-model-len", "50000"]);
    assert_eq!(given.status.code(), Some(2), "{}", told(&given));
    assert!(told(&given).contains("--max-model-len 50000"), "{}", told(&given));
    assert!(text(&given).contains("50000            0            0  does not fit"));
    let fits = of(&["--max-model-len", "38240"]);
    assert_eq!(fits.status.code(), Some(0), "{}", told(&fits));
    assert!(!text(&fits).contains("does not fit"), "{}", text(&fits));
}
