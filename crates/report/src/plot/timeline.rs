//! What the server said of itself over the time of a pass, beside what the client had in flight.
//! Only for one run: the axes of several have nothing in common.

use inferometer_core::observed::{Instant, ServerSays};
use inferometer_core::summary::{Cell, PassSummary, Summary};

use super::figure::Mark;
use super::grid::Named;
use super::scale::Scale;
use super::style::{self, Palette, Style};
use super::svg::{Anchor, Svg};
use super::text::fitted;
use super::theme::{Paint, Theme};
use crate::label;

/// Size of the whole, and of the two plots of a pass.
const WIDTH: f64 = 900.0;
const REQUESTS_HEIGHT: f64 = 150.0;
const KV_HEIGHT: f64 = 56.0;
const LEFT: f64 = 144.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 126.0;
/// From the top of one pass to that of the next.
const STEP: f64 = 24.0 + REQUESTS_HEIGHT + 16.0 + KV_HEIGHT + 54.0;
/// More passes than this are no longer read.
const MOST_PASSES: usize = 6;
/// A line needs some points.
const LEAST_INSTANTS: usize = 3;

const WIDE: &str = r#" stroke-width="7" stroke-linejoin="round" stroke-linecap="round""#;

/// What is drawn of an instant.
type Line = (&'static str, fn(&Instant) -> Option<f64>);

const LINES: [Line; 3] = [
    ("in flight (client)", |instant| Some(instant.in_flight as f64)),
    ("running (server)", |instant| instant.running),
    ("waiting (server)", |instant| instant.waiting),
];

/// The plot of a run whose server said something while a pass loaded it.
pub(super) fn figure(summary: &Summary, theme: Theme) -> Option<Named> {
    let all: Vec<(&Cell, &PassSummary, &ServerSays)> = summary
        .cells
        .iter()
        .filter_map(|cell| {
            let pass = cell.loading()?;
            let says = pass.server.as_ref()?;
            (says.timeline.len() >= LEAST_INSTANTS).then_some((cell, pass, says))
        })
        .collect();
    if all.is_empty() {
        return None;
    }
    let shown = &all[..all.len().min(MOST_PASSES)];
    let mut svg = Svg::new(WIDTH, TOP + shown.len() as f64 * STEP + 24.0, theme);
    let title = "Requests in the server over time";
    head(&mut svg, summary, title);
    for (row, (cell, pass, says)) in shown.iter().enumerate() {
        one(&mut svg, &cell.place(pass), &says.timeline, TOP + row as f64 * STEP);
    }
    let mut note = "By the server's own metrics, at the instants at which it was asked.".to_owned();
    if all.len() > shown.len() {
        note += &format!(" The first {} of {} cells.", shown.len(), all.len());
    }
    let bottom = TOP + shown.len() as f64 * STEP + 6.0;
    svg.text((28.0, bottom), Anchor::Start, style::KEY_TITLE, &note);
    let svg = svg.finish(title, "In flight, running and waiting requests and the KV memory in use");
    Some(Named { name: "server-timeline", title, svg })
}

fn head(svg: &mut Svg, summary: &Summary, title: &str) {
    svg.text((28.0, 36.0), Anchor::Start, style::TITLE, title);
    let target = &summary.target;
    let of = format!("{} · {} · {}", target.model, label::card(target), label::engine(target));
    let of = fitted(&of, style::SUBTITLE.size, style::SUBTITLE.weight, WIDTH - 56.0);
    svg.text((28.0, 58.0), Anchor::Start, style::SUBTITLE, &of);
    if let Some(notice) = label::notice(summary) {
        let notice = fitted(&notice, style::NOTICE.size, style::NOTICE.weight, WIDTH - 56.0);
        svg.text((28.0, 78.0), Anchor::Start, style::NOTICE, &notice);
    }
    for (index, (name, _)) in LINES.iter().enumerate() {
        let look = Style::of(Palette::Named, index, LINES.len());
        let from = 28.0 + index as f64 * 190.0;
        svg.line((from, 97.5), (from + 20.0, 97.5), look.colour, &look.stroke());
        look.marker(svg, (from + 10.0, 97.5), Mark::Whole);
        svg.text((from + 26.0, 102.0), Anchor::Start, style::KEY, name);
    }
}

/// The two plots of one pass.
fn one(svg: &mut Svg, place: &str, timeline: &[Instant], top: f64) {
    let last_s = timeline.last().map_or(0.0, |instant| instant.at_s);
    let time = Scale::of_columns(&[last_s]);
    let x = |at_s: f64| LEFT + time.position(at_s) * (WIDTH - LEFT - RIGHT);
    svg.text((28.0, top + 12.0), Anchor::Start, style::PANEL_TITLE, place);

    let values: Vec<f64> =
        timeline.iter().flat_map(|at| LINES.iter().filter_map(|(_, of)| of(at))).collect();
    let requests = Area { top: top + 24.0, height: REQUESTS_HEIGHT, y: Scale::of_columns(&values) };
    requests.frame(svg, "requests", |tick, scale| scale.tick_text(tick));
    for (index, (_, of)) in LINES.iter().enumerate() {
        let look = Style::of(Palette::Named, index, LINES.len());
        let points = requests.points(timeline, x, *of);
        // Nearly always as many run as are in flight: the first line is wider than what covers it.
        let stroke = if index == 0 { WIDE.to_owned() } else { look.stroke() };
        svg.polyline(&points, look.colour, &stroke);
        // Markers tell the lines apart without their colours; a few are enough.
        for point in points.iter().step_by(points.len().div_ceil(12).max(1)) {
            look.marker(svg, *point, Mark::Whole);
        }
    }
    let kv = Area {
        top: requests.top + REQUESTS_HEIGHT + 16.0,
        height: KV_HEIGHT,
        y: Scale::of_columns(&[1.0]),
    };
    kv.frame(svg, "KV use", |tick, _| match tick {
        at if at == 0.0 || at == 1.0 => format!("{:.0} %", at * 100.0),
        _ => String::new(),
    });
    let points = kv.points(timeline, x, |instant| instant.kv_use);
    let look = Style::of(Palette::Named, LINES.len(), LINES.len() + 1);
    svg.polyline(&points, look.colour, &look.stroke());

    let baseline = kv.top + KV_HEIGHT + 16.0;
    for &tick in &time.ticks {
        svg.text((x(tick), baseline), Anchor::Middle, style::TICK, &time.tick_text(tick));
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let title = "time since the first send (s)";
    svg.text((middle, baseline + 18.0), Anchor::Middle, style::AXIS_TITLE, title);
}

/// One pair of axes.
struct Area {
    top: f64,
    height: f64,
    y: Scale,
}

impl Area {
    fn at(&self, value: f64) -> f64 {
        self.top + (1.0 - self.y.position(value)) * self.height
    }

    fn frame(&self, svg: &mut Svg, title: &str, text: fn(f64, &Scale) -> String) {
        for &tick in &self.y.ticks {
            let text = text(tick, &self.y);
            if text.is_empty() {
                continue;
            }
            let y = self.at(tick);
            svg.line((LEFT, y), (WIDTH - RIGHT, y), Paint::Grid, "");
            svg.text((LEFT - 8.0, y + 4.0), Anchor::End, style::TICK, &text);
        }
        let bottom = self.top + self.height;
        svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), Paint::Axis, "");
        let middle = self.top + self.height / 2.0;
        svg.text((28.0, middle + 4.0), Anchor::Start, style::AXIS_TITLE, title);
    }

    fn points(
        &self,
        timeline: &[Instant],
        x: impl Fn(f64) -> f64,
        of: fn(&Instant) -> Option<f64>,
    ) -> Vec<(f64, f64)> {
        let point = |instant: &Instant| {
            let value = of(instant).filter(|value| value.is_finite())?;
            Some((x(instant.at_s), self.at(value)))
        };
        timeline.iter().filter_map(point).collect()
    }
}
