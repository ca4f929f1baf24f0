//! `run --tui`: shows the run in progress on the full terminal. It shows the live state that every
//! run keeps, and measures nothing. The terminal is given back however the run ends: at its end, on
//! signals, and on panics.

mod draw;
mod view;

use std::io::{IsTerminal, Stderr, stderr, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use inferometer_net::thread::spawn;
use inferometer_run::LiveState;

use crate::command_line::exit::Failure;
use crate::command_line::{console, interrupt};
use view::Watcher;

/// How often it is drawn.
const REDRAW: Duration = Duration::from_millis(250);

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours; ends with this value.
pub struct Screen {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Whether a whole terminal is there to be drawn on.
///
/// # Errors
/// What is missing.
pub fn check() -> Result<(), Failure> {
    for (what, is_terminal) in
        [("standard error", stderr().is_terminal()), ("standard input", stdin().is_terminal())]
    {
        if !is_terminal {
            return Err(Failure::usage(format!(
                "--tui: {what} is not a terminal; leave out --tui to get lines, or watch the run \
                    with `inferometer web`"
            )));
        }
    }
    Ok(())
}

impl Screen {
    /// Takes the terminal and shows the live state on it.
    ///
    /// # Errors
    /// When the terminal cannot be taken.
    pub fn open(live: LiveState) -> Result<Self, Failure> {
        check()?;
        give_back_on_panics();
        interrupt::before_exit(give_back);
        let failed = |error| Failure::run_failed(format!("--tui: the terminal: {error}"));
        TAKEN.store(true, Ordering::SeqCst);
        console::hold();
        let terminal = enable_raw_mode()
            .and_then(|()| execute!(stderr(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
        let terminal = terminal.map_err(|error| {
            give_back();
            failed(error)
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&stop);
        let thread = spawn(move || show(terminal, &live, &ending)).map_err(|error| {
            give_back();
            Failure::run_failed(error)
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        give_back();
    }
}

/// Gives the terminal back, if it is ours, and prints the lines that waited.
pub fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nothing can be done about a terminal that is gone.
        let _ = execute!(stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        console::release();
    }
}

/// What a panic says is read on the terminal as it was.
fn give_back_on_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            earlier(panic);
        }));
    });
}

/// Draws until it is told to stop, or the terminal is gone.
fn show(mut terminal: Terminal<CrosstermBackend<Stderr>>, live: &LiveState, stop: &AtomicBool) {
    let mut watcher = Watcher::default();
    while !stop.load(Ordering::Relaxed) && TAKEN.load(Ordering::SeqCst) {
        let view = live.look(|state| watcher.look(state, REDRAW));
        let lines = console::held_last(3);
        if terminal.draw(|frame| draw::draw(frame, &view, &lines)).is_err() {
            return;
        }
        match event::poll(REDRAW) {
            Ok(true) => match event::read() {
                Ok(event) if asks_to_stop(&event) => interrupt::interrupt(),
                Ok(_) => {}
                Err(_) => return,
            },
            Ok(false) => {}
            Err(_) => return,
        }
    }
}

/// `q`, and Ctrl-C, which is no signal while the terminal gives single keys.
fn asks_to_stop(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let asks = match key.code {
        KeyCode::Char('q') => !is_control,
        KeyCode::Char('c') => is_control,
        _ => false,
    };
    asks && key.kind == KeyEventKind::Press
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyEvent;

    #[test]
    fn q_and_ctrl_c_ask_to_stop_and_nothing_else_does() {
        for (code, modifiers, asks) in [
            (KeyCode::Char('q'), KeyModifiers::NONE, true),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, true),
            (KeyCode::Char('c'), KeyModifiers::NONE, false),
            (KeyCode::Enter, KeyModifiers::NONE, false),
        ] {
            let event = Event::Key(KeyEvent::new(code, modifiers));
            assert_eq!(asks_to_stop(&event), asks, "{event:?}");
        }
        assert!(!asks_to_stop(&Event::FocusGained));
    }
}
