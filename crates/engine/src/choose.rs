//! Selects a profile if the user names an engine or a card instead of a profile. The result is a known profile, or a
//! combination of the constants of a version and of a card. No constant is fitted here.

use inferometer_model::did_you_mean;

use crate::card::{card, cards, is_card_file};
use crate::mixed_steps::{set_factors, set_host};
use crate::{EngineError, Profile, Weights, policy::scheduler, profile::profiles};

/// Returns the profile of an engine, such as `vllm-0.23`, on a card, for a model with these weights.
///
/// If no card is named, the card of `start` is used. If no engine is named, the engine of `start` is used; on another
/// card, with the version of that card's best profile, or else the latest known version. If `start` is the user's own
/// profile, its constants and its version are kept.
///
/// If a profile of exactly this version on this card has measured rows and supports the weights, it is returned.
/// Otherwise profiles are combined. In the cost model for vLLM 0.8 and later, the host's constants are interpolated
/// between versions; the factors of the card come from any profile of the card, or are the means over other cards. In
/// the older cost model, the constants are those of the nearest profile; if there is a profile of this version on this
/// card, it supplies the properties of the version. A combined profile has no provenance, so its predictions are
/// uncalibrated.
///
/// # Errors
/// If the engine or the card is unknown or malformed, if no profile has such an engine, or if `start` is the user's own
/// profile of another engine or another version.
pub fn choose(
    start: &Profile,
    engine: Option<&str>,
    card_name: Option<&str>,
    of: (&str, Weights),
) -> Result<Profile, EngineError> {
    choose_from(profiles(), start, engine, card_name, of)
}

/// Like [`choose`], but with the profiles `known` in place of the built-in ones.
///
/// # Errors
/// See [`choose`].
pub fn choose_from(
    known: &[Profile],
    start: &Profile,
    engine: Option<&str>,
    card_name: Option<&str>,
    (model, weights): (&str, Weights),
) -> Result<Profile, EngineError> {
    let (name, version) = match engine {
        Some(engine) => parse(engine)?,
        None => (start.engine.clone(), start.engine_version.clone()),
    };
    let is_own = known.iter().all(|known| known.name != start.name);
    if let (true, Some(engine)) = (is_own, engine)
        && (&name, &version) != (&start.engine, &start.engine_version)
    {
        let expected = format!(
            "profile {} already belongs to {} {}: give --profile or --engine, not both",
            start.name, start.engine, start.engine_version
        );
        return Err(EngineError::invalid("--engine", engine, expected));
    }
    let wanted = card_name.unwrap_or(&start.card);
    let own_card = start.own_card.clone().filter(|own| own.name == wanted);
    let Some(wanted_card) = own_card.clone().map_or_else(|| card(wanted), |own| Ok(Some(own)))?
    else {
        let known: Vec<_> = cards().map(|card| card.name.as_str()).collect();
        let expected = format!(
            "is unknown{}; the known names are {}, or give the path of a card file (.toml)",
            did_you_mean(wanted, known.iter().copied()),
            known.join(", ")
        );
        return Err(EngineError::invalid("--card", wanted, expected));
    };
    if engine.is_none() && !is_own && wanted != start.card {
        if let Some(found) = of_card(known, &name, wanted, model, weights) {
            return Ok(found.clone());
        }
        if let Some(latest) = latest(known, &name, weights) {
            let mut found = choose_from(known, start, Some(&latest), card_name, (model, weights))?;
            let made_of = found.made_of.into_iter();
            let told = "no --engine was given, so the latest known version is assumed".to_owned();
            found.made_of = Some(made_of.chain([told]).collect::<Vec<_>>().join("; "));
            return Ok(found);
        }
    }
    if wanted == start.card && name == start.engine && version == start.engine_version {
        return Ok(start.clone());
    }
    if is_own {
        // The constants of the user's own profile are kept. Its measured rows are of another card, so they are dropped.
        let card = wanted.to_owned();
        let made_of = Some(format!("{}; the data sheet of {}", origin(start), wanted_card.name));
        return Ok(Profile { card, own_card, provenance: Vec::new(), made_of, ..start.clone() });
    }
    let mut found = Profile {
        engine: name.clone(),
        engine_version: version.clone(),
        card: wanted.to_owned(),
        ..start.clone()
    };
    let wanted_scheduler = scheduler(&found).map_err(|error| of_engine(engine, error))?.versions();
    let is_start_alike = |profile: &&Profile| {
        scheduler(profile).is_ok_and(|scheduler| scheduler.versions() == wanted_scheduler)
    };
    let mut alike: Vec<&Profile> = known.iter().filter(is_start_alike).collect();
    // Sort by these criteria, in this order: the profile supports the weights, has measured rows, has a version near
    // the wanted one, has the wanted card. In the older cost model, constants depend on the card as much as on the
    // version. So for profiles of the older model, the card is compared before the version.
    alike.sort_by_key(|profile| {
        let off = distance(&profile.engine_version, &version);
        let is_other = profile.card != wanted;
        let is_bound = profile.steps.is_none() && is_other;
        (!profile.supports(weights), profile.provenance.is_empty(), is_bound, off, is_other)
    });
    let Some(nearest) = alike.first() else {
        let known = "no profile belongs to this engine; name one with --profile";
        return Err(EngineError::invalid("--engine", engine.unwrap_or(&name), known));
    };
    let is_of_version = |profile: &Profile| {
        distance(&profile.engine_version, &version) == 0 && profile.card == wanted
    };
    if is_of_version(nearest) {
        return Ok((*nearest).clone());
    }
    // In the older cost model, a profile with constants for other weights can also supply the properties of the
    // version.
    let of_version = alike.iter().find(|profile| profile.steps.is_none() && is_of_version(profile));
    let base = of_version.map_or_else(|| (*nearest).clone(), |it| nearest.with_version_of(it));
    found = Profile {
        name: format!("{name}-{version}-{}", label(wanted)),
        engine: name,
        engine_version: version,
        card: wanted.to_owned(),
        provenance: Vec::new(),
        ..base
    };
    let mut sources = vec![origin(nearest)];
    if let Some(of_version) = of_version.filter(|it| it.name != nearest.name) {
        sources.push(format!("properties of the version from profile {}", of_version.name));
    }
    if let Some(steps) = &mut found.steps {
        sources.extend(set_host(steps, &alike, &found.engine_version));
    }
    if nearest.card != wanted {
        let of_card = found.steps.as_mut().and_then(|steps| set_factors(steps, &alike, wanted));
        sources.push(match of_card {
            Some(of_card) => format!("factors of the card from profile {}", of_card.name),
            None => {
                format!("the data of {}, and the mean factors of other cards", wanted_card.name)
            }
        });
    }
    found.made_of = Some(sources.join("; "));
    Ok(found)
}

