//! A table that compares the lengths of answers with the requested length.

use inferometer_analysis::Summary;
use inferometer_analysis::blocks::{LengthFigures, RULES};
use inferometer_model::stats::Distribution;

use super::passes;
use crate::{Align, MISSING, Table, count, significant};

/// A row per pass over text blocks: requested and generated lengths. Published logs do not contain these
/// counts, so a pass that was imported from such a log has no row: zeros would look like counts.
pub(crate) fn keeping(summary: &Summary) -> Table {
    let mut table = Table::new([
        ("Block (characters)", Align::Right),
        ("Requested (characters)", Align::Right),
        ("Answers", Align::Right),
        ("Characters, mean", Align::Right),
        ("p50", Align::Right),
        ("Share of requested length", Align::Right),
        ("Tokens, mean", Align::Right),
        ("Tokens per character", Align::Right),
        ("Length kept", Align::Right),
        ("Refusals", Align::Right),
        ("Runaway answers", Align::Right),
    ]);
    for (_, _, figures) in passes(summary) {
        let keeping = &figures.keeping;
        if summary.imported.is_some() && *keeping == LengthFigures::default() {
            continue;
        }
        let of = |values: &Option<Distribution>, figure: fn(&Distribution) -> f64| {
            values.as_ref().map(figure)
        };
        let show = |value: Option<f64>| value.map_or(MISSING.to_owned(), significant);
        let chars = of(&keeping.chars, |values| values.mean);
        let tokens = of(&keeping.tokens, |values| values.mean);
        let wanted = f64::from(figures.wanted_chars.max(1));
        let share = chars.map(|chars| 100.0 * chars / wanted);
        table.push(vec![
            figures.block_chars.to_string(),
            figures.wanted_chars.to_string(),
            count(keeping.answers),
            show(chars),
            show(of(&keeping.chars, |values| values.p50)),
            share.map_or(MISSING.to_owned(), |share| format!("{} %", significant(share))),
            show(tokens),
            show(tokens.zip(chars).filter(|(_, chars)| *chars > 0.0).map(|(t, c)| t / c)),
            count(keeping.kept),
            count(keeping.refusals),
            count(keeping.run_aways),
        ]);
    }
    table
}

/// The name and the definition of each count in the table.
pub(crate) fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.iter().map(|rule| (rule.name, rule.definition))
}
