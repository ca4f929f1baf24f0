//! The speeds that single operations of an engine's kernels reach on a card, and interpolation between them.

use serde::{Deserialize, Serialize};

use super::check::{Figure, short};

/// What the user must write as a speed of reading, for error messages.
const TB_PER_S: &str = "10^12 bytes per second, such as 2.597 for 2597 GB/s";
/// What the user must write as a speed of computing, for error messages.
const TFLOPS: &str = "10^12 operations per second, such as 758.8 for 758.8 TFLOP/s";

/// The speeds of the data sheet that bound the measured ones.
pub(super) struct DataSheet {
    pub bandwidth_tb_per_s: f64,
    pub dense_tflops: f64,
    pub fp8_tflops: f64,
}

/// The plausible range of a measured speed. Because of caches, the speed can be a little higher than in the data sheet.
fn plausible(of_sheet: f64) -> [f64; 2] {
    [1e-3 * of_sheet, 2.0 * of_sheet]
}

/// The measured speeds of single operations of a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operations {
    /// Share of the memory bandwidth that decode attention reaches when it reads the keys and values of long contexts.
    pub kv_bandwidth_share: f64,
    /// Time of the decode attention of a layer for one sequence with a short context, without the time of reading keys
    /// and values, in microseconds. It is the latency of the kernels.
    #[serde(default = "typical_attention_us")]
    pub decode_attention_us: f64,
    /// Throughput of the attention of long prompts, in 10^12 operations per second.
    pub prompt_attention_tflops: f64,
    /// How much longer matrix products of many rows take on a hot card than on a cold card, as a share. The card
    /// lowers its clock when it computes at full power. 0 if this was not measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttle_share: f64,
    /// The times of all-reduce operations inside a captured CUDA graph, with increasing numbers of cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<Reduced>,
    /// Matrix products with sixteen-bit weights.
    pub bf16: Curve,
    /// Matrix products with eight-bit weights and activations; absent if they were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp8: Option<Curve>,
}

/// The value of [`Operations::decode_attention_us`] for cards on which this time was not measured. It is about the
/// median of the measured cards, which have 9.6 to 17.5 us.
pub const DECODE_ATTENTION_US: f64 = 12.0;

fn typical_attention_us() -> f64 {
    DECODE_ATTENTION_US
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
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
    /// The figures that no card with this data sheet can have, rows in a wrong order, and lists without rows.
    pub(super) fn mistakes(&self, sheet: &DataSheet) -> Vec<String> {
        let figure = |key: &str, value, range, write| Figure {
            key: format!("operations.{key}"),
            value,
            range,
            write,
        };
        let mut figures = vec![
            figure(
                "kv_bandwidth_share",
                self.kv_bandwidth_share,
                [0.01, 1.0],
                "a share of the bandwidth, such as 0.9",
            ),
            figure(
                "decode_attention_us",
                self.decode_attention_us,
                [0.0, 1e4],
                "microseconds, such as 12.7",
            ),
            figure(
                "prompt_attention_tflops",
                self.prompt_attention_tflops,
                plausible(sheet.dense_tflops),
                TFLOPS,
            ),
            figure("throttle_share", self.throttle_share, [0.0, 1.0], "a share, such as 0.23"),
        ];
        for (number, &(cards, empty, million)) in (1..).zip(&self.reductions) {
            let key = format!("reductions, row {number}");
            let row = [
                (cards, [2.0, 1e5], "the number of cards first, such as [2.0, 4.4, 7.8]"),
                (empty, [0.0, 1e6], "microseconds, such as [2.0, 4.4, 7.8]"),
                (million, [0.0, 1e6], "microseconds, such as [2.0, 4.4, 7.8]"),
            ];
            figures.extend(row.map(|(value, range, write)| figure(&key, value, range, write)));
        }
        let mut mistakes: Vec<String> = figures.iter().filter_map(Figure::mistake).collect();
        if !self.reductions.is_sorted_by(|a, b| a.0 < b.0) {
            let why = "operations.reductions: the number of cards must increase from row to row";
            mistakes.push(why.to_owned());
        }
        mistakes.extend(self.bf16.mistakes("operations.bf16", sheet, sheet.dense_tflops));
        if let Some(fp8) = &self.fp8 {
            mistakes.extend(fp8.mistakes("operations.fp8", sheet, sheet.fp8_tflops));
        }
        mistakes
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

    fn mistakes(&self, key: &str, sheet: &DataSheet, tflops: f64) -> Vec<String> {
        if self.stream_tb_per_s.is_empty() || self.tflops.is_empty() {
            return vec![format!("{key}: needs a row of stream_tb_per_s and one of tflops")];
        }
        let lists = [
            ("stream_tb_per_s", &self.stream_tb_per_s, sheet.bandwidth_tb_per_s, TB_PER_S),
            ("tflops", &self.tflops, tflops, TFLOPS),
        ];
        let figures = lists.into_iter().flat_map(|(name, rows, of_sheet, write)| {
            let figure = move |(number, row): (usize, &(f64, f64))| Figure {
                key: format!("{key}.{name}, row {number}"),
                value: row.1,
                range: plausible(of_sheet),
                write,
            };
            (1..).zip(rows).map(figure)
        });
        let mut mistakes: Vec<String> = figures.filter_map(|figure| figure.mistake()).collect();
        let rows = || self.stream_tb_per_s.iter().chain(&self.tflops).map(|row| row.0);
        if !rows().all(|rows| rows >= 1.0 && rows.is_finite()) || !rows().is_sorted_by(|a, b| a < b)
        {
            let found: Vec<String> = rows().map(short).collect();
            mistakes.push(format!(
                "{key}: the numbers of rows are {}; they must start at 1 or more and increase, \
                 through stream_tb_per_s and then tflops",
                found.join(", ")
            ));
        }
        mistakes
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
        let sheet = DataSheet { bandwidth_tb_per_s: 2.0, dense_tflops: 500.0, fp8_tflops: 1000.0 };
        let mut wrong = curve();
        wrong.tflops = vec![(50.0, 500.0)];
        let mistakes = wrong.mistakes("operations.bf16", &sheet, 500.0);
        assert!(mistakes[0].contains("operations.bf16: the numbers of rows are 1, 100, 50;"));
        assert!(curve().mistakes("x", &sheet, 500.0).is_empty());
        let mut operations = Operations {
            kv_bandwidth_share: 0.9,
            decode_attention_us: DECODE_ATTENTION_US,
            prompt_attention_tflops: 500.0,
            throttle_share: 0.0,
            reductions: vec![(2.0, 4.0, 8.0), (4.0, 5.0, 15.0)],
            bf16: curve(),
            fp8: None,
        };
        assert!(operations.mistakes(&sheet).is_empty());
        operations.reductions.reverse();
        assert!(operations.mistakes(&sheet)[0].contains("operations.reductions"));
    }
}
