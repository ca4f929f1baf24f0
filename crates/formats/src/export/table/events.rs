//! The table of events. It has one row for each event of a stream: when the event arrived, in which socket
//! read, and what it contained.

use std::rc::Rc;

use inferometer_model::Nanos;
use inferometer_model::record::{Event, Read};

use super::{Column, Table, requests::RequestRow};
use crate::export::value::Kind::{Flag, Integer, Number, Text};
use crate::export::value::Value;

/// An event of a request.
#[derive(Clone, Debug)]
pub struct EventRow {
    request: Rc<RequestRow>,
    index: usize,
}

impl EventRow {
    /// Returns the rows of a request, in the order of its events.
    pub fn of(request: RequestRow) -> impl Iterator<Item = Self> {
        let request = Rc::new(request);
        let events = request.record.events.len();
        (0..events).map(move |index| Self { request: Rc::clone(&request), index })
    }

    fn event(&self) -> &Event {
        &self.request.record.events[self.index]
    }

    fn read(&self) -> &Read {
        &self.request.record.reads[self.event().read as usize]
    }

    fn since_send_ms(&self) -> Option<f64> {
        let sent = self.request.record.send_start?;
        Some(self.read().arrival().ms_after(sent))
    }
}

fn at(instant: Nanos) -> Value<'static> {
    Value::Integer(i64::try_from(instant.0).unwrap_or(i64::MAX))
}

/// The table of events.
pub static EVENTS: Table<EventRow> = Table {
    schema: "inferometer.events/1",
    json_schema: include_str!("../../../schema/events.schema.json"),
    columns: &COLUMNS,
    of_metrics: None,
};

type C = Column<EventRow>;

static COLUMNS: [C; 18] = [
    C::always("run_id", Text, |e| Value::Text(&e.request.pass.run.run_id)),
    C::always("simulated", Flag, |e| Value::Flag(e.request.pass.run.target.simulated)),
    C::always("predicted", Flag, |e| Value::Flag(e.request.pass.run.predicted)),
    C::always("pass", Integer, |e| Value::Integer(e.request.record.pass.into())),
    C::always("request", Integer, |e| Value::Integer(e.request.record.index.into())),
    C::always("event", Integer, |e| Value::Integer(i64::try_from(e.index).unwrap_or(i64::MAX))),
    C::always("kind", Text, |e| Value::Text(e.event().kind.name())),
    C::always("is_token", Flag, |e| Value::Flag(e.event().kind.is_token())),
    C::always("chars", Integer, |e| Value::Integer(e.event().chars.into())),
    C::sometimes("tokens", Integer, |e| Value::integer(e.event().tokens)),
    C::always("read", Integer, |e| Value::Integer(e.event().read.into())),
    C::always("read_bytes", Integer, |e| Value::Integer(e.read().bytes.into())),
    C::always("origin_unix_ns", Integer, |e| Value::Integer(e.request.pass.run.origin_unix_ns)),
    C::always("arrival_ns", Integer, |e| at(e.read().arrival())),
    C::always("kernel_stamped", Flag, |e| Value::Flag(e.read().kernel.is_some())),
    C::always("user_ns", Integer, |e| at(e.read().user)),
    C::always("empty_before_ns", Integer, |e| at(e.read().empty_before)),
    C::sometimes("since_send_ms", Number, |e| Value::number(e.since_send_ms())),
];
