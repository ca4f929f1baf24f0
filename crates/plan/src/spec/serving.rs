//! The keys of the workload `sharegpt` for conversations with their own lengths.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Mistakes;

/// The keys that decide which conversations of a ShareGPT file are used.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServingKeys {
    /// Skip conversations whose prompt has fewer than N tokens. Without --output-length, skip also
    /// those whose answer has fewer [default: 4]
    #[arg(long, value_name = "N", help_heading = "Workload sharegpt without --input-lengths")]
    pub min_tokens: Option<u32>,
    /// Skip conversations whose prompt has more than N tokens [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Workload sharegpt without --input-lengths")]
    pub max_prompt_tokens: Option<u32>,
    /// Skip conversations with more than N tokens, prompt plus answer [default: 2048]
    #[arg(long, value_name = "N", help_heading = "Workload sharegpt without --input-lengths")]
    pub max_total_tokens: Option<u32>,
}

/// The limits, in tokens, that decide which conversations of a ShareGPT file are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingLimits {
    /// Conversations with a shorter prompt than this are left out, and those with a shorter answer, unless
    /// `output_tokens` is set.
    pub min_tokens: u32,
    /// Conversations with a longer prompt than this are left out.
    pub max_prompt_tokens: u32,
    /// Conversations are left out if the prompt and the answer (or `output_tokens`, if it is set) together
    /// are longer than this.
    pub max_total_tokens: u32,
    /// The output length of all requests; absent: the lengths of the recorded answers. An absent value is
    /// not serialized, so that the plan has the same hash as in versions without this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
}

impl ServingLimits {
    /// The limits of the benchmark scripts of vLLM, from version 0.2 on.
    pub const VLLM: Self = Self {
        min_tokens: 4,
        max_prompt_tokens: 1_024,
        max_total_tokens: 2_048,
        output_tokens: None,
    };
}

impl ServingKeys {
    /// The names of these keys, and `output_length`, which is also a key for rows of the user's own data.
    pub(crate) const NAMES: &[&str] =
        &["min_tokens", "max_prompt_tokens", "max_total_tokens", "output_length"];

    /// Resolves the limits. If `output_length` is given, all answers have that length.
    pub(crate) fn resolve(
        &self,
        output_length: Option<u32>,
        mistakes: &mut Mistakes,
    ) -> ServingLimits {
        if output_length == Some(0) {
            mistakes.add("output_length", "is 0; give at least 1");
        }
        let of_vllm = ServingLimits::VLLM;
        let limits = ServingLimits {
            min_tokens: self.min_tokens.unwrap_or(of_vllm.min_tokens).max(1),
            max_prompt_tokens: self.max_prompt_tokens.unwrap_or(of_vllm.max_prompt_tokens),
            max_total_tokens: self.max_total_tokens.unwrap_or(of_vllm.max_total_tokens),
            output_tokens: output_length,
        };
        if limits.max_prompt_tokens < limits.min_tokens {
            mistakes.add("max_prompt_tokens", "is below min_tokens: no conversation is left");
        }
        let (output, of_output) = match output_length {
            Some(length) => (length, "min_tokens plus output_length"),
            None => (limits.min_tokens, "twice min_tokens"),
        };
        if limits.max_total_tokens < limits.min_tokens.saturating_add(output) {
            let problem = format!("is below {of_output}: no conversation is left");
            mistakes.add("max_total_tokens", problem);
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_must_allow_the_shortest_prompt_and_the_answer() {
        let told = |output: Option<u32>, total: u32| {
            let mut mistakes = Mistakes::default();
            let keys = ServingKeys { max_total_tokens: Some(total), ..ServingKeys::default() };
            keys.resolve(output, &mut mistakes);
            mistakes.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(told(None, 8), "");
        assert!(told(None, 7).contains("is below twice min_tokens"));
        assert_eq!(told(Some(1), 7), "");
        assert!(told(Some(9), 12).contains("is below min_tokens plus output_length"));
    }
}
