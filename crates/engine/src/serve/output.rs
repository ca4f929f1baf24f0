//! Queues the parts of a response in progress on the connection: tokens, the end, and injected faults. This file writes
//! to no socket.

use inferometer_model::Nanos;
use inferometer_net::Close;

use super::api::{Job, Output, Reply};
use super::connection::{Connection, Generation, head, respond};
use super::{fault::FaultKind, words::Words};
use crate::{Finish, RequestId, StepOutput};

/// The message of an injected failure.
pub(super) const FAILURE: &str = "The engine failed (injected fault).";

/// The id of a request, as responses state it.
pub(super) fn name(job: &Job, request: RequestId) -> String {
    format!("{}{:016x}", job.form.id_prefix(), request.0)
}

/// Injects a fault into the middle of a response, if a fault applies to the response. Returns whether the response
/// continues.
pub(super) fn fail(connection: &mut Connection, generation: &Generation) -> bool {
    let stream = generation.job.stream;
    for fault in &generation.faults {
        match fault {
            FaultKind::Stall | FaultKind::Die => return false,
            FaultKind::Reset => {
                connection.output.close_after(Close::Reset);
                return false;
            }
            FaultKind::Cut => {
                if !stream {
                    let fields = [("content-type", "application/json"), ("content-length", "1000")];
                    head(connection, 200, &fields);
                    connection.output.push(b"{\"id\":");
                }
                connection.output.close_after(Close::Gracefully);
                return false;
            }
            FaultKind::ErrorEvent if stream => {
                for event in generation.job.form.error(FAILURE) {
                    connection.chunk(&event);
                }
                connection.end_chunked();
                return false;
            }
            FaultKind::ErrorEvent => {
                respond(connection, &Reply::error(500, FAILURE));
                return false;
            }
            FaultKind::Malformed if stream => connection.chunk(b"data: {\"choices\": [{\"te\n\n"),
            FaultKind::Malformed => {
                let body = b"{\"choices\": [{\"te".to_vec();
                respond(connection, &Reply { status: 200, content_type: "application/json", body });
                return false;
            }
            _ => {}
        }
    }
    true
}

/// Queues the output of one more token for the client. `sent` is the send time to add to each event; absent if events
/// do not state their send time.
pub(super) fn queue_output(
    connection: &mut Connection,
    generation: &mut Generation,
    output: &StepOutput,
    words: &Words,
    sent: Option<Nanos>,
) {
    let id = name(&generation.job, generation.request);
    let ended = output.finished.is_some();
    let finish_reason = ended.then_some(match output.finished {
        Some(Finish::Length) => generation.job.finish_reason,
        _ => "length",
    });
    let token = output.tokens_so_far.saturating_sub(1);
    let (token, _) = words.at(generation.job.seed, token);
    // With `halves`, every second token has no text, and the next token has the text of both.
    let half = generation.has(FaultKind::Halves) && !ended && output.tokens_so_far % 2 == 1;
    let text_end = if half { generation.sent_bytes } else { generation.text.len() };
    let bundled = output.tokens_so_far - generation.sent_tokens >= generation.bundle();
    let output_part = Output {
        id: &id,
        news: &generation.text[generation.sent_bytes..text_end],
        text: &generation.text[..text_end],
        token,
        prompt_tokens: generation.job.prompt_tokens,
        cached_tokens: output.cached,
        output_tokens: output.tokens_so_far,
        finish_reason,
    };
    if !generation.job.stream {
        if ended {
            respond(connection, &Reply::json(200, &generation.job.form.whole(&output_part)));
            close_unasked(connection, generation);
        }
        return;
    }
    if !ended && !bundled {
        return;
    }
    if generation.has(FaultKind::Comments) {
        connection.chunk(b": keep-alive\n\n");
    }
    connection.chunk(&stamped(generation.job.form.event(&output_part), sent));
    if ended {
        for event in generation.job.form.closing(&output_part) {
            connection.chunk(&stamped(event, sent));
        }
        connection.end_chunked();
        close_unasked(connection, generation);
    }
    generation.sent_tokens = output.tokens_so_far;
    generation.sent_bytes = text_end;
}

/// Adds the send time, if there is one, as the last member of the JSON object of an event.
fn stamped(mut event: Vec<u8>, sent: Option<Nanos>) -> Vec<u8> {
    let end = event.iter().rposition(|&byte| byte == b'}');
    if let Some((sent, end)) = sent.zip(end) {
        let member = format!(",\"sent_ns\":{}", sent.0);
        event.splice(end..end, member.into_bytes());
    }
    event
}

/// Closes the connection after a complete response, if the fault `close` applies to the response.
fn close_unasked(connection: &mut Connection, generation: &Generation) {
    if generation.has(FaultKind::Close) {
        connection.close();
    }
}
