//! The axes of a figure. Never without a unit.

/// What an axis shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What is shown: `Throughput`.
    pub title: String,
    /// In what: `requests/s`.
    pub unit: String,
}

impl Axis {
    /// An axis of this quantity in this unit.
    #[must_use]
    pub fn new(title: &str, unit: &str) -> Self {
        Self { title: title.to_owned(), unit: unit.to_owned() }
    }

    /// `Throughput (requests/s)`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} ({})", self.title, self.unit)
    }
}
