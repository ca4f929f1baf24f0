//! The result of repeating the run of a bundle, as one sentence, and further lines: advice, or a warning.
//! The result comes from the analysis.

use inferometer_analysis::compare::{Among, Design, Reproduction, ReproductionResult, Row};
use inferometer_model::{Change, digits};

use crate::difference::{interval, signed};
use crate::significant;

/// The maximum number of repeats that the advice proposes. If more repeats are needed, the advice is to
/// reduce the variation of the figures, or to accept a larger margin.
const MOST_ADVISED: u32 = 50;
/// The maximum number of figures that a sentence names; further figures are only counted.
const MOST_NAMED: usize = 3;

/// The result in one sentence. The sentence ends with the facts that differ, each with both values, or states that no
/// known fact differs.
pub fn sentence(answer: &Reproduction, facts: &[[String; 3]]) -> String {
    format!("{}{}", words(answer), facts_words(facts))
}

fn words(answer: &Reproduction) -> String {
    let row = answer.headline.as_ref();
    let difference = || row.map_or_else(String::new, with_interval);
    let place =
        || row.map_or_else(String::new, |row| format!("{}, {}", row.figure, with_values(row)));
    match answer.outcome {
        ReproductionResult::Identical => "identical: all figures agree in every digit".to_owned(),
        ReproductionResult::Same { within_pct } => format!(
            "same within {} %: {}; the means and medians of the other metrics also differ by at \
                most that{}",
            rounded_up(within_pct),
            difference(),
            open(&answer.undecided)
        ),
        ReproductionResult::Slower { from_pct, to_pct } => {
            format!("{} % slower ({})", span(from_pct, to_pct), place())
        }
        ReproductionResult::Faster { from_pct, to_pct } => {
            match Change::of_percent(from_pct).is_factor() {
                true => {
                    let times = digits::interval([from_pct, to_pct].map(|pct| 1.0 + pct / 100.0));
                    format!("{times} times as fast ({})", place())
                }
                false => format!("{} % faster ({})", span(from_pct, to_pct), place()),
            }
        }
        ReproductionResult::Mixed => {
            format!("slower in {}, and faster in {}", some(&answer.worse), some(&answer.better))
        }
        ReproductionResult::WithoutError => format!(
            "differs: {}; a prediction has one value, so the significance of a difference is \
                unknown",
            difference()
        ),
        ReproductionResult::NotDecided { .. } if row.is_none() => {
            "undecided: the bundle and this run have no metric in common at the same load"
                .to_owned()
        }
        ReproductionResult::NotDecided { .. } => format!("not decided: {}", difference()),
    }
}

/// Additional lines: advice if the result is undecided, or a warning if a drift may be the cause of a
/// difference. Empty if the two runs have no figure in common.
pub fn remarks(answer: &Reproduction) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(row) = &answer.headline else { return lines };
    if let ReproductionResult::NotDecided { needed } = answer.outcome {
        lines.extend(answer.among.as_ref().map(|found| among(row, found)));
        lines.push(what_to_do(row, needed));
    }
    let differs = matches!(
        answer.outcome,
        ReproductionResult::Slower { .. }
            | ReproductionResult::Faster { .. }
            | ReproductionResult::Mixed
    );
    if differs && !matches!(row.design, Design::Alternated { .. }) {
        lines.push(
            "The bundle and this run were not measured alternately: a drift of the machine can cause \
             the same difference."
                .to_owned(),
        );
    }
    lines
}

/// A sentence on a single value that is compared with several values: whether it is within their range.
fn among(row: &Row, found: &Among) -> String {
    let range = format!("{} to {}", significant(found.smallest), significant(found.largest));
    let others = format!("the {} values of the other side ({range})", found.others);
    let one = format!("{}: the single value, {},", row.figure, significant(found.value));
    match found.is_inside() {
        true => format!("{one} is within {others}."),
        false => format!(
            "{one} is outside {others}, which happens by chance in {:.0} of 100 cases.",
            100.0 * found.chance_outside()
        ),
    }
}

