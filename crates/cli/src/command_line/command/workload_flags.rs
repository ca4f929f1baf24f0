//! The flags for the source of prompts. Each flag is a key of a plan.

use clap::Args;
use serde::Serialize;

/// Each flag sets the plan key of the same name.
#[derive(Args, Serialize)]
pub struct WorkloadFlags {
    /// Where prompts come from [default: random]:
    ///   random: random words
    ///   prefix: random words, in groups with a shared prefix
    ///   sharegpt: conversations of a ShareGPT file
    ///   jsonl, csv, parquet: rows of a file
    ///   replay: requests that --dump-workload wrote
    ///   trace: recorded arrivals and lengths
    ///   conversation: several turns
    ///   blocks: pieces of a text
    /// If a flag is only for some workloads, its help or the heading of its group names these workloads
    #[arg(long, verbatim_doc_comment, value_name = "NAME", help_heading = "Workload")]
    workload: Option<String>,
    /// Typical lengths and prefixes of an application: rag, classifier, rewriting, chat,
    /// summarising, code-completion, agent (`inferometer list scenarios` lists them)
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    scenario: Option<String>,
    /// Draw each length uniformly between LENGTH x (1 - SHARE) and LENGTH x (1 + SHARE), as vLLM's
    /// --random-range-ratio does. LENGTH is a value of --input-lengths or --output-lengths: with a
    /// share of 0.5, 1024 becomes 512 to 1536 (random)
    #[arg(long, value_parser = super::number::finite, value_name = "SHARE", help_heading = "Workload")]
    range_ratio: Option<f64>,
    /// Distribution of input lengths in tokens, instead of --input-lengths: uniform:LEAST..MOST,
    /// normal:MEAN,DEVIATION, lognormal:MEAN,DEVIATION, exponential:MEAN, histogram:FILE (lines of
    /// LENGTH WEIGHT or LEAST..MOST WEIGHT) (random)
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "Workload")]
    input_distribution: Option<String>,
    /// Distribution of output lengths, in the form of --input-distribution (random)
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "Workload")]
    output_distribution: Option<String>,
    /// Length in tokens of the shared prefix. With --workload random, all prompts of a pass share
    /// it; with --workload prefix, all prompts of a group. The prefix is part of --input-lengths,
    /// but comes in addition to lengths drawn from --input-distribution (random, prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    prefix_length: Option<u32>,
    /// Number of groups of prompts in each pass; prompts of a group share a prefix [default: 8]
    /// (prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    prefix_groups: Option<u32>,
    /// Number of prompts of each group in each pass, instead of --requests (prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    prompts_per_group: Option<u32>,
    /// Zipf exponent of the groups' popularity: group k gets requests in proportion to k^-A
    /// [default: 0, equal] (prefix)
    #[arg(long, value_parser = super::number::finite, value_name = "A", help_heading = "Workload")]
    prefix_zipf: Option<f64>,
    /// Share of requests that belong to a group, from 0 to 1; the others have no shared prefix
    /// [default: 1] (prefix)
    #[arg(long, value_parser = super::number::finite, value_name = "SHARE", help_heading = "Workload")]
    warm_share: Option<f64>,
    /// Reset the server's prefix cache before each pass, if the server supports it (vLLM, SGLang)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    reset_prefix_cache: Option<bool>,
    /// Names of the columns in your file, for the fields prompt, messages, token_ids,
    /// output_tokens, body and timestamp (jsonl, csv, parquet)
    #[arg(long, value_name = "FIELD=COLUMN,...", help_heading = "Workload")]
    columns: Option<String>,
    /// Output length in tokens, for rows that state none (jsonl, csv, parquet) or for all answers
    /// (sharegpt without --input-lengths)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    output_length: Option<u32>,
    /// Send each row at the time in its column `timestamp` (seconds, or date and time), relative to
    /// the first row; --replay-speed changes the speed (jsonl, csv, parquet)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    replay_rows: Option<bool>,
    /// Write all requests to a file; `--workload replay` sends them again
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    dump_workload: Option<String>,
    /// File of the data set, or name of a downloaded data set (`inferometer fetch`). For the
    /// workload blocks: a text file, a JSONL file or a folder [default for blocks: the built-in
    /// Chinese text shipped-zh, or shipped-en with an English --template] (sharegpt, jsonl, csv,
    /// parquet, replay, trace, conversation, blocks)
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    dataset: Option<String>,
    /// Format of the trace: auto (recognised by its first line), mooncake, azure, burstgpt, plain
    /// (seconds, input tokens, output tokens) [default: auto] (trace)
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    trace_format: Option<String>,
    /// Part of the trace to send, in time since its first row: 10m..20m, ..1h, 30s.. (trace)
    #[arg(long, value_name = "FROM..TO", help_heading = "Workload")]
    trace_window: Option<String>,
    /// Multiply the number of requests, and keep the duration of the trace and the times of its
    /// bursts: 2 sends twice as many requests. --replay-speed shortens the duration instead
    /// [default: 1] (trace)
    #[arg(long, value_name = "FACTOR", help_heading = "Workload")]
    trace_scale: Option<String>,
    /// Skip rows of the trace with more than N tokens (input plus output); the report counts the
    /// skipped rows (trace)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    trace_max_tokens: Option<u32>,
    /// Number of conversations in each pass [default: 32] (conversation)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    conversations: Option<u32>,
    /// Number of turns of each conversation, or the maximum number if a data set has its own turns:
    /// a number such as 4, uniform:LEAST..MOST such as uniform:2..8, or geometric:MEAN such as
    /// geometric:4 [default: 4, or the turns of the data set] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    turns: Option<String>,
    /// Time from the end of an answer to the next turn: 2s, exponential:2s, uniform:1s..5s,
    /// lognormal:10s,5s [default: 1s] (conversation)
    #[arg(long, value_name = "TIME|DISTRIBUTION", help_heading = "Workload")]
    think_time: Option<String>,
    /// Input tokens of the first turn [default: 512] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    first_turn_input: Option<String>,
    /// Input tokens that each later turn adds [default: 64] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    turn_input: Option<String>,
    /// Output tokens of each answer [default: 128, or the lengths in the data set] (conversation)
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Workload")]
    turn_output: Option<String>,
    /// What --concurrency counts: conversations or requests. A conversation also counts while its
    /// next turn waits for the think time [default: conversations] (conversation)
    #[arg(long, value_name = "conversations|requests", help_heading = "Workload")]
    concurrency_of: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    blocks: BlockFlags,
    #[command(flatten)]
    #[serde(flatten)]
    serving: ServingFlags,
}

