//! The phases of logs that were written by hand after those of real servers, at planted times.

use super::*;

/// The lines of a log, each after the time at which it was read.
fn lines(log: &str) -> Vec<(f64, String)> {
    let line = |line: &str| {
        let (at, text) = line.trim().split_once(' ').expect("a time and a line");
        (at.parse().expect("a time"), text.to_owned())
    };
    log.trim().lines().map(line).collect()
}

/// The phases of a log, as `NAME SECONDS SOURCE`, and the rest at the end.
fn told(log: &str, ready_s: f64) -> Vec<String> {
    let (known, all) = (Phases::known(), lines(log));
    // Only the lines that the guard passes on.
    let passed: Vec<_> = all.into_iter().filter(|(_, line)| known.are_in(line)).collect();
    let (phases, rest_s) = known.of(&passed, ready_s);
    let phases = phases.iter().map(|it| format!("{} {} {:?}", it.name, it.seconds, it.from));
    phases.chain([format!("rest {rest_s}")]).collect()
}

const VLLM: &str = "
2.0 INFO 11-30 20:11:02 [gpu_model_runner.py:5040] Starting to load model Qwen/Qwen2.5-7B-Instruct...
15.0 (EngineCore pid=71) INFO 11-30 20:11:15 [default_loader.py:502] Loading weights took 12.00 seconds
16.0 (EngineCore pid=71) INFO 11-30 20:11:16 [gpu_model_runner.py:5150] Model loading took 14.25 GiB memory and 13.500000 seconds
19.0 INFO 11-30 20:11:19 [backends.py:1167] Dynamo bytecode transform time: 2.50 s
24.0 INFO 11-30 20:11:24 [monitor.py:74] torch.compile took 8.00 s in total
25.0 INFO 11-30 20:11:25 [monitor.py:92] Initial profiling/warmup run took 0.80 s
36.0 INFO 11-30 20:11:36 [gpu_model_runner.py:6582] Graph capturing finished in 10 secs, took 0.51 GiB
36.5 INFO 11-30 20:11:36 [core.py:403] init engine (profile, create kv cache, warmup model) took 20.25 s (compilation: 8.00 s)
37.0 INFO:     Application startup complete.";

#[test]
fn each_engine_states_its_phases_and_the_rest_is_what_no_line_explains() {
    let two_workers = "
        9.0 (Worker_TP0 pid=8) INFO [default_loader.py:502] Loading weights took 4.00 seconds
        9.5 (Worker_TP1 pid=9) INFO [default_loader.py:502] Loading weights took 4.25 seconds";
    let cached = "
        6.0 INFO [backends.py:297] Directly load the compiled graph(s) for compile range (1, 2048) from the cache, took 1.500 s
        8.0 INFO [monitor.py:74] torch.compile took 4.00 s in total";
    let sglang = "
        5.0 [2026-11-30 20:11:05 TP0] Load weight begin. avail mem=78.58 GB
        9.0 [2026-11-30 20:11:09 TP0] Load weight end. elapsed=3.75 s, type=Qwen2ForCausalLM, avail mem=63.3 GB, mem usage=15.2 GB.
        9.2 [2026-11-30 20:11:09 TP0] Capture decode CUDA graph begin. bs=[1, 2, 4, 8]
        19.0 [2026-11-30 20:11:19 TP0] Capture decode CUDA graph end. bs=[1, 2, 4, 8], elapsed=9.50 s, mem usage=0.9 GB, avail mem=9.1 GB.
        20.0 INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
        22.5 [2026-11-30 20:11:22] The server is fired up and ready to roll!";
    let sglang_0_3 = "
        5.0 [2024-10-01 20:11:05 TP0] Load weight begin. avail mem=78.58 GB
        9.0 [2024-10-01 20:11:09 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=63.3 GB
        19.0 [2024-10-01 20:11:19 TP0] Capture cuda graph end. Time elapsed: 9.50 s. avail mem=9.1 GB";
    let llama_cpp = "
        0.1 0.00.004.572 I srv          init: loading model
        0.1 0.00.004.622 I srv    load_model: loading model 'models/smollm2.gguf'
        3.7 0.03.636.239 I srv          init: model loaded
        3.7 0.03.636.284 I srv          init: listening on http://127.0.0.1:18231";
    let llama_cpp_2024 = "
        0.5 main: loading model
        1.0 llama_model_loader: loaded meta data with 33 key-value pairs and 290 tensors from m.gguf (version GGUF V3 (latest))
        3.5 main: model loaded
        3.5 main: server is listening on http://127.0.0.1:8080 - starting the main loop";
    let with_download = "
        3.0 INFO [weight_utils.py:533] Time spent downloading weights for Qwen/Qwen3-0.6B: 2.000000 seconds
        5.0 INFO [default_loader.py:502] Loading weights took 1.00 seconds";
    for (log, ready_s, expected) in [
        (
            VLLM,
            37.25,
            &[
                "weights 12 Stated",
                "other loading of the model 1.5 Stated",
                "torch.compile 8 Stated",
                "graphs 10 Stated",
                "other start of the engine 2.5 Stated",
                "rest 3.25",
            ][..],
        ),
        (two_workers, 10.0, &["weights 4.5 Stated", "rest 5.5"]),
        (
            cached,
            10.0,
            &["compiled graphs from a cache 1.5 Stated", "torch.compile 2.5 Stated", "rest 6"],
        ),
        (
            sglang,
            23.0,
            &["weights 3.75 Stated", "graphs 9.5 Stated", "warm-up 2.5 Read", "rest 7.25"],
        ),
        (sglang_0_3, 20.0, &["weights 4 Read", "graphs 9.5 Stated", "rest 6.5"]),
        (llama_cpp, 3.75, &["model 3.6 Read", "rest 0.15"]),
        (llama_cpp_2024, 4.0, &["model 3 Read", "rest 1"]),
        (with_download, 6.0, &["download 2 Stated", "weights 1 Stated", "rest 3"]),
    ] {
        assert_eq!(told(log, ready_s), expected, "{log}");
    }
}

#[test]
fn a_phase_never_lies_before_the_process_or_after_the_server_was_ready() {
    for (log, expected) in [
        // An absurd length in the log, and a last line that was read after the server had answered.
        ("2.0 Loading weights took 99999.00 seconds", &["weights 2 Stated", "rest 2"][..]),
        ("6.0 Loading weights took 3.00 seconds", &["weights 1 Stated", "rest 3"]),
        ("9.0 Loading weights took 3.00 seconds", &["rest 4"]),
        // The first line alone, a number that is none, and an unknown engine.
        ("1.0 main: loading model", &["rest 4"]),
        ("1.0 Loading weights took 1.2.3 seconds", &["rest 4"]),
        ("1.0 my engine loaded its weights in 1 s", &["rest 4"]),
    ] {
        assert_eq!(told(log, 4.0), expected, "{log}");
    }
}

#[test]
fn lines_of_requests_are_no_phases_of_the_start() {
    let known = Phases::known();
    for line in [
        "INFO:     127.0.0.1:51034 - \"POST /v1/completions HTTP/1.1\" 200 OK",
        "[2026-11-30 20:11:05 TP0] Prefill batch. #new-seq: 1, #new-token: 128, #cached-token: 0",
        "INFO [loggers.py:123] Engine 000: Avg prompt throughput: 12.0 tokens/s, Running: 4 reqs",
        "0.05.101.002 I slot print_timing: id  0 | task 0 | prompt eval time = 12.3 ms",
    ] {
        assert!(!known.are_in(line), "{line}");
    }
}
