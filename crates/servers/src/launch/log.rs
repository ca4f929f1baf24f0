//! The log of a server, limited to a number of bytes: its beginning and its end.

use std::io::{self, Write};
use std::{collections::VecDeque, fs::File};

use inferometer_model::Secrets;

/// The number of last lines that are reported when a server ends.
const LAST_LINES: usize = 12;
/// The number of lines with an error that are reported. The first error is often the cause of the others.
const FIRST_ERRORS: usize = 2;
/// The maximum number of characters of a reported line.
const LINE_CHARS: usize = 300;
/// The maximum number of bytes that are stored from the end of a long log. They are in memory until the server has
/// ended.
const MOST_TAIL_BYTES: u64 = 1 << 20;

/// The length of an incomplete line from which on its beginning is written, in bytes. A secret has no line breaks, and
/// is shorter.
const MOST_HELD_BYTES: usize = 16 << 10;

/// A log of limited size. The file has the beginning of the output (versions, arguments, memory) and its end
/// (why the server ended). Between them, it states how many bytes were left out.
pub(crate) struct Log {
    file: File,
    /// How many bytes may still be written to the beginning of the file.
    room: u64,
    tail: VecDeque<u8>,
    tail_limit: usize,
    left_out: u64,
    lines: Lines,
    secrets: Secrets,
    /// The end of the output so far, because the rest of a secret may follow: the incomplete line, or of a very long
    /// one the last [`MOST_HELD_BYTES`].
    held: Vec<u8>,
}

/// The last lines, the first lines with an error, and the incomplete line.
#[derive(Default)]
struct Lines {
    last: VecDeque<String>,
    errors: Vec<String>,
    open: Vec<u8>,
}

impl Log {
    pub(crate) fn new(file: File, limit_bytes: u64, secrets: Secrets) -> Self {
        let tail = (limit_bytes / 4).min(MOST_TAIL_BYTES);
        Self {
            file,
            room: limit_bytes - tail,
            tail: VecDeque::new(),
            tail_limit: tail as usize,
            left_out: 0,
            lines: Lines::default(),
            secrets,
            held: Vec::new(),
        }
    }

    /// Adds output of the server, and calls `on_line` with each line that is now complete and not empty.
    pub(crate) fn push(&mut self, bytes: &[u8], on_line: impl FnMut(&str)) -> io::Result<()> {
        if self.secrets.is_empty() {
            return self.add(bytes, on_line);
        }
        self.held.extend_from_slice(bytes);
        let is_break = |byte: &u8| b"\r\n".contains(byte);
        let lines = self.held.iter().rposition(is_break).map_or(0, |at| at + 1);
        let open = self.held.len() - lines;
        let most = lines + open.saturating_sub(MOST_HELD_BYTES);
        let cut = if most > lines { self.secrets.cut_before(&self.held, most) } else { lines };
        let rest = self.held.split_off(cut);
        let all = std::mem::replace(&mut self.held, rest);
        let redacted = self.secrets.redact_bytes(all);
        self.add(&redacted, on_line)
    }

    fn add(&mut self, bytes: &[u8], on_line: impl FnMut(&str)) -> io::Result<()> {
        self.lines.push(bytes, on_line);
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        self.room -= fits as u64;
        self.tail.extend(&bytes[fits..]);
        let over = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.left_out += over as u64;
        self.file.write_all(&bytes[..fits])
    }

    /// The last lines, including an incomplete line.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let open = [&*self.lines.open, &*self.secrets.redact_bytes(self.held.clone())].concat();
        let open = (!open.is_empty()).then(|| readable(&open));
        self.lines.last.iter().cloned().chain(open).collect()
    }

    /// The first lines that name an error.
    pub(crate) fn first_errors(&self) -> Vec<String> {
        self.lines.errors.clone()
    }

    /// The number of bytes that are not stored.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes the end of the log to the file, after its beginning.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let held = self.secrets.redact_bytes(std::mem::take(&mut self.held));
        self.add(&held, |_| {})?;
        if self.left_out > 0 {
            let left_out = self.left_out;
            writeln!(self.file, "\n[... {left_out} bytes of the log were left out here ...]")?;
        }
        let (front, back) = self.tail.as_slices();
        self.file.write_all(front)?;
        self.file.write_all(back)?;
        self.tail.clear();
        self.file.flush()
    }
}

impl Lines {
    fn push(&mut self, bytes: &[u8], mut on_line: impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            // Only the beginning of a very long line is stored, because only its beginning is reported.
            let room = (4 * LINE_CHARS).saturating_sub(self.open.len());
            self.open.extend_from_slice(&piece[..piece.len().min(room)]);
            if !piece.ends_with(b"\n") {
                continue;
            }
            let line = readable(&self.open);
            self.open.clear();
            if line.is_empty() {
                continue;
            }
            on_line(&line);
            if self.errors.len() < FIRST_ERRORS && names_an_error(&line) {
                self.errors.push(line.clone());
            }
            if self.last.len() == LAST_LINES {
                self.last.pop_front();
            }
            self.last.push_back(line);
        }
    }
}

