//! Sends the events of a run to the state of the run in progress and to a subscriber.

use std::sync::{Arc, Mutex, PoisonError};

use inferometer_report::progress::Notice;

use super::event::{Event, Subscriber};
use super::live_state::LiveState;

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

    /// Events with the same receivers. Until the first pass begins, the subscriber gets each notice that is not urgent
    /// only once. After that, it gets every notice: an equal one may be about the other run.
    #[must_use]
    pub fn without_repeated_introduction(&self) -> Self {
        let subscriber = Arc::clone(&self.subscriber);
        let said = Mutex::new(Some(Vec::new()));
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

    /// Sends a step, a fact or a warning for the user.
    pub fn say(&self, notice: &Notice) {
        self.emit(Event::Notice(notice));
    }
}

/// Forwards events to a subscriber. Before the first pass, a notice that was already forwarded is left out.
struct Once {
    subscriber: Arc<dyn Subscriber>,
    /// The notices so far; `None` from the first pass on.
    said: Mutex<Option<Vec<Notice>>>,
}

impl Subscriber for Once {
    fn on_event(&self, event: &Event<'_>) {
        let is_new = match event {
            Event::Notice(notice) if !notice.is_urgent() => {
                let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
                said.as_mut().is_none_or(|said| {
                    let is_new = !said.contains(notice);
                    said.extend(is_new.then(|| (*notice).clone()));
                    is_new
                })
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
    use inferometer_model::cell::CellPlan;
    use inferometer_model::load::PassPlan;
    use inferometer_store::PassBegin;

    use super::*;
    use crate::events::event::PassStarted;

    #[test]
    fn a_notice_is_sent_once_before_the_first_pass_and_always_after_it() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&told);
        let all = Events::to(move |event: &Event<'_>| {
            if let Event::Notice(notice) = event {
                into.lock().unwrap_or_else(PoisonError::into_inner).push((*notice).clone());
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
        let [two_loads, other, ending] =
            [Notice::TwoLoads, Notice::EstimateUnknown, Notice::ServerEnding];
        let urgent = Notice::LocalServer { url: "http://a".to_owned(), server: "vllm".to_owned() };
        for event in [
            Event::Notice(&two_loads),
            Event::Notice(&two_loads),
            Event::Notice(&other),
            Event::Notice(&urgent),
            Event::Notice(&urgent),
            Event::PassStarted(&block),
            // Each side ends its own server.
            Event::Notice(&ending),
            Event::PassStarted(&block),
            Event::Notice(&ending),
            Event::Notice(&other),
        ] {
            events.emit(event);
        }
        let told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = [two_loads, other.clone(), urgent.clone(), urgent];
        assert_eq!(*told, [&before[..], &[ending.clone(), ending, other]].concat());
    }
}
