//! Instants of a run: nanoseconds on one monotonic axis. No clock is read here.

use std::ops::{Add, Sub};
use std::time::Duration;

use derive_more::Display;
use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since the origin of the run's monotonic axis.
///
/// The origin is arbitrary; the run log stores its wall time. Only the difference of two instants has a
/// meaning. This difference is a [`Duration`].
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
)]
#[display("{:.6} s", self.0 as f64 * 1e-9)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The origin of the axis.
    pub const ZERO: Self = Self(0);
    /// An instant that is later than every instant of a run.
    pub const MAX: Self = Self(u64::MAX);

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// `self - other` in milliseconds, negative if `other` is later.
    pub fn ms_after(self, other: Self) -> f64 {
        nanos_between(self, other) / 1e6
    }

    /// `self - other` in seconds, negative if `other` is later.
    pub fn seconds_after(self, other: Self) -> f64 {
        nanos_between(self, other) / 1e9
    }
}

/// `later - earlier`, negative if `earlier` is later. This runs for each gap between tokens, so it uses
/// no 128-bit integers: their conversions are slow function calls.
#[inline]
fn nanos_between(later: Nanos, earlier: Nanos) -> f64 {
    let distance = later.0.abs_diff(earlier.0) as f64;
    if later < earlier { -distance } else { distance }
}

impl Add<Duration> for Nanos {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Nanos {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

pub mod nanoseconds {
    //! Serializes a duration as whole nanoseconds, so that a plan always has the same text.
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the duration as whole nanoseconds.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        (span.as_nanos() as u64).serialize(serializer)
    }

    /// Reads a duration in whole nanoseconds.
    ///
    /// # Errors
    /// When the value is not a whole number of nanoseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        Ok(Duration::from_nanos(u64::deserialize(d)?))
    }
}

pub mod optional_nanoseconds {
    //! Serializes an optional duration as whole nanoseconds, so that a plan always has the same text.
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the duration as whole nanoseconds, or null.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(|span| span.as_nanos() as u64).serialize(serializer)
    }

    /// Reads a duration in whole nanoseconds, or null.
    ///
    /// # Errors
    /// When the value is neither a whole number of nanoseconds nor null.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_nanos))
    }
}