/// Rewrites the error about an engine without a scheduler, so that it names the flag `--engine`. If the flag was not
/// given, the engine comes from the profile, and the error is returned unchanged.
fn of_engine(named: Option<&str>, error: EngineError) -> EngineError {
    match (named, error) {
        (Some(named), EngineError::UnknownEngine { known, .. }) => {
            let expected = format!("has no scheduler in this program, only {known} have one");
            EngineError::invalid("--engine", named, expected)
        }
        (_, error) => error,
    }
}

/// Describes the engine version and the card to which the constants of a profile belong.
fn origin(profile: &Profile) -> String {
    let Profile { name, engine, engine_version, card, .. } = profile;
    format!("constants of {engine} {engine_version} on {card} (profile {name})")
}

/// Returns the profile of a card if no version is named. The profile must have measured rows and support the weights. A
/// profile with measured rows of the model is preferred. Among several profiles, the latest version is used.
fn of_card<'a>(
    known: &'a [Profile],
    engine: &str,
    card: &str,
    model: &str,
    weights: Weights,
) -> Option<&'a Profile> {
    let of_card = known.iter().filter(|profile| {
        profile.engine == engine && profile.card == card && !profile.provenance.is_empty()
    });
    of_card.filter(|profile| profile.supports(weights)).max_by_key(|profile| {
        let has_rows = profile.provenance.iter().any(|known| known.table == model);
        (has_rows, distance(&profile.engine_version, "0"))
    })
}

