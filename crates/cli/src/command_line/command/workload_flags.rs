//! The flags that say where prompts come from, by the keys of a plan.

use clap::Args;
use serde::Serialize;

/// Each is the key of the same name.
#[derive(Args, Serialize)]
pub struct WorkloadFlags {
    /// Where prompts come from: random, prefix, sharegpt, jsonl, csv, parquet, replay,
    /// trace, conversation, blocks
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    workload: Option<String>,
    /// What a kind of application asks: rag, classifier, rewriting, chat, summarising,
    /// code-completion, agent (`inferometer scenarios` lists them)
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    scenario: Option<String>,
    /// Lengths as likely anywhere up to this share around those of the grid, as in vLLM's
    /// --random-range-ratio: 0.5 of 1024 is 512 to 1536 (random)
    #[arg(long, value_parser = super::run_flags::finite, value_name = "SHARE", help_heading = "Workload")]
    range_ratio: Option<f64>,
    /// Input lengths instead of --input-lengths, in tokens: uniform:LEAST..MOST,
    /// normal:MEAN,DEVIATION, lognormal:MEAN,DEVIATION, exponential:MEAN, histogram:FILE (a line
    /// for each: LENGTH WEIGHT, or LEAST..MOST WEIGHT) (random)
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "Workload")]
    input_distribution: Option<String>,
    /// The same for output lengths (random)
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "Workload")]
    output_distribution: Option<String>,
    /// Tokens at the beginning of each prompt, within its input length, that all prompts of a pass
    /// share (random), or those of a group (prefix). Lengths of --input-distribution are those of
    /// what stands behind it, so that a prompt is longer by as many
    #[arg(long, value_name = "N", help_heading = "Workload")]
    prefix_length: Option<u32>,
    /// Groups of prompts that share a beginning, in each pass [default: 8] (prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    prefix_groups: Option<u32>,
    /// Prompts of each group in each pass, instead of --requests (prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    prompts_per_group: Option<u32>,
    /// How uneven groups are: the k-th is asked for in proportion to k^-A [default: 0, all
    /// equally] (prefix)
    #[arg(long, value_parser = super::run_flags::finite, value_name = "A", help_heading = "Workload")]
    prefix_zipf: Option<f64>,
    /// Share of requests that belong to a group; the others share nothing [default: 1] (prefix)
    #[arg(long, value_parser = super::run_flags::finite, value_name = "SHARE", help_heading = "Workload")]
    warm_share: Option<f64>,
    /// Empty the server's prefix cache before each pass, where it can (vLLM, SGLang)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    reset_prefix_cache: Option<bool>,
    /// Which column of a file of one's own holds which field: prompt, messages, token_ids,
    /// output_tokens, body, timestamp (jsonl, csv, parquet)
    #[arg(long, value_name = "FIELD=COLUMN,...", help_heading = "Workload")]
    columns: Option<String>,
    /// Output length in tokens of rows that have none (jsonl, csv, parquet), or of all answers,
    /// whatever they have (sharegpt without --input-lengths)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    output_length: Option<u32>,
    /// Send each row at its own instant, from the first one's: a column `timestamp` in seconds or as
    /// date and time; --replay-speed plays them faster (jsonl, csv, parquet)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    replay_rows: Option<bool>,
    /// Write the requests, as they are sent, to a file that --workload replay sends again
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    dump_workload: Option<String>,
    /// The data set's file, or the name of one that was fetched; of blocks a text, a JSONL file or
    /// a folder [default: shipped-zh, or shipped-en for templates in English]
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    dataset: Option<String>,
    /// Format of a trace: auto (by its first line), mooncake, azure, burstgpt, plain (seconds,
    /// input tokens, output tokens) [default: auto]
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    trace_format: Option<String>,
    /// Part of a trace that is played, from its first row on: 10m..20m, ..1h, 30s..
    #[arg(long, value_name = "FROM..TO", help_heading = "Workload")]
    trace_window: Option<String>,
    /// How many times a trace's requests are played in the same time: every stretch of time keeps
    /// its share of them, and so its bursts; --replay-speed shortens the time instead [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = "Workload")]
    trace_scale: Option<String>,
    /// Rows of a trace with more tokens, input and output together, are left out and counted
    #[arg(long, value_name = "N", help_heading = "Workload")]
    trace_max_tokens: Option<u32>,
    /// Conversations of a pass [default: 32]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    conversations: Option<u32>,
    /// Turns of a conversation, or of a data set's the most: 4, uniform:2..8, geometric:4
    /// [default: 4, a data set's own]
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    turns: Option<String>,
    /// From the end of an answer to the next turn: 2s, exponential:2s, uniform:1s..5s,
    /// lognormal:10s,5s [default: 1s]
    #[arg(long, value_name = "TIME|DISTRIBUTION", help_heading = "Workload")]
    think_time: Option<String>,
    /// Tokens of a first turn [default: 512]
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    first_turn_input: Option<String>,
    /// Tokens that each later turn adds [default: 64]
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    turn_input: Option<String>,
    /// Tokens of each answer [default: 128, a data set's own]
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    turn_output: Option<String>,
    /// What --concurrency counts: conversations (who thinks keeps a place) or requests
    /// [default: conversations]
    #[arg(long, value_name = "conversations|requests", help_heading = "Workload")]
    concurrency_of: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    blocks: BlockFlags,
    #[command(flatten)]
    #[serde(flatten)]
    serving: ServingFlags,
}

/// Text blocks.
#[derive(Args, Serialize)]
pub struct BlockFlags {
    /// Characters of a block [default: 100,500,1000,2000,4000]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Text blocks")]
    block_sizes: Option<Vec<u32>>,
    /// Characters asked for [default: 100,500,1000,2000,4000]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Text blocks")]
    wanted_lengths: Option<Vec<u32>>,
    /// Requests in flight, one for each block size [default: 32 up to 100 characters, 25 up to
    /// 500, 16 beyond]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Text blocks")]
    block_concurrency: Option<Vec<u32>>,
    /// What is asked about a block: continue-zh, continue-en, repeat-, summarise- or translate-
    /// with zh or en, or a file with {text} and {num_completion} [default: continue-zh]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Text blocks")]
    template: Option<String>,
    /// What stands before the template in every prompt
    #[arg(long, value_name = "TEXT", help_heading = "Text blocks")]
    preamble: Option<String>,
    /// The most output tokens of a request [default: 4 x the characters asked for + 256, at
    /// most 4096]
    #[arg(long, value_name = "N", help_heading = "Text blocks")]
    max_output_tokens: Option<u32>,
}

/// ShareGPT with the lengths of its conversations: without --input-lengths.
#[derive(Args, Serialize)]
pub struct ServingFlags {
    /// Leave out prompts and answers of fewer tokens [default: 4]
    #[arg(long, value_name = "N", help_heading = "ShareGPT with its own lengths")]
    min_tokens: Option<u32>,
    /// Leave out prompts of more tokens [default: 1024]
    #[arg(long, value_name = "N", help_heading = "ShareGPT with its own lengths")]
    max_prompt_tokens: Option<u32>,
    /// Leave out conversations of more tokens, prompt and answer together [default: 2048]
    #[arg(long, value_name = "N", help_heading = "ShareGPT with its own lengths")]
    max_total_tokens: Option<u32>,
}
