//! Finds problems of the card metrics of a pass. It never judges the cards themselves.

use crate::PassSummary;
use crate::observed::{FRESH_READINGS, HardwareUse};
use inferometer_model::{Finding, code};

/// Findings on card metrics that are incomplete, or that have too few samples during the pass.
pub fn card_findings(pass: &PassSummary) -> Vec<Finding> {
    let Some(hardware) = &pass.hardware else { return Vec::new() };
    missing(hardware).into_iter().chain(stale(hardware)).collect()
}

fn missing(hardware: &HardwareUse) -> Option<Finding> {
    let why = hardware.first_failure.as_deref().filter(|_| hardware.failed > 0)?;
    let message = format!(
        "{} of {} reads of the cards' metrics failed: {why}",
        hardware.failed, hardware.asked
    );
    Some(Finding::of(code::CARD_DATA_MISSING, message))
}

fn stale(hardware: &HardwareUse) -> Option<Finding> {
    let fewest = hardware.cards.iter().filter_map(|card| card.readings).min()?;
    if fewest >= FRESH_READINGS {
        return None;
    }
    let message = format!(
        "the exporter sampled the cards {fewest} times during the pass: too rarely for energy, \
            which is not reported; other card metrics come from these few samples"
    );
    Some(Finding::of(code::CARD_DATA_STALE, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::PassFold;
    use crate::observed::CardUse;
    use inferometer_model::load::{Bound, PassPlan};

    fn codes(hardware: HardwareUse) -> Vec<String> {
        let plan = PassPlan::one_by_one(Bound::requests(1));
        let mut pass = PassFold::new(&plan).finish();
        pass.hardware = Some(hardware);
        card_findings(&pass).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn missing_and_stale_card_data_are_reported() {
        let card = |readings| CardUse { readings, ..CardUse::default() };
        let of = |cards| HardwareUse { asked: 9, cards, ..HardwareUse::default() };
        assert_eq!(codes(of(vec![card(None)])), [""; 0]);
        assert_eq!(codes(of(vec![card(Some(10)), card(None)])), [""; 0]);
        assert_eq!(codes(of(vec![card(Some(10)), card(Some(9))])), ["card_data_stale"]);
        let failed = HardwareUse {
            failed: 4,
            first_failure: Some("the card is gone".to_owned()),
            ..of(vec![card(None)])
        };
        assert_eq!(codes(failed), ["card_data_missing"]);
    }
}
