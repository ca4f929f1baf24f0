//! The options of lengths that vary and of shared prefixes.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Mistakes;
use crate::{DrawnPlan, Lengths, PrefixPlan};
use inferometer_model::load::distribution::{Distribution, DistributionError};

/// The keys of the workloads `random` and `prefix`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrawnKeys {
    /// Draw each length uniformly between LENGTH x (1 - SHARE) and LENGTH x (1 + SHARE), as vLLM's
    /// --random-range-ratio does. LENGTH is a value of --input-lengths or --output-lengths: with a
    /// share of 0.5, 1024 becomes 512 to 1536 (random)
    #[arg(long, value_parser = super::values::finite, value_name = "SHARE", help_heading = "Workload")]
    pub range_ratio: Option<f64>,
    /// Distribution of input lengths in tokens, instead of --input-lengths: uniform:LEAST..MOST,
    /// normal:MEAN,DEVIATION, lognormal:MEAN,DEVIATION, exponential:MEAN, histogram:FILE (lines of
    /// LENGTH WEIGHT or LEAST..MOST WEIGHT). Or pairs of an input and an output length that requests
    /// have together, with weights: 'pairs:256,128:60;512,512:40'; 256|10 is a mean and a deviation
    /// (random)
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "Workload")]
    pub input_distribution: Option<String>,
    /// Distribution of output lengths, in the form of --input-distribution (random)
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "Workload")]
    pub output_distribution: Option<String>,
    /// Length in tokens of the shared prefix. With --workload random, all prompts of a pass share
    /// it; with --workload prefix, all prompts of a group. The prefix is part of --input-lengths,
    /// but comes in addition to lengths drawn from --input-distribution (random, prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub prefix_length: Option<u32>,
    /// Number of groups of prompts in each pass; prompts of a group share a prefix [default: 8]
    /// (prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub prefix_groups: Option<u32>,
    /// Number of prompts of each group in each pass, instead of --requests (prefix)
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub prompts_per_group: Option<u32>,
    /// Zipf exponent of the groups' popularity: group k gets requests in proportion to k^-A
    /// [default: 0, equal] (prefix)
    #[arg(long, value_parser = super::values::finite, value_name = "A", help_heading = "Workload")]
    pub prefix_zipf: Option<f64>,
    /// Share of requests that belong to a group, from 0 to 1; the others have no shared prefix
    /// [default: 1] (prefix)
    #[arg(long, value_parser = super::values::finite, value_name = "SHARE", help_heading = "Workload")]
    pub warm_share: Option<f64>,
}

/// The beginning of pairs of lengths.
const PAIRS: &str = "pairs:";
/// The default number of groups of the workload `prefix`.
const GROUPS: u32 = 8;

impl DrawnKeys {
    pub(crate) const OF_RANDOM: &[&str] =
        &["range_ratio", "input_distribution", "output_distribution", "prefix_length"];
    pub(crate) const OF_PREFIX: &[&str] =
        &["prefix_length", "prefix_groups", "prompts_per_group", "prefix_zipf", "warm_share"];

    /// The options of random words if lengths vary or a prefix is shared; `None` for plain random words.
    pub(crate) fn random(&self, mistakes: &mut Mistakes) -> Option<DrawnPlan> {
        let Self { range_ratio, input_distribution, output_distribution, prefix_length, .. } = self;
        let ratio = range_ratio.unwrap_or(0.0);
        if !(0.0..1.0).contains(&ratio) {
            mistakes.add("range_ratio", format!("{ratio} is not a share from 0 to below 1"));
        }
        let mut lengths = |key, given: &Option<String>| match given {
            None => Lengths::Around { ratio },
            Some(text) => own_lengths(text).unwrap_or_else(|problem| {
                mistakes.add(key, format!("`{text}` {problem}"));
                Lengths::Around { ratio }
            }),
        };
        let input = lengths("input_distribution", input_distribution);
        let mut output = lengths("output_distribution", output_distribution);
        if matches!(output, Lengths::Pairs(_)) {
            mistakes
                .add("output_distribution", "is a list of pairs; give it as --input-distribution");
        } else if matches!(input, Lengths::Pairs(_)) {
            if output_distribution.is_some() {
                let problem = "is not used: the pairs of --input-distribution have output lengths";
                mistakes.add("output_distribution", problem);
            }
            output = input.clone();
        }
        if range_ratio.is_some() && input.is_own() && output.is_own() {
            mistakes.add("range_ratio", "is not used: both lengths have a distribution");
        }
        let prefix_length = prefix_length.unwrap_or(0);
        let is_plain = ratio == 0.0 && !input.is_own() && !output.is_own() && prefix_length == 0;
        (!is_plain).then_some(DrawnPlan { input, output, prefix_length })
    }

