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

    /// Events with the same receivers. Until the first pass begins, the subscriber gets each [`Event::Message`] only
    /// once. After that, it gets every message: the same words may report a new event of the other run.
    #[must_use]
    pub fn without_repeated_introduction(&self) -> Self {
        let subscriber = Arc::clone(&self.subscriber);
        let said = Mutex::new(Some(BTreeSet::new()));
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

/// Forwards events to a subscriber. Before the first pass, a message that was already forwarded is left out.
struct Once {
    subscriber: Arc<dyn Subscriber>,
    /// The messages so far; `None` from the first pass on.
    said: Mutex<Option<BTreeSet<String>>>,
}

impl Subscriber for Once {
    fn on_event(&self, event: &Event<'_>) {
        let is_new = match event {
            Event::Message(line) => {
                let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
                said.as_mut().is_none_or(|said| said.insert((*line).to_owned()))
            }
            Event::PassStarted(_) => {
                *self.said.lock().unwrap_or_else(PoisonError::into_inner) = None;
                true
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
    use inferometer_load::PassPlan;
    use inferometer_model::cell::CellPlan;
    use inferometer_store::PassBegin;

    use super::*;
    use crate::event::PassStarted;

    #[test]
    fn a_message_is_sent_once_before_the_first_pass_and_always_after_it() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&told);
        let all = Events::to(move |event: &Event<'_>| {
            if let Event::Message(line) | Event::Warning(line) = event {
                into.lock().unwrap_or_else(PoisonError::into_inner).push((*line).to_owned());
            }
        });
        let events = all.without_repeated_introduction();
        let block = PassStarted {
            label: "128 x 4, saturated".to_owned(),
            begin: PassBegin {
                pass: 0,
                cell: CellPlan { input_length: 128, output_length: 4 },
                plan: PassPlan::saturated(1),
                repeat: 1,
            },
            live: Arc::default(),
        };
        for event in [
            Event::Message("measuring"),
            Event::Message("measuring"),
            Event::Message("other"),
            Event::Warning("careful"),
            Event::Warning("careful"),
            Event::PassStarted(&block),
            // Each side ends its own server.
            Event::Message("ending the server"),
            Event::PassStarted(&block),
            Event::Message("ending the server"),
            Event::Message("other"),
        ] {
            events.emit(event);
        }
        let told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let after = ["ending the server", "ending the server", "other"];
        assert_eq!(*told, [&["measuring", "other", "careful", "careful"][..], &after].concat());
    }
}
