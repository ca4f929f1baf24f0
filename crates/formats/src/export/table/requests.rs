//! The table of requests. It has one row for each planned request: its record without the individual reads
//! and events, and the figures that are computed from the record.

use std::rc::Rc;

use inferometer_model::metrics::registry;
use inferometer_model::{Nanos, Outcome, Record, Timeline, TokensFrom};

use super::source::PassSource;
use super::{Column, Table};
use crate::export::value::Kind::{Flag, Integer, Text};
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
            output_tokens: timeline.output_tokens,
            tokens_from: timeline.tokens_from,
            of_metrics: registry::exported()
                .into_iter()
                .map(|(metric, _)| metric.value.of_request(&timeline))
                .collect(),
        };
        Self { pass, record, figures }
    }
}

fn at(instant: Option<Nanos>) -> Value<'static> {
    // An `i64` in nanoseconds covers 292 years after the origin of the axis. A later instant is absent.
    Value::integer(instant.and_then(|at| i64::try_from(at.0).ok()))
}

fn phase(record: &Record) -> Option<&'static str> {
    match record.outcome {
        Outcome::Connection { phase } | Outcome::TimedOut { phase } => Some(phase.name()),
        _ => None,
    }
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

/// The table of requests.
pub static REQUESTS: Table<RequestRow> = Table {
    schema: "inferometer.requests/1",
    about: "One row for each planned request, with any outcome.",
    columns: &COLUMNS,
    of_metrics: Some(|row| &row.figures.of_metrics),
};

type C = Column<RequestRow>;

