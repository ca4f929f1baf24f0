//! The time limits of requests.

use std::time::Duration;

use inferometer_model::time::optional_nanoseconds;
use serde::{Deserialize, Serialize};

use crate::spec::{Mistakes, Spec, Value, values};

/// The time limits of a request, each from the start of its phase; `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// From the beginning of the request until the connection is ready.
    #[serde(with = "optional_nanoseconds")]
    pub connect: Option<Duration>,
    /// From the send to the first token.
    #[serde(with = "optional_nanoseconds")]
    pub first_token: Option<Duration>,
    /// From one token to the next one, or to the end of the answer.
    #[serde(with = "optional_nanoseconds")]
    pub between_events: Option<Duration>,
    /// From the send to the end.
    #[serde(with = "optional_nanoseconds")]
    pub total: Option<Duration>,
}

impl Timeouts {
    pub(crate) fn of(spec: &Spec, mistakes: &mut Mistakes) -> Self {
        let mut read =
            |key, value: &Option<Value>| mistakes.read(key, value.as_ref(), values::span);
        let seconds = Duration::from_secs;
        Self {
            connect: read("connect_timeout", &spec.connect_timeout).or(Some(seconds(10))),
            first_token: read("first_token_timeout", &spec.first_token_timeout),
            between_events: read("event_timeout", &spec.event_timeout),
            total: read("timeout", &spec.timeout).or(Some(seconds(6 * 3600))),
        }
    }
}
