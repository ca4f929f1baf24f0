//! Marks after figures for which the client's own error matters: `±` for bounded figures, `?` for
//! unreliable ones. A trusted figure has no mark. The import of tables ignores these marks.

use inferometer_analysis::Summary;
use inferometer_analysis::range::{Range, Trust};
use inferometer_model::code;

use crate::{MISSING, Table, number::two_significant};

const BOUNDED: &str = " ±";
const UNRELIABLE: &str = " ?";

/// The text of a figure with its mark: `1.50 ±0.02`, or `1.50 ?` if it is unreliable.
pub(crate) fn marked(text: String, figure: Option<f64>, range: Option<Range>) -> String {
    match figure.zip(range) {
        Some(_) if text == MISSING => text,
        Some((figure, range)) if range.trust == Trust::Bounded => {
            format!("{text}{BOUNDED}{}", two_significant(range.off(figure)))
        }
        Some((_, range)) if range.trust == Trust::Unreliable => text + UNRELIABLE,
        _ => text,
    }
}

/// The meaning of each kind of mark that occurs in these tables; empty if no mark occurs. The meaning of `?` ends with
/// advice. A further sentence on TTFT follows if an earlier part of a resumed run had already sent the prompts.
pub(crate) fn explained(summary: &Summary, tables: &[&Table]) -> Vec<String> {
    let has = |mark: &str| tables.iter().any(|table| table.has(mark));
    let advice = summary.verdict.advice.as_deref().unwrap_or_default();
    let mut sentences = Vec::new();
    if has(BOUNDED) {
        sentences.push(
            "±: the largest error of the figure that the client's own timing can cause.".to_owned(),
        );
    }
    if has(UNRELIABLE) {
        let sentence = "?: unreliable; the client's own error can be more than a fifth of the \
            figure, or the client was the bottleneck.";
        sentences.push(format!("{sentence} {advice}").trim_end().to_owned());
        if summary.findings.iter().any(|finding| finding.is(code::PROMPTS_SENT_BEFORE)) {
            let sentence = "TTFT is also unreliable if an earlier part of a resumed run had \
                already sent the prompts.";
            sentences.push(sentence.to_owned());
        }
    }
    sentences
}

/// A sentence with the numbers of trusted, bounded, unreliable and missing figures. Absent for
/// predictions, and for results without these numbers.
pub(crate) fn counted(summary: &Summary) -> Option<String> {
    let counts = summary.verdict.figures.filter(|_| !summary.predicted)?;
    Some(format!(
        "Figures: {} trusted, {} bounded (±), {} unreliable (?), and {} not measured.",
        counts.trusted, counts.bounded, counts.not_vouched_for, counts.absent
    ))
}

/// Whether every measured figure is trusted. Also true for results without the numbers of trusted figures.
pub(crate) fn all_trusted(summary: &Summary) -> bool {
    let counts = summary.verdict.figures.unwrap_or_default();
    counts.bounded + counts.not_vouched_for == 0
}

/// The meaning of the verdict "valid" for the figures, as a sentence without its full stop. A valid run can have
/// unreliable figures: only the four figures of each cell, and figures with an objective, affect this verdict.
pub(crate) fn of_valid_run(summary: &Summary) -> &'static str {
    let counts = summary.verdict.figures.unwrap_or_default();
    match (counts.bounded, counts.not_vouched_for) {
        (0, 0) => "the client's own error is small compared with every figure",
        (_, 0) => "every figure of the table is trusted or bounded",
        _ => {
            "throughput and mean latencies of each cell are trusted or bounded, some other \
                figures are unreliable (?)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::run_with_objectives;
    use inferometer_analysis::trust::FigureCounts;

    #[test]
    fn a_valid_run_claims_a_bound_on_every_figure_only_if_no_figure_is_unreliable() {
        let of = |bounded, not_vouched_for| {
            let mut summary = run_with_objectives(Vec::new());
            let counts = FigureCounts { bounded, not_vouched_for, ..FigureCounts::default() };
            summary.verdict.figures = Some(counts);
            of_valid_run(&summary)
        };
        assert!(of(0, 0).ends_with("small compared with every figure"));
        assert!(of(3, 0).starts_with("every figure of the table"));
        for bounded in [0, 3] {
            assert!(of(bounded, 1).starts_with("throughput and mean latencies of each cell"));
        }
    }

    #[test]
    fn only_a_figure_that_is_not_trusted_is_marked() {
        let range = |low, high| Some(Range::of(1.5, low, high, 0.01));
        for (range, expected) in [
            (None, "1.50"),
            (range(1.49, 1.5), "1.50"),
            (range(1.48, 1.5), "1.50 ±0.02"),
            (range(1.5, 1.623), "1.50 ±0.12"),
            (range(0.0, 1.5), "1.50 ?"),
        ] {
            assert_eq!(marked("1.50".to_owned(), Some(1.5), range), expected, "{range:?}");
        }
        assert_eq!(marked(MISSING.to_owned(), Some(1.5), range(0.0, 2.0)), MISSING);
    }
}
