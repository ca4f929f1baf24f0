//! Reads any bytes as a response in any dialect. The reader must not panic. If the response is split in two or into
//! small pieces, the events, counts and outcome must be the same as those of the whole response. The first byte selects
//! the dialect (the lowest four bits), whether the answer is streamed (the next bit), and the form (the highest three
//! bits).

use inferometer_model::outcome::Outcome;
use inferometer_model::record::{EventKind, Usage};
use inferometer_model::request::Prompt;
use inferometer_wire::dialect::dialects;
use inferometer_wire::exchange::ResponseReader;
use inferometer_wire::http::{LAST_CHUNK, response_head, write_chunk};

pub fn check(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let (at, data) = super::cut(bytes);
    let dialect = usize::from(choice & 0x0f) % dialects().len();
    let stream = choice & 0x10 != 0;
    let response = response(choice >> 5, data);
    let whole = read(dialect, stream, [&response[..]]);
    assert_eq!(read(dialect, stream, super::in_two(at, &response)), whole);
    assert_eq!(read(dialect, stream, super::in_pieces(&response)), whole);
}

/// The data as a response. In the forms 0 and 1, the response is the data. In the other forms, the data is the body
/// after a correct head, so that the fuzzer reaches the decoders of bodies.
fn response(form: u8, data: &[u8]) -> Vec<u8> {
    let length = data.len().to_string();
    let (status, framing, media_type) = match form {
        0 | 1 => return data.to_vec(),
        2 => (200, ("transfer-encoding", "chunked"), "text/event-stream"),
        3 => (200, ("transfer-encoding", "chunked"), "text/plain"),
        4 => (200, ("content-length", &*length), "application/json"),
        5 => (503, ("content-length", &*length), "application/json"),
        6 => (200, ("connection", "close"), "text/event-stream"),
        _ => (200, ("transfer-encoding", "chunked"), "application/json"),
    };
    let mut response = response_head(status, &[framing, ("content-type", media_type)]);
    if framing.0 == "transfer-encoding" {
        data.chunks(7).for_each(|chunk| write_chunk(&mut response, chunk));
        response.extend_from_slice(LAST_CHUNK);
    } else {
        response.extend_from_slice(data);
    }
    response
}

/// The parts that are compared. The read of each event is not compared, because it depends on how the response is
/// split. The error text is not compared either, because it may depend on this if the response is not HTTP.
#[derive(Debug, PartialEq)]
struct Reading {
    events: Vec<(EventKind, u32, Option<u32>)>,
    text: Option<String>,
    finish: Option<String>,
    usage: Usage,
    status: Option<u16>,
    keep_alive: bool,
    outcome: Outcome,
}

fn read<'a>(dialect: usize, stream: bool, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    let prompt = Prompt::Text("a".to_owned());
    let mut reader = ResponseReader::new(dialects()[dialect], &prompt, stream, true);
    for (index, piece) in pieces.into_iter().enumerate() {
        reader.feed(index as u32, piece);
    }
    reader.eof();
    let (outcome, detail) = reader.verdict();
    assert_eq!(detail.is_none(), outcome == Outcome::Complete);
    let (status, keep_alive) = (reader.status(), reader.keep_alive());
    let answer = reader.into_parsed();
    Reading {
        events: answer.events.iter().map(|event| (event.kind, event.chars, event.tokens)).collect(),
        text: answer.text,
        finish: answer.finish_reason,
        usage: answer.usage,
        status,
        keep_alive,
        outcome,
    }
}
