//! `calibrate`: constants of a profile from measured rows, and how well they predict rows that they
//! were not fitted on. It measures nothing.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use inferometer_engine::EngineConfig;
use inferometer_engine::Weights;
use inferometer_engine::fit::{
    MeasuredRow, MeasuredTable, RowError, SCALES, constants_of, coverage, error_percent, errors,
    fit_scaled, fit_scales, leave_lengths_out,
};
use inferometer_engine::profile::{ColumnErrors, Profile, Provenance, Role};

use super::engine_flags::EngineFlags;
use super::predict::{config, read_against, row};
use crate::exit::{Failure, print};

/// Fewer rows than this cannot tell all constants apart: they get multipliers.
const ROWS_FOR_CONSTANTS: usize = 8;
/// Requests of the saturated pass of the published tables.
const PUBLISHED_REQUESTS: u32 = 399;
/// Fewer than this cannot tell the multipliers apart.
const ROWS_FOR_SCALES: usize = 2;

/// The flags of `calibrate`.
#[derive(Args)]
pub struct CalibrateArgs {
    /// What was measured: a published table (Markdown), perhaps #SECTION of it, or a stored run
    #[arg(value_name = "FILE.md[#SECTION]|RUN")]
    measured: String,
    /// The model that was measured: a name, or the path of a config.json
    #[arg(long, value_name = "NAME|FILE")]
    model: String,
    /// The profile to begin with: a name or a file [default: the model's]
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// The card that was measured, where it is not the profile's
    #[arg(long, value_name = "NAME")]
    card: Option<String>,
    #[command(flatten)]
    engine: EngineFlags,
    /// Take only these rows, such as 128x128,2048x512 [default: all]
    #[arg(long, value_name = "INxOUT,...", value_delimiter = ',')]
    rows: Vec<String>,
    /// Requests of the saturated pass that was measured [default: those of the run; of a table 399]
    #[arg(long, value_name = "N")]
    requests: Option<u32>,
    /// The name of the new profile [default: calibrated-MODEL]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The database
    #[arg(long, value_name = "FILE")]
    store: Option<String>,
    /// Where to write the profile; a file that is there is not replaced
    #[arg(long, value_name = "FILE", default_value = "profile.toml")]
    out: PathBuf,
}

/// Fits a profile.
pub fn calibrate(arguments: &CalibrateArgs) -> Result<(), Failure> {
    let out = arguments.out.display();
    if arguments.out.exists() {
        return Err(Failure::usage(format!("--out: {out} is there already; take another name")));
    }
    let mut config =
        config(Some(&arguments.model), arguments.profile.as_deref(), &arguments.engine)?;
    if let Some(card) = &arguments.card {
        config.profile.card.clone_from(card);
        config.resolve().map_err(Failure::usage)?;
    }
    let (table, left_out) = measured(arguments, &config)?;
    let weights = config.weights.unwrap_or(config.model.weights);
    let mut profile = config.profile.clone();
    let of_start = stated(&profile, weights);
    profile.provenance.clear();
    let mut text = left_out;
    let is_by_multipliers = table.rows.len() < ROWS_FOR_CONSTANTS;
    let (fitted, errors_left_out) = if is_by_multipliers {
        by_multipliers(&profile, &table, &mut text)?
    } else {
        let names = constants_of(weights);
        let _ = writeln!(text, "fitted {} constants to {} rows", names.len(), table.rows.len());
        let tables = std::slice::from_ref(&table);
        let fit_to = |tables: &[MeasuredTable]| fit_scaled(&profile, tables, names);
        let fitted = fit_to(tables).map_err(Failure::usage)?;
        let left_out = leave_lengths_out(tables, fit_to).map_err(Failure::usage)?;
        (fitted, left_out.concat())
    };
    let in_sample = errors(&fitted, &table).map_err(Failure::usage)?;
    let default_name = || format!("calibrated-{}", config.model.name);
    let mut fitted =
        Profile { name: arguments.name.clone().unwrap_or_else(default_name), ..fitted };
    let percent = |errors: &[RowError]| match errors {
        [] => ColumnErrors::new(),
        errors => error_percent(errors),
    };
    fitted.provenance.push(Provenance {
        table: config.model.name.clone(),
        weights,
        role: Role::Fitted,
        rows: table.rows.len() as u32,
        requests: (table.requests, 1),
        seen: coverage(&fitted, &table).map_err(Failure::usage)?,
        errors: percent(&in_sample),
        left_out_lengths: percent(&errors_left_out),
        left_out_table: ColumnErrors::new(),
        left_out_of_start: if is_by_multipliers { of_start } else { ColumnErrors::new() },
    });
    let toml = toml::to_string(&fitted).map_err(Failure::not_carried_out)?;
    std::fs::write(&arguments.out, toml)
        .map_err(|error| Failure::usage(format!("--out: {out}: cannot be written: {error}")))?;
    tell(&mut text, "rows fitted on", &in_sample);
    tell(&mut text, "rows left out of the fit", &errors_left_out);
    if is_by_multipliers {
        let _ = writeln!(
            text,
            "so few rows tell little of others: intervals are no narrower than those of {}",
            config.profile.name
        );
    }
    let _ = writeln!(
        text,
        "wrote {out}; predict with it: inferometer predict --model {} --profile {out}",
        arguments.model
    );
    print(&text)
}

