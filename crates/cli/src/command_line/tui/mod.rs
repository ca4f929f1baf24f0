//! `run --tui`: shows the run in progress in a full-screen view of the terminal. The view reads the live state that
//! every run has, and measures nothing. The terminal is restored at the end of the run, after an interruption, and on
//! panics.

mod draw;
mod view;

use std::io::{IsTerminal, Stderr, stderr, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::{thread::JoinHandle, time::Duration};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Terminal, backend::CrosstermBackend, crossterm::cursor::Show, crossterm::execute};

use inferometer_net::spawn;
use inferometer_run::LiveState;

use crate::command_line::{Failure, console, interrupt};
use view::Watcher;

/// The longest time between two drawings of the view. After a key, the view is drawn at once.
const REDRAW: Duration = Duration::from_millis(250);

/// Whether the full-screen view is active.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// The active full-screen view; dropping this value closes the view.
pub struct Screen {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Checks that a terminal is available for the full-screen view.
///
/// # Errors
/// If standard error or standard input is not a terminal.
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
    /// Switches the terminal to the full-screen view and shows the live state.
    ///
    /// # Errors
    /// If standard error or standard input is not a terminal, if the terminal cannot be switched, or if the thread that
    /// draws the view cannot be started.
    pub fn open(live: LiveState) -> Result<Self, Failure> {
        check()?;
        live.collect_statistics();
        restore_terminal_on_panics();
        interrupt::before_exit(restore_terminal);
        let failed =
            |error| Failure::run_failed(format!("--tui: cannot switch the terminal: {error}"));
        ACTIVE.store(true, Ordering::SeqCst);
        console::hold();
        let terminal = enable_raw_mode()
            .and_then(|()| execute!(stderr(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
        let terminal = terminal.map_err(|error| {
            restore_terminal();
            failed(error)
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&stop);
        let thread = spawn(move || show(terminal, &live, &ending)).map_err(|error| {
            restore_terminal();
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
        restore_terminal();
    }
}

/// Restores the terminal, if the full-screen view is active, and prints the buffered lines.
pub fn restore_terminal() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        // Errors are ignored, because a closed terminal cannot be restored.
        let _ = execute!(stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        console::release();
    }
}

/// Restores the terminal on a panic, so that the message of the panic can be read.
fn restore_terminal_on_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_terminal();
            earlier(panic);
        }));
    });
}

/// Draws the view and handles keys until `stop` is set, the view is closed, or the terminal fails.
fn show(mut terminal: Terminal<CrosstermBackend<Stderr>>, live: &LiveState, stop: &AtomicBool) {
    let mut watcher = Watcher::default();
    while !stop.load(Ordering::Relaxed) && ACTIVE.load(Ordering::SeqCst) {
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

/// Whether a key stops the run: `q`, or Ctrl-C, which sends no signal in raw mode.
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
    fn only_q_and_ctrl_c_request_a_stop() {
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
