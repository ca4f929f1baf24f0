//! Progress bars on a terminal, for a pass and for the creation of prompts. They measure nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::{collections::VecDeque, sync::Arc, thread::JoinHandle, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use inferometer_drive::Live;
use inferometer_net::{monotonic_now, spawn};
use inferometer_run::{LiveState, left};

/// The interval at which a bar is redrawn.
const REDRAW: Duration = Duration::from_millis(200);
/// The creation of prompts is shown only if it takes longer than this.
const A_MOMENT: Duration = Duration::from_millis(500);
/// Templates of the bars for the creation of prompts: with a known total, and with an unknown total.
const PROMPTS_OF: &str = "  {prefix} {bar:24} {pos}/{len} prompts made{msg}";
const PROMPTS: &str = "  {prefix} {spinner}  {pos} prompts made  {elapsed}";
/// The number of readings over which the displayed rate is computed.
const RATE_LOOKS: usize = 10;

/// Whether bars are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bars {
    /// Bars are drawn on standard error.
    Drawn,
    /// Bars are not drawn.
    None,
}

/// A bar in progress; dropping this value removes the bar. A bar only reads counters, so it does not affect the
/// measurement.
pub struct ShownBar {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bars {
    /// Shows the progress of a pass with `output_tokens` output tokens per request. `requests` is the number of
    /// requests in the pass, if known. `run` is the live state that gives the remaining time of the run.
    pub fn pass(
        self,
        label: &str,
        requests: Option<u32>,
        output_tokens: u32,
        live: Arc<Live>,
        run: Option<LiveState>,
    ) -> ShownBar {
        let began = monotonic_now();
        let expected = Expected { requests, output_tokens };
        let mut looks = VecDeque::new();
        self.redrawing(Duration::ZERO, bar(label, expected), move |bar| {
            let now = monotonic_now();
            let in_all = run.as_ref().and_then(|run| run.look(|state| state.left(now)));
            draw(bar, &live, expected, &mut looks, (now.since(began), in_all));
        })
    }

    /// Shows the creation of prompts. `prompts` is their number, if known. `made` counts the created prompts, including
    /// those of earlier passes. Nothing is shown before `A_MOMENT` has passed.
    pub fn prompts(self, label: &str, prompts: Option<u32>, made: Arc<AtomicU64>) -> ShownBar {
        let before = made.load(Ordering::Relaxed);
        let template = if prompts.is_some() { PROMPTS_OF } else { PROMPTS };
        let bar = styled(template, ProgressBar::hidden()).with_prefix(label.to_owned());
        bar.set_length(u64::from(prompts.unwrap_or(0)));
        let began = monotonic_now();
        self.redrawing(A_MOMENT, bar, move |bar| {
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            let made = made.load(Ordering::Relaxed) - before;
            bar.set_position(made);
            let share = f64::from(prompts.unwrap_or(0)).recip() * made as f64;
            let left = left(monotonic_now().since(began), share);
            let left = left.map(|left| format!(", {} left", spoken(left)));
            bar.set_message(left.unwrap_or_default());
        })
    }

    /// Draws a bar repeatedly until the returned value is dropped; the first time after the delay `from`.
    fn redrawing(
        self,
        from: Duration,
        bar: ProgressBar,
        mut draw: impl FnMut(&ProgressBar) + Send + 'static,
    ) -> ShownBar {
        if self == Self::None {
            return ShownBar { stop: None, thread: None };
        }
        let (stop, stopped) = channel::<()>();
        let thread = spawn(move || {
            let mut next = from;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(next) {
                draw(&bar);
                next = REDRAW;
            }
            bar.finish_and_clear();
        });
        // If the thread cannot be started, there is no bar; the measurement does not depend on it.
        ShownBar { stop: Some(stop), thread: thread.ok() }
    }
}

impl Drop for ShownBar {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The expected size of a pass.
#[derive(Clone, Copy)]
struct Expected {
    requests: Option<u32>,
    output_tokens: u32,
}

/// A bar that counts output tokens and not requests, because all requests of a saturated pass end shortly before the
/// pass ends.
fn bar(label: &str, expected: Expected) -> ProgressBar {
    let template = match expected.requests {
        Some(_) => "  {prefix} {bar:24} {percent:>3} %  {msg}",
        None => "  {prefix} {spinner}  {msg}  {elapsed}",
    };
    let bar = match expected.requests {
        Some(count) => ProgressBar::new(u64::from(count) * u64::from(expected.output_tokens)),
        None => ProgressBar::no_length(),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    styled(template, bar).with_prefix(label.to_owned())
}

/// Applies the common style of all bars.
fn styled(template: &str, bar: ProgressBar) -> ProgressBar {
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸ ");
    bar.with_style(style)
}

/// The remaining time of the run, or, if it is unknown, that of the pass.
fn words(of_pass: Option<Duration>, in_all: Option<Duration>) -> String {
    let in_all = in_all.map(|left| format!(", about {} left", spoken(left)));
    let of_pass = of_pass.map(|left| format!(", {} left in this pass", spoken(left)));
    in_all.or(of_pass).unwrap_or_default()
}

/// A duration as text, such as `1 min 40 s`.
pub fn spoken(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn draw(
    bar: &ProgressBar,
    live: &Live,
    expected: Expected,
    looks: &mut VecDeque<u64>,
    (elapsed, in_all): (Duration, Option<Duration>),
) {
    let counts = live.look();
    looks.push_back(counts.chunks);
    if looks.len() > RATE_LOOKS {
        looks.pop_front();
    }
    let seconds = (looks.len() - 1) as f64 * REDRAW.as_secs_f64();
    let grown = counts.chunks.saturating_sub(looks.front().copied().unwrap_or(0));
    let rate = if seconds > 0.0 { grown as f64 / seconds } else { 0.0 };
    let in_flight = counts.begun.saturating_sub(counts.ended);
    let failed = match counts.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let never_begun = match counts.never_begun {
        0 => String::new(),
        never_begun => format!(", {never_begun} not started"),
    };
    // Each ended request counts completely, regardless of its number of tokens.
    let over = counts.over() * u64::from(expected.output_tokens);
    let tokens = counts.chunks.max(over);
    bar.set_position(tokens);
    let all = expected.requests.map(|all| u64::from(all) * u64::from(expected.output_tokens));
    let of_pass = all.and_then(|all| left(elapsed, tokens as f64 / all.max(1) as f64));
    let left = words(of_pass, in_all);
    let done = match expected.requests {
        Some(all) => format!("{}/{all} requests", counts.over()),
        None => format!("{} requests", counts.over()),
    };
    // The rate is in chunks, because the number of tokens in a chunk is known only after the request has ended.
    bar.set_message(format!(
        "{done}, {rate:.0} chunks/s, {in_flight} in flight{failed}{never_begun}{left}"
    ));
}