/// The widest errors of rows left out that a profile states for these weights, by column.
fn stated(profile: &Profile, weights: Weights) -> ColumnErrors {
    let tables = profile.provenance.iter().filter(|table| table.weights == weights);
    let mut widest = ColumnErrors::new();
    for (column, error) in tables.flat_map(|table| &table.left_out_lengths) {
        if widest.get(column).is_none_or(|known| known.p90 < error.p90) {
            widest.insert(column.clone(), *error);
        }
    }
    widest
}

/// The rows that can be fitted on, and what is said of those that cannot.
fn measured(
    arguments: &CalibrateArgs,
    config: &EngineConfig,
) -> Result<(MeasuredTable, String), Failure> {
    let against = read_against(&arguments.measured, arguments.store.as_deref(), config)?;
    if against.counts.is_some_and(|counts| counts.predicted) {
        return Err(Failure::usage(format!(
            "{}: a profile is fitted to measured rows",
            against.origin
        )));
    }
    let mut text = format!("measured: {}\n", against.origin);
    let wanted = |cell: &str| arguments.rows.is_empty() || arguments.rows.iter().any(|r| r == cell);
    let mut rows = Vec::new();
    for found in &against.rows {
        let name = format!("{}x{}", found.cell.input_length, found.cell.output_length);
        if !wanted(&name) {
            continue;
        }
        let judged = row(config, found.cell, Some(&found.measured))?;
        for finding in &judged.findings {
            let _ = writeln!(text, "  {}: {}", found.cell, finding.message);
        }
        let figures = &found.measured;
        let both = figures.output_tokens_per_s.zip(figures.latency_per_output_token_ms);
        let Some((output_tokens_per_s, latency_per_output_token_ms)) = both else {
            let _ = writeln!(text, "  {}: left out, tokens/s or latency is missing", found.cell);
            continue;
        };
        if judged.comparable {
            let resolved = judged.config.resolve().map_err(Failure::usage)?;
            rows.push(MeasuredRow {
                cell: found.cell,
                output_tokens_per_s,
                latency_per_output_token_ms,
                max_model_len: resolved.limits.max_model_len,
                mean_output: judged.mean_output,
            });
        }
    }
    if rows.len() < ROWS_FOR_SCALES {
        return Err(Failure::usage(format!(
            "{}: {} rows can be fitted on; at least {ROWS_FOR_SCALES} are needed, one of short \
             inputs with a batch of 200 or more and one of long context",
            arguments.measured,
            rows.len()
        )));
    }
    let measured = against.counts.map(|counts| counts.saturated);
    let requests = match (arguments.requests, measured) {
        (Some(said), Some(sent)) if said != sent => {
            return Err(Failure::usage(format!("--requests: {said}, but the run sent {sent}")));
        }
        (said, sent) => said.or(sent).unwrap_or(PUBLISHED_REQUESTS),
    };
    let table = MeasuredTable { config: config.clone(), rows, requests };
    Ok((table, text))
}

/// Multipliers over the profile, and the errors of each row under those of the others.
fn by_multipliers(
    start: &Profile,
    table: &MeasuredTable,
    text: &mut String,
) -> Result<(Profile, Vec<RowError>), Failure> {
    let (fitted, factors) =
        fit_scales(start, std::slice::from_ref(table)).map_err(Failure::usage)?;
    let told: Vec<String> =
        SCALES.iter().zip(factors).map(|(name, factor)| format!("{name} x {factor:.3}")).collect();
    let _ = writeln!(
        text,
        "fitted three multipliers over {} to {} rows: {}",
        start.name,
        table.rows.len(),
        told.join(", ")
    );
    let mut left_out = Vec::new();
    // Two rows without one cannot be fitted.
    for out in table.rows.iter().filter(|_| table.rows.len() > ROWS_FOR_SCALES) {
        let others = [table.only(|row| row != out)];
        let (fitted, _) = fit_scales(start, &others).map_err(Failure::usage)?;
        left_out.extend(errors(&fitted, &table.only(|row| row == out)).map_err(Failure::usage)?);
    }
    Ok((fitted, left_out))
}

fn tell(text: &mut String, what: &str, errors: &[RowError]) {
    if errors.is_empty() {
        let _ = writeln!(text, "{what}: none to tell; give more rows");
        return;
    }
    for (column, e) in error_percent(errors) {
        let _ = writeln!(
            text,
            "{what}: {column}: mean {:.2} %, median {:.2} %, p90 {:.2} %, max {:.2} %",
            e.mean, e.median, e.p90, e.max
        );
    }
}
