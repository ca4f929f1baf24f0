//! A table that compares the lengths of answers with the requested length.

use inferometer_analysis::Summary;
use inferometer_analysis::blocks::{BlockFigures, LengthFigures, RULES};
use inferometer_model::stats::Distribution;

use super::passes;
use crate::{MISSING, Table, count, right, significant};

/// A row per pass over text blocks: requested and generated lengths. Published logs do not contain these
/// counts, so a pass that was imported from such a log has no row: zeros would look like counts.
pub(crate) fn keeping(summary: &Summary) -> Table {
    let is_counted = |figures: &BlockFigures| {
        summary.imported.is_none() || figures.keeping != LengthFigures::default()
    };
    let figures = passes(summary).into_iter().map(|(_, _, figures)| figures);
    Table::of(figures.filter(|figures| is_counted(figures)).map(|figures| {
        let keeping = &figures.keeping;
        let of = |values: &Option<Distribution>, figure: fn(&Distribution) -> f64| {
            values.as_ref().map(figure)
        };
        let show = |value: Option<f64>| value.map_or(MISSING.to_owned(), significant);
        let chars = of(&keeping.chars, |values| values.mean);
        let tokens = of(&keeping.tokens, |values| values.mean);
        let wanted = f64::from(figures.wanted_chars.max(1));
        let share = chars.map(|chars| 100.0 * chars / wanted);
        let share = share.map_or(MISSING.to_owned(), |share| format!("{} %", significant(share)));
        let each = tokens.zip(chars).filter(|(_, chars)| *chars > 0.0).map(|(t, c)| t / c);
        [
            right("Block (characters)", figures.block_chars.to_string()),
            right("Requested (characters)", figures.wanted_chars.to_string()),
            right("Answers", count(keeping.answers)),
            right("Characters, mean", show(chars)),
            right("p50", show(of(&keeping.chars, |values| values.p50))),
            right("Share of requested length", share),
            right("Tokens, mean", show(tokens)),
            right("Tokens per character", show(each)),
            right("Length kept", count(keeping.kept)),
            right("Refusals", count(keeping.refusals)),
            right("Runaway answers", count(keeping.run_aways)),
        ]
    }))
}

/// The name and the definition of each count in the table.
pub(crate) fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.iter().map(|rule| (rule.name, rule.definition))
}
