//! The speeds that single operations of an engine's kernels reach on a card, and interpolation between them.

use serde::{Deserialize, Serialize};

/// The measured speeds of single operations of a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operations {
    /// Share of the memory bandwidth that decode attention reaches when it reads long keys and values.
    pub kv_bandwidth_share: f64,
    /// Time of the decode attention of a layer for one sequence with a short context, without the time of reading keys
    /// and values, in microseconds. It is the latency of the kernels.
    #[serde(default = "typical_attention_us")]
    pub decode_attention_us: f64,
    /// Throughput of the attention of long prompts, in 10^12 operations per second.
    pub prompt_attention_tflops: f64,
    /// The times of all-reduce operations inside a captured CUDA graph, with increasing numbers of cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<Reduced>,
    /// Matrix products with sixteen-bit weights.
    pub bf16: Curve,
    /// Matrix products with eight-bit weights and activations; absent if they were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp8: Option<Curve>,
}

/// The [`Operations::decode_attention_us`] of cards on which it was not measured: about the value of most measured
/// cards.
pub const DECODE_ATTENTION_US: f64 = 12.0;

fn typical_attention_us() -> f64 {
    DECODE_ATTENTION_US
}

/// The time of an all-reduce: (number of cards, time without data in microseconds, additional time per million elements
/// in microseconds).
pub type Reduced = (f64, f64, f64);

/// The speed of matrix products by number of rows (tokens). With few rows, reading the weights limits the speed; with
/// many rows, multiplying does. Between measured numbers of rows, the time per parameter is interpolated linearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// For few rows: (number of rows, rate of reading weights in 10^12 bytes per second).
    pub stream_tb_per_s: Vec<(f64, f64)>,
    /// For more rows: (number of rows, throughput in 10^12 operations per second).
    pub tflops: Vec<(f64, f64)>,
}

impl Operations {
    pub(super) fn check(&self) -> Result<(), String> {
        let share = self.kv_bandwidth_share;
        if !(share > 0.0 && share <= 1.0) {
            return Err(format!(
                "operations.kv_bandwidth_share = {share}: must be above 0 and at most 1"
            ));
        }
        let latency = self.decode_attention_us;
        if !(latency >= 0.0 && latency.is_finite()) {
            return Err(format!("operations.decode_attention_us = {latency}: must be 0 or more"));
        }
        if !(self.prompt_attention_tflops > 0.0 && self.prompt_attention_tflops.is_finite()) {
            return Err("operations.prompt_attention_tflops must be above 0".to_owned());
        }
        let sane = |value: f64| value >= 0.0 && value.is_finite();
        let rises = self.reductions.is_sorted_by(|a, b| a.0 < b.0);
        if !rises || !self.reductions.iter().all(|&(n, a, b)| n >= 2.0 && sane(a) && sane(b)) {
            return Err("operations.reductions: each row needs 2 or more cards and times of 0 \
                        or more; cards must increase from row to row"
                .to_owned());
        }
        self.bf16.check("operations.bf16")?;
        self.fp8.as_ref().map_or(Ok(()), |curve| curve.check("operations.fp8"))
    }

    /// Returns the seconds of an all-reduce over `cards` cards without data, and the additional seconds per element. If
    /// this number of cards was not measured, the next larger measured number is used, or the largest one. `None` if no
    /// number was measured.
    pub fn reduction(&self, cards: f64) -> Option<(f64, f64)> {
        let known = self.reductions.iter().find(|known| known.0 >= cards);
        known.or(self.reductions.last()).map(|&(_, empty, million)| (empty * 1e-6, million * 1e-12))
    }
}

/// Interpolates the time per parameter at `rows` rows. `points` are (rows, seconds per parameter) with increasing rows.
/// Below the first point, the time is that of the first point. Beyond the last point, the time grows in proportion to
/// the rows.
///
/// # Panics
/// If `points` is empty.
pub fn through(points: &[(f64, f64)], rows: f64) -> f64 {
    let above = points.partition_point(|point| point.0 < rows);
    let (last_rows, last) = points[points.len() - 1];
    match above {
        0 => points[0].1,
        above if above == points.len() => last * rows / last_rows,
        above => {
            let ((low, below), (high, upper)) = (points[above - 1], points[above]);
            below + (rows - low) / (high - low) * (upper - below)
        }
    }
}

impl Curve {
    /// Returns the measured points: (rows, seconds of the product per parameter). `bytes` is the size of one parameter.
    pub fn points(&self, bytes: f64) -> Vec<(f64, f64)> {
        let streamed = self.stream_tb_per_s.iter().map(|&(rows, tb)| (rows, bytes / (tb * 1e12)));
        let multiplied = self.tflops.iter().map(|&(rows, tf)| (rows, 2.0 * rows / (tf * 1e12)));
        streamed.chain(multiplied).collect()
    }

    /// The rate of reading weights with the smallest measured number of rows, in 10^12 bytes per second.
    pub fn streamed_tb_per_s(&self) -> f64 {
        self.stream_tb_per_s.first().map_or(0.0, |first| first.1)
    }

    fn check(&self, key: &str) -> Result<(), String> {
        if self.stream_tb_per_s.is_empty() || self.tflops.is_empty() {
            return Err(format!("{key}: needs a row of stream_tb_per_s and one of tflops"));
        }
        let points = self.points(1.0);
        let is_positive = |&(rows, seconds): &(f64, f64)| {
            rows >= 1.0 && rows.is_finite() && seconds > 0.0 && seconds.is_finite()
        };
        if !points.iter().all(is_positive) || !points.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(format!(
                "{key}: rows must start at 1 or more and increase; speeds must be above 0"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        Curve { stream_tb_per_s: vec![(1.0, 2.0), (100.0, 1.0)], tflops: vec![(1000.0, 500.0)] }
    }

    #[test]
    fn a_curve_is_linear_between_its_points_and_proportional_beyond_the_last() {
        let at = |rows| through(&curve().points(2.0), rows) * 1e12;
        for (rows, expected) in [(0.5, 1.0), (1.0, 1.0), (50.5, 1.5), (1000.0, 4.0), (2000.0, 8.0)]
        {
            assert!((at(rows) - expected).abs() < 1e-9, "{rows}: {}", at(rows));
        }
    }

    #[test]
    fn rows_that_are_not_in_ascending_order_are_refused() {
        let mut wrong = curve();
        wrong.tflops = vec![(50.0, 500.0)];
        assert!(wrong.check("operations.bf16").unwrap_err().contains("operations.bf16"));
        assert!(curve().check("x").is_ok());
        let mut operations = Operations {
            kv_bandwidth_share: 0.9,
            decode_attention_us: DECODE_ATTENTION_US,
            prompt_attention_tflops: 500.0,
            reductions: vec![(2.0, 4.0, 8.0), (4.0, 5.0, 15.0)],
            bf16: curve(),
            fp8: None,
        };
        assert!(operations.check().is_ok());
        operations.reductions.reverse();
        assert!(operations.check().unwrap_err().contains("operations.reductions"));
    }
}
