//! Finds problems of the card metrics of a pass. It never judges the cards themselves.

use crate::PassSummary;
use crate::observed::{EnergyUnknown, FRESH_READINGS, HardwareUse};
use inferometer_model::{Finding, code, digits};

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
    let fewest = hardware.cards.iter().filter_map(|card| card.readings).min();
    if let Some(fewest) = fewest.filter(|fewest| *fewest < FRESH_READINGS) {
        let message = format!(
            "the exporter sampled the cards {fewest} times during the pass: too rarely for energy, \
                which is not reported; other card metrics come from these few samples"
        );
        return Some(Finding::of(code::CARD_DATA_STALE, message));
    }
    let (card, why) = hardware.cards.iter().find_map(|card| Some((card, card.energy_unknown?)))?;
    let covered = card.coverage.map(|share| digits::percent((1.0 - share).max(0.0)));
    let why = match why {
        EnergyUnknown::NotCovered => "samples do not cover the pass".to_owned(),
        EnergyUnknown::FewReadings => {
            format!("fewer than {FRESH_READINGS} samples are within the pass")
        }
        EnergyUnknown::Gaps => match covered {
            Some(gaps) => format!("{gaps} % of the pass are in gaps between samples"),
            None => "the start or the end of the pass is in a gap between samples".to_owned(),
        },
        EnergyUnknown::Varies => {
            "its power changes too fast for the time between samples (--metrics-period)".to_owned()
        }
    };
    let message = format!("the energy of card {} is not reported: {why}", card.index);
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
        let gaps = CardUse { energy_unknown: Some(EnergyUnknown::Gaps), ..card(None) };
        assert_eq!(codes(of(vec![card(None), gaps])), ["card_data_stale"]);
        let failed = HardwareUse {
            failed: 4,
            first_failure: Some("the card is gone".to_owned()),
            ..of(vec![card(None)])
        };
        assert_eq!(codes(failed), ["card_data_missing"]);
    }
}
