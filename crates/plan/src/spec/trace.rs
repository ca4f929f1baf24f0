//! The keys for a trace: its format, and which part of it is sent.

use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::{Mistakes, values, values::Value};
use crate::{TraceFormat, TracePlan, TraceWindow};
use inferometer_model::did_you_mean;

/// The keys of `--workload trace`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceKeys {
    /// Format of the trace: auto (recognised by its first line), mooncake (milliseconds), bailian
    /// (the keys of mooncake, seconds), azure, burstgpt, plain (seconds, input tokens, output
    /// tokens). mooncake:128 also states how many tokens a hash stands for. For agents, a name of
    /// `inferometer trace --format` [default: auto] (trace, agents)
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    pub trace_format: Option<String>,
    /// Part of the trace to send, in time since its first row: 10m..20m, ..1h, 30s.. (trace)
    #[arg(long, value_name = "FROM..TO", help_heading = "Workload")]
    pub trace_window: Option<String>,
    /// Multiply the number of requests, and keep the duration of the trace and the times of its
    /// bursts: 2 sends twice as many requests. --replay-speed shortens the duration instead
    /// [default: 1] (trace)
    #[arg(long, value_name = "FACTOR", help_heading = "Workload")]
    pub trace_scale: Option<Value>,
    /// Skip rows of the trace with more than N tokens (input plus output); the report counts the
    /// skipped rows (trace)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub trace_max_tokens: Option<u32>,
}

impl TraceKeys {
    pub(crate) const NAMES: &[&str] =
        &["trace_format", "trace_window", "trace_scale", "trace_max_tokens"];

    /// Resolves the options of the trace in the file `dataset`.
    pub(crate) fn resolve(&self, dataset: String, mistakes: &mut Mistakes) -> TracePlan {
        let scale = mistakes.read("trace_scale", self.trace_scale.as_ref(), values::positive);
        if self.trace_max_tokens.is_some_and(|most| most < 2) {
            mistakes.add(
                "trace_max_tokens",
                "is too small: even a request with one input and one output token would be skipped",
            );
        }
        let (format, block_tokens) = self.format(mistakes);
        TracePlan {
            dataset,
            format,
            block_tokens,
            window: self.window(mistakes),
            scale: scale.unwrap_or(1.0),
            max_tokens: self.trace_max_tokens,
        }
    }

    /// The format, and the number of tokens for which a hash stands: `mooncake`, `auto:16`.
    fn format(&self, mistakes: &mut Mistakes) -> (Option<TraceFormat>, Option<u32>) {
        let Some(given) = self.trace_format.as_deref() else { return (None, None) };
        let (name, block) = given.split_once(':').unwrap_or((given, ""));
        let known = TraceFormat::named(name);
        if known.is_none() && name != "auto" {
            let names = TraceFormat::ALL.map(TraceFormat::name);
            let meant = did_you_mean(name, names);
            let names = names.join(", ");
            let problem = format!("`{name}` is not a trace format{meant}; there are auto, {names}");
            mistakes.add("trace_format", problem);
        }
        let has_hashes = known
            .is_none_or(|known| [TraceFormat::Mooncake, TraceFormat::Bailian].contains(&known));
        let tokens = block.parse().ok().filter(|tokens| *tokens > 0 && has_hashes);
        if given.contains(':') && tokens.is_none() {
            let problem = format!(
                "`{given}` does not end with a number of tokens for each hash, as mooncake:128 or \
                    bailian:16 do; other formats have no hashes"
            );
            mistakes.add("trace_format", problem);
        }
        (known, tokens)
    }

    fn window(&self, mistakes: &mut Mistakes) -> TraceWindow {
        let Some(text) = &self.trace_window else { return TraceWindow::default() };
        window(text).unwrap_or_else(|problem| {
            mistakes.add("trace_window", format!("`{text}` {problem}"));
            TraceWindow::default()
        })
    }
}

/// Parses a window: `10m..20m`, `..1h` or `30s..`.
fn window(text: &str) -> Result<TraceWindow, &'static str> {
    const PROBLEM: &str = "is not a window; write it as 10m..20m, ..1h or 30s..";
    let (from, to) = text.split_once("..").ok_or(PROBLEM)?;
    let end = |text: &str| -> Result<Option<Duration>, &'static str> {
        match text.trim() {
            "" => Ok(None),
            "0" | "0s" => Ok(Some(Duration::ZERO)),
            given => values::span(&Value::Text(given.to_owned())).map(Some),
        }
    };
    let window = TraceWindow { from: end(from)?.unwrap_or_default(), to: end(to)? };
    match window.to {
        Some(to) if to <= window.from => Err("is empty or ends before it begins"),
        _ => Ok(window),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_format_may_state_the_tokens_of_a_hash() {
        let read = |text: &str| {
            let keys = TraceKeys { trace_format: Some(text.to_owned()), ..TraceKeys::default() };
            let mut mistakes = Mistakes::default();
            (keys.format(&mut mistakes), mistakes.0.is_empty())
        };
        let mooncake = Some(TraceFormat::Mooncake);
        for (text, format, tokens) in [
            ("auto", None, None),
            ("auto:16", None, Some(16)),
            ("mooncake", mooncake, None),
            ("mooncake:128", mooncake, Some(128)),
            ("bailian:16", Some(TraceFormat::Bailian), Some(16)),
        ] {
            assert_eq!(read(text), ((format, tokens), true), "{text}");
        }
        for wrong in ["mooncaek", "mooncake:", "mooncake:0", "auto:many", "azure:16"] {
            assert!(!read(wrong).1, "{wrong}");
        }
    }

    #[test]
    fn a_trace_window_is_parsed_with_an_optional_start_and_end() {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        for (text, from, to) in [
            ("10m..20m", minutes(10), Some(minutes(20))),
            ("..1h", Duration::ZERO, Some(minutes(60))),
            ("0..1h", Duration::ZERO, Some(minutes(60))),
            ("2m..", minutes(2), None),
        ] {
            assert_eq!(window(text), Ok(TraceWindow { from, to }), "{text}");
        }
        for wrong in ["10m", "20m..10m", "a..b", "0..0"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
    }
}