static COLUMNS: [C; 49] = [
    C::always("run_id", Text, "The run's id in the store.", |r| Value::Text(&r.pass.run.run_id)),
    C::always("model", Text, "The name of the model at the server.", |r| {
        Value::Text(&r.pass.run.target.model)
    }),
    C::sometimes("engine", Text, "The engine, such as vllm.", |r| {
        Value::text(r.pass.run.target.engine.as_deref())
    }),
    C::sometimes("engine_version", Text, "The version of the engine.", |r| {
        Value::text(r.pass.run.target.engine_version.as_deref())
    }),
    C::always("simulated", Flag, "Whether the server was the embedded engine.", |r| {
        Value::Flag(r.pass.run.target.simulated)
    }),
    C::always("predicted", Flag, "Whether all figures are predicted, not measured.", |r| {
        Value::Flag(r.pass.run.predicted)
    }),
    C::always("pass", Integer, "Index of the pass in the run, from 0.", |r| {
        Value::Integer(r.record.pass.into())
    }),
    C::always(
        "kind",
        Text,
        "The load model of the pass: one_by_one, saturated, closed or open.",
        |r| Value::Text(r.pass.kind),
    ),
    C::always("load", Text, "The load as text, with its concurrency or rate.", |r| {
        Value::Text(&r.pass.load)
    }),
    C::always("repeat", Integer, "Number of this repeat of the cell's load, from 1.", |r| {
        Value::Integer(r.pass.repeat.into())
    }),
    C::always(
        "input_length",
        Integer,
        "Input length of the cell in tokens; 0 if the requests have different lengths.",
        |r| Value::Integer(r.pass.cell.input_length.into()),
    ),
    C::always(
        "output_length",
        Integer,
        "Output length of the cell in tokens; 0 if the requests have different lengths.",
        |r| Value::Integer(r.pass.cell.output_length.into()),
    ),
    C::always("request", Integer, "Index of the request in its pass, from 0.", |r| {
        Value::Integer(r.record.index.into())
    }),
    C::sometimes("class", Text, "Class of the request, if the pass has several classes.", |r| {
        Value::text(r.record.class.as_deref())
    }),
    C::sometimes("server", Text, "Server of the request, if the load has several servers.", |r| {
        Value::text(server(r))
    }),
    C::sometimes(
        "rank",
        Integer,
        "Index of the client process from 0, if there are several.",
        |r| Value::integer(r.record.rank),
    ),
    C::always("outcome", Text, "Outcome: complete, truncated, rejected, ...", |r| {
        Value::Text(r.record.outcome.kind().name())
    }),
    C::sometimes(
        "phase",
        Text,
        "Phase of the request in which it failed; only if outcome is connection or timed_out.",
        |r| Value::text(phase(&r.record)),
    ),
    C::sometimes("status", Integer, "The HTTP status.", |r| Value::integer(r.record.status)),
    C::sometimes("detail", Text, "The error message.", |r| Value::text(r.record.detail_text())),
    C::sometimes("finish_reason", Text, "The finish reason, as the server states it.", |r| {
        Value::text(r.record.finish_reason.as_deref())
    }),
    C::always("asked_input", Integer, "Requested prompt tokens; 0 if the plan sets none.", |r| {
        Value::Integer(r.record.asked_input.into())
    }),
    C::always("asked_output", Integer, "Requested output tokens.", |r| {
        Value::Integer(r.record.asked_output.into())
    }),
    C::sometimes("input_tokens", Integer, "Prompt tokens from the best available source.", |r| {
        Value::integer(r.record.input_tokens())
    }),
    C::sometimes("output_tokens", Integer, "Output tokens from the best available source.", |r| {
        Value::integer(r.figures.tokens_from.map(|_| r.figures.output_tokens))
    }),
    C::sometimes(
        "tokens_from",
        Text,
        "The source of output_tokens: usage, tokenizer or events.",
        |r| Value::text(r.figures.tokens_from.map(TokensFrom::name)),
    ),
    C::sometimes("prompt_tokens_usage", Integer, "Prompt tokens, from the server's usage.", |r| {
        Value::integer(r.record.usage.prompt)
    }),
    C::sometimes(
        "cached_tokens_usage",
        Integer,
        "Prompt tokens that the server read from a cache, from the server's usage.",
        |r| Value::integer(r.record.usage.cached),
    ),
    C::sometimes("tokens_usage", Integer, "Output tokens, from the server's usage.", |r| {
        Value::integer(r.record.usage.completion)
    }),
    C::sometimes(
        "prompt_tokens_tokenizer",
        Integer,
        "Prompt tokens, counted by the run's tokenizer.",
        |r| Value::integer(r.record.prompt_tokens_tokenizer),
    ),
    C::sometimes(
        "tokens_tokenizer",
        Integer,
        "Output tokens, counted by the user's tokenizer.",
        |r| Value::integer(r.record.tokens_tokenizer),
    ),
    C::sometimes("server_queue_ms", Integer, "Time in the queue, as the server states it.", |r| {
        Value::integer(r.record.server_times.queue_ms)
    }),
    C::sometimes(
        "server_inference_ms",
        Integer,
        "Time of prefill and decode, as the server states it.",
        |r| Value::integer(r.record.server_times.inference_ms),
    ),
    C::sometimes(
        "server_total_ms",
        Integer,
        "Time of the request, as the server states it.",
        |r| Value::integer(r.record.server_times.total_ms),
    ),
    C::always("tokens_events", Integer, "Output tokens, counted from the events.", |r| {
        Value::Integer(r.record.tokens_events().into())
    }),
    C::always(
        "output_chars",
        Integer,
        "Characters of the output: text, reasoning and tool calls.",
        |r| sum(r.record.token_events().map(|event| event.chars)),
    ),
    C::always("output_events", Integer, "Events with output.", |r| {
        count(r.record.token_events().count())
    }),
    C::always("reads", Integer, "Socket reads with data.", |r| count(r.record.reads.len())),
    C::always("read_bytes", Integer, "Bytes of these socket reads.", |r| {
        sum(r.record.reads.iter().map(|read| read.bytes))
    }),
    C::always(
        "origin_unix_ns",
        Integer,
        "Unix time of the origin of the run's time axis. The sum of this value and an instant of \
        the row is the Unix time of the instant.",
        |r| Value::Integer(r.pass.run.origin_unix_ns),
    ),
    C::always("due_ns", Integer, "Due time from the plan, on the run's axis.", |r| {
        at(Some(r.record.due))
    }),
    C::sometimes("picked_ns", Integer, "When the client began to process the request.", |r| {
        at(r.record.picked)
    }),
    C::sometimes(
        "connected_ns",
        Integer,
        "When the new connection for the request was ready.",
        |r| at(r.record.connected),
    ),
    C::sometimes("send_start_ns", Integer, "When the first byte of the request was sent.", |r| {
        at(r.record.send_start)
    }),
    C::sometimes("sent_ns", Integer, "When the last byte of the request was sent.", |r| {
        at(r.record.sent)
    }),
    C::sometimes("headers_ns", Integer, "When the answer's headers were complete.", |r| {
        at(r.record.headers)
    }),
    C::sometimes("first_token_ns", Integer, "Arrival of the first visible output.", |r| {
        at(r.figures.first_token)
    }),
    C::sometimes("last_token_ns", Integer, "Arrival of the last output.", |r| {
        at(r.figures.last_token)
    }),
    C::sometimes("ended_ns", Integer, "When the answer ended or was abandoned.", |r| {
        at(r.record.ended)
    }),
];
