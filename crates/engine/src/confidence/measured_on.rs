//! The engine and card of the measurements that a prediction is compared with. No figures are compared here.

use crate::ResolvedConfig;
use crate::card::{Card, cards};

/// The engine and card of measurements, as far as they are known. An unknown value is assumed to equal the value of the
/// profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredOn {
    /// The engine, in lower case.
    pub engine: Option<String>,
    /// The version of the engine, such as `0.2.7`.
    pub engine_version: Option<String>,
    /// The card, as the measuring person or tool named it.
    pub card: Option<String>,
}

impl MeasuredOn {
    /// Returns why the rows of the profile do not apply to the measurements: another engine, another series of
    /// versions, or another card. `None` if the rows apply.
    pub fn is_unlike(&self, config: &ResolvedConfig) -> Option<String> {
        self.unlike(config).into_iter().next()
    }

    /// Every reason why the rows of the profile do not apply to the measurements: another engine or another series of
    /// versions, and another card.
    pub fn unlike(&self, config: &ResolvedConfig) -> Vec<String> {
        let engine = self.other_engine(config);
        engine.into_iter().chain(self.other_card(config)).collect()
    }

    fn other_engine(&self, config: &ResolvedConfig) -> Option<String> {
        let profile = &config.profile;
        let of_profile =
            format!("the profile was measured with {} {}", profile.engine, profile.engine_version);
        let is_other = self.engine.as_ref().is_some_and(|engine| *engine != profile.engine)
            || self.version_is_unlike(config, |version| series(version).to_owned());
        is_other.then(|| format!("{} was measured, but {of_profile}", self.engine_in_words()))
    }

    fn other_card(&self, config: &ResolvedConfig) -> Option<String> {
        let card = self.card.as_ref().filter(|card| !is_card(card, &config.card.name))?;
        Some(format!("{card} was measured, but the profile was measured on {}", config.card.name))
    }

    /// Whether the measured version is known and differs from the profile's.
    pub fn is_other_version(&self, config: &ResolvedConfig) -> bool {
        self.version_is_unlike(config, str::to_owned)
    }

    /// The difference between the measured engine or card and the profile's, in words; `None` if there is none.
    pub fn difference(&self, config: &ResolvedConfig) -> Option<String> {
        let unlike = self
            .is_unlike(config)
            .map(|why| format!("{why}; these errors do not show the accuracy of predictions"));
        unlike.or_else(|| {
            self.is_other_version(config).then(|| {
                format!(
                    "{} was measured, but the profile was measured with {} {}: intervals are \
                        wider by the measured difference between versions",
                    self.engine_in_words(),
                    config.profile.engine,
                    config.profile.engine_version
                )
            })
        })
    }

    /// The engine and its version, such as `vllm 0.2.5`; unknown parts are left out.
    pub fn engine_in_words(&self) -> String {
        let words = [&self.engine, &self.engine_version];
        words.into_iter().flatten().cloned().collect::<Vec<_>>().join(" ")
    }

    /// Whether the measured version differs from the profile's. Only the parts that `of` returns are compared. If the
    /// profile's version ends in `x`, all versions with the same beginning match.
    fn version_is_unlike(&self, config: &ResolvedConfig, of: impl Fn(&str) -> String) -> bool {
        let known = &config.profile.engine_version;
        self.engine_version.as_ref().is_some_and(|version| {
            let is_one_of = known.strip_suffix('x').is_some_and(|start| version.starts_with(start));
            !is_one_of && of(version) != of(known)
        })
    }
}

/// The first two numbers of a version, such as `0.2` of `0.2.7`. Versions of one series are treated as similar.
fn series(version: &str) -> &str {
    let end = version.match_indices('.').nth(1).map_or(version.len(), |(at, _)| at);
    &version[..end]
}

/// Returns the card that a text such as `NVIDIA H100 80GB HBM3` names. `None` if no card or several cards match. For
/// PCIe cards, drivers report this form factor. For other cards, they report the form factor (`SXM4`), only the kind of
/// memory (`HBM3`), or neither.
pub fn card_in_words(words: &str) -> Option<&'static Card> {
    let lower = words.to_lowercase();
    let is_pcie = lower.contains("pcie");
    let is_of_form = |card: &&Card| {
        let has_form = |form: &str| card.name.contains(form);
        is_pcie == has_form("pcie") || !(has_form("pcie") || has_form("sxm"))
    };
    if let Some(named) = cards().find(|card| card.name == lower) {
        return Some(named);
    }
    let says_form = is_pcie || lower.contains("sxm") || lower.contains("hbm3");
    // The text must contain every part of a name such as `rtx-pro-6000`, except form factor and memory.
    let is_named = |card: &&Card| {
        let mut parts = card.name.split('-').filter(|part| !is_form(part) && !part.ends_with("gb"));
        let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
        parts.all(|part| words.contains(&part))
    };
    let may_be: Vec<&Card> =
        cards().filter(|card| is_card(words, &card.name)).filter(is_named).collect();
    let of_form = may_be.iter().copied().filter(|card| says_form && is_of_form(card));
    match (may_be.as_slice(), of_form.collect::<Vec<_>>().as_slice()) {
        ([only], _) | (_, [only]) => Some(only),
        _ => None,
    }
}

