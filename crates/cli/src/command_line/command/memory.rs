//! `memory`: computes how the memory of a card is used: weights, activations, and keys and values. It also prints the
//! longest sequence, and how many sequences of each length fit.

mod layout;

use std::fmt::Write as _;

use clap::Args;
use inferometer_engine::model::Windows;
use inferometer_engine::policy::scheduler;
use inferometer_engine::{Engine, EngineConfig, Memory, ResolvedConfig};
use inferometer_plan::spec::tokens;
use serde_json::json;

use super::engine_flags::{EngineFlags, config};
use crate::command_line::{Failure, print};

/// The default sequence lengths of the table in tokens. Lengths above the longest possible sequence are left out.
const LENGTHS: [u32; 10] = [128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];
/// The values of `--tensor-parallel-size` to try if a model does not fit. The smallest one that is enough is suggested.
const CARDS: [u32; 5] = [2, 4, 8, 16, 32];
const GB: f64 = 1e-9;

/// The flags of `memory`.
#[derive(Args)]
pub struct MemoryArgs {
    /// Model by name, or the path of a config.json
    #[arg(long, value_name = "NAME|FILE")]
    model: String,
    /// Profile (fitted constants) of the embedded engine, by name or file [default: the profile of
    /// the model]
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    #[command(flatten)]
    engine: EngineFlags,
    /// Sequence lengths in tokens (prompt plus output); for each length, the number of sequences
    /// that fit is printed [default: from 128 up to the longest]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    #[arg(value_parser = some_tokens)]
    lengths: Vec<u32>,
    /// Number of data-parallel ranks with expert parallelism, each on --tensor-parallel-size cards:
    /// routed experts are split over all cards, all other weights over the cards of a rank
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    data_parallel_size: u32,
    /// Print one JSON document on stdout
    #[arg(long)]
    json: bool,
}

/// Prints how the memory is used. If the model does not fit, the text is not printed (a JSON document is printed), and
/// the error states the smallest of `CARDS` with which it fits, if there is one. If the model's own context does not
/// fit, the text says so and states the longest context that fits. If a given `--max-model-len` does not fit, this is a
/// usage error, as in other commands.
pub fn memory(arguments: &MemoryArgs) -> Result<(), Failure> {
    let given = config(Some(&arguments.model), arguments.profile.as_deref(), &arguments.engine)?;
    let found = Fit::of(&given, arguments.data_parallel_size, &arguments.lengths)?;
    let is_too_large = found.memory.kv_blocks == 0;
    if !is_too_large || arguments.json {
        print(&if arguments.json { format!("{:#}\n", found.json()) } else { found.text() })?;
    }
    let asks_context = arguments.engine.given().contains_key("max_model_len");
    if found.refused_context && !asks_context {
        return Ok(());
    }
    if found.ranks > 1 {
        let Fit { ranks, resolved, .. } = &found;
        let (model, cards) = (&resolved.model.name, resolved.tensor_parallel_size);
        return match is_too_large || found.refused_context {
            true => Err(Failure::usage(format!(
                "{model} does not fit on {ranks} data-parallel ranks of {cards} cards; give more of them \
                 (--data-parallel-size, --tensor-parallel-size), or a lower --max-model-len"
            ))),
            false => Ok(()),
        };
    }
    let cards = is_too_large.then(|| found.cards_needed(&given)).flatten();
    Engine::new(given).map(drop).map_err(|error| match cards {
        Some(cards) => {
            Failure::usage(format!("{error}; the model fits with --tensor-parallel-size {cards}"))
        }
        None => Failure::usage(error),
    })
}

/// The use of the memory by one configuration.
struct Fit {
    resolved: ResolvedConfig,
    /// The number of data-parallel ranks.
    ranks: u32,
    memory: Memory,
    /// The length of the longest sequence in tokens, limited by memory or by the engine.
    longest: u64,
    /// Whether the engine does not start, because one sequence of `--max-model-len` tokens does not fit.
    refused_context: bool,
    /// Sequence lengths in tokens, each with the number of sequences of this length that fit at the same time.
    rows: Vec<(u32, u32)>,
}

fn some_tokens(text: &str) -> Result<u32, String> {
    match tokens(text)? {
        0 => Err("a sequence has at least 1 token".to_owned()),
        tokens => Ok(tokens),
    }
}

impl Fit {
    fn of(config: &EngineConfig, ranks: u32, lengths: &[u32]) -> Result<Self, Failure> {
        let resolved = config.resolve().map_err(Failure::usage)?;
        let model = &resolved.model;
        let layout = model.layout.as_ref();
        let routes = layout.is_some_and(|it| it.modules.iter().any(|it| it.routed.is_some()));
        if ranks > 1 && !routes && model.experts.is_none() {
            return Err(Failure::usage(format!(
                "--data-parallel-size {ranks}: {} has no experts to split, so each rank is an engine \
                 of its own; omit this flag",
                model.name
            )));
        }
        let memory = Memory::of_ranks(&resolved, ranks);
        let longest = memory.longest_sequence().min(resolved.limits.max_model_len);
        let longest = u64::from(longest);
        let most = resolved.limits.max_model_len;
        let has_room = longest >= u64::from(most);
        let scheduler = scheduler(&resolved.profile).map_err(Failure::usage)?;
        let starts = has_room || !scheduler.requires_kv_of_one_sequence();
        let refused_context = memory.kv_blocks > 0 && !starts;
        let mut rows: Vec<u32> = match lengths {
            [] => LENGTHS.into_iter().filter(|&tokens| u64::from(tokens) <= longest).collect(),
            lengths => lengths.to_vec(),
        };
        if lengths.is_empty() && refused_context {
            rows.push(most);
        }
        if let Some(longer) = rows.iter().find(|&&tokens| tokens > most) {
            return Err(Failure::usage(format!(
                "--lengths: a sequence of {longer} tokens is longer than the maximum of the engine, {most} tokens \
                 (--max-model-len)"
            )));
        }
        let rows = rows.into_iter().map(|tokens| (tokens, memory.sequences(tokens))).collect();
        Ok(Self { resolved, ranks, memory, longest, refused_context, rows })
    }

