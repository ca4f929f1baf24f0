//! What single operations of an engine's kernels reach on a card. Values, and the curve through them.

use serde::{Deserialize, Serialize};

/// Measured single operations of a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operations {
    /// Share of the memory bandwidth with which decoding attention reads long keys and values.
    pub kv_bandwidth_share: f64,
    /// Operations per second of the attention of long prompts, in 10^12.
    pub prompt_attention_tflops: f64,
    /// Reductions over cards inside a captured graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<Reduced>,
    /// Products of sixteen-bit weights.
    pub bf16: Curve,
    /// Products of eight-bit weights and activations; absent where they were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp8: Option<Curve>,
}

/// Cards, microseconds of a reduction of nothing, and microseconds per million elements.
pub type Reduced = (f64, f64, f64);

/// Products by their number of rows: few rows are as fast as weights are streamed, many as fast as
/// numbers are multiplied. Between measured rows the time of a parameter is linear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Rows, and 10^12 bytes of weights per second.
    pub stream_tb_per_s: Vec<(f64, f64)>,
    /// More rows, and 10^12 operations per second.
    pub tflops: Vec<(f64, f64)>,
}

impl Operations {
    pub(super) fn check(&self) -> Result<(), String> {
        let share = self.kv_bandwidth_share;
        if !(share > 0.0 && share <= 1.0) {
            return Err(format!(
                "operations.kv_bandwidth_share = {share}: a share lies above 0 and at most at 1"
            ));
        }
        if !(self.prompt_attention_tflops > 0.0 && self.prompt_attention_tflops.is_finite()) {
            return Err("operations.prompt_attention_tflops must be above 0".to_owned());
        }
        let sane = |value: f64| value >= 0.0 && value.is_finite();
        let rises = self.reductions.is_sorted_by(|a, b| a.0 < b.0);
        if !rises || !self.reductions.iter().all(|&(n, a, b)| n >= 2.0 && sane(a) && sane(b)) {
            return Err("operations.reductions: a row is of two cards or more, and times; cards \
                        rise from row to row"
                .to_owned());
        }
        self.bf16.check("operations.bf16")?;
        self.fp8.as_ref().map_or(Ok(()), |curve| curve.check("operations.fp8"))
    }

    /// Seconds of a reduction of nothing over so many cards, and per element; of the next larger number
    /// of cards that was measured. `None` where none was.
    pub fn reduction(&self, cards: f64) -> Option<(f64, f64)> {
        let known = self.reductions.iter().find(|known| known.0 >= cards);
        known.or(self.reductions.last()).map(|&(_, empty, million)| (empty * 1e-6, million * 1e-12))
    }
}

/// The time of a parameter at so many rows: straight between the points, whose rows rise; that of the first
/// below it, and in proportion beyond the last.
///
/// # Panics
/// Where there is no point.
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
    /// The measured rows, each with the seconds that a product takes per parameter of its weights, each of
    /// `bytes` bytes.
    pub fn points(&self, bytes: f64) -> Vec<(f64, f64)> {
        let streamed = self.stream_tb_per_s.iter().map(|&(rows, tb)| (rows, bytes / (tb * 1e12)));
        let multiplied = self.tflops.iter().map(|&(rows, tf)| (rows, 2.0 * rows / (tf * 1e12)));
        streamed.chain(multiplied).collect()
    }

    /// 10^12 bytes per second of weights under one row.
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
            return Err(format!("{key}: rows must rise from 1 on, and speeds lie above 0"));
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
    fn a_curve_goes_through_its_points_straight_between_and_in_proportion_beyond() {
        let at = |rows| through(&curve().points(2.0), rows) * 1e12;
        for (rows, expected) in [(0.5, 1.0), (1.0, 1.0), (50.5, 1.5), (1000.0, 4.0), (2000.0, 8.0)]
        {
            assert!((at(rows) - expected).abs() < 1e-9, "{rows}: {}", at(rows));
        }
    }

    #[test]
    fn rows_that_do_not_rise_are_refused() {
        let mut wrong = curve();
        wrong.tflops = vec![(50.0, 500.0)];
        assert!(wrong.check("operations.bf16").unwrap_err().contains("operations.bf16"));
        assert!(curve().check("x").is_ok());
        let mut operations = Operations {
            kv_bandwidth_share: 0.9,
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