    /// Whether the lengths are pairs.
    pub(crate) fn has_pairs(&self) -> bool {
        self.input_distribution.as_ref().is_some_and(|text| text.starts_with(PAIRS))
    }

    /// The options of prompts in groups with a shared prefix.
    pub(crate) fn prefix(&self, mistakes: &mut Mistakes) -> PrefixPlan {
        if self.prefix_length.is_none() {
            mistakes
                .add("prefix_length", "is missing: it is the number of tokens that a group shares");
        }
        let mut positive = |key, given: Option<u32>, default| {
            if given == Some(0) {
                mistakes.add(key, "is 0; give at least 1");
            }
            given.unwrap_or(default)
        };
        let groups = positive("prefix_groups", self.prefix_groups, GROUPS);
        let prefix_length = positive("prefix_length", self.prefix_length, 1);
        positive("prompts_per_group", self.prompts_per_group, 1);
        let zipf = self.prefix_zipf.unwrap_or(0.0);
        if !(zipf.is_finite() && zipf >= 0.0) {
            mistakes.add("prefix_zipf", format!("{zipf} is not a number of at least 0"));
        }
        let warm_share = self.warm_share.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&warm_share) {
            mistakes.add("warm_share", format!("{warm_share} is not a share from 0 to 1"));
        }
        if self.prompts_per_group.is_some() && (zipf > 0.0 || warm_share < 1.0) {
            mistakes.add(
                "prompts_per_group",
                "is the same for all groups: leave out --prefix-zipf and --warm-share, or give \
                 --requests instead",
            );
        }
        PrefixPlan { groups, prefix_length, zipf, warm_share }
    }

    /// The number of requests in a pass, if the user gave the number of prompts per group.
    pub(crate) fn requests(&self) -> Option<u32> {
        let groups = self.prefix_groups.unwrap_or(GROUPS);
        self.prompts_per_group.map(|prompts| prompts.saturating_mul(groups))
    }
}

/// Why a text states no lengths, as the rest of a sentence that begins with the quoted text.
#[derive(Debug, thiserror::Error)]
pub(super) enum LengthsError {
    #[error("has no file; write histogram:FILE")]
    NoFile,
    #[error(
        "is not a list of pairs; write pairs:INPUT,OUTPUT:WEIGHT;..., such as pairs:256,128:60;512,512:40, \
         with each pair once and weights above 0"
    )]
    NoPairs,
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}

