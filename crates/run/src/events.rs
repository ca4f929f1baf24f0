//! Where the events of a run go: to the state of the run in progress, and to whoever subscribed.

use std::sync::Arc;

use crate::event::{Event, Subscriber};
use crate::live_state::LiveState;

/// Where the events of a run go; clones go to the same place.
#[derive(Clone)]
pub struct Events {
    live: LiveState,
    subscriber: Arc<dyn Subscriber>,
}

impl Events {
    /// Nobody hears them.
    pub fn none() -> Self {
        Self::to(())
    }

    /// To a subscriber.
    pub fn to(subscriber: impl Subscriber + 'static) -> Self {
        Self { live: LiveState::default(), subscriber: Arc::new(subscriber) }
    }

    /// The state of the run in progress, which the events make.
    pub fn live(&self) -> &LiveState {
        &self.live
    }

    /// Tells everybody.
    pub fn emit(&self, event: Event<'_>) {
        self.live.on_event(&event);
        self.subscriber.on_event(&event);
    }

    /// Tells people something.
    pub fn say(&self, line: &str) {
        self.emit(Event::Message(line));
    }
}
