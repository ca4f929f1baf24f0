//! Histograms of lengths. The file has one line per length or range of lengths, with a weight. A range
//! includes its last length. Within a range, all lengths have the same probability. A line that cannot be
//! parsed is an error.

use std::path::Path;

use inferometer_model::stats::seed::{below, unit};
use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use inferometer_plan::spec::MAX_LENGTH;
use rand_core::RngCore;

use crate::WorkloadError;

/// Lengths with their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// For each bin: the smallest length, the largest length, and the cumulative share of the weights up
    /// to and including this bin (above 0, at most 1).
    bins: Vec<(u32, u32, f64)>,
}

/// Why a histogram cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// A line does not consist of a length (or a range of lengths) and a weight.
    #[error(
        "line {line}: `{text}` is not a length and its weight; write `512 3.5`, or `256..512 3.5` \
         for the lengths 256 to 512; lengths are from 1 to {MAX_LENGTH}, and weights are above 0"
    )]
    NotABin {
        /// The line, from 1.
        line: usize,
        /// The first 40 characters of the line.
        text: String,
    },
    /// The file has no line with a length.
    #[error("contains no length; each line has a length and its weight")]
    Empty,
}

impl Histogram {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a histogram.
    pub fn open(file: &str) -> Result<Self, WorkloadError> {
        let path = Path::new(file);
        let text = file::read_text(path, MAX_SETTINGS_BYTES);
        let text = text.map_err(|error| WorkloadError::unreadable(path, error))?;
        Self::parse(&text).map_err(|error| WorkloadError::unreadable(path, error))
    }

    /// Parses the text of a file. Empty lines and lines that begin with `#` are skipped. A comma, a space
    /// or a tab separates the length and the weight.
    ///
    /// # Errors
    /// [`HistogramError::NotABin`] for the first line that is not a length and a weight, or
    /// [`HistogramError::Empty`].
    pub fn parse(text: &str) -> Result<Self, HistogramError> {
        let mut bins = Vec::new();
        let mut total = 0.0;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (least, most, weight) = bin(line).ok_or_else(|| HistogramError::NotABin {
                line: number + 1,
                text: line.chars().take(40).collect(),
            })?;
            total += weight;
            bins.push((least, most, total));
        }
        if bins.is_empty() {
            return Err(HistogramError::Empty);
        }
        bins.iter_mut().for_each(|bin| bin.2 /= total);
        Ok(Self { bins })
    }

    /// Draws a length, in tokens.
    pub fn draw(&self, rng: &mut impl RngCore) -> u32 {
        let share = unit(rng);
        let at = self.bins.partition_point(|&(_, _, up_to)| up_to <= share);
        let (least, most, _) = self.bins[at.min(self.bins.len() - 1)];
        least + below(rng, u64::from(most - least) + 1) as u32
    }
}

fn bin(line: &str) -> Option<(u32, u32, f64)> {
    let (lengths, weight) = line.split_once([',', ' ', '\t'])?;
    let (least, most) = lengths.split_once("..").unwrap_or((lengths, lengths));
    let (least, most): (u32, u32) = (least.trim().parse().ok()?, most.trim().parse().ok()?);
    let weight: f64 = weight.trim().parse().ok()?;
    let is_length = least > 0 && most >= least && most <= MAX_LENGTH;
    let is_bin = is_length && weight > 0.0 && weight.is_finite();
    is_bin.then_some((least, most, weight))
}

#[cfg(test)]
mod tests {
    use inferometer_model::stats::seed::rng;

    use super::*;

    #[test]
    fn lengths_are_sampled_in_proportion_to_their_weights() {
        let histogram = Histogram::parse("# tokens weight\n10 1\n\n20..29,3\n").unwrap();
        let mut rng = rng(1, &["test"]);
        let drawn: Vec<u32> = (0..40_000).map(|_| histogram.draw(&mut rng)).collect();
        let tens = drawn.iter().filter(|length| **length == 10).count();
        assert!(tens.abs_diff(10_000) < 400, "{tens}");
        for length in 20..30 {
            let found = drawn.iter().filter(|drawn| **drawn == length).count();
            assert!(found.abs_diff(3_000) < 300, "{length}: {found}");
        }
        assert!(drawn.iter().all(|length| *length == 10 || (20..30).contains(length)));
    }

    #[test]
    fn an_invalid_line_is_an_error_that_shows_the_line_and_its_number() {
        for wrong in
            ["ten 1", "10", "0 1", "9..3 1", "10 0", "10 -1", "10 inf", "10 1 2", "3000000000 1"]
        {
            let error = Histogram::parse(&format!("5 1\n{wrong}\n")).unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains(wrong), "{error}");
        }
        assert_eq!(Histogram::parse("# nothing\n"), Err(HistogramError::Empty));
    }
}
