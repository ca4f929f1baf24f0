//! The table of requests. It has one row for each planned request: its record without the individual reads
//! and events, and the figures that are computed from the record.

use std::rc::Rc;

use inferometer_model::{Nanos, Phase, Record, Timeline, TokensFrom};
use inferometer_model::{metrics::registry, record::ServerTime};

use super::{Column, Table, source::PassSource};
use crate::export::value::Kind::{Flag, Integer, Number, Text};
use crate::export::value::Value;

/// A request with the figures that are computed from its record.
#[derive(Clone, Debug)]
pub struct RequestRow {
    /// The pass of the request.
    pub pass: Rc<PassSource>,
    /// The record of the request.
    pub record: Record,
    figures: Figures,
}

#[derive(Clone, Debug)]
struct Figures {
    first_token: Option<Nanos>,
    last_token: Option<Nanos>,
    trace_id: Option<String>,
    output_tokens: u32,
    tokens_from: Option<TokensFrom>,
    /// The values of the exported metrics, in the order of [`registry::exported`].
    of_metrics: Vec<Option<f64>>,
}

impl RequestRow {
    /// Computes the row of a record.
    pub fn new(pass: Rc<PassSource>, record: Record) -> Self {
        let timeline = Timeline::new(&record);
        let figures = Figures {
            first_token: timeline.first_visible().map(|at| timeline.events[at].arrival),
            last_token: timeline.events.last().map(|event| event.arrival),
            trace_id: record.trace_id(),
            output_tokens: timeline.output_tokens,
            tokens_from: timeline.tokens_from,
            of_metrics: registry::exported()
                .into_iter()
                .map(|metric| metric.value.of_request(&timeline))
                .collect(),
        };
        Self { pass, record, figures }
    }
}

fn at(instant: Option<Nanos>) -> Value<'static> {
    // An `i64` in nanoseconds covers 292 years after the origin of the axis. A later instant is absent.
    Value::integer(instant.and_then(|at| i64::try_from(at.0).ok()))
}

/// Returns the name of the request's server. `None` if the load has only one server, or if the request was
/// assigned to none.
fn server(row: &RequestRow) -> Option<&str> {
    let servers = &row.pass.run.target.servers;
    servers.get(row.record.server? as usize).map(String::as_str)
}

fn count(number: usize) -> Value<'static> {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn sum(numbers: impl Iterator<Item = u32>) -> Value<'static> {
    Value::Integer(numbers.map(i64::from).sum())
}

fn stated(row: &RequestRow, time: ServerTime) -> Value<'static> {
    Value::number(row.record.server_times.ms(time))
}

/// The table of requests.
pub static REQUESTS: Table<RequestRow> = Table {
    schema: "inferometer.requests/1",
    json_schema: include_str!("../../../schema/requests.schema.json"),
    columns: &COLUMNS,
    of_metrics: Some(|row| &row.figures.of_metrics),
};

type C = Column<RequestRow>;