/// Whether a line looks like an error message, such as `ValueError: no such model`, `error: ...`, or `thread
/// 'main' panicked at ...`. A wrong guess only adds a line to a report or omits one.
fn names_an_error(line: &str) -> bool {
    let is_quiet = ["WARN", "INFO", "DEBUG"].iter().any(|level| line.contains(level));
    let words = ["Error: ", "error: ", "Exception: ", " panicked at ", "out of memory"];
    !is_quiet && words.iter().any(|words| line.contains(words))
}

/// The text of a line without colours and other control characters, cut to the reported length.
fn readable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut clean = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // An escape sequence for a terminal colour: ESC [ parameters letter.
            let _ = chars.by_ref().take_while(|c| !c.is_ascii_alphabetic()).count();
        } else if c == '\r' {
            // A progress bar that replaces its own line.
            clean.clear();
        } else if !c.is_control() {
            clean.push(c);
        }
    }
    let mut clean = clean.trim_end().to_owned();
    if let Some((at, _)) = clean.char_indices().nth(LINE_CHARS) {
        clean.truncate(at);
        clean.push('…');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(limit: u64) -> (tempfile::TempDir, std::path::PathBuf, Log) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        let log = Log::new(File::create(&path).unwrap(), limit, Secrets::default());
        (folder, path, log)
    }

    #[test]
    fn a_log_above_its_limit_keeps_its_beginning_and_end_and_states_what_is_missing() {
        let (_folder, path, mut log) = log(400);
        for number in 0..1_000 {
            log.push(format!("line {number}\n").as_bytes(), |_| {}).unwrap();
        }
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("line 0\nline 1\n"), "{text}");
        assert!(text.ends_with("line 998\nline 999\n"), "{text}");
        let notice = format!("[... {} bytes of the log were left out here ...]", log.left_out());
        assert!(text.contains(&notice), "{text}");
        let written: u64 = (0..1_000).map(|n| format!("line {n}\n").len() as u64).sum();
        assert_eq!(log.left_out(), written - 400);
        assert_eq!(log.last_lines().len(), LAST_LINES);
        assert_eq!(log.last_lines().last().unwrap(), "line 999");
    }

    #[test]
    fn a_log_within_its_limit_is_stored_unchanged_even_if_it_arrives_byte_by_byte() {
        let (_folder, path, mut log) = log(4_000);
        let mut seen = Vec::new();
        for byte in b"one\n\x1b[32mtwo\x1b[0m\n10%\r99%\nthree" {
            log.push(&[*byte], |line| seen.push(line.to_owned())).unwrap();
        }
        log.finish().unwrap();
        assert_eq!(seen, ["one", "two", "99%"]);
        assert_eq!(log.last_lines(), ["one", "two", "99%", "three"]);
        assert_eq!(log.left_out(), 0);
        let text = std::fs::read(&path).unwrap();
        assert_eq!(text, b"one\n\x1b[32mtwo\x1b[0m\n10%\r99%\nthree");
    }

    #[test]
    fn a_key_in_the_log_is_redacted_even_if_it_arrives_byte_by_byte() {
        let (_folder, path, mut log) = log(4_000);
        let key = ("authorization".to_owned(), "Bearer sk-very-secret-7f3a9c".to_owned());
        log.secrets = Secrets::of_headers(&[key]);
        for byte in
            b"started\nGET /v1: Bearer sk-very-secret-7f3a9c, 200\nsk-very is cut: sk-very-s"
        {
            log.push(&[*byte], |_| {}).unwrap();
        }
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "started\nGET /v1: Bearer ***, 200\nsk-very is cut: ***");
        assert_eq!(log.last_lines()[1], "GET /v1: Bearer ***, 200");
    }

    #[test]
    fn the_first_errors_of_a_log_are_reported_even_if_many_more_follow() {
        let (_folder, _, mut log) = log(4_000);
        for line in [
            "INFO: retrying after error: busy",
            "(Worker) ERROR [x.py:1] Traceback (most recent call last):",
            "(Worker) ERROR [x.py:1] ValueError: No common block size for 16",
        ] {
            log.push(format!("{line}\n").as_bytes(), |_| {}).unwrap();
        }
        for number in 0..100 {
            log.push(format!("RuntimeError: see above {number}\n").as_bytes(), |_| {}).unwrap();
        }
        assert_eq!(
            log.first_errors(),
            [
                "(Worker) ERROR [x.py:1] ValueError: No common block size for 16",
                "RuntimeError: see above 0"
            ]
        );
    }

    #[test]
    fn an_endless_line_takes_bounded_memory() {
        let (_folder, _, mut log) = log(400);
        for _ in 0..1_000 {
            log.push(&[b'x'; 1_000], |_| {}).unwrap();
        }
        assert!(log.lines.open.len() <= 4 * LINE_CHARS);
        assert_eq!(log.last_lines()[0].chars().count(), LINE_CHARS + 1);
    }
}
