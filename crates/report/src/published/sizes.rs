//! Tables of text blocks: one per input size in the form of the published measurement, and one with the
//! counts, failures and rates of each pass.

use std::fmt::Write as _;

use inferometer_analysis::{Summary, blocks::BlockFigures};

use super::passes;
use crate::{MISSING, Table, count, escape::heading, label, left, right, significant};

/// Markdown with one table per input size, in the form of the published measurement. A line such as
/// `**input 100**` is above each table. The columns are the mean number of output tokens per answer,
/// rounded down, and the output tokens per second with four decimals. Absent if the run has no text
/// blocks.
pub fn tables(summary: &Summary) -> Option<String> {
    let passes = passes(summary);
    let mut sizes: Vec<u32> = passes.iter().map(|(_, _, figures)| figures.block_chars).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        return None;
    }
    let target = &summary.target;
    let card = label::with_reality(&label::card(target), summary);
    let engine = label::engine(target);
    let [model, card, engine] = [&target.model, &card, &engine].map(|text| heading(text));
    let mut out = format!("# {model}\n\n## {card}\n\n## {engine}\n");
    for size in sizes {
        let _ = writeln!(out, "\n**input {size}**\n\n输出长度 | completion-tokens/s\n---|---");
        let of_size = passes.iter().filter(|(_, _, figures)| figures.block_chars == size);
        let mut rows: Vec<&BlockFigures> = of_size.map(|(_, _, figures)| *figures).collect();
        rows.sort_by(|a, b| tokens(a).total_cmp(&tokens(b)));
        for figures in rows {
            let length = figures.completion_tokens_per_request();
            let length =
                length.map_or(MISSING.to_owned(), |tokens| format!("{:.0}", tokens.floor()));
            let _ = writeln!(out, "{length} | {}", cut(figures.completion_tokens_per_s()));
        }
    }
    out.push_str(
        "\nInput sizes are characters of a block; output lengths are the tokens that answers really \
         had, on average.\n",
    );
    Some(out)
}

fn tokens(figures: &BlockFigures) -> f64 {
    figures.completion_tokens_per_request().unwrap_or(f64::INFINITY)
}

/// A value with four decimals. Further decimals are dropped without rounding, as in the published
/// measurement.
fn cut(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return MISSING.to_owned() };
    let text = format!("{value}");
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}.{decimals:0<4.4}")
}

/// A row per pass over text blocks.
pub(crate) fn blocks(summary: &Summary) -> Table {
    Table::of(passes(summary).into_iter().map(|(_, pass, figures)| {
        let mut why = pass.outcomes;
        why.complete = 0;
        let each = |total: Option<u64>| {
            let mean = total.filter(|_| figures.completed > 0);
            mean.map_or(MISSING.to_owned(), |total| {
                significant(total as f64 / figures.completed as f64)
            })
        };
        let rate = |total: u64| {
            let rate = pass.duration_s.filter(|seconds| *seconds > 0.0);
            rate.map_or(MISSING.to_owned(), |seconds| significant(total as f64 / seconds))
        };
        let completed = format!("{} / {}", count(figures.completed), count(figures.planned));
        let of_a_request = figures.tokens_per_s_per_request.map_or(MISSING.to_owned(), significant);
        [
            right("Block (characters)", figures.block_chars.to_string()),
            right("Requested (characters)", figures.wanted_chars.to_string()),
            right("In flight", label::load(pass).trim_end_matches(" in flight")),
            right("Completed / planned", completed),
            left("Why not", if why.total() == 0 { String::new() } else { why.to_string() }),
            right("Prompt tokens", each(figures.prompt_tokens)),
            right("Output tokens", each(figures.completion_tokens)),
            right("Output tokens/s", figures.completion_tokens.map_or(MISSING.to_owned(), rate)),
            right("Output characters/s", rate(figures.completion_chars)),
            right("Tokens/s of a request", of_a_request),
        ]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_truncated_and_padded_to_four_decimals() {
        for (value, text) in [
            (51.696_504_237, "51.6965"),
            (349.987, "349.9870"),
            (0.999_99, "0.9999"),
            (522.0, "522.0000"),
        ] {
            assert_eq!(cut(Some(value)), text);
        }
        assert_eq!(cut(None), "-");
    }
}
