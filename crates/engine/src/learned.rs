//! The profiles that a user has fitted and stored for later predictions. This file reads no profiles from disk.

use crate::choose::{distance, parse};
use crate::{EngineConfig, Profile, Weights};

/// A profile of the user's own, with its file.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnProfile {
    /// The path of the file, as text.
    pub file: String,
    /// The profile.
    pub profile: Profile,
}

/// The engine, the card and the model that a profile is needed for.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileNeed {
    /// The engine and its version, such as `vllm-0.23.0`.
    pub engine: String,
    /// The name of the card.
    pub card: String,
    /// The name of the model.
    pub model: String,
    /// The storage format of the linear layers.
    pub weights: Weights,
    /// The number of cards over which each layer is split.
    pub cards: u32,
}

impl ProfileNeed {
    /// The need of a configuration, with the engine and the card of its profile.
    pub fn of(config: &EngineConfig) -> Self {
        let profile = &config.profile;
        Self {
            engine: format!("{}-{}", profile.engine, profile.engine_version),
            card: profile.card.clone(),
            model: config.model.name.clone(),
            weights: config.weights.unwrap_or(config.model.weights),
            cards: config.tensor_parallel_size.unwrap_or(profile.cards),
        }
    }

    /// Whether a profile belongs to this engine version and this card, and was fitted to rows of this model with these
    /// weights on this number of cards.
    fn is_met_by(&self, profile: &Profile) -> bool {
        let is_of_engine = parse(&self.engine).is_ok_and(|(engine, version)| {
            engine == profile.engine && distance(&version, &profile.engine_version) == 0
        });
        let has_model = |table: &str, weights, cards| {
            table == self.model && weights == self.weights && cards == self.cards
        };
        let mut tables = profile.provenance.iter();
        is_of_engine
            && profile.card == self.card
            && tables.any(|known| has_model(&known.table, known.weights, known.seen.cards))
    }
}

/// The last of the user's own profiles that meets the need; `None` if there is none. A profile that was fitted to `run`
/// is not used for this run, because the comparison would then show the errors of the fit, not the errors of a
/// prediction.
pub fn learned<'a>(
    own: &'a [OwnProfile],
    need: &ProfileNeed,
    run: Option<&str>,
) -> Option<&'a OwnProfile> {
    own.iter().rev().find(|own| {
        let is_fitted_to_it =
            run.is_some_and(|run| own.profile.fitted_to.iter().any(|it| it == run));
        !is_fitted_to_it && need.is_met_by(&own.profile)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::profile;

    fn own(file: &str) -> OwnProfile {
        let mut profile = profile("vllm-0.23-h100-sxm").expect("a built-in profile");
        profile.provenance.truncate(1);
        profile.fitted_to = vec![file.to_owned()];
        OwnProfile { file: file.to_owned(), profile }
    }

    fn need() -> ProfileNeed {
        let own = own("a");
        let known = &own.profile.provenance[0];
        ProfileNeed {
            engine: "vllm-0.23.1".to_owned(),
            card: own.profile.card.clone(),
            model: known.table.clone(),
            weights: known.weights,
            cards: known.seen.cards,
        }
    }

    #[test]
    fn the_last_own_profile_of_the_engine_card_and_model_is_used_unless_it_was_fitted_to_the_run() {
        let all = [own("a"), own("b")];
        let file = |run| learned(&all, &need(), run).map(|own| own.file.as_str());
        assert_eq!([None, Some("c"), Some("b")].map(file), [Some("b"), Some("b"), Some("a")]);
    }

    #[test]
    fn an_own_profile_of_another_engine_card_model_or_number_of_cards_is_not_used() {
        let all = [own("a")];
        let other = "other".to_owned();
        for (what, need) in [
            ("version", ProfileNeed { engine: "vllm-0.22.0".to_owned(), ..need() }),
            ("engine", ProfileNeed { engine: "sglang-0.23.1".to_owned(), ..need() }),
            ("card", ProfileNeed { card: other.clone(), ..need() }),
            ("model", ProfileNeed { model: other, ..need() }),
            ("weights", ProfileNeed { weights: Weights::Awq, ..need() }),
            ("cards", ProfileNeed { cards: 16, ..need() }),
        ] {
            assert_eq!(learned(&all, &need, None), None, "{what}");
        }
    }
}
