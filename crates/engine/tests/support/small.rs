//! Small engines for property tests, and a simulation that executes every single step.

use inferometer_engine::model::Windows;
use inferometer_engine::profile::profile;
use inferometer_engine::{Engine, EngineConfig, Finish, RequestId, VirtualRecord};
use inferometer_model::time::Nanos;

/// An engine with few KV blocks, so that sequences are preempted.
pub fn small_engine(max_num_seqs: u32) -> Engine {
    let mut config = EngineConfig::of_model("qwen-14b").expect("a known model");
    config.max_num_seqs = Some(max_num_seqs);
    with_few_blocks(config)
}

/// An engine with the scheduler of vLLM 0.8 and later, and with few KV blocks. The profile has the older cost model.
pub fn small_engine_of_today(max_num_seqs: u32, max_num_batched_tokens: u32) -> Engine {
    let mut config = EngineConfig::of_model("qwen-14b").expect("a known model");
    config.profile = profile("a100-40g-vllm-0.32").expect("a known profile");
    config.max_num_seqs = Some(max_num_seqs);
    config.max_num_batched_tokens = Some(max_num_batched_tokens);
    config.max_model_len = Some(900);
    with_few_blocks(config)
}

/// Like [`small_engine_of_today`], but with the cost model for vLLM 0.8 and later. The engine schedules the next step
/// while a step runs.
pub fn small_engine_ahead(max_num_seqs: u32, max_num_batched_tokens: u32) -> Engine {
    with_few_blocks(ahead(max_num_seqs, max_num_batched_tokens))
}

fn ahead(max_num_seqs: u32, max_num_batched_tokens: u32) -> EngineConfig {
    let mut config = EngineConfig::of_model("qwen-14b").expect("a known model");
    config.profile = profile("vllm-0.23-h100-sxm").expect("a known profile");
    let steps = config.profile.steps.as_mut().expect("a profile with [steps]");
    // Requests reach the scheduler without delay.
    (steps.front_us, steps.front_sequence_us, steps.front_service_us) = (0.0, 0.0, 0.0);
    config.max_num_seqs = Some(max_num_seqs);
    config.max_num_batched_tokens = Some(max_num_batched_tokens);
    config.max_model_len = Some(900);
    config
}

/// Like [`small_engine_ahead`], but 30 of the 40 layers have a sliding window: they read only the last 100 tokens.
pub fn small_engine_windowed(max_num_seqs: u32, max_num_batched_tokens: u32) -> Engine {
    with_windows(max_num_seqs, max_num_batched_tokens, (30, true))
}

/// Like [`small_engine_windowed`], but all layers read only the last 100 tokens, and each step is scheduled after the
/// previous one.
pub fn small_engine_of_windows(max_num_seqs: u32, max_num_batched_tokens: u32) -> Engine {
    with_windows(max_num_seqs, max_num_batched_tokens, (40, false))
}

fn with_windows(sequences: u32, tokens: u32, (layers, is_ahead): (u32, bool)) -> Engine {
    let mut config = ahead(sequences, tokens);
    config.model.windows = Some(Windows { tokens: 100, layers });
    config.async_scheduling = Some(is_ahead);
    with_few_blocks(config)
}

fn with_few_blocks(mut config: EngineConfig) -> Engine {
    let mut low = 0.0;
    let mut high = 0.9;
    // Bisection: the smallest share of memory with which the engine starts and has more than 60 KV blocks.
    for _ in 0..40 {
        config.gpu_memory_utilization = Some((low + high) / 2.0);
        match Engine::new(config.clone()).map(|engine| engine.stats().kv_blocks_total) {
            Ok(blocks) if blocks > 60 => high = (low + high) / 2.0,
            _ => low = (low + high) / 2.0,
        }
    }
    config.gpu_memory_utilization = Some(high);
    Engine::new(config).expect("the engine starts with the smallest share that was found")
}

/// Does the same as `simulate`, but executes every single step.
pub fn stepped(engine: &mut Engine, arrivals: &[(u64, u32, u32)]) -> Vec<VirtualRecord> {
    let mut now = Nanos::ZERO;
    let mut records: Vec<VirtualRecord> = Vec::new();
    let mut coming = arrivals.iter().peekable();
    loop {
        while let Some(&(due, prompt, output)) = coming.next_if(|arrival| arrival.0 <= now.0) {
            engine.add(RequestId(records.len() as u64), (prompt, output));
            let due = Nanos(due);
            let (first_token, last_token, output) = (None, None, 0);
            let (sent, ended, finish) = (due, due, Finish::Ignored);
            records.push(VirtualRecord {
                due,
                sent,
                first_token,
                last_token,
                ended,
                prompt,
                cached: None,
                output,
                finish,
                left: false,
            });
        }
        let Some(step) = engine.step() else {
            match coming.peek() {
                Some(arrival) => {
                    engine.rest(Nanos(arrival.0).since(now));
                    now = Nanos(arrival.0);
                }
                None => return records,
            }
            continue;
        };
        now = now + step.duration;
        for output in step.outputs {
            let record = &mut records[output.id.0 as usize];
            if output.finished != Some(Finish::Ignored) {
                record.first_token.get_or_insert(now);
                record.last_token = Some(now);
            }
            if let Some(finish) = output.finished {
                (record.ended, record.output, record.finish) = (now, output.tokens_so_far, finish);
                record.cached = output.cached;
            }
        }
    }
}
