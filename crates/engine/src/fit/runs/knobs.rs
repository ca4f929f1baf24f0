//! The constants of today's steps that runs determine, each with what is known of it beforehand.

use crate::profile::{Profile, StepConstants};

/// What shares a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All profiles of the same card.
    Card,
    /// All profiles of the same engine version.
    Engine,
    /// All profiles.
    All,
}

/// A constant, and how far it is expected from its value before the fit: nine of ten within 1.6 spreads.
pub struct Knob {
    /// Its key in a profile's `steps`.
    pub name: &'static str,
    /// What shares it.
    pub scope: Scope,
    /// The standard deviation of its logarithm before the fit.
    pub spread: f64,
    /// Reads and writes it.
    pub of: fn(&mut StepConstants) -> &mut f64,
}

macro_rules! knob {
    ($name:ident, $scope:ident, $spread:expr) => {
        Knob {
            name: stringify!($name),
            scope: Scope::$scope,
            spread: $spread,
            of: |steps| &mut steps.$name,
        }
    };
}

/// All constants that are fitted. Factors of a card are expected within the scatter of single operations
/// between sizes and versions (`data/cards`), times of the host only in their order of magnitude.
pub static KNOBS: [Knob; 12] = [
    knob!(bandwidth_factor, Card, 0.04),
    knob!(products_factor, Card, 0.10),
    knob!(kv_factor, Card, 0.06),
    knob!(fp8_factor, Card, 0.08),
    knob!(layer_us, All, 0.5),
    knob!(sequence_layer_us, All, 0.5),
    knob!(prompt_layer_us, All, 0.3),
    knob!(reduction_factor, All, 0.2),
    knob!(step_us, Engine, 0.7),
    knob!(sequence_us, Engine, 0.6),
    knob!(prompt_step_us, Engine, 1.0),
    knob!(front_us, Engine, 0.8),
];

impl Knob {
    /// The constant of a profile; 1 where it has no such costs.
    pub fn get(&self, profile: &Profile) -> f64 {
        profile.steps.clone().map_or(1.0, |mut steps| *(self.of)(&mut steps))
    }

    /// Sets it.
    pub fn set(&self, profile: &mut Profile, value: f64) {
        if let Some(steps) = &mut profile.steps {
            *(self.of)(steps) = value;
        }
    }

    /// What tells the constants of this name apart that are not shared.
    pub(super) fn owner<'a>(&self, profile: &'a Profile) -> &'a str {
        match self.scope {
            Scope::Card => &profile.card,
            Scope::Engine => &profile.engine_version,
            Scope::All => "all",
        }
    }
}