static COLUMNS: [C; 56] = [
    C::always("run_id", Text, |r| Value::Text(&r.pass.run.run_id)),
    C::always("model", Text, |r| Value::Text(&r.pass.run.target.model)),
    C::sometimes("engine", Text, |r| Value::text(r.pass.run.target.engine.as_deref())),
    C::sometimes("engine_version", Text, |r| {
        Value::text(r.pass.run.target.engine_version.as_deref())
    }),
    C::always("simulated", Flag, |r| Value::Flag(r.pass.run.target.simulated)),
    C::always("predicted", Flag, |r| Value::Flag(r.pass.run.predicted)),
    C::always("pass", Integer, |r| Value::Integer(r.record.pass.into())),
    C::always("kind", Text, |r| Value::Text(r.pass.kind)),
    C::always("load", Text, |r| Value::Text(&r.pass.load)),
    C::always("repeat", Integer, |r| Value::Integer(r.pass.repeat.into())),
    C::always("input_length", Integer, |r| Value::Integer(r.pass.cell.input_length.into())),
    C::always("output_length", Integer, |r| Value::Integer(r.pass.cell.output_length.into())),
    C::always("request", Integer, |r| Value::Integer(r.record.index.into())),
    C::sometimes("class", Text, |r| Value::text(r.record.class.as_deref())),
    C::sometimes("job", Integer, |r| Value::integer(r.record.job.as_ref().map(|it| it.job))),
    C::sometimes("call", Integer, |r| Value::integer(r.record.job.as_ref().map(|it| it.call))),
    C::sometimes("server", Text, |r| Value::text(server(r))),
    C::sometimes("rank", Integer, |r| Value::integer(r.record.rank)),
    C::sometimes("trace_id", Text, |r| Value::text(r.figures.trace_id.as_deref())),
    C::always("outcome", Text, |r| Value::Text(r.record.outcome.kind().name())),
    C::sometimes("phase", Text, |r| Value::text(r.record.outcome.phase().map(Phase::name))),
    C::sometimes("status", Integer, |r| Value::integer(r.record.status)),
    C::sometimes("detail", Text, |r| Value::text(r.record.detail_text())),
    C::sometimes("finish_reason", Text, |r| Value::text(r.record.finish_reason.as_deref())),
    C::always("asked_input", Integer, |r| Value::Integer(r.record.asked_input.into())),
    C::always("asked_output", Integer, |r| Value::Integer(r.record.asked_output.into())),
    C::sometimes("input_tokens", Integer, |r| Value::integer(r.record.input_tokens())),
    C::sometimes("output_tokens", Integer, |r| {
        Value::integer(r.figures.tokens_from.map(|_| r.figures.output_tokens))
    }),
    C::sometimes("tokens_from", Text, |r| Value::text(r.figures.tokens_from.map(TokensFrom::name))),
    C::sometimes("prompt_tokens_usage", Integer, |r| Value::integer(r.record.usage.prompt)),
    C::sometimes("cached_tokens_usage", Integer, |r| Value::integer(r.record.usage.cached)),
    C::sometimes("tokens_usage", Integer, |r| Value::integer(r.record.usage.completion)),
    C::sometimes("prompt_tokens_tokenizer", Integer, |r| {
        Value::integer(r.record.prompt_tokens_tokenizer)
    }),
    C::sometimes("tokens_tokenizer", Integer, |r| Value::integer(r.record.tokens_tokenizer)),
    C::sometimes("server_queue_ms", Number, |r| stated(r, ServerTime::Queue)),
    C::sometimes("server_inference_ms", Number, |r| stated(r, ServerTime::Inference)),
    C::sometimes("server_total_ms", Number, |r| stated(r, ServerTime::Total)),
    C::sometimes("server_prefill_ms", Number, |r| stated(r, ServerTime::Prefill)),
    C::sometimes("server_first_token_ms", Number, |r| stated(r, ServerTime::FirstToken)),
    C::sometimes("server_decode_ms", Number, |r| stated(r, ServerTime::Decode)),
    C::sometimes("server_load_ms", Number, |r| stated(r, ServerTime::Load)),
    C::always("tokens_events", Integer, |r| Value::Integer(r.record.tokens_events().into())),
    C::always("output_chars", Integer, |r| sum(r.record.token_events().map(|event| event.chars))),
    C::always("output_events", Integer, |r| count(r.record.token_events().count())),
    C::always("reads", Integer, |r| count(r.record.reads.len())),
    C::always("read_bytes", Integer, |r| sum(r.record.reads.iter().map(|read| read.bytes))),
    C::always("origin_unix_ns", Integer, |r| Value::Integer(r.pass.run.origin_unix_ns)),
    C::always("due_ns", Integer, |r| at(Some(r.record.due))),
    C::sometimes("picked_ns", Integer, |r| at(r.record.picked)),
    C::sometimes("connected_ns", Integer, |r| at(r.record.connected)),
    C::sometimes("send_start_ns", Integer, |r| at(r.record.send_start)),
    C::sometimes("sent_ns", Integer, |r| at(r.record.sent)),
    C::sometimes("headers_ns", Integer, |r| at(r.record.headers)),
    C::sometimes("first_token_ns", Integer, |r| at(r.figures.first_token)),
    C::sometimes("last_token_ns", Integer, |r| at(r.figures.last_token)),
    C::sometimes("ended_ns", Integer, |r| at(r.record.ended)),
];
