//! Predictions in the form of published tables. Each row has figures of a saturated pass (all requests are sent at the
//! same time) and of a one-by-one pass (each request is sent after the end of the previous one).

use inferometer_model::{Bound, CellPlan, Nanos, PassPlan, load_model};

use crate::{
    Engine, EngineConfig, EngineError, Finish, Lengths, VirtualRecord, output_lengths, simulate,
};

/// One row of a table of predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableRow {
    /// Saturated pass: requests completed per second.
    pub requests_per_s: f64,
    /// Saturated pass: output tokens per second.
    pub output_tokens_per_s: f64,
    /// One-by-one pass: mean of latency / (prompt + output tokens), in milliseconds; absent if no token was generated.
    pub latency_per_token_ms: Option<f64>,
    /// One-by-one pass: mean of latency / output tokens, in milliseconds; absent if no token was generated.
    pub latency_per_output_token_ms: Option<f64>,
}

/// Predicts a row from two passes: `one_by_one` requests one after the other, and `requests` requests that are sent at
/// the same time. Noise in the configuration is ignored.
///
/// # Errors
/// If the engine would refuse to start with this configuration.
pub fn table(
    config: &EngineConfig,
    cell: CellPlan,
    one_by_one: u32,
    requests: u32,
) -> Result<TableRow, EngineError> {
    table_with_mean_output(config, cell, None, one_by_one, requests)
}

/// Returns an endless iterator over the lengths of a cell's requests. If a mean is given, the model ends the outputs
/// earlier: the iterator repeats `count` output lengths with this mean.
pub fn lengths(
    cell: CellPlan,
    mean_output: Option<f64>,
    count: u32,
) -> Box<dyn Iterator<Item = Lengths>> {
    let requested = Lengths::from((cell.input_length, cell.output_length));
    match mean_output {
        None => Box::new(std::iter::repeat(requested)),
        Some(mean) => {
            let outputs = output_lengths(mean, cell.output_length, count.max(1));
            let lengths = move |ends_after| Lengths { ends_after, ..requested };
            Box::new(outputs.into_iter().cycle().map(lengths))
        }
    }
}

/// Like [`table`], but if a mean is given, the model ends the outputs earlier, with this mean length.
///
/// # Errors
/// Those of [`table`].
pub fn table_with_mean_output(
    config: &EngineConfig,
    cell: CellPlan,
    mean_output: Option<f64>,
    one_by_one: u32,
    requests: u32,
) -> Result<TableRow, EngineError> {
    let config = &EngineConfig { noise: None, ..config.clone() };
    let simulate_pass = |pass: &PassPlan, count: u32| -> Result<_, EngineError> {
        let (mut engine, mut load) = (Engine::new(config.clone())?, load_model(pass, 0));
        Ok(simulate(&mut engine, &mut *load, &mut *lengths(cell, mean_output, count)))
    };
    let bound = Bound::requests(one_by_one);
    let single = simulate_pass(&PassPlan::one_by_one(bound), one_by_one)?;
    let saturated = simulate_pass(&PassPlan::saturated(requests), requests)?;
    let end = saturated.iter().map(|record| record.ended).max().unwrap_or(Nanos::ZERO);
    let seconds = end.seconds_after(Nanos::ZERO);
    let tokens: u64 = saturated.iter().map(|record| u64::from(record.output)).sum();
    let per = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let completed = saturated.iter().filter(|record| record.finish != Finish::Ignored).count();
    Ok(TableRow {
        requests_per_s: per(completed as f64),
        output_tokens_per_s: per(tokens as f64),
        latency_per_token_ms: mean_ms(&single, |record| record.prompt + record.output),
        latency_per_output_token_ms: mean_ms(&single, |record| record.output),
    })
}

/// The mean of latency / `tokens` over the requests with output, in milliseconds; `None` if no request has output.
fn mean_ms(records: &[VirtualRecord], tokens: impl Fn(&VirtualRecord) -> u32) -> Option<f64> {
    let with_output = records.iter().filter(|record| record.output > 0);
    let latencies: Vec<f64> = with_output
        .map(|record| record.ended.ms_after(record.sent) / f64::from(tokens(record)))
        .collect();
    let count = latencies.len();
    (count > 0).then(|| latencies.iter().sum::<f64>() / count as f64)
}
