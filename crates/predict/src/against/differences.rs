//! Reports differences between the measured rows and the prediction: another model, another engine, or rows that may
//! have been used in the fit of the profile.

use inferometer_engine::profile::{Role, profiles};
use inferometer_engine::{EngineConfig, ResolvedConfig};
use inferometer_model::{Finding, code};

use super::MeasuredRows;

impl MeasuredRows {
    /// A finding if the measured model differs from the predicted model.
    pub fn of_another_model(&self, predicted: &str) -> Option<Finding> {
        let measured = self.model.as_ref().filter(|measured| !is_same(measured, predicted))?;
        Some(Finding::of(
            code::AGAINST_ANOTHER_MODEL,
            format!(
                "{} was measured with the model {measured}, but the prediction is for \
                    {predicted}: if these are different models, the errors are meaningless",
                self.origin
            ),
        ))
    }

    /// A finding if the engine, the engine version or the card of the measurement differs from that of the prediction.
    pub fn on_another_engine(&self, config: &ResolvedConfig) -> Option<Finding> {
        let difference = self.measured_on.difference(config)?;
        Some(Finding::of(code::AGAINST_ANOTHER_ENGINE, format!("{}: {difference}", self.origin)))
    }

    /// A finding if the profile may have been fitted on these rows, so that the errors are in-sample errors.
    pub fn in_sample(&self, config: &EngineConfig) -> Option<Finding> {
        let model = &config.model.name;
        // The built-in profiles were fitted on published rows, never on a user's own run. A profile that `calibrate`
        // created may have been fitted on a user's run.
        let is_ours = profiles().iter().any(|own| own.name == config.profile.name);
        if is_ours && self.is_own_run || self.model.as_ref().is_some_and(|it| !is_same(it, model)) {
            return None;
        }
        let mut fitted =
            config.profile.provenance.iter().filter(|provenance| {
                provenance.table == *model && provenance.role != Role::HeldOut
            });
        let rows = fitted.next()?.rows;
        let message = format!(
            "in sample: profile {} was fitted to {rows} rows of {model}; if the measured rows are \
                among them, the errors show the quality of the fit, not the quality of predictions",
            config.profile.name
        );
        Some(Finding::of(code::IN_SAMPLE, message))
    }
}

/// Whether two names mean the same model. The organisation, the case, and characters other than letters and digits are
/// ignored.
fn is_same(one: &str, other: &str) -> bool {
    let squeezed = |name: &str| -> String {
        let name = name.rsplit('/').next().unwrap_or(name);
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    squeezed(one) == squeezed(other)
}

#[cfg(test)]
mod tests {
    use inferometer_model::target::Target;

    use super::super::passes::rows_of;
    use super::*;

    #[test]
    fn a_built_in_profile_was_not_fitted_to_a_run_of_this_program() {
        let config = EngineConfig::of("qwen3-14b", Some("vllm-0.23-h100-sxm")).unwrap();
        let target = Target { model: "Qwen/Qwen3-14B".to_owned(), ..Target::default() };
        for (is_own_run, is_found) in [(true, false), (false, true)] {
            let rows = rows_of("rows".to_owned(), Vec::new(), &target, is_own_run);
            assert_eq!(rows.in_sample(&config).is_some(), is_found, "{is_own_run}");
        }
    }
}