/// Parses `histogram:FILE`, `pairs:...`, or a distribution of numbers of tokens.
pub(super) fn own_lengths(text: &str) -> Result<Lengths, LengthsError> {
    if let Some(list) = text.strip_prefix(PAIRS) {
        return super::pairs::parse(list).map(Lengths::Pairs).ok_or(LengthsError::NoPairs);
    }
    if let Some(file) = text.strip_prefix("histogram:") {
        return match file.is_empty() {
            true => Err(LengthsError::NoFile),
            false => Ok(Lengths::Histogram { file: file.to_owned() }),
        };
    }
    let number = |text: &str| text.parse().or_else(|_| super::tokens(text).map(f64::from));
    let tokens = |text: &str| match number(text) {
        Ok(tokens) if (0.0..=f64::from(super::MAX_LENGTH)).contains(&tokens) => Ok(tokens),
        _ => Err("is not a number of tokens"),
    };
    Ok(Lengths::Drawn(Distribution::parse_whole(text, tokens)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::WorkloadKeys;
    use crate::spec::workload::Asked;

    fn resolved(keys: DrawnKeys, workload: &str) -> (crate::WorkloadPlan, Vec<String>) {
        let mut mistakes = Mistakes::default();
        let workload = Some(workload.to_owned());
        let plan = WorkloadKeys { workload, drawn: keys, ..WorkloadKeys::default() }
            .resolve(Asked::default(), &mut mistakes);
        (plan, mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_random_workload_becomes_drawn_only_if_lengths_vary_or_a_prefix_is_shared() {
        use crate::spec::WorkloadPlan::{Drawn, Random};
        let of = |keys| resolved(keys, "random");
        let none = DrawnKeys::default;
        assert_eq!(of(none()), (Random, vec![]));
        assert_eq!(of(DrawnKeys { range_ratio: Some(0.0), ..none() }).0, Random);
        for keys in [
            DrawnKeys { range_ratio: Some(0.5), ..none() },
            DrawnKeys { prefix_length: Some(16), ..none() },
            DrawnKeys { input_distribution: Some("lognormal:512,256".to_owned()), ..none() },
            DrawnKeys { output_distribution: Some("histogram:x.txt".to_owned()), ..none() },
        ] {
            let (plan, mistakes) = of(keys);
            assert!(matches!(plan, Drawn(_)) && mistakes.is_empty(), "{plan:?} {mistakes:?}");
        }
    }

    #[test]
    fn all_mistakes_in_length_and_prefix_keys_are_reported_with_their_key() {
        let text = |text: &str| Some(text.to_owned());
        let (_, told) = resolved(
            DrawnKeys {
                range_ratio: Some(1.0),
                input_distribution: text("normal:many,2"),
                output_distribution: text("histogram:"),
                prefix_groups: Some(2),
                ..DrawnKeys::default()
            },
            "random",
        );
        for key in ["range_ratio", "input_distribution", "output_distribution", "prefix_groups"] {
            assert!(told.iter().any(|told| told.starts_with(key)), "{key}: {told:?}");
        }
        let told = own_lengths("uniform:2.2..2.8").unwrap_err().to_string();
        assert!(told.starts_with("contains no whole number; write"), "{told}");
        let (_, told) = resolved(
            DrawnKeys {
                prompts_per_group: Some(4),
                prefix_zipf: Some(1.0),
                warm_share: Some(1.5),
                ..DrawnKeys::default()
            },
            "prefix",
        );
        for key in ["prefix_length", "prompts_per_group", "warm_share"] {
            assert!(told.iter().any(|told| told.starts_with(key)), "{key}: {told:?}");
        }
    }

    #[test]
    fn pairs_of_lengths_stand_alone_in_the_input_distribution() {
        let of = |input: &str, output: Option<&str>, range_ratio| {
            let input_distribution = Some(input.to_owned());
            let output_distribution = output.map(str::to_owned);
            let keys = DrawnKeys {
                input_distribution,
                output_distribution,
                range_ratio,
                ..DrawnKeys::default()
            };
            resolved(keys, "random")
        };
        let (plan, told) = of("pairs:256,128:60;512,512:40", None, None);
        let crate::WorkloadPlan::Drawn(plan) = plan else { panic!("{plan:?}") };
        assert!(matches!(&plan.input, Lengths::Pairs(pairs) if pairs.len() == 2), "{plan:?}");
        assert_eq!((plan.output, told), (plan.input, vec![]));
        for (input, output, ratio, expected) in [
            ("pairs:8,8;8,8", None, None, "`pairs:8,8;8,8` is not a list of pairs; write"),
            (
                "pairs:8,8",
                Some("uniform:2..8"),
                None,
                "output_distribution (--output-distribution): is not used",
            ),
            ("uniform:2..8", Some("pairs:8,8"), None, "give it as --input-distribution"),
            ("pairs:8,8", None, Some(0.5), "range_ratio (--range-ratio): is not used"),
        ] {
            let told = of(input, output, ratio).1.join("\n");
            assert!(told.contains(expected), "{told}");
        }
    }
}
