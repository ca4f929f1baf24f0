//! The rows of a data set that are left out, counted by reason.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Why rows are left out.
pub trait Reason: Ord + Display {
    /// What stands before the place of the first row, if there are several rows.
    const OF_SEVERAL: &'static str = "";
}

impl Reason for &'static str {}

/// Rows that are left out. For each reason: how many rows there are, and the place of the first one, such as `row 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut<R>(BTreeMap<R, (u64, String)>);

impl<R> Default for LeftOut<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R: Reason> LeftOut<R> {
    /// The number of rows that are left out.
    pub fn total(&self) -> u64 {
        self.0.values().map(|(count, _)| count).sum()
    }

    /// The reasons, each with the number of rows and the place of the first one.
    pub fn by_reason(&self) -> impl Iterator<Item = (&R, u64, &str)> {
        self.0.iter().map(|(reason, (count, place))| (reason, *count, place.as_str()))
    }

    pub(crate) fn add(&mut self, reason: R, place: impl FnOnce() -> String) {
        self.0.entry(reason).or_insert_with(|| (0, place())).0 += 1;
    }

    /// As [`LeftOut::add`], with the number of a row, from 1; a header and empty lines have no number.
    pub(crate) fn add_row(&mut self, reason: R, row: u64) {
        self.add(reason, || format!("row {row}"));
    }
}

impl<R: Reason> Display for LeftOut<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (reason, count, place)) in self.by_reason().enumerate() {
            let separator = if at > 0 { "; " } else { "" };
            let first = if count > 1 { R::OF_SEVERAL } else { "" };
            write!(f, "{separator}{count} x {reason} ({first}{place})")?;
        }
        Ok(())
    }
}
