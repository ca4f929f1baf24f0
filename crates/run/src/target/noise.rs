//! Reads the noise of the embedded engine from a plan, and sets its seed.

use inferometer_engine::Noise;
use inferometer_model::stats::seed::{below, rng};
use inferometer_model::target::Facts;
use inferometer_plan::{Plan, TargetPlan};

use crate::{Context, PlanError};

/// The noise of the plan, with a seed. If the user gave no seed for the noise, its seed is derived from the
/// run's seed, salt and origin. The origin includes the server and the round of a group. So two runs have the
/// same noise only if all of these are equal. `None` if the plan has no noise or another target.
///
/// # Errors
/// When the plan's noise is not valid.
pub fn noise_of(plan: &Plan, context: &Context) -> Result<Option<Noise>, PlanError> {
    let TargetPlan::Embedded { engine_flags, .. } = &plan.target else { return Ok(None) };
    let Some(text) = engine_flags.get("noise") else { return Ok(None) };
    let noise = Noise::parse(text).map_err(PlanError::new)?;
    let origin = Facts { origin: context.origin.clone(), ..Facts::default() }.texts();
    let place = origin.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
    let labels: Vec<&str> = ["noise", context.salt.as_str()].into_iter().chain(place).collect();
    Ok(Some(noise.or_seed(below(&mut rng(plan.seed, &labels), u64::MAX))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve;
    use inferometer_plan::spec::Spec;

    fn drawn(noise: Option<&str>, salt: &str, round: Option<u32>) -> Option<String> {
        let (noise, salt) = (noise.map(str::to_owned), Some(salt.to_owned()));
        let spec = Spec { noise, salt, ..Spec::default() };
        let (plan, mut context) = resolve(&spec, &|_| None).expect("a plan");
        context.origin.round = round;
        noise_of(&plan, &context).expect("a noise").map(|noise| noise.to_string())
    }

    #[test]
    fn each_run_has_different_noise_unless_a_seed_is_given() {
        let of = |salt, round| drawn(Some("step=0.1"), salt, round);
        assert_eq!(of("a", None), of("a", None));
        assert_ne!(of("a", None), of("b", None));
        assert_ne!(of("a", Some(1)), of("a", Some(2)));
        let seeded = |salt| drawn(Some("step=0.1,seed=4"), salt, None);
        assert_eq!((seeded("a"), seeded("b")), (seeded("b"), Some("step=0.1,seed=4".to_owned())));
        assert_eq!(drawn(None, "a", None), None);
    }
}
