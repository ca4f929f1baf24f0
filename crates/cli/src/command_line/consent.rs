//! Asks for confirmation at the terminal before a long run begins.

use std::io::{IsTerminal, stderr, stdin};
use std::time::Duration;

use inferometer_run::DurationEstimate;

/// A run needs confirmation if it may take longer than this.
const LONG: Duration = Duration::from_secs(600);

/// Asks for confirmation of a long run, if a terminal is attached.
///
/// # Errors
/// If the user declines.
pub fn consent(estimate: DurationEstimate) -> Result<(), String> {
    let is_long = estimate.is_some_and(|(one, other)| one.max(other) > LONG);
    if !(is_long && stdin().is_terminal() && stderr().is_terminal()) {
        return Ok(());
    }
    eprint!("start? [Y/n] (--yes skips this question) ");
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    if read.is_ok() && agrees(&answer) {
        return Ok(());
    }
    Err("not started: nothing was measured".to_owned())
}

/// Whether an answer confirms: Enter, or a text that begins with `y`. The end of the input (an empty text) does not
/// confirm.
fn agrees(answer: &str) -> bool {
    matches!(answer.to_lowercase().as_str(), "\n" | "\r\n")
        || answer.trim().to_lowercase().starts_with('y')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enter_and_yes_give_consent() {
        assert!(["\n", "\r\n", "y\n", "Yes\n", " Y\n"].into_iter().all(agrees));
        assert!(["", "n\n", "no\n", " \n", "x\n"].into_iter().all(|answer| !agrees(answer)));
    }
}