/// The flags of the workload `blocks`.
#[derive(Args, Serialize)]
pub struct BlockFlags {
    /// Sizes in characters of the text blocks in prompts [default: 100,500,1000,2000,4000; 100,500
    /// if neither a server, nor sizes, nor a load is given]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Workload blocks")]
    block_sizes: Option<Vec<u32>>,
    /// Output sizes that the prompt asks for, in characters [default: 100,500,1000,2000,4000;
    /// 100,500 if neither a server, nor sizes, nor a load is given]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Workload blocks")]
    wanted_lengths: Option<Vec<u32>>,
    /// Requests in flight, one number for each block size [default: 32 for blocks of up to 100
    /// characters, 25 for up to 500, 16 for longer blocks]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Workload blocks")]
    block_concurrency: Option<Vec<u32>>,
    /// The task for each block: continue-zh, continue-en, repeat-zh, repeat-en, summarise-zh,
    /// summarise-en, translate-zh, translate-en, or a file with {text} (the block) and
    /// {num_completion} (the requested output size) [default: continue-zh]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Workload blocks")]
    template: Option<String>,
    /// Text before the template in every prompt
    #[arg(long, value_name = "TEXT", help_heading = "Workload blocks")]
    preamble: Option<String>,
    /// Maximum output tokens of a request [default: 4 x characters of --wanted-lengths + 256, at
    /// most 4096]
    #[arg(long, value_name = "N", help_heading = "Workload blocks")]
    max_output_tokens: Option<u32>,
}

/// The flags of the workload `sharegpt` without --input-lengths: prompts and answers keep the lengths of the data set.
#[derive(Args, Serialize)]
pub struct ServingFlags {
    /// Skip conversations whose prompt has fewer than N tokens. Without --output-length, skip also
    /// those whose answer has fewer [default: 4]
    #[arg(long, value_name = "N", help_heading = "Workload sharegpt without --input-lengths")]
    min_tokens: Option<u32>,
    /// Skip conversations whose prompt has more than N tokens [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Workload sharegpt without --input-lengths")]
    max_prompt_tokens: Option<u32>,
    /// Skip conversations with more than N tokens, prompt plus answer [default: 2048]
    #[arg(long, value_name = "N", help_heading = "Workload sharegpt without --input-lengths")]
    max_total_tokens: Option<u32>,
}
