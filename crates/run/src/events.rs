//! Sends the events of a run to the state of the run in progress and to a subscriber.

use std::sync::Arc;

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
