//! How a figure is marked that the client's own error is not small beside. One that is trusted bears no
//! mark. Imports of tables read past these marks.

use inferometer_analysis::range::{Range, Trust};
use inferometer_analysis::summary::Summary;

use crate::number::{MISSING, two_significant};
use crate::text_table::Table;

const BOUNDED: &str = " ±";
const NOT_VOUCHED_FOR: &str = " ?";

/// The text of a figure with its mark: `1.50 ±0.02`, or `1.50 ?` where the client does not vouch for it.
pub(crate) fn marked(text: String, figure: Option<f64>, range: Option<Range>) -> String {
    match figure.zip(range) {
        Some(_) if text == MISSING => text,
        Some((figure, range)) if range.trust == Trust::Bounded => {
            format!("{text}{BOUNDED}{}", two_significant(range.off(figure)))
        }
        Some((_, range)) if range.trust == Trust::NotVouchedFor => text + NOT_VOUCHED_FOR,
        _ => text,
    }
}

/// What the marks in these tables mean, a sentence each; nothing where there is none.
pub(crate) fn explained(summary: &Summary, tables: &[&Table]) -> Vec<String> {
    let has = |mark: &str| tables.iter().any(|table| table.has(mark));
    let advice = summary.verdict.advice.as_deref().unwrap_or_default();
    let mut sentences = Vec::new();
    if has(BOUNDED) {
        sentences.push(
            "±: the client's own error can take the figure so far from the truth.".to_owned(),
        );
    }
    if has(NOT_VOUCHED_FOR) {
        let sentence = "?: the client does not vouch for the figure, for its own error can be more \
                        than a fifth of it, or it was the bottleneck itself.";
        sentences.push(format!("{sentence} {advice}").trim_end().to_owned());
    }
    sentences
}

/// How many figures there are of each kind; nothing where no client took part.
pub(crate) fn counted(summary: &Summary) -> Option<String> {
    let counts = summary.verdict.figures.filter(|_| !summary.predicted)?;
    Some(format!(
        "Of its figures {} are trusted, {} are bounded (±), {} are not vouched for (?), and {} were \
         not measured.",
        counts.trusted, counts.bounded, counts.not_vouched_for, counts.absent
    ))
}

/// Whether the client's error is small beside every figure.
pub(crate) fn all_trusted(summary: &Summary) -> bool {
    let counts = summary.verdict.figures.unwrap_or_default();
    counts.bounded + counts.not_vouched_for == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_figure_that_is_not_trusted_bears_a_mark() {
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
