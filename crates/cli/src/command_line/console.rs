//! Writes to standard output and standard error. While a full-screen view uses the terminal, lines for standard error
//! are buffered.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use inferometer_model::secrets::{is_key_header, of_environment};
use inferometer_model::{Secrets, visible};
use inferometer_net::http::proxy::Proxies;
use inferometer_report::terminal::{Colour, Screen, shown};

/// The maximum length of a message in characters. A message may contain a value of any length from a user or a server.
const MOST_CHARS: usize = 20_000;

/// The buffered lines for standard error. None unless a full-screen view uses the terminal.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Starts to buffer all lines for standard error, because a full-screen view uses the terminal.
pub fn hold() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// The last `count` buffered lines.
pub fn held_last(count: usize) -> Vec<String> {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = held.as_deref().unwrap_or_default();
    lines[lines.len().saturating_sub(count)..].to_vec()
}

/// Prints all buffered lines, and stops buffering.
pub fn release() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    for line in held.unwrap_or_default() {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Prints a line to standard error, without API keys and control characters. Write errors are ignored.
pub fn tell(line: &str) {
    let redacted = secrets().redact_name(line);
    let clean = visible::cut(&visible::lines(&redacted), MOST_CHARS);
    if let Some(held) = &mut *HELD.lock().unwrap_or_else(PoisonError::into_inner) {
        return held.extend(clean.trim().lines().map(str::to_owned));
    }
    let _ = writeln!(io::stderr().lock(), "{clean}");
}

/// Writes a result to standard output, without control characters. A pipe that the reader has closed is not an error.
///
/// # Errors
/// If standard output cannot be written for another reason.
pub fn write(text: &str) -> io::Result<()> {
    let text = shown(text, colour());
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Whether output is coloured: only if standard output is a terminal, and `NO_COLOR` is absent or empty.
pub fn colour() -> Colour {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stdout().is_terminal() && !forbidden { Colour::Always } else { Colour::Never }
}

/// The properties of standard output: whether it has colours, and its width if it is a terminal.
pub fn screen() -> Screen {
    let is_terminal = io::stdout().is_terminal();
    let size = is_terminal.then(ratatui::crossterm::terminal::size).and_then(Result::ok);
    // A terminal of unknown size reports 0 columns.
    let columns = size.map(|(columns, _)| usize::from(columns)).filter(|&columns| columns > 0);
    Screen { colour: colour(), columns }
}

/// The arguments of this process, and the command-line words of its settings.
static ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// Stores the arguments of this process, and the command-line words of its settings, so that API keys in them are not
/// printed.
pub fn arguments_are(arguments: &[OsString], of_settings: Vec<String>) {
    let words = arguments.iter().map(|word| word.to_string_lossy().into_owned());
    // A process has only one command line, so later calls have no effect.
    let _ = ARGUMENTS.set(words.chain(of_settings).collect());
}

/// The secrets that this process received in environment variables, headers and proxy addresses.
pub fn secrets() -> &'static Secrets {
    static SECRETS: OnceLock<Secrets> = OnceLock::new();
    SECRETS.get_or_init(|| {
        let arguments = ARGUMENTS.get().map_or(&[][..], Vec::as_slice);
        // In `bench`, a flag may have several values, so all words up to the next flag are values.
        let is_bench = arguments.iter().any(|word| word == "bench");
        let given = |flag: &str| -> Vec<String> {
            let with_sign = format!("{flag}=");
            let places = arguments.iter().enumerate().filter(|(_, word)| *word == flag);
            let behind = places.flat_map(|(at, _)| {
                let next = arguments.iter().skip(at + 1);
                next.enumerate()
                    .take_while(|(nth, word)| *nth == 0 || is_bench && !word.starts_with('-'))
            });
            let joined = arguments.iter().filter_map(|word| word.strip_prefix(&with_sign));
            behind.map(|(_, word)| word.clone()).chain(joined.map(str::to_owned)).collect()
        };
        let named = given("--api-key-env").into_iter();
        let variables = named.chain(["OPENAI_API_KEY".to_owned(), "HF_TOKEN".to_owned()]);
        let keys = variables.filter_map(|name| variable(&name));
        let headers =
            given("--header").into_iter().map(|header| match header.split_once([':', '=']) {
                Some((name, value)) => (name.trim().to_owned(), value.trim().to_owned()),
                None => ("authorization".to_owned(), header),
            });
        // Only headers for keys count as secrets. Other headers may contain ordinary words, such as the name of the
        // model, and messages must still show these words.
        let headers = headers.filter(|(name, _)| is_key_header(name));
        let keys = keys.map(|key| ("authorization".to_owned(), key));
        let proxies = Proxies::of_variables(&variable).secret_headers();
        let environment = of_environment(std::env::vars_os());
        let all = headers.chain(keys).chain(proxies).chain(environment);
        Secrets::of_headers(&all.collect::<Vec<_>>())
    })
}

/// The value of an environment variable; None if it is absent or not valid Unicode.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