/// The latest version of an engine that has a profile with measured rows and with these weights, such as `vllm-0.23`.
fn latest(known: &[Profile], engine: &str, weights: Weights) -> Option<String> {
    let fitted = known.iter().filter(|profile| {
        profile.engine == engine && !profile.provenance.is_empty() && profile.supports(weights)
    });
    let latest = fitted.max_by_key(|profile| distance(&profile.engine_version, "0"))?;
    Some(format!("{engine}-{}", latest.engine_version))
}

/// Parses `vllm-0.23` into engine and version.
pub(crate) fn parse(text: &str) -> Result<(String, String), EngineError> {
    let parts = text.split_once(['-', ' ']);
    match parts.map(|(engine, version)| (engine.to_lowercase(), version.trim_start_matches('v'))) {
        Some((engine, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            Ok((engine, version.to_owned()))
        }
        _ => {
            let expected = "must be an engine and its version, such as vllm-0.23";
            Err(EngineError::invalid("--engine", text, expected))
        }
    }
}

/// The distance between two versions, computed from their first two numbers. A version with another major number is
/// farther away than any version with the same major number. The third numbers count only if one of the versions is
/// below 0.8 and both versions have a third number.
pub(crate) fn distance(one: &str, other: &str) -> u32 {
    let numbers = |version: &str| {
        let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
        let mut next = || numbers.next().flatten();
        (next().unwrap_or(0) * 1000 + next().unwrap_or(0), next())
    };
    let ((one, third), (other, other_third)) = (numbers(one), numbers(other));
    let by_third = match (third, other_third) {
        (Some(third), Some(other_third)) if one.min(other) < 8 => third.abs_diff(other_third),
        _ => 0,
    };
    one.abs_diff(other) * 1000 + by_third.min(999)
}

/// The name of a card, or of its file without folder and extension.
fn label(card: &str) -> &str {
    if is_card_file(card) {
        let name = card.rsplit('/').next().unwrap_or(card);
        return name.strip_suffix(".toml").unwrap_or(name);
    }
    card
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::profile;

    fn chosen(engine: &str, card: &str) -> Profile {
        let start = profile("a100-40g-vllm-0.2.7").unwrap();
        choose(&start, Some(engine), Some(card), ("qwen-14b", Weights::Fp16)).unwrap()
    }

    #[test]
    fn a_measured_pair_of_engine_version_and_card_gets_its_profile() {
        for (engine, card, expected) in [
            ("vllm-0.23", "h100-sxm", "vllm-0.23-h100-sxm"),
            ("vllm-0.23.0", "h100-sxm", "vllm-0.23-h100-sxm"),
            ("vllm-0.11", "h100-sxm", "vllm-0.11-h100-sxm"),
            ("vllm-0.19", "rtx-pro-6000", "vllm-0.19-rtx-pro-6000"),
            ("vllm-0.2.7", "a100-pcie-40gb", "a100-40g-vllm-0.2.7"),
        ] {
            let found = chosen(engine, card);
            assert_eq!(found.name, expected, "{engine} {card}");
            assert!(!found.provenance.is_empty());
        }
    }

    #[test]
    fn a_card_without_engine_gets_the_profile_fitted_on_the_model_or_its_latest_profile() {
        let start = profile("a100-40g-vllm-0.2.7").unwrap();
        for (card, model, expected) in [
            ("h100-sxm", "llama-3.1-8b", "vllm-0.11-h100-sxm"),
            ("h100-sxm", "qwen3-14b", "vllm-0.23-h100-sxm"),
            ("h100-sxm", "qwen-14b", "vllm-0.23-h100-sxm"),
            ("a100-pcie-40gb", "qwen-14b", "a100-40g-vllm-0.2.7"),
        ] {
            let found = choose(&start, None, Some(card), (model, Weights::Fp16)).unwrap();
            assert_eq!(found.name, expected, "{card} {model}");
        }
    }

    #[test]
    fn a_card_without_any_profile_gets_the_latest_version_of_the_engine() {
        let start = profile("a100-40g-vllm-0.2.7").unwrap();
        for card in ["b200", "l4"] {
            let found = choose(&start, None, Some(card), ("llama-3.1-8b", Weights::Fp8))
                .expect("a profile");
            assert_eq!(found.engine_version, chosen("vllm-0.23", "h100-sxm").engine_version);
            assert!(found.provenance.is_empty() && found.steps.is_some());
            let told = found.made_of.expect("an origin");
            assert!(told.contains("the latest known version is assumed"), "{told}");
        }
    }

    #[test]
    fn an_unmeasured_pair_of_engine_and_card_gets_a_combined_profile_without_provenance() {
        let found = chosen("vllm-0.23", "l40s");
        let (host, of_card) = (chosen("vllm-0.23", "h100-sxm"), chosen("vllm-0.8", "l40s"));
        let steps = |profile: &Profile| profile.steps.clone().unwrap();
        assert_eq!(steps(&found).step_us, steps(&host).step_us);
        assert_eq!(steps(&found).products_factor, steps(&of_card).products_factor);
        assert!(found.provenance.is_empty());
        assert_eq!((found.name.as_str(), found.card.as_str()), ("vllm-0.23-l40s", "l40s"));
        // No profile is of the H200, so its factors are the geometric means over the measured cards.
        let mean = chosen("vllm-0.22", "h200").steps.unwrap().bandwidth_factor;
        let of = |name: &str| profile(name).unwrap().steps.unwrap().bandwidth_factor;
        let known = [of("vllm-0.23-h100-sxm"), of("vllm-0.8-l40s"), of("vllm-0.19-rtx-pro-6000")];
        let product = known.iter().product::<f64>();
        assert!((mean.powi(3) / product - 1.0).abs() < 1e-9, "{mean} {known:?}");
    }

    #[test]
    fn a_named_profile_is_used_if_engine_and_card_match_it_and_a_conflict_is_refused() {
        let start = profile("a100-40g-vllm-0.2.7").unwrap();
        let found =
            choose(&start, Some("vllm-0.2.7"), Some(&start.card), ("qwen-14b", Weights::Fp16))
                .unwrap();
        assert_eq!(found, start);
        let mut mine = profile("vllm-0.8-l40s").unwrap();
        mine.name = "mine".to_owned();
        mine.steps.as_mut().unwrap().step_us = 77.0;
        assert_eq!(
            choose(&mine, Some("vllm-0.8"), None, ("qwen-14b", Weights::Fp8)).unwrap().name,
            "mine"
        );
        let why = choose(&mine, Some("vllm-0.23"), None, ("qwen-14b", Weights::Fp8))
            .unwrap_err()
            .to_string();
        assert!(why.contains("--engine vllm-0.23") && why.contains("not both"), "{why}");
    }

    #[test]
    fn the_third_number_of_a_version_counts_only_below_0_8() {
        assert_eq!(chosen("vllm-0.2.5", "a100-pcie-40gb").engine_version, "0.2.5");
        for (one, other, apart) in [
            ("0.2.5", "0.2.7", 2),
            ("0.2", "0.2.7", 0),
            ("0.23.0", "0.23.4", 0),
            ("0.8", "0.11", 3000),
        ] {
            assert_eq!(distance(one, other), apart, "{one} {other}");
        }
    }

    #[test]
    fn a_version_of_2023_gets_the_constants_of_the_requested_weights() {
        let start = profile("a100-40g-vllm-0.2.7").unwrap();
        let of = |weights| choose(&start, Some("vllm-0.2.5"), None, ("qwen-14b", weights)).unwrap();
        let (awq, half) = (of(Weights::Awq), of(Weights::Fp16));
        assert_eq!(awq.name, "a100-40g-vllm-0.2.5-awq");
        assert!(half.supports(Weights::Fp16) && half.provenance.is_empty(), "{}", half.name);
        assert_eq!((half.engine_version.as_str(), half.cuda_graphs), ("0.2.5", awq.cuda_graphs));
        assert_eq!(half.constants.step_us, start.constants.step_us);
    }

    #[test]
    fn an_unknown_card_engine_or_version_is_refused_with_its_flag() {
        let start = profile("a100-40g-vllm-0.2.7").unwrap();
        let why = |engine, card| {
            choose(&start, engine, card, ("qwen-14b", Weights::Fp16)).unwrap_err().to_string()
        };
        assert!(why(None, Some("abacus")).contains("--card abacus"));
        assert!(why(Some("vllm"), None).contains("such as vllm-0.23"));
        let unknown = why(Some("sglang-0.4"), None);
        assert!(unknown.starts_with("--engine sglang-0.4: has no scheduler"), "{unknown}");
        assert!(!unknown.contains("profile"), "{unknown}");
    }
}
