//! The events of a run in progress, for tests of the live views.

use std::sync::Arc;

use inferometer_drive::Live;
use inferometer_model::record::{Event as TokenEvent, Read};
use inferometer_model::sample::{Quantity, Sample, ServerSample};
use inferometer_model::{CellPlan, EventKind, Nanos, Outcome, PassPlan, Record, Target, Timeline};
use inferometer_run::{Event, Events, ExpectedPass, PassStarted, RunStarted};
use inferometer_store::PassBegin;

/// The events of a run in its second pass, after some requests have ended.
pub fn live_state() -> Events {
    let events = Events::none();
    events.live().collect_statistics();
    events.emit(Event::RunStarted(&run_started("20261120-051233-ab12", 8)));
    let live = Arc::new(Live::default());
    events.emit(Event::PassStarted(&pass_started("first", saturated(1, 4), &live)));
    events.emit(Event::PassStopped(None));
    let second = pass_started("128 x 4, saturated", saturated(40, 4), &live);
    events.emit(Event::PassStarted(&second));
    for index in 0..20 {
        events.emit(Event::Record(&Timeline::new(&record(index))));
    }
    let rejected = Record { outcome: Outcome::Rejected { status: 503 }, ..record(20) };
    events.emit(Event::Record(&Timeline::new(&rejected)));
    let values = [(Quantity::Running, 7.0), (Quantity::KvUse, 0.425)].into();
    let server = Some(ServerSample { values, ..ServerSample::default() });
    events.emit(Event::Sample(&Sample { server, ..Sample::default() }));
    events
}

/// An event for the beginning of a run.
pub fn run_started(id: &str, passes: usize) -> RunStarted {
    let cell = CellPlan { input_length: 128, output_length: 4 };
    let expected = ExpectedPass { cell, repeat: 1, load: 0, weight: 1.0 };
    RunStarted {
        id: id.to_owned(),
        title: "书生 20B on vllm 0.20".to_owned(),
        target: Target { model: "书生 \"20B\"".to_owned(), ..Target::default() },
        started_unix_ns: 1_795_151_553_500_000_000,
        passes,
        expected: vec![expected; passes],
        times_are_known: false,
    }
}

/// An event for the beginning of a pass.
pub fn pass_started(label: &str, begin: PassBegin, live: &Arc<Live>) -> PassStarted {
    PassStarted { label: label.to_owned(), begin, live: Arc::clone(live) }
}

/// A saturated pass with this many requests.
pub fn saturated(requests: u32, output_length: u32) -> PassBegin {
    let cell = CellPlan { input_length: 128, output_length };
    PassBegin { pass: 0, cell, plan: PassPlan::saturated(requests), repeat: 1 }
}

/// A record with four tokens, 5 ms apart. The first token arrives 20 ms plus `index` ms after the send.
pub fn record(index: u32) -> Record {
    let at = |token: u32| Nanos(1_000_000 * u64::from(20 + index + 5 * token));
    let read =
        |token| Read { kernel: Some(at(token)), user: at(token), empty_before: Nanos(0), bytes: 1 };
    let event = |read| TokenEvent { read, kind: EventKind::Text, chars: 1, tokens: None };
    Record {
        send_start: Some(Nanos(0)),
        reads: (0..4).map(read).collect(),
        events: (0..4).map(event).collect(),
        ended: Some(at(3)),
        outcome: Outcome::Complete,
        ..Record::planned(0, index, Nanos(0))
    }
}
