//! Shows a run on a terminal as lines, progress bars or a full-screen view, from the run's events. This module measures
//! nothing.

use std::io::{IsTerminal, stderr, stdout};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use inferometer_report::progress::{Notice, PairEnded, pass_ended};
use inferometer_run::{DurationEstimate, Event, Events, Host, LiveState, Subscriber};

use crate::command_line::progress::{Bars, ShownBar};
use crate::command_line::{interrupt, program, tell};
use crate::{command_line::consent::consent, command_line::tui::Screen};

/// How a run is shown. This does not affect the measurement.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Print only errors and warnings on standard error.
    pub quiet: bool,
    /// Show progress bars if standard error is a terminal and `quiet` is false.
    pub progress: bool,
    /// Show the run in a full-screen view.
    pub tui: bool,
    /// Ask for confirmation before a long run begins.
    pub ask: bool,
}

/// Shows the events of runs.
struct Terminal {
    view: View,
    bars: Bars,
    /// The current progress bar.
    showing: Mutex<Option<ShownBar>>,
    screen: Mutex<Option<Screen>>,
    /// The text of the estimate after the last pair of blocks of a comparison; empty if there is no estimate yet.
    so_far: Mutex<String>,
    /// The live state of the run, from which bars read the remaining time.
    run: OnceLock<LiveState>,
}

/// Returns the events and the host for the runs of a command. The events are shown on the terminal as `view` states.
pub fn show(view: View) -> (Events, Host) {
    let drawn = !view.quiet && view.progress && stderr().is_terminal();
    let bars = if drawn { Bars::Drawn } else { Bars::None };
    let (showing, screen) = (Mutex::new(None), Mutex::new(None));
    let (so_far, run) = (Mutex::default(), OnceLock::new());
    let terminal = Arc::new(Terminal { view, bars, showing, screen, so_far, run });
    let events = Events::to(Arc::clone(&terminal));
    let live = events.live().clone();
    terminal.run.get_or_init(|| live.clone());
    let host = Host {
        interrupt: interrupt::shared(),
        confirm: Some(Arc::new(move |estimate| terminal.begin(estimate, &live))),
        program: program::file().ok(),
        find_local_servers: !view.quiet,
    };
    (events, host)
}

impl Terminal {
    /// Asks for confirmation and opens the full-screen view, if the view requires this. An error prevents the run.
    fn begin(&self, estimate: DurationEstimate, live: &LiveState) -> Result<(), String> {
        if self.view.ask {
            consent(estimate)?;
        }
        if self.view.tui {
            let screen = Screen::open(live.clone()).map_err(|failure| failure.to_string())?;
            *self.screen.lock().unwrap_or_else(PoisonError::into_inner) = Some(screen);
        }
        Ok(())
    }

    fn draw(&self, showing: Option<ShownBar>) {
        let mut current = self.showing.lock().unwrap_or_else(PoisonError::into_inner);
        // Remove the previous bar before the next one is drawn.
        *current = None;
        *current = showing;
    }

    fn so_far(&self) -> MutexGuard<'_, String> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the state of a comparison after a pair. If bars are drawn, the bar of the next block shows this state, and
    /// each state replaces the previous one. Without bars, and unless `quiet` is set, a line is printed for a few
    /// pairs.
    fn pair(&self, pair: &PairEnded) {
        if self.bars == Bars::None && has_line(pair.number) {
            self.line(&pair.line());
        }
        *self.so_far() = pair.so_far();
    }

    fn line(&self, line: &str) {
        if !self.view.quiet {
            tell(line);
        }
    }
}

impl Subscriber for Terminal {
    fn on_event(&self, event: &Event<'_>) {
        match *event {
            Event::Notice(notice) if notice.is_urgent() => tell(&notice.to_string()),
            // The results on the same terminal end with the answers.
            Event::Notice(Notice::SearchAnswer { .. } | Notice::SweepAnswer { .. })
                if stdout().is_terminal() => {}
            Event::Notice(notice) => self.line(&notice.to_string()),
            Event::Connecting => interrupt::handle_signals(),
            Event::RunStarted(run) => interrupt::recording_run(&run.id),
            Event::PromptsStarted(it) => {
                self.draw(Some(self.bars.prompts(&it.label, it.prompts, Arc::clone(&it.made))));
            }
            Event::WarmUpStarted(it) => {
                let length = it.cell.output_length;
                self.draw(Some(self.bars.pass(
                    &it.label,
                    None,
                    length,
                    Arc::clone(&it.live),
                    None,
                )));
            }
            Event::PassStarted(it) => {
                let (requests, length) = (it.begin.plan.requests(), it.begin.cell.output_length);
                let (live, run) = (Arc::clone(&it.live), self.run.get().cloned());
                let label = format!("{}{}", it.label, *self.so_far());
                self.draw(Some(self.bars.pass(&label, requests, length, live, run)));
            }
            Event::PromptsEnded | Event::WarmUpEnded | Event::PassStopped(_) => self.draw(None),
            Event::PairEnded(it) => self.pair(it),
            Event::PassEnded(it) if it.is_block => {}
            Event::PassEnded(it) => self.line(&pass_ended(it.label, it.summary)),
            Event::Closed => {
                self.draw(None);
                *self.screen.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
            _ => {}
        }
    }
}

/// Whether a line is printed after the pair with this number: after 1, 2, 5, 10, 20, 50, 100, and so on. A comparison
/// of any length then has few lines.
fn has_line(pair: u32) -> bool {
    let mut digit = pair;
    while digit >= 10 && digit.is_multiple_of(10) {
        digit /= 10;
    }
    matches!(digit, 1 | 2 | 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_of_any_length_has_few_lines() {
        let with_line: Vec<u32> = (1..=57).filter(|pair| has_line(*pair)).collect();
        assert_eq!(with_line, [1, 2, 5, 10, 20, 50]);
        assert_eq!((1..=100_000).filter(|pair| has_line(*pair)).count(), 16);
    }
}