    fn is_limited_by_memory(&self) -> bool {
        self.longest < u64::from(self.resolved.limits.max_model_len)
    }

    fn text(&self) -> String {
        let Self { resolved, memory, longest, .. } = self;
        let (profile, cards) = (&resolved.profile, resolved.tensor_parallel_size);
        let mut text = format!(
            "{} ({}) on {} under {} {}, profile {}\n\n",
            resolved.model.name,
            resolved.weights,
            match resolved.tensor_parallel_size * resolved.pipeline_parallel_size * self.ranks {
                1 => resolved.card.name.clone(),
                all => format!("{all} x {}", resolved.card.name),
            },
            profile.engine,
            profile.engine_version,
            profile.name
        );
        let of_each = if cards * self.ranks > 1 { ", of each card" } else { "" };
        let _ = writeln!(text, "{:<28} {:>10}", format!("memory{of_each}"), "GB");
        let usable = format!("usable ({} of it)", resolved.gpu_memory_utilization);
        let kv_bytes = memory.kv_tokens() as f64 * memory.token_bytes;
        for (what, bytes) in [
            ("all", memory.card_bytes),
            (usable.as_str(), memory.usable_bytes),
            ("weights", memory.weight_bytes),
            ("activations, runtime", memory.activation_bytes),
            ("keys and values", kv_bytes),
        ] {
            let _ = writeln!(text, "{what:<28} {:>10.2}", bytes * GB);
        }
        let why = if self.is_limited_by_memory() { "by memory" } else { "--max-model-len" };
        let _ = writeln!(
            text,
            "\n{:<28} {:>10}  in blocks of {}, {:.1} kB each token\n{:<28} {longest:>10}  {why}\n",
            "KV tokens",
            memory.kv_tokens(),
            memory.block_size,
            memory.token_bytes * 1e-3,
            "longest sequence, tokens"
        );
        let slots = resolved.limits.max_num_seqs;
        let _ = writeln!(
            text,
            "tokens of a sequence  fit at once  run at once (--max-num-seqs {slots})"
        );
        for (tokens, sequences) in &self.rows {
            let run = (*sequences).min(slots);
            let mark = if *sequences == 0 { "  does not fit" } else { "" };
            let _ = writeln!(text, "{tokens:>20}  {sequences:>11}  {run:>11}{mark}");
        }
        if let Some(Windows { tokens, layers }) = resolved.windows {
            let of = resolved.model.layers;
            let _ = writeln!(
                text,
                "note: {layers} of {of} layers have sliding-window attention: they read only the last {tokens} tokens"
            );
        }
        if let Some(found) = &resolved.model.layout {
            text += &layout::text(resolved, self.ranks, found);
        }
        if self.ranks > 1 {
            let ranks = self.ranks;
            let _ = writeln!(
                text,
                "note: of {ranks} data-parallel ranks; sequences and KV tokens are those of one rank"
            );
        }
        for caveat in resolved.caveats() {
            let _ = writeln!(text, "note: {caveat}");
        }
        if self.refused_context {
            let (context, engine) = (resolved.limits.max_model_len, &profile.engine);
            let _ = writeln!(
                text,
                "The longest context that fits is {longest} tokens. A context of {context} tokens does \
                 not fit, so {engine} starts only with --max-model-len {longest} or less."
            );
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let Self { resolved, memory, longest, rows, .. } = self;
        let slots = resolved.limits.max_num_seqs;
        let row = |(tokens, sequences): &(u32, u32)| json!({ "tokens": tokens, "fit": sequences, "run": (*sequences).min(slots) });
        let mut document = json!({
            "model": resolved.model.name,
            "weights": resolved.weights.name(),
            "card": resolved.card.name,
            "tensor_parallel_size": resolved.tensor_parallel_size,
            "pipeline_parallel_size": resolved.pipeline_parallel_size,
            "engine": resolved.profile.engine,
            "engine_version": resolved.profile.engine_version,
            "profile": resolved.profile.name,
            "card_bytes": memory.card_bytes,
            "usable_bytes": memory.usable_bytes,
            "weight_bytes": memory.weight_bytes,
            "activation_bytes": memory.activation_bytes,
            "kv_bytes_per_token": memory.token_bytes,
            "kv_blocks": memory.kv_blocks,
            "block_size": memory.block_size,
            "kv_tokens": memory.kv_tokens(),
            "longest_sequence": longest,
            "max_num_seqs": slots,
            "sequences": rows.iter().map(row).collect::<Vec<_>>(),
            "caveats": resolved.caveats(),
        });
        if self.ranks > 1 {
            document["data_parallel_size"] = self.ranks.into();
        }
        if let (Some(found), Some(keys)) = (&resolved.model.layout, document.as_object_mut()) {
            keys.extend(layout::json(resolved, found));
        }
        document
    }

    /// The smallest number of `CARDS` that is larger than the current number and with which the engine would start.
    /// None if there is no such number.
    fn cards_needed(&self, config: &EngineConfig) -> Option<u32> {
        let fits = |cards: &u32| {
            let more = EngineConfig { tensor_parallel_size: Some(*cards), ..config.clone() };
            Engine::new(more).is_ok()
        };
        let now = self.resolved.tensor_parallel_size;
        CARDS.into_iter().filter(|&cards| cards > now).find(fits)
    }
}
