//! Defaults of vLLM 0.8 and later for absent arguments. The limits depend on the card, and scheduling ahead depends on
//! the version. A profile can override these defaults.

use crate::{Profile, card::Card};

/// Cards with at least this much memory have the larger limits, except the A100 (`vllm/engine/arg_utils.py`).
const LARGE_CARD_BYTES: u64 = 70 << 30;
/// The first version that schedules ahead by default.
const AHEAD_FROM: (u32, u32) = (0, 14);

/// The defaults of vLLM's server for `--max-num-seqs` and `--max-num-batched-tokens`.
pub(super) fn limits(profile: &Profile, card: &Card) -> (u32, u32) {
    let is_large = card.memory_bytes >= LARGE_CARD_BYTES && !card.name.contains("a100");
    let (sequences, tokens) = if is_large { (1024, 8192) } else { (256, 2048) };
    let steps = profile.steps.as_ref();
    (
        steps.and_then(|steps| steps.max_num_seqs).unwrap_or(sequences),
        steps.and_then(|steps| steps.max_num_batched_tokens).unwrap_or(tokens),
    )
}

/// Whether the engine schedules ahead (`--async-scheduling`). Only the cost model for vLLM 0.8 and later supports this
/// option.
pub(super) fn schedules_ahead(profile: &Profile) -> bool {
    let Some(steps) = &profile.steps else { return false };
    let mut parts = profile.engine_version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    steps.asynchronous.unwrap_or((next(), next()) >= AHEAD_FROM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::card;
    use crate::profile::profile;

    #[test]
    fn default_limits_depend_on_the_card_and_asynchronous_scheduling_on_the_version() {
        let mut own = profile("vllm-0.23-h100-sxm").unwrap();
        for (name, expected) in [
            ("h100-sxm", (1024, 8192)),
            ("h100-pcie", (1024, 8192)),
            ("rtx-pro-6000", (1024, 8192)),
            ("a100-sxm-80gb", (256, 2048)),
            ("l40s", (256, 2048)),
        ] {
            let card = card(name).unwrap().unwrap();
            assert_eq!(limits(&own, &card), expected, "{name}");
        }
        for (version, is_ahead) in
            [("0.8", false), ("0.11.0", false), ("0.14.0", true), ("0.23", true), ("1.0", true)]
        {
            own.engine_version = version.to_owned();
            assert_eq!(schedules_ahead(&own), is_ahead, "{version}");
        }
        let steps = own.steps.as_mut().unwrap();
        (steps.asynchronous, steps.max_num_seqs) = (Some(false), Some(7));
        assert!(!schedules_ahead(&own));
        assert_eq!(limits(&own, &card("l40s").unwrap().unwrap()), (7, 2048));
    }
}
