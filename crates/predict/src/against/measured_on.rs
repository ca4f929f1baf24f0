//! Determines the measured engine and card from a heading, from a stored run or from a result file.

use inferometer_analysis::table_import::HeadingFacts;
use inferometer_engine::confidence::MeasuredOn;
use inferometer_model::Target;

/// The engine and card that a heading names.
pub(super) fn of_place(place: &HeadingFacts) -> MeasuredOn {
    MeasuredOn {
        engine: place.engine.clone(),
        engine_version: place.engine_version.clone(),
        card: place.card.clone(),
    }
}

/// The engine and card of a stored run or of a result file.
pub fn of_target(target: &Target) -> MeasuredOn {
    MeasuredOn {
        engine: target.engine.as_ref().map(|engine| engine.to_lowercase()),
        engine_version: target.engine_version.clone(),
        card: target.facts.card.clone(),
    }
}
