//! The constants of the step cost of current engines that can be fitted to runs, each with its prior uncertainty.

use crate::{Profile, profile::StepConstants};

/// Which profiles share a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All profiles of the same card.
    Card,
    /// All profiles of the same engine version.
    Engine,
    /// All profiles.
    All,
}

/// A constant that can be fitted, and its uncertainty before the fit. With a probability of 90 %, the logarithm of the
/// true value differs from the logarithm before the fit by at most 1.6 spreads.
pub struct FittedConstant {
    /// The key in a profile's `steps`.
    pub name: &'static str,
    /// The profiles that share the constant.
    pub scope: Scope,
    /// The standard deviation of the logarithm of the constant before the fit. A fit doubles this value for the
    /// constants of a card whose operations were not measured.
    pub spread: f64,
    /// Returns a mutable reference to the constant.
    pub of: fn(&mut StepConstants) -> &mut f64,
}

macro_rules! fitted_constant {
    ($name:ident, $scope:ident, $spread:expr) => {
        FittedConstant {
            name: stringify!($name),
            scope: Scope::$scope,
            spread: $spread,
            of: |steps| &mut steps.$name,
        }
    };
}

/// All constants that are fitted. The spread of a card's factor is the scatter of the measured speeds of single
/// operations, between sizes and versions (`data/cards`). For the times of the host, only the order of magnitude is
/// known before the fit.
pub static FITTED_CONSTANTS: [FittedConstant; 14] = [
    fitted_constant!(bandwidth_factor, Card, 0.04),
    fitted_constant!(products_factor, Card, 0.10),
    fitted_constant!(kv_factor, Card, 0.06),
    fitted_constant!(fp8_factor, Card, 0.08),
    fitted_constant!(layer_us, All, 0.5),
    fitted_constant!(sequence_layer_us, All, 0.5),
    fitted_constant!(prompt_layer_us, All, 0.3),
    fitted_constant!(reduction_factor, All, 0.2),
    fitted_constant!(step_us, Engine, 0.7),
    fitted_constant!(sequence_us, Engine, 0.6),
    fitted_constant!(prompt_step_us, Engine, 1.0),
    fitted_constant!(waking_us, Engine, 0.8),
    fitted_constant!(front_us, Engine, 0.8),
    fitted_constant!(front_sequence_us, Engine, 0.8),
];

impl FittedConstant {
    /// Returns the constant of a profile; 1 if the profile has no `steps`.
    pub fn get(&self, profile: &Profile) -> f64 {
        profile.steps.clone().map_or(1.0, |mut steps| *(self.of)(&mut steps))
    }

    /// Sets the constant of a profile; does nothing if the profile has no `steps`.
    pub fn set(&self, profile: &mut Profile, value: f64) {
        if let Some(steps) = &mut profile.steps {
            *(self.of)(steps) = value;
        }
    }

    /// Returns the card, the engine version or `all`. Profiles with the same owner share the constant.
    pub(super) fn owner<'a>(&self, profile: &'a Profile) -> &'a str {
        match self.scope {
            Scope::Card => &profile.card,
            Scope::Engine => &profile.engine_version,
            Scope::All => "all",
        }
    }
}
