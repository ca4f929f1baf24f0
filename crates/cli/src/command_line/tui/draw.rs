//! Draws a view as widgets. The result depends only on the view, the messages and the size of the terminal.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Block, Gauge, Paragraph, Sparkline, Wrap};
use ratatui::{Frame, text::Line};

use super::view::{DistributionView, View};

/// Colours that colour-blind readers can distinguish. Every chart also has a title.
const THROUGHPUT: Color = Color::Cyan;
const SPREADS: [Color; 2] = [Color::Yellow, Color::Magenta];
const BAD: Color = Color::LightRed;

/// Draws a view on the whole frame. `lines` are the latest messages, of which up to three are shown.
pub fn draw(frame: &mut Frame<'_>, view: &View, lines: &[String]) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Min(4),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(lines.len().min(3) as u16),
        Constraint::Length(1),
    ]);
    let [head, progress, rate, spreads, state, last_lines, keys] = rows.areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(view.title.as_str()).style(bold), head);
    draw_progress(frame, view, progress);
    draw_rate(frame, view, rate);
    let parts = Layout::horizontal(view.spreads.iter().map(|_| Constraint::Fill(1))).split(spreads);
    let places = view.spreads.iter().zip(parts.iter());
    for ((spread, area), colour) in places.zip(SPREADS.into_iter().cycle()) {
        draw_spread(frame, spread, *area, colour);
    }
    let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]);
    let [failed, server] = halves.areas(state);
    let (text, style) = match view.failed.is_empty() {
        true => ("none".to_owned(), Style::new()),
        false => (view.failed.join(", "), Style::new().fg(BAD)),
    };
    draw_text(frame, "Failed requests", &text, style, failed);
    let text = if view.metrics.is_empty() { "no data".to_owned() } else { view.metrics.join(", ") };
    draw_text(frame, "Server and cards", &text, Style::new(), server);
    frame.render_widget(Paragraph::new(lines.join("\n")), last_lines);
    let help = "q or Ctrl-C: stop; the records are kept";
    frame.render_widget(Paragraph::new(help).style(Style::new().add_modifier(Modifier::DIM)), keys);
}

fn draw_progress(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let (number, passes) = view.passes;
    let title = match view.label.is_empty() {
        true => "No pass has started yet: servers are starting, prompts are being made, or the \
            warm-up is running"
            .to_owned(),
        false => {
            let left = view
                .left
                .as_ref()
                .map_or_else(String::new, |left| format!(", about {left} left in the run"));
            format!("{} · pass {number} of {passes}{left}", view.label)
        }
    };
    let gauge = Gauge::default()
        .block(Block::bordered().title(title))
        .ratio(view.done.0)
        .label(view.done.1.as_str());
    frame.render_widget(gauge, area);
}

fn draw_rate(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let now = view.rates.last().copied().unwrap_or(0);
    let most = view.rates.iter().copied().max().unwrap_or(0);
    let over = view
        .tokens_per_s
        .map_or(String::new(), |rate| format!(" · {rate:.0} output tokens/s, of ended requests"));
    let title = format!("{now} chunks/s (at most {most}) · {} in flight{over}", view.in_flight);
    let room = usize::from(Block::bordered().inner(area).width);
    let ends = [format!("{:.0} s ago", room as f64 * view.period_s), "now".to_owned()];
    let shown = &view.rates[view.rates.len().saturating_sub(room)..];
    // Fill missing values with zeros on the left, so that the latest value is at the right end.
    let rates: Vec<u64> =
        std::iter::repeat_n(0, room - shown.len()).chain(shown.iter().copied()).collect();
    let line = Sparkline::default()
        .block(on_axis(Block::bordered().title(title), &ends))
        .data(&rates)
        .style(Style::new().fg(THROUGHPUT));
    frame.render_widget(line, area);
}

fn draw_spread(frame: &mut Frame<'_>, spread: &DistributionView, area: Rect, colour: Color) {
    let block = on_axis(Block::bordered().title(spread.title.as_str()), &spread.ends);
    // Stretch the columns to the width of the block. The lower corners of the block state the ends of the axis.
    let (room, columns) = (usize::from(block.inner(area).width), &spread.columns);
    let stretched: Vec<u64> =
        (0..room).filter_map(|at| columns.get(at * columns.len() / room)).copied().collect();
    let line = Sparkline::default().block(block).data(&stretched).style(Style::new().fg(colour));
    frame.render_widget(line, area);
}

/// Writes the ends of the horizontal axis at the bottom of the block.
fn on_axis<'a>(block: Block<'a>, [from, to]: &'a [String; 2]) -> Block<'a> {
    block
        .title_bottom(Line::from(from.as_str()).left_aligned())
        .title_bottom(Line::from(to.as_str()).right_aligned())
}

fn draw_text(frame: &mut Frame<'_>, title: &str, text: &str, style: Style, area: Rect) {
    let paragraph = Paragraph::new(text)
        .style(style)
        .wrap(Wrap { trim: true })
        .block(Block::bordered().title(title));
    frame.render_widget(paragraph, area);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::view::Watcher;
    use super::*;
    use crate::command_line::live_fixture::live_state;

    fn drawn(view: &View, lines: &[String], (width, height): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, view, lines)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_terminal_shows_the_run_at_any_size() {
        let view = live_state()
            .live()
            .look(|state| Watcher::default().look(state, Duration::from_secs(1)));
        let lines = vec!["warning: 队列".to_owned()];
        let text = drawn(&view, &lines, (100, 30));
        for part in [
            "20B on vllm 0.20",
            "128 x 4, saturated · pass 2 of 8",
            "0/40 requests",
            "0 chunks/s",
            "output tokens/s, of ended requests",
            "TTFT ms: p50 29",
            "ITL ms: p50 5",
            "s ago",
            "5.25 ms",
            "1 rejected",
            "running 7, KV memory 42 %",
            "warning:",
            "q or Ctrl-C",
            "█",
        ] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        for size in [(1, 1), (20, 5), (80, 24), (300, 100)] {
            drawn(&view, &lines, size);
        }
        assert!(drawn(&View::default(), &[], (80, 24)).contains("No pass has started yet"));
    }
}
