//! Determines whether the server refused every request of a cell. If it did, a search or a sweep shows nothing about
//! loads, but only that no request can be served.

use crate::PassSummary;

/// Whether the server refused every request of these passes. Requests that were skipped or cancelled are ignored. False
/// if no request was refused.
pub fn are_all_refused(passes: &[PassSummary]) -> bool {
    let outcomes = || passes.iter().map(|pass| &pass.outcomes);
    let rejected: u64 = outcomes().map(|outcomes| outcomes.rejected).sum();
    let ended: u64 =
        outcomes().map(|outcomes| outcomes.total() - outcomes.skipped - outcomes.cancelled).sum();
    rejected > 0 && ended == rejected
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::load::PassPlan;
    use inferometer_model::metrics::Timeline;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::record::Record;

    use super::*;
    use crate::fold::PassFold;

    #[test]
    fn a_cell_is_refused_if_every_request_that_ended_was_rejected() {
        let of = |outcomes: &[Outcome]| {
            let mut fold = PassFold::new(&PassPlan::saturated(2));
            let record = |&outcome: &Outcome| Record { outcome, ..steady(0.0, 40.0, 10.0, 4) };
            outcomes.iter().map(record).for_each(|record| fold.add(&Timeline::new(&record)));
            are_all_refused(&[fold.finish()])
        };
        let rejected = Outcome::Rejected { status: 400 };
        for (outcomes, are_all) in [
            (&[rejected, Outcome::Skipped, Outcome::Cancelled][..], true),
            (&[rejected, Outcome::Complete], false),
            (&[rejected, Outcome::Truncated], false),
            (&[Outcome::Skipped], false),
        ] {
            assert_eq!(of(outcomes), are_all, "{outcomes:?}");
        }
    }
}
