//! What an answer that was passed on says about its call: the counts of a trace's row, or why it has none.

use std::collections::BTreeMap;

use inferometer_model::{EventKind, Outcome, Prompt};
use inferometer_net::http::relay::{Answer, AnswerEnd, Seen};
use inferometer_wire::dialect::{Dialect, dialect};
use inferometer_wire::{
    exchange::{Progress, ResponseReader},
    http::Request,
};
use inferometer_workload::jobs::record::{Answered, Counts, Recorder};
use serde_json::Value;

/// The ends of paths to which calls are sent, and their dialects.
const CALLS: [(&str, &str); 4] = [
    ("/chat/completions", "openai-chat"),
    ("/completions", "openai-completions"),
    ("/responses", "openai-responses"),
    ("/messages", "anthropic"),
];
/// Fields of a request that name its session.
const SESSION_FIELDS: [&str; 3] = ["x-session-id", "session_id", "x-claude-code-session-id"];

/// Whether a request is a call of a model.
pub fn is_call(request: &Request) -> bool {
    api_of(request).is_some()
}

fn api_of(request: &Request) -> Option<&'static Dialect> {
    let path = request.target.split('?').next().unwrap_or_default();
    let found = CALLS.iter().find(|(end, _)| path.ends_with(end) && request.method == "POST");
    found.and_then(|(_, name)| dialect(name))
}

/// A recording: requests and answers go in, rows come out.
pub struct Recording {
    with_texts: bool,
    recorder: Recorder,
    /// The calls in progress: their dialect, and whether they are streams.
    open: BTreeMap<u64, (&'static Dialect, bool)>,
    /// Requests without a row, by reason.
    left_out: BTreeMap<String, u64>,
}

impl Recording {
    /// An empty recording. `with_texts`: rows have whole requests.
    pub fn new(with_texts: bool) -> Self {
        let (open, left_out) = Default::default();
        Self { with_texts, recorder: Recorder::new(with_texts), open, left_out }
    }

    /// Adds what passed, and returns the row of a call that has ended with it.
    ///
    /// # Errors
    /// Why a call has no row.
    pub fn add(&mut self, seen: Seen) -> Result<Option<Value>, String> {
        match seen {
            Seen::Request(id, at, request) => {
                if let Err(reason) = self.begin(id, at.0 as i64, &request) {
                    *self.left_out.entry(reason).or_default() += 1;
                }
                Ok(None)
            }
            Seen::Answer(id, answer) => {
                let Some((api, streams)) = self.open.remove(&id) else { return Ok(None) };
                let answered = answered(api, streams, &answer).inspect_err(|reason| {
                    self.recorder.forget(id);
                    *self.left_out.entry(reason.clone()).or_default() += 1;
                })?;
                Ok(self.recorder.end(id, &answered))
            }
        }
    }

    fn begin(&mut self, id: u64, begin_ns: i64, request: &Request) -> Result<(), String> {
        let api = api_of(request).ok_or_else(|| "no call of a model".to_owned())?;
        if self.with_texts && api.name == "openai-completions" {
            return Err("a completion, which a row with texts cannot hold".to_owned());
        }
        let body: Value = serde_json::from_slice(&request.body)
            .map_err(|_| "a body that is not JSON".to_owned())?;
        let streams = body["stream"] == true;
        let session = SESSION_FIELDS.iter().find_map(|name| request.header(name));
        if !self.recorder.begin(id, begin_ns, session, body) {
            return Err("a body without a prompt".to_owned());
        }
        self.open.insert(id, (api, streams));
        Ok(())
    }

    /// The rows so far.
    pub fn counts(&self) -> Counts {
        self.recorder.counts()
    }

    /// The requests without a row, with their reasons; `None` if there is none. Calls in progress have none yet.
    pub fn left_out(&self) -> Option<String> {
        let open = self.open.len() as u64;
        let open = (open > 0).then(|| ("still in progress".to_owned(), open));
        let all = self.left_out.clone().into_iter().chain(open);
        let all: Vec<String> = all.map(|(reason, count)| format!("{count} x {reason}")).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

fn answered(api: &Dialect, streams: bool, answer: &Answer) -> Result<Answered, String> {
    if answer.end == AnswerEnd::TooLong {
        return Err("an answer of more than 64 MiB".to_owned());
    }
    let mut reader = ResponseReader::new(api, &Prompt::Text(String::new()), streams, false);
    let mut from = 0;
    for (read, &(_, to)) in answer.reads.iter().enumerate() {
        reader.feed(read as u32, &answer.bytes[from..to]);
        from = to;
    }
    if reader.progress() != Progress::Ended {
        reader.eof();
    }
    if let Some(status) = reader.status().filter(|status| *status != 200) {
        return Err(format!("HTTP {status}"));
    }
    // A client may leave after the last event, before the end of the message: its answer is complete.
    match (reader.verdict().0, &answer.end) {
        (Outcome::Complete, _) => {}
        (_, AnswerEnd::ClientLeft) => return Err("the client left".to_owned()),
        (_, AnswerEnd::Broken(why)) => return Err(why.clone()),
        (outcome, _) => return Err(format!("the answer is {outcome}")),
    }
    let parsed = reader.into_parsed();
    let parts = parsed.events.iter().filter(|event| event.kind.is_token()).count() as u32;
    let tokens = parsed.usage.prompt.zip(parsed.usage.completion);
    if tokens.is_none_or(|(prompt, output)| prompt == 0 || output == 0) && parts == 0 {
        return Err("no output".to_owned());
    }
    Ok(Answered {
        end_ns: answer.at.0 as i64,
        id: id_of(&answer.bytes),
        tokens: tokens.filter(|(prompt, output)| *prompt > 0 && *output > 0),
        parts,
        cached: parsed.usage.cached,
        reasoning: parsed.usage.reasoning,
        calls_tools: parsed.events.iter().any(|event| event.kind == EventKind::ToolCall),
    })
}

/// The first id in an answer: that of the answer.
fn id_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(16 << 10)]);
    let (_, after) = text.split_once("\"id\"")?;
    let after = after.trim_start_matches([' ', ':']).strip_prefix('"')?;
    after.split_once('"').map(|(id, _)| id.to_owned())
}
