//! The list of schedulers. To add a scheduler, add a file in this folder and a line here.

use super::{scheduler::Scheduler, tgi_1_3::Tgi13, vllm_02::Vllm02, vllm_v1::VllmV1};
use crate::{EngineError, Profile};

static SCHEDULERS: [&dyn Scheduler; 3] = [&Vllm02, &VllmV1, &Tgi13];

/// Returns the scheduler of a profile's engine.
///
/// # Errors
/// If there is no scheduler for this engine and version.
pub fn scheduler(profile: &Profile) -> Result<&'static dyn Scheduler, EngineError> {
    let (engine, version) = (profile.engine.as_str(), profile.engine_version.as_str());
    let found = SCHEDULERS.into_iter().find(|scheduler| scheduler.is_used_by(engine, version));
    found.ok_or_else(|| EngineError::UnknownEngine {
        profile: profile.name.clone(),
        engine: engine.to_owned(),
        version: version.to_owned(),
        known: known(),
    })
}

/// The names of all schedulers, as `A, B and C`.
fn known() -> String {
    let names = SCHEDULERS.map(Scheduler::versions);
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::profiles;

    #[test]
    fn each_profile_has_a_scheduler_and_an_unsupported_version_is_refused_with_the_known_ones() {
        let versions = |version: &str| {
            let engine_version = version.to_owned();
            scheduler(&Profile { engine_version, ..profiles()[0].clone() })
        };
        for (version, expected) in
            [("0.2.7", "vllm 0.2.x"), ("0.8.0", "vllm from 0.8 on"), ("1.0", "vllm from 0.8 on")]
        {
            assert_eq!(versions(version).unwrap().versions(), expected, "{version}");
        }
        for profile in profiles() {
            assert!(scheduler(profile).is_ok(), "{}", profile.name);
        }
        let message = versions("0.3.0").err().unwrap().to_string();
        assert!(
            message.ends_with(
                "no scheduler for vllm 0.3.0, only for vllm 0.2.x, vllm from 0.8 on and tgi 1.3.x"
            ),
            "{message}"
        );
    }
}