fn is_form(part: &str) -> bool {
    ["pcie", "sxm", "sxm2", "sxm4", "sxm5"].contains(&part)
}

/// Whether a text may mean the card of this name: `A100 40G` may mean `a100-pcie-40gb`. The text must contain the
/// family, such as `a100`. If both text and name state the memory or the form factor, the two must be equal.
fn is_card(words: &str, name: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let lower = text.to_lowercase();
        let parts = lower.split(|c: char| !c.is_alphanumeric()).map(|part| {
            // `40g`, `40gb` and `40gib` are equal.
            let digits = part.trim_end_matches(|c: char| c.is_alphabetic());
            let is_memory = !digits.is_empty() && part[digits.len()..].starts_with('g');
            match part {
                _ if is_memory => format!("{digits}g"),
                // The number is the generation of the socket. Data sheets name the form factor without it: `SXM4` is
                // SXM.
                _ if is_form(part) => part.trim_end_matches(char::is_numeric).to_owned(),
                _ => part.to_owned(),
            }
        });
        parts.filter(|part| !part.is_empty()).collect()
    };
    let (words, name) = (parts(words), parts(name));
    let is_memory =
        |part: &&String| part.ends_with('g') && part.starts_with(|c: char| c.is_ascii_digit());
    let is_form = |part: &&String| is_form(part);
    let agree = |is: &dyn Fn(&&String) -> bool| {
        let of = |parts: &[String]| parts.iter().find(|part| is(part)).cloned();
        of(&words).is_none() || of(&name).is_none() || of(&words) == of(&name)
    };
    name.first().is_some_and(|family| words.contains(family))
        && agree(&is_memory)
        && agree(&is_form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;

    #[test]
    fn card_names_are_matched_by_family_memory_and_form_factor() {
        for (words, is) in [
            ("A100 40G", true),
            ("A100-PCIE-40G", true),
            ("a100-pcie-40gb", true),
            ("NVIDIA A100-PCIE-40GB", true),
            ("A100", true),
            ("A100 80G", false),
            ("A100-SXM4-40GB", false),
            ("H100 80G", false),
        ] {
            assert_eq!(is_card(words, "a100-pcie-40gb"), is, "{words}");
        }
    }

    #[test]
    fn a_card_is_identified_by_its_driver_name_and_an_ambiguous_name_gives_none() {
        let found = |words: &str| card_in_words(words).map(|card| card.name.as_str());
        for (words, expected) in [
            ("NVIDIA H100 80GB HBM3", Some("h100-sxm")),
            ("NVIDIA H100 PCIe", Some("h100-pcie")),
            ("NVIDIA A100-SXM4-80GB", Some("a100-sxm-80gb")),
            ("NVIDIA A100 80GB PCIe", Some("a100-pcie-80gb")),
            ("NVIDIA L40S", Some("l40s")),
            ("NVIDIA H200", Some("h200")),
            ("NVIDIA GeForce RTX 4090", Some("rtx-4090")),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", Some("rtx-pro-6000")),
            ("h100-sxm", Some("h100-sxm")),
            ("NVIDIA H100", None),
            ("A100", None),
            ("abacus", None),
        ] {
            assert_eq!(found(words), expected, "{words}");
        }
    }

    #[test]
    fn a_different_version_is_noted_and_a_different_series_engine_or_card_does_not_match() {
        let config = EngineConfig::of_model("chatglm3-6b").unwrap().resolve().unwrap();
        let on = |engine: &str, version: &str, card: &str| MeasuredOn {
            engine: Some(engine.to_owned()),
            engine_version: Some(version.to_owned()).filter(|version| !version.is_empty()),
            card: Some(card.to_owned()),
        };
        assert_eq!(MeasuredOn::default().difference(&config), None);
        assert_eq!(on("vllm", "0.2.7", "A100 40G").difference(&config), None);
        assert_eq!(on("vllm", "", "A100 40G").difference(&config), None);
        let other = on("vllm", "0.2.3", "A100 40G");
        assert!(other.is_other_version(&config) && other.is_unlike(&config).is_none());
        assert!(other.difference(&config).unwrap().contains("vllm 0.2.3 was measured"));
        for (unlike, why) in [
            (on("vllm", "0.11.0", "A100 40G"), "vllm 0.11.0"),
            (on("tgi", "1.3.4", "A100 40G"), "tgi 1.3.4"),
            (on("vllm", "0.2.7", "H100"), "H100"),
        ] {
            assert!(unlike.is_unlike(&config).unwrap().contains(why), "{unlike:?}");
        }
        let mut any = config.clone();
        any.profile.engine_version = "0.2.x".to_owned();
        assert!(!other.is_other_version(&any) && other.is_unlike(&any).is_none());
    }
}
