//! The figures of one request, with which objectives are judged. Never a statistic over requests.

use std::time::Duration;

use inferometer_model::outcome::Outcome;
use inferometer_model::time::Nanos;

use super::{Timeline, e2e, send_delay, tpot, ttft};

/// How far a request came in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// To its end, whatever that was.
    #[default]
    Ended,
    /// It was in flight when the trial was cut off.
    CutOff,
    /// It was not due yet when the trial was cut off.
    NeverSent,
}

/// What a search needs to know of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestFigures {
    /// Its place in the order of starts.
    pub index: u32,
    /// How far it came.
    pub fate: Fate,
    /// When it was due.
    pub due: Nanos,
    /// When it ended, whatever became of it; absent where it was never sent.
    pub ended: Option<Nanos>,
    /// Whether it completed.
    pub complete: bool,
    /// [`ttft::from_sent`].
    pub ttft_ms: Option<f64>,
    /// [`tpot::tpot_ms`].
    pub tpot_ms: Option<f64>,
    /// [`e2e::from_sent`].
    pub e2e_ms: Option<f64>,
    /// [`ttft::from_due`].
    pub ttft_from_due_ms: Option<f64>,
    /// [`e2e::from_due`].
    pub e2e_from_due_ms: Option<f64>,
    /// [`send_delay::send_delay_ms`].
    pub send_delay_ms: Option<f64>,
}

impl RequestFigures {
    /// Those of a record.
    #[must_use]
    pub fn of(timeline: &Timeline<'_>) -> Self {
        let record = timeline.record;
        let found = Self {
            index: record.index,
            fate: Fate::Ended,
            due: record.due,
            ended: record.ended,
            complete: record.outcome.is_complete(),
            ttft_ms: ttft::from_sent(timeline),
            tpot_ms: tpot::tpot_ms(timeline),
            e2e_ms: e2e::from_sent(timeline),
            ttft_from_due_ms: ttft::from_due(timeline),
            e2e_from_due_ms: e2e::from_due(timeline),
            send_delay_ms: send_delay::send_delay_ms(timeline),
        };
        match record.outcome {
            Outcome::Cancelled => found.cut_off(found.ended.unwrap_or(found.due)),
            Outcome::Skipped => Self { ended: None, fate: Fate::NeverSent, ..found },
            _ => found,
        }
    }

    /// Those of a request that was in flight at an instant, at best: as if its first token, where
    /// none had come, and its end came then. Gaps between tokens may still become short.
    #[must_use]
    pub fn in_flight(
        index: u32,
        due: Nanos,
        sent: Option<Nanos>,
        first: Option<Nanos>,
        at: Nanos,
    ) -> Self {
        let at = at.max(sent.unwrap_or(due)).max(due);
        let first = first.map_or(at, |first| first.min(at));
        Self {
            index,
            fate: Fate::CutOff,
            due,
            ended: Some(at),
            complete: true,
            ttft_ms: Some(sent.map_or(0.0, |sent| first.ms_after(sent))),
            tpot_ms: Some(0.0),
            e2e_ms: Some(sent.map_or(0.0, |sent| at.ms_after(sent))),
            ttft_from_due_ms: Some(first.ms_after(due)),
            e2e_from_due_ms: Some(at.ms_after(due)),
            send_delay_ms: Some(sent.unwrap_or(at).ms_after(due)),
        }
    }

    /// The same request as it was at an instant before its end, at best.
    #[must_use]
    pub fn cut_off(&self, at: Nanos) -> Self {
        let later = |ms: f64| self.due + Duration::from_secs_f64(ms.max(0.0) * 1e-3);
        let sent = self.send_delay_ms.map(later).filter(|sent| *sent <= at);
        let first = self.ttft_from_due_ms.map(later);
        Self::in_flight(self.index, self.due, sent, first, at)
    }

    /// What a trial that is cut off at an instant knows of it.
    #[must_use]
    pub fn as_of(&self, at: Nanos) -> Self {
        if self.due > at {
            Self { ended: None, fate: Fate::NeverSent, ..*self }
        } else if self.has_ended(at) {
            *self
        } else {
            self.cut_off(at)
        }
    }

    /// Whether it had ended by an instant.
    #[must_use]
    pub fn has_ended(&self, at: Nanos) -> bool {
        self.ended.is_none_or(|ended| ended <= at)
    }
}
