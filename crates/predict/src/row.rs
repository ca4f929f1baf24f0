//! Prepares the comparison of a cell with its measurement: determines the length limit of the measured engine, and
//! detects misleading measured figures. Misleading figures are reported in findings; nothing is fitted to them.

use inferometer_analysis::prediction::Columns;
use inferometer_engine::{EngineConfig, confidence::MeasuredOn, table};
use inferometer_model::{CellPlan, Finding, code};

use inferometer_run::PlanError;

/// The settings for the prediction of a cell.
pub struct Row {
    /// The configuration of the engine.
    pub config: EngineConfig,
    /// The mean output tokens, estimated from the measurement, if outputs of TGI ended before the requested length;
    /// otherwise `None`.
    pub mean_output: Option<f64>,
    /// The measured engine and card, as far as they are known.
    pub measured_on: MeasuredOn,
    /// Whether errors against the measurement are meaningful.
    pub comparable: bool,
    /// Findings about the cell.
    pub findings: Vec<Finding>,
}

/// Determines the prediction settings of a cell, from its measurement if there is one.
pub fn row(
    base: &EngineConfig,
    cell: CellPlan,
    measured: Option<&Columns>,
) -> Result<Row, PlanError> {
    let mut row = Row {
        config: base.clone(),
        mean_output: None,
        measured_on: MeasuredOn::default(),
        comparable: true,
        findings: Vec::new(),
    };
    let Some(measured) = measured else { return Ok(row) };
    let limit = base.resolve().map_err(PlanError::new)?.limits.max_model_len;
    if cell.input_length + cell.output_length > limit {
        over_the_limit(&mut row, cell, measured, limit)?;
    }
    if row.comparable {
        early_ends(&mut row, cell, measured);
    }
    Ok(row)
}

/// Handles a row with more tokens than the engine's limit. Either the outputs were cut off, or the measured engine had
/// a higher limit. The measured latency shows which of the two is true.
fn over_the_limit(
    row: &mut Row,
    cell: CellPlan,
    measured: &Columns,
    limit: u32,
) -> Result<(), PlanError> {
    let capped = latency_s(&row.config, cell)?;
    let most = row.config.model.context_limit.unwrap_or(row.config.model.context);
    let total = cell.input_length + cell.output_length;
    let mut raised = row.config.clone();
    raised.max_model_len = Some(most);
    let larger = (row.config.max_model_len.is_none() && total <= most)
        .then(|| latency_s(&raised, cell))
        .transpose()?;
    // Published latencies are per requested token.
    let asked = f64::from(cell.output_length);
    let seen = measured.latency_per_output_token_ms.map(|ms| ms * 1e-3 * asked);
    let distance = |latency: f64| seen.map_or(0.0, |seen| (latency.max(1e-9) / seen).ln().abs());
    if let Some(larger) = larger.filter(|&larger| distance(larger) < distance(capped)) {
        row.config = raised;
        let message = format!(
            "the measured latency ({:.1} s) fits {asked} output tokens ({larger:.1} s predicted), \
                so the measured engine had a limit above {limit} tokens; the prediction uses a \
                limit of {most} tokens",
            seen.unwrap_or(larger)
        );
        let finding = Finding::of(code::LARGER_LIMIT, message);
        row.findings.push(finding.at(cell.to_string()));
        return Ok(());
    }
    row.comparable = false;
    let made = (limit + 1).saturating_sub(cell.input_length);
    let message = if made <= 1 {
        format!(
            "prompts of {} tokens reach the limit of {limit} tokens, so the engine ignores them",
            cell.input_length
        )
    } else {
        let published = measured.output_tokens_per_s.zip(measured.requests_per_s);
        let counted = match published {
            Some((tokens, requests)) if near(tokens / requests, asked, requests) => {
                "; the measured tokens/s count requested tokens, not generated ones"
            }
            _ => "",
        };
        format!(
            "the model stops at {limit} tokens, so {made} of {asked} output tokens are \
                generated{counted}"
        )
    };
    let finding = Finding::of(code::OUTPUT_CAPPED, message).at(cell.to_string());
    row.findings.push(finding);
    Ok(())
}

/// The latency of a request without other requests in flight, in seconds.
fn latency_s(config: &EngineConfig, cell: CellPlan) -> Result<f64, PlanError> {
    let alone = table(config, cell, 1, 1).map_err(PlanError::new)?;
    Ok(if alone.requests_per_s > 0.0 { 1.0 / alone.requests_per_s } else { 0.0 })
}

