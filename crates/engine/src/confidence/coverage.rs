//! Why no measured row of a profile supports the prediction of a cell, and how far a cell is outside of the measured
//! rows. No error is computed here.

use inferometer_model::CellPlan;

use super::left_out::alike;
use crate::profile::{Coverage, Provenance};
use crate::{Profile, ResolvedConfig};

/// How far a cell may be outside of the range of the measured rows, as factors: of the input tokens, the output tokens
/// and the number of sequences. Within these factors, the cost model for vLLM 0.8 and later still applies. This cost
/// model adds up the times of single operations, which were measured with one to thousands of tokens.
const BEYOND: [u32; 3] = [8, 8, 4];
/// How far the share of cached prompt tokens may be outside of that of the measured rows, in percentage points.
const BEYOND_CACHED: f64 = 25.0;

/// Describes the share of prompt tokens that are in the prefix cache, if it is unlike that of all measured rows.
pub(super) fn other_cached_share(tables: &[&Provenance], cached_share: f64) -> Option<String> {
    let percent = 100.0 * cached_share;
    let is_like = |table: &&&Provenance| {
        let (low, high) = table.seen.cached_percent;
        percent > f64::from(low) - BEYOND_CACHED && percent < f64::from(high) + BEYOND_CACHED
    };
    let (low, high) = tables.first()?.seen.cached_percent;
    tables.iter().find(is_like).is_none().then(|| {
        format!(
            "{percent:.0} % of the prompt tokens are in the prefix cache, in the measured rows of the profile {low} to \
             {high} %"
        )
    })
}

/// Tells that only one model with the weights of a model was measured. The errors of constants that were fitted to one
/// model say nothing about other models. In the cost model for vLLM 0.8 and later, the constants of all profiles were
/// fitted together, so the models of all profiles count. In the older cost model, a table counts that was predicted
/// without its own rows.
pub(super) fn only_model(known: &[Profile], config: &ResolvedConfig) -> Option<String> {
    let is_of_today = config.profile.steps.is_some();
    let others = alike(known, config).filter(|_| is_of_today);
    let tables = || {
        let all = others.clone().chain([&config.profile]).flat_map(|profile| &profile.provenance);
        all.filter(|it| it.weights == config.weights)
    };
    let first = &tables().next()?.table;
    let are_several = match is_of_today {
        true => tables().any(|it| it.table != *first),
        false => tables().any(|it| !it.without_table.is_empty()),
    };
    (!are_several).then(|| {
        format!(
            "{first} is the only measured model with {} weights, so the errors for other models are unknown",
            config.weights
        )
    })
}

/// Describes the first property of a cell that is outside of the range of all tables; `None` if there is none.
pub(super) fn not_covered(
    config: &ResolvedConfig,
    tables: &[&Provenance],
    cell: CellPlan,
    sequences: u32,
) -> Option<String> {
    let cards = config.tensor_parallel_size;
    // In the cost model for vLLM 0.8 and later, a step on one card consists only of operations that a step on several
    // cards also has. So rows of several cards also support predictions for one card.
    let is_part_of_seen = cards == 1 && config.profile.steps.is_some();
    if !is_part_of_seen && !tables.iter().any(|table| table.seen.cards == cards) {
        return Some(format!("the profile was not fitted to any measured row on {cards} cards"));
    }
    let factors = if config.profile.steps.is_some() { BEYOND } else { [1; 3] };
    measures(tables, cell, sequences).into_iter().zip(factors).find_map(|(measure, factor)| {
        let (what, value, (low, high)) = measure;
        let inside = (low.div_ceil(factor)..=high.saturating_mul(factor)).contains(&value);
        let known = match factor {
            1 => String::new(),
            factor => format!("; values outside by a factor of up to {factor} are accepted"),
        };
        (!inside).then(|| {
            format!("{value} {what}: the measured rows of the profile have {low} to {high}{known}")
        })
    })
}

/// Returns why a cell is not covered if its requests are longer than the model's sliding window. The older cost model
/// does not simulate such windows. If the profile has rows of the model itself, the cell is covered.
pub(super) fn beyond_window(config: &ResolvedConfig, cell: CellPlan) -> Option<String> {
    let window = config.model.windows.filter(|_| config.profile.steps.is_none())?.tokens;
    let is_own = config.profile.provenance.iter().any(|it| it.table == config.model.name);
    let tokens = cell.input_length.saturating_add(cell.output_length);
    (tokens > window && !is_own).then(|| {
        format!(
            "{tokens} tokens are more than the model's sliding window of {window} tokens, which is not simulated \
             for this engine"
        )
    })
}

/// The properties of a cell: (name, value, range of the value over all tables).
fn measures(
    tables: &[&Provenance],
    cell: CellPlan,
    sequences: u32,
) -> [(&'static str, u32, (u32, u32)); 3] {
    let covered = |range: fn(&Coverage) -> (u32, u32)| {
        let ranges = || tables.iter().map(|table| range(&table.seen));
        (ranges().map(|r| r.0).min().unwrap_or(0), ranges().map(|r| r.1).max().unwrap_or(0))
    };
    [
        ("input tokens", cell.input_length, covered(|seen| seen.input_tokens)),
        ("output tokens", cell.output_length, covered(|seen| seen.output_tokens)),
        ("sequences at once", sequences, covered(|seen| seen.sequences)),
    ]
}

/// How far a cell is outside of the range of the tables, in doublings. The property that is farthest outside counts.
pub(super) fn doublings_beyond(
    config: &ResolvedConfig,
    tables: &[&Provenance],
    cell: CellPlan,
    sequences: u32,
) -> f64 {
    if config.profile.steps.is_none() {
        return 0.0;
    }
    let doublings = measures(tables, cell, sequences).map(|(_, value, (low, high))| {
        let ratio = |over: u32, under: u32| f64::from(over.max(1)) / f64::from(under.max(1));
        ratio(value, high).max(ratio(low, value)).log2()
    });
    doublings.into_iter().fold(0.0, f64::max)
}