fn what_to_do(row: &Row, needed: u32) -> String {
    if needed > MOST_ADVISED {
        return format!(
            "To decide, about {needed} repeats of the bundle and of this run are needed: use longer \
                passes (--requests, --duration), a machine without other work, or a larger --margin."
        );
    }
    let [there, here] = row.repeats.map(|repeats| u32::try_from(repeats).unwrap_or(u32::MAX));
    let again = format!("reproduce the bundle with --repeat {needed}");
    if there >= needed {
        return format!("To decide: {again}.");
    }
    let (there, here) = (repeats(there), repeats(here));
    format!(
        "To decide: the bundle has {there}, and this run {here}; make a bundle of a run with --repeat \
         {needed} or more, or of several runs (`inferometer bundle A,B,...`), and {again}."
    )
}

fn repeats(count: u32) -> String {
    match count {
        1 => "1 repeat".to_owned(),
        many => format!("{many} repeats"),
    }
}

/// A figure with its difference, its interval and both values: `requests_per_s -0.40 % (95 % interval
/// -1.20 to +0.50 %; all cells, saturated: 34.7 -> 34.6)`.
fn with_interval(row: &Row) -> String {
    let ends = match row.interval_pct {
        Some(ends) => {
            format!("95 % interval {}", interval(row.difference_pct, Some(ends)))
        }
        None => "its significance is unknown".to_owned(),
    };
    format!("{} {} ({ends}; {})", row.figure, signed(row.difference_pct), with_values(row))
}

/// The cell, the load and both values: `all cells, saturated: 34.7 -> 30.1`.
fn with_values(row: &Row) -> String {
    format!("{}: {} -> {}", row.place(), significant(row.baseline), significant(row.contender))
}

/// A range in percent: `12 to 15`; `up to 15` if it begins at 0; `12` if the rounded ends are equal.
fn span(from_pct: f64, to_pct: f64) -> String {
    let digits = |pct: f64| if pct < 9.95 { format!("{pct:.1}") } else { format!("{pct:.0}") };
    let (from, to) = (digits(from_pct), digits(to_pct));
    match (from_pct < 0.05, from == to) {
        (true, _) => format!("up to {to}"),
        (false, true) => from,
        (false, false) => format!("{from} to {to}"),
    }
}

/// An upper bound in percent, rounded up so that it is still an upper bound.
fn rounded_up(pct: f64) -> String {
    match pct {
        0.0 => "0".to_owned(),
        pct if pct < 1.0 => format!("{:.1}", (10.0 * pct).ceil() / 10.0),
        pct => format!("{:.0}", pct.ceil()),
    }
}

fn open(undecided: &[String]) -> String {
    if undecided.is_empty() { String::new() } else { format!("; not decided: {}", some(undecided)) }
}

