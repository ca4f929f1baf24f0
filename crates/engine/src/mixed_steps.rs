//! Combines the constants of several profiles of the cost model for vLLM 0.8 and later, for a version or a card that no
//! profile has. No constant is fitted here.

use crate::{Profile, card::card, profile::StepConstants};

/// The `products_factor` if there is no profile with measured rows of a card whose operations were measured.
const PRODUCTS_FACTOR: f64 = 0.93;

/// Sets the times of the host and of the front end to those of a version. Between two versions with measured rows, each
/// time is interpolated linearly. The other constants are not changed, because too little is known about their change
/// between versions. For a version before or after all versions with measured rows, the times of the nearest version
/// with measured rows are used. The front end's times come only from versions with a measured TTFT.
///
/// Returns a text that names the versions of the host's times. If no version has measured rows, it returns `None` and
/// sets nothing.
pub(crate) fn set_host(
    steps: &mut StepConstants,
    known: &[&Profile],
    version: &str,
) -> Option<String> {
    let measured = |what: &str| -> Vec<&Profile> {
        let is_measured =
            |it: &&&Profile| it.provenance.iter().any(|table| table.errors.contains_key(what));
        known.iter().filter(is_measured).copied().collect()
    };
    let host = Between::of(&measured("tpot_ms"), version)?;
    steps.step_us = host.value(|it| it.step_us);
    steps.sequence_us = host.value(|it| it.sequence_us);
    steps.prompt_step_us = host.value(|it| it.prompt_step_us);
    if let Some(front) = Between::of(&measured("ttft_p50_ms"), version) {
        steps.waking_us = front.value(|it| it.waking_us);
        steps.front_us = front.value(|it| it.front_us);
        steps.front_sequence_us = front.value(|it| it.front_sequence_us);
        steps.front_service_us = front.value(|it| it.front_service_us);
    }
    Some(host.words())
}

/// The profiles of the nearest versions at or before a version, and at or after it. Both have the same version if a
/// profile has exactly this version, or if all known versions are on one side. The first profile then counts.
struct Between<'a> {
    profiles: [(&'a Profile, &'a StepConstants); 2],
    /// The position of the version between the two profiles, from 0 (the first) to 1 (the second).
    share: f64,
}

impl<'a> Between<'a> {
    fn of(known: &[&'a Profile], version: &str) -> Option<Self> {
        let wanted = number(version);
        let mut all: Vec<(f64, &Profile, &StepConstants)> = known
            .iter()
            .filter_map(|it| Some((number(&it.engine_version), *it, it.steps.as_ref()?)))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let after = all.iter().find(|it| it.0 >= wanted).or(all.last())?;
        let before = all.iter().rev().find(|it| it.0 <= wanted).or(all.first())?;
        let distance = after.0 - before.0;
        let share = if distance > 0.0 { (wanted - before.0) / distance } else { 0.0 };
        Some(Self { profiles: [(before.1, before.2), (after.1, after.2)], share })
    }

    fn value(&self, of: fn(&StepConstants) -> f64) -> f64 {
        let [before, after] = self.profiles.map(|(_, steps)| of(steps));
        before + self.share * (after - before)
    }

    fn words(&self) -> String {
        let [before, after] =
            self.profiles.map(|(it, _)| format!("{} {}", it.engine, it.engine_version));
        match self.share > 0.0 {
            true => format!("times of the host between those of {before} and {after}"),
            false => format!("times of the host of {before}"),
        }
    }
}

/// Sets the factors of a card to those of a profile of the card, and returns this profile. If there is none,
/// the result is `None`: `fp8_factor` becomes 1, and each other factor becomes its geometric mean over the
/// cards with measured rows and measured operations.
pub(crate) fn set_factors<'a>(
    steps: &mut StepConstants,
    known: &[&'a Profile],
    wanted: &str,
) -> Option<&'a Profile> {
    let of_card = known.iter().find(|profile| profile.card == wanted && profile.steps.is_some());
    if let Some((profile, of_card)) = of_card.and_then(|it| Some((*it, it.steps.as_ref()?))) {
        steps.bandwidth_factor = of_card.bandwidth_factor;
        steps.products_factor = of_card.products_factor;
        steps.kv_factor = of_card.kv_factor;
        steps.fp8_factor = of_card.fp8_factor;
        return Some(profile);
    }
    let is_measured =
        |name: &str| card(name).is_ok_and(|card| card.is_some_and(|it| it.operations.is_some()));
    let mut cards: Vec<(&str, &StepConstants)> = known
        .iter()
        .filter(|profile| !profile.provenance.is_empty() && is_measured(&profile.card))
        .filter_map(|profile| Some((profile.card.as_str(), profile.steps.as_ref()?)))
        .collect();
    cards.sort_by_key(|(card, _)| *card);
    cards.dedup_by_key(|(card, _)| *card);
    let mean = |otherwise: f64, of: fn(&StepConstants) -> f64| match cards.len() {
        0 => otherwise,
        count => (cards.iter().map(|it| of(it.1).ln()).sum::<f64>() / count as f64).exp(),
    };
    steps.bandwidth_factor = mean(1.0, |it| it.bandwidth_factor);
    steps.products_factor = mean(PRODUCTS_FACTOR, |it| it.products_factor);
    steps.kv_factor = mean(1.0, |it| it.kv_factor);
    steps.fp8_factor = 1.0;
    None
}

/// Combines the first two numbers of a version into one number: 23 for `0.23.1`, 1002 for `1.2`.
fn number(version: &str) -> f64 {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || f64::from(numbers.next().unwrap_or(0));
    1000.0 * next() + next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{profile, profiles};

    #[test]
    fn host_times_are_interpolated_between_versions_and_else_taken_from_the_nearest_version() {
        let known: Vec<&Profile> = profiles().iter().filter(|it| it.steps.is_some()).collect();
        let steps = |name: &str| profile(name).unwrap().steps.unwrap();
        let (older, newer) = (steps("vllm-0.11-h100-sxm"), steps("vllm-0.15-h100-sxm"));
        let mut found = newer.clone();
        let words = set_host(&mut found, &known, "0.13").unwrap();
        assert_eq!(words, "times of the host between those of vllm 0.11.0 and vllm 0.15");
        assert!((found.step_us - f64::midpoint(older.step_us, newer.step_us)).abs() < 1e-9);
        for (version, of) in [("0.30", "vllm-0.23-h100-sxm"), ("0.8", "vllm-0.8-l40s")] {
            set_host(&mut found, &known, version).unwrap();
            assert_eq!(found.front_us, steps(of).front_us, "{version}");
        }
        // The rows of 0.19 were measured inside the engine's process, without its front end.
        set_host(&mut found, &known, "0.19").unwrap();
        assert!(found.front_us > 2.5 * steps("vllm-0.19-rtx-pro-6000").front_us);
    }
}
