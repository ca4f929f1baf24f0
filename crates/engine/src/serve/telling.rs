//! What a client is told of an answer under way: tokens, the end, and faults in the middle. It
//! queues bytes on the connection and never writes to a socket.

use inferometer_model::time::Nanos;
use inferometer_net::Close;

use super::api::{Job, Output, Reply};
use super::connection::{Answer, Connection, head, respond};
use super::fault::FaultKind;
use super::words::Words;
use crate::engine::{Finish, RequestId, StepOutput};

/// What an injected failure says.
pub(super) const FAILURE: &str = "The engine failed (injected fault).";

/// The id of an answer.
pub(super) fn name(job: &Job, request: RequestId) -> String {
    format!("{}{:016x}", job.form.id_prefix(), request.0)
}

/// The fault in the middle of an answer, if one befalls it. Says whether the answer goes on.
pub(super) fn fail(connection: &mut Connection, answer: &Answer) -> bool {
    let stream = answer.job.stream;
    for fault in &answer.faults {
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
                for event in answer.job.form.error(FAILURE) {
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

/// Queues what the client should see of one more token; with the instant, where it is to say when
/// it was sent.
pub(super) fn tell(
    connection: &mut Connection,
    answer: &mut Answer,
    output: &StepOutput,
    words: &Words,
    sent: Option<Nanos>,
) {
    let id = name(&answer.job, answer.request);
    let ended = output.finished.is_some();
    let finish_reason = ended.then_some(match output.finished {
        Some(Finish::Length) => answer.job.finish_reason,
        _ => "length",
    });
    let token = output.tokens_so_far.saturating_sub(1);
    let (token, _) = words.at(answer.job.seed, token);
    // The first half of a character is a token without text; the second one brings both.
    let half = answer.has(FaultKind::Halves) && !ended && output.tokens_so_far % 2 == 1;
    let told_text = if half { answer.told_bytes } else { answer.text.len() };
    let bundled = output.tokens_so_far - answer.told >= answer.bundle();
    let told = Output {
        id: &id,
        news: &answer.text[answer.told_bytes..told_text],
        text: &answer.text[..told_text],
        token,
        prompt_tokens: answer.job.prompt_tokens,
        output_tokens: output.tokens_so_far,
        finish_reason,
    };
    if !answer.job.stream {
        if ended {
            respond(connection, &Reply::json(200, &answer.job.form.whole(&told)));
            close_unasked(connection, answer);
        }
        return;
    }
    if !ended && !bundled {
        return;
    }
    if answer.has(FaultKind::Comments) {
        connection.chunk(b": keep-alive\n\n");
    }
    connection.chunk(&stamped(answer.job.form.event(&told), sent));
    if ended {
        for event in answer.job.form.closing(&told) {
            connection.chunk(&stamped(event, sent));
        }
        connection.end_chunked();
        close_unasked(connection, answer);
    }
    answer.told = output.tokens_so_far;
    answer.told_bytes = told_text;
}

/// An event whose JSON object ends with the instant, where it has one.
fn stamped(mut event: Vec<u8>, sent: Option<Nanos>) -> Vec<u8> {
    let end = event.iter().rposition(|&byte| byte == b'}');
    if let Some((sent, end)) = sent.zip(end) {
        let member = format!(",\"sent_ns\":{}", sent.0);
        event.splice(end..end, member.into_bytes());
    }
    event
}

/// Closes a connection that was promised to be kept, if that fault befalls the answer.
fn close_unasked(connection: &mut Connection, answer: &Answer) {
    if answer.has(FaultKind::Close) {
        connection.close();
    }
}