/// Handles a row whose tokens/s and requests/s contradict the output length.
fn early_ends(row: &mut Row, cell: CellPlan, measured: &Columns) {
    let Some((tokens, requests)) = measured.output_tokens_per_s.zip(measured.requests_per_s) else {
        return;
    };
    let (mean, asked) = (tokens / requests, f64::from(cell.output_length));
    if near(mean, asked, requests) {
        return;
    }
    if row.config.profile.engine == "tgi" && mean >= 1.0 && mean <= asked {
        row.mean_output = Some(mean);
        let message = format!(
            "outputs ended at end-of-text after {mean:.1} of {asked} tokens on average (tokens/s \
                divided by requests/s); the prediction uses output lengths with this mean"
        );
        let finding = Finding::of(code::MEAN_OUTPUT_FROM_TABLE, message);
        row.findings.push(finding.at(cell.to_string()));
        return;
    }
    row.comparable = false;
    let message = format!(
        "tokens/s divided by requests/s is {mean:.1} output tokens, not {asked}: outputs ended \
            early, or tokens were counted that were not generated"
    );
    let finding = Finding::of(code::OUTPUT_NOT_AS_ASKED, message).at(cell.to_string());
    row.findings.push(finding);
}

/// Whether a mean number of tokens equals the requested number. A small difference is accepted, because published
/// requests/s are rounded to two decimals.
fn near(mean: f64, asked: f64, requests_per_s: f64) -> bool {
    (mean / asked - 1.0).abs() < 0.01 + 0.006 / requests_per_s
}

/// A finding if the measured latency per output token differs from the prediction by nearly the same amount in all
/// rows. There must be at least four rows. The mean difference must be above 3 % of the mean prediction, and above
/// three standard deviations of the differences. Then each measured step takes longer or shorter than predicted by this
/// amount. `rows` are pairs (predicted, measured).
pub fn constant_extra_cost(rows: &[(Columns, Columns)]) -> Option<Finding> {
    let pairs: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|(predicted, measured)| {
            Some((predicted.latency_per_output_token_ms?, measured.latency_per_output_token_ms?))
        })
        .collect();
    let count = pairs.len() as f64;
    let mean = pairs.iter().map(|(p, m)| m - p).sum::<f64>() / count;
    let spread = (pairs.iter().map(|(p, m)| (m - p - mean).powi(2)).sum::<f64>() / count).sqrt();
    let level = pairs.iter().map(|(p, _)| p).sum::<f64>() / count;
    let alike = pairs.len() >= 4 && mean.abs() > 0.03 * level && mean.abs() > 3.0 * spread;
    alike.then(|| {
        let message = format!(
            "the measured latency per output token differs from the prediction by {mean:+.2} ms \
                ({:+.1} %) at all lengths (standard deviation {spread:.2} ms)",
            100.0 * mean / level
        );
        Finding::of(code::CONSTANT_EXTRA_COST, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(requests: f64, tokens: f64, latency: f64) -> Columns {
        Columns::from_values([Some(requests), Some(tokens), None, Some(latency)])
    }

    fn judged(cell: (u32, u32), figures: Columns) -> Row {
        let base = EngineConfig::of_model("qwen-14b").unwrap();
        let cell = CellPlan { input_length: cell.0, output_length: cell.1 };
        row(&base, cell, Some(&figures)).unwrap()
    }

    fn codes(row: &Row) -> Vec<&str> {
        row.findings.iter().map(|finding| finding.code.as_str()).collect()
    }

    #[test]
    fn outputs_cut_by_the_model_limit_are_detected_from_their_latency() {
        let cut = judged((1024, 2048), measured(0.17, 338.69, 13.14));
        assert_eq!((codes(&cut), cut.comparable), (vec!["output_capped"], false));
        assert!(cut.findings[0].message.contains("1025 of 2048"), "{}", cut.findings[0].message);
        assert!(cut.findings[0].message.contains("count requested tokens"));
    }

    #[test]
    fn a_row_measured_with_a_larger_model_limit_is_predicted_with_that_limit() {
        let larger = judged((2048, 1024), measured(0.08, 85.43, 27.67));
        assert_eq!((codes(&larger), larger.comparable), (vec!["larger_limit"], true));
        assert_eq!(larger.config.max_model_len, Some(8192));
    }

    #[test]
    fn a_consistent_row_has_no_finding() {
        let sound = judged((512, 512), measured(0.60, 308.76, 26.03));
        assert!(sound.findings.is_empty() && sound.comparable);
    }

    #[test]
    fn token_rates_that_do_not_match_the_request_rates_are_detected() {
        let early = judged((512, 512), measured(1.0, 300.0, 26.03));
        assert_eq!((codes(&early), early.comparable), (vec!["output_not_as_asked"], false));
    }

    #[test]
    fn an_extra_cost_common_to_all_rows_is_detected_but_scatter_is_not() {
        let rows = |extra: [f64; 4]| {
            extra.map(|extra| (measured(1.0, 1.0, 20.0), measured(1.0, 1.0, 20.0 + extra)))
        };
        assert!(constant_extra_cost(&rows([2.0, 2.1, 1.9, 2.0])).is_some());
        assert!(constant_extra_cost(&rows([2.0, -2.1, 1.9, -2.0])).is_none());
        assert!(constant_extra_cost(&rows([0.1, 0.1, 0.1, 0.1])).is_none());
    }
}
