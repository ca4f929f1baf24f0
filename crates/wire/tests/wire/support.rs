//! Helpers of the tests: they read responses whole or in pieces, and return results that can be compared.

use std::fs;
use std::path::Path;

use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, ServerTimes, Skipped, Usage};
use inferometer_model::request::{Prompt, SplitThink};
use inferometer_wire::dialect::dialect;
use inferometer_wire::exchange::{Progress, ResponseReader};
use inferometer_wire::http::{LAST_CHUNK, response_head, write_chunk};

/// The prompt of the responses in vLLM's native dialect that are written by hand. These responses repeat the
/// prompt.
pub const PROMPT: &str = "Say 1: ";

/// The result of reading a response. It does not contain the indices of reads, because these depend on the
/// cuts.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// One letter for each event.
    pub kinds: String,
    /// The number of characters and of tokens of each event.
    pub sizes: Vec<(u32, Option<u32>)>,
    pub text: String,
    pub reasoning: String,
    pub finish: Option<String>,
    pub usage: Usage,
    pub server_times: ServerTimes,
    pub skipped: Skipped,
    pub status: Option<u16>,
    pub keep_alive: bool,
    pub outcome: Outcome,
    pub detail: Option<String>,
}

/// The bytes of a recorded response.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a response that arrives in these pieces. After the last piece, the connection ends.
pub fn read<'a>(name: &str, stream: bool, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    read_split(name, stream, None, pieces)
}

/// Like [`read`], and splits the text of the answer.
pub fn read_split<'a>(
    name: &str,
    stream: bool,
    split: Option<SplitThink>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Reading {
    let dialect = dialect(name).unwrap_or_else(|| panic!("dialect {name}"));
    let prompt = Prompt::Text(PROMPT.to_owned());
    let mut reader = ResponseReader::new(dialect, &prompt, stream, true).with_split_think(split);
    for (index, piece) in pieces.into_iter().enumerate() {
        let progress = reader.feed(index as u32, piece);
        let expected = match (reader.head_seen(), progress) {
            (_, Progress::Ended) => Progress::Ended,
            (true, _) => Progress::InBody,
            (false, _) => Progress::InHead,
        };
        assert_eq!(progress, expected);
        assert!(reader.parsed().events.iter().all(|event| event.read <= index as u32));
    }
    reader.eof();
    let (outcome, detail) = reader.verdict();
    let (status, keep_alive) = (reader.status(), reader.keep_alive());
    let answer = reader.into_parsed();
    Reading {
        kinds: answer.events.iter().map(letter).collect(),
        sizes: answer.events.iter().map(|event| (event.chars, event.tokens)).collect(),
        text: answer.text.expect("the text was requested"),
        reasoning: answer.reasoning.expect("the text was requested"),
        finish: answer.finish_reason,
        usage: answer.usage,
        server_times: answer.server_times,
        skipped: answer.skipped,
        status,
        keep_alive,
        outcome,
        detail,
    }
}

fn letter(event: &Event) -> char {
    match event.kind {
        EventKind::Role => 'R',
        EventKind::Text => 'T',
        EventKind::EmptyText => 'e',
        EventKind::Reasoning => 'G',
        EventKind::ToolCall => 'C',
        EventKind::Usage => 'U',
        EventKind::Finish => 'F',
        EventKind::Error => 'X',
        EventKind::Done => 'D',
        EventKind::Comment => 'c',
    }
}

/// A response with this status, media type and body, and with its content length.
pub fn response(status: u16, media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len().to_string();
    let headers = [("Content-Type", media_type), ("Content-Length", &length)];
    let mut bytes = response_head(status, &headers);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// A chunked response with these messages, each in its own chunk.
pub fn streamed(media_type: &str, messages: &[String]) -> Vec<u8> {
    let headers = [("Content-Type", media_type), ("Transfer-Encoding", "chunked")];
    let mut bytes = response_head(200, &headers);
    messages.iter().for_each(|message| write_chunk(&mut bytes, message.as_bytes()));
    bytes.extend_from_slice(LAST_CHUNK);
    bytes
}

/// A stream of server-sent events with these data.
pub fn sse(data: &[&str]) -> Vec<u8> {
    let messages: Vec<String> = data.iter().map(|data| format!("data: {data}\n\n")).collect();
    streamed("text/event-stream", &messages)
}
