//! Sends the events of a run to the state of the run in progress and to a subscriber.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::{Event, Subscriber};
use crate::live_state::LiveState;

/// The receivers of a run's events: the state of the run in progress, and one subscriber. Clones have
/// the same receivers.
#[derive(Clone)]
pub struct Events {
    live: LiveState,
    subscriber: Arc<dyn Subscriber>,
}

impl Events {
    /// Events without a subscriber.
    pub fn none() -> Self {
        Self::to(())
    }

    /// Events for a subscriber.
    pub fn to(subscriber: impl Subscriber + 'static) -> Self {
        Self { live: LiveState::default(), subscriber: Arc::new(subscriber) }
    }

    /// Events with the same receivers. A line of text that was already sent through them is left out.
    #[must_use]
    pub fn without_repeated_lines(&self) -> Self {
        let (subscriber, said) = (Arc::clone(&self.subscriber), Mutex::default());
        Self { live: self.live.clone(), subscriber: Arc::new(Once { subscriber, said }) }
    }

    /// The state of the run in progress, which is computed from the events.
    pub fn live(&self) -> &LiveState {
        &self.live
    }

    /// Sends an event to the state and to the subscriber.
    pub fn emit(&self, event: Event<'_>) {
        self.live.on_event(&event);
        self.subscriber.on_event(&event);
    }

    /// Sends a line of text for the user, as [`Event::Message`].
    pub fn say(&self, line: &str) {
        self.emit(Event::Message(line));
    }
}

/// Passes events on, except lines of text that it has already passed on.
struct Once {
    subscriber: Arc<dyn Subscriber>,
    said: Mutex<BTreeSet<String>>,
}

impl Subscriber for Once {
    fn on_event(&self, event: &Event<'_>) {
        let is_new = match event {
            Event::Message(line) => {
                let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
                said.insert((*line).to_owned())
            }
            _ => true,
        };
        if is_new {
            self.subscriber.on_event(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_line_is_sent_once_and_warnings_are_always_sent() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&told);
        let all = Events::to(move |event: &Event<'_>| {
            if let Event::Message(line) | Event::Warning(line) = event {
                into.lock().unwrap_or_else(PoisonError::into_inner).push((*line).to_owned());
            }
        });
        let events = all.without_repeated_lines();
        for event in [
            Event::Message("measuring"),
            Event::Message("measuring"),
            Event::Message("other"),
            Event::Warning("careful"),
            Event::Warning("careful"),
        ] {
            events.emit(event);
        }
        let told = told.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*told, ["measuring", "other", "careful", "careful"]);
    }
}