fn some(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let named = names[..names.len() - more].join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

fn facts_words(facts: &[[String; 3]]) -> String {
    if facts.is_empty() {
        return "; no known fact differs".to_owned();
    }
    let facts = facts.iter().map(|[name, there, here]| format!("{name} {there} -> {here}"));
    format!(", and these facts differ: {}", facts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_analysis::compare::RowVerdict;

    fn row(difference_pct: f64, interval_pct: Option<[f64; 2]>, repeats: [usize; 2]) -> Row {
        Row {
            cell: None,
            load: "saturated".to_owned(),
            figure: "requests_per_s".to_owned(),
            higher_is_better: true,
            baseline: 34.71,
            contender: 30.05,
            repeats,
            difference_pct,
            interval_pct,
            p: None,
            design: Design::BeforeAfter { drift_is_bounded: false },
            over_time: [None; 2],
            verdict: RowVerdict::Differs,
        }
    }

    fn answer(outcome: ReproductionResult, headline: Row) -> Reproduction {
        Reproduction {
            outcome,
            headline: Some(headline),
            worse: vec!["a".to_owned()],
            better: ["b", "c", "d", "e"].map(str::to_owned).to_vec(),
            undecided: Vec::new(),
            among: None,
        }
    }

    #[test]
    fn the_answer_is_one_sentence_with_an_interval_and_the_facts_that_differ() {
        let facts = [["engine version", "0.9", "0.10"], ["card", "A100", "H100"]];
        let facts = facts.map(|fact| fact.map(str::to_owned));
        let of = |outcome, row| sentence(&answer(outcome, row), &facts);
        let decided = || row(-13.4, Some([-15.0, -12.0]), [5, 5]);
        assert_eq!(
            of(ReproductionResult::Slower { from_pct: 12.0, to_pct: 15.0 }, decided()),
            "12 to 15 % slower (requests_per_s, all cells, saturated: 34.71 -> 30.05), and these facts \
             differ: engine version 0.9 -> 0.10, card A100 -> H100"
        );
        let same = answer(
            ReproductionResult::Same { within_pct: 2.31 },
            row(-0.4, Some([-2.31, 1.5]), [5, 5]),
        );
        assert_eq!(
            sentence(&same, &[]),
            "same within 3 %: requests_per_s -0.40 % (95 % interval -2.31 to +1.50 %; all cells, \
             saturated: 34.71 -> 30.05); the means and medians of the other metrics \
             also differ by at most that; no known fact differs"
        );
        assert!(
            of(ReproductionResult::Mixed, decided())
                .starts_with("slower in a, and faster in b, c, d and 1 more,")
        );
        assert!(of(ReproductionResult::Identical, decided()).starts_with("identical: all figures"));
        let one_each = || row(-3.1, None, [1, 1]);
        let open = of(ReproductionResult::NotDecided { needed: 5 }, one_each());
        assert!(
            open.starts_with("not decided: requests_per_s -3.10 % (its significance is unknown"),
            "{open}"
        );
    }

    #[test]
    fn an_undecided_reproduction_states_what_to_do() {
        let told = |repeats, among| {
            let of = answer(ReproductionResult::NotDecided { needed: 6 }, row(-3.1, None, repeats));
            remarks(&Reproduction { among, ..of }).join(" ")
        };
        let one = told([1, 1], None);
        assert!(one.contains("the bundle has 1 repeat, and this run 1 repeat;"), "{one}");
        assert!(one.contains("make a bundle of a run with --repeat 6 or more"), "{one}");
        let noisy = answer(ReproductionResult::NotDecided { needed: 848 }, row(-3.1, None, [4, 4]));
        let noisy = remarks(&noisy).join(" ");
        assert!(noisy.starts_with("To decide, about 848 repeats of the bundle and of"), "{noisy}");
        assert_eq!(told([6, 1], None), "To decide: reproduce the bundle with --repeat 6.");
        let found = Among { value: 34.0, smallest: 30.0, largest: 33.0, others: 4 };
        let outside = told([1, 4], Some(found));
        assert!(outside.contains("34, is outside the 4 values of the other"), "{outside}");
        assert!(outside.contains("by chance in 40 of 100 cases"), "{outside}");
        let inside = told([1, 4], Some(Among { value: 31.0, ..found }));
        assert!(inside.contains("is within the 4 values"), "{inside}");
        let slower = answer(
            ReproductionResult::Slower { from_pct: 0.0, to_pct: 9.0 },
            row(-5.0, None, [5, 5]),
        );
        assert!(remarks(&slower)[0].contains("not measured alternately"));
    }

    #[test]
    fn a_bound_is_rounded_up_and_a_range_shows_both_ends_only_if_they_differ() {
        for (pct, text) in
            [(0.0, "0"), (0.04, "0.1"), (0.3, "0.3"), (0.31, "0.4"), (2.0, "2"), (2.01, "3")]
        {
            assert_eq!(rounded_up(pct), text);
        }
        for ((from, to), text) in [
            ((12.0, 15.2), "12 to 15"),
            ((3.04, 4.0), "3.0 to 4.0"),
            ((0.0, 15.0), "up to 15"),
            ((12.1, 12.2), "12"),
        ] {
            assert_eq!(span(from, to), text);
        }
    }
}
