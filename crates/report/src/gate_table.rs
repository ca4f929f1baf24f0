//! The conditions of a gate with their results, as a table.

use inferometer_analysis::{compare::GateResult, verdict::Met};
use inferometer_model::{Change, metrics::slo::split};

use crate::number::{decimals_beside, number_and_unit};
use crate::{MISSING, Table, left, right};

pub(crate) fn gate_table(gates: &[GateResult]) -> Table {
    Table::of(gates.iter().map(|gate| {
        [
            left("Condition", &gate.condition),
            left("Where", &gate.place),
            right("Difference", difference(gate)),
            right("95 % interval", interval(gate)),
            left("Met", met(gate)),
        ]
    }))
}

fn met(gate: &GateResult) -> String {
    let text = match (gate.met, &gate.why) {
        (Met::Yes, _) => "yes",
        (Met::No, Some(why)) => return format!("NO: {why}"),
        (Met::Undecided, Some(why)) => return format!("undecided: {why}"),
        (Met::No, _) if gate.measured_in_turn => "NO",
        (Met::No, _) => "NO: a change or a drift",
        (Met::Undecided, _) if gate.interval_pct.is_none() => "undecided: not enough data",
        (Met::Undecided, _) => "undecided: the limit is inside the interval",
    };
    text.to_owned()
}

/// The number of decimals, at least 2, with which the texts of the difference and of the ends of its interval are on
/// the same side of the limit as their values. Then a rounded text does not contradict the result.
fn decimals(gate: &GateResult) -> usize {
    let limit = split(&gate.condition).and_then(|(_, _, limit)| number_and_unit(limit));
    let limit = limit.and_then(|(number, _)| number.parse().ok());
    let ends = gate.interval_pct.into_iter().flatten().flatten();
    decimals_beside(&gate.difference_pct.into_iter().chain(ends).collect::<Vec<_>>(), limit)
}

/// The difference with its sign: `+5.23 %`, or `86.3 times`; [`MISSING`] if there is none.
pub(crate) fn difference(gate: &GateResult) -> String {
    let signed = |percent| Change::of_percent(percent).signed(decimals(gate));
    let text = gate.difference_pct.map(signed);
    text.unwrap_or_else(|| MISSING.to_owned())
}

/// The interval of the difference: `+3.12 to +7.30 %`, or `+3.12 % or more`; [`MISSING`] if there is none.
pub(crate) fn interval(gate: &GateResult) -> String {
    let decimals = decimals(gate);
    let end = |percent: f64| Change::of_percent(percent).signed(decimals);
    match (gate.interval_pct, gate.difference_pct) {
        (Some([Some(low), Some(high)]), Some(percent)) => {
            let ratios = [low, high].map(|end| 1.0 + end / 100.0);
            Change::of_percent(percent).interval(ratios, decimals)
        }
        (Some([Some(low), None]), _) => format!("{} or more", end(low)),
        (Some([None, Some(high)]), _) => format!("{} or less", end(high)),
        _ => MISSING.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_one_sided_interval_and_a_missing_answer_are_shown() {
        let gate = |interval_pct: Option<[Option<f64>; 2]>, why: Option<&str>| GateResult {
            condition: "highest_load>-3%".to_owned(),
            figure: "highest_load".to_owned(),
            place: "512 x 128".to_owned(),
            difference_pct: interval_pct.map(|_| 20.0),
            interval_pct,
            why: why.map(str::to_owned),
            measured_in_turn: false,
            met: Met::No,
        };
        for (gate, cells) in [
            (
                gate(Some([Some(10.0), Some(30.0)]), None),
                ["+10.00 to +30.00 %", "NO: a change or a drift"],
            ),
            (gate(Some([Some(10.0), None]), None), ["+10.00 % or more", "NO: a change or a drift"]),
            (gate(Some([None, Some(30.0)]), None), ["+30.00 % or less", "NO: a change or a drift"]),
            (gate(None, Some("no load")), [MISSING, "NO: no load"]),
        ] {
            assert_eq!([interval(&gate), met(&gate)], cells);
        }
    }
}
