//! The curve of a search: the load against the share of requests that meet each objective, TTFT and
//! TPOT, with the answer and its interval. Only for one run.

use inferometer_analysis::cell::Cell;
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::SearchAnswer;
use inferometer_analysis::summary::Summary;
use inferometer_plan::search::Over;
use inferometer_stats::Distribution;

use super::figure::Mark;
use super::grid::Named;
use super::scale::Scale;
use super::style::{self, Palette, Style};
use super::svg::{Anchor, Svg};
use super::text::fitted;
use super::theme::{Paint, Theme};
use crate::label;
use crate::number::significant;
use crate::search;

/// The name of the plot.
pub(crate) const SEARCH: &str = "search";

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 96.0;
/// From the top of one panel to that of the next.
const STEP: f64 = HEIGHT + 52.0;
/// From the top of one cell's panels to that of the next cell's.
const CELL: f64 = 3.0 * STEP + 74.0;
/// More cells than this are no longer read.
const MOST_CELLS: usize = 6;

/// The panel of shares: its axis is all of them.
const ATTAINMENT: &str = "requests that meet it (%)";

/// A line of a panel: its name and its points, each with its whisker.
struct Line {
    name: String,
    points: Vec<(f64, f64, Option<[f64; 2]>)>,
}

/// The plot of a run that searched.
pub(super) fn figure(summary: &Summary, theme: Theme) -> Option<Named> {
    let shown = &summary.searches[..summary.searches.len().min(MOST_CELLS)];
    let drawn = shown.iter().filter(|answer| answer.loads.len() > 1);
    let answers: Vec<&SearchAnswer> = drawn.collect();
    if answers.is_empty() {
        return None;
    }
    let mut svg = Svg::new(WIDTH, TOP + answers.len() as f64 * CELL + 16.0, theme);
    let title = "Search: what the load does to the objectives";
    svg.text((28.0, 36.0), Anchor::Start, style::TITLE, title);
    let target = &summary.target;
    let of = format!("{} · {} · {}", target.model, label::card(target), label::engine(target));
    let room = WIDTH - 56.0;
    let of = fitted(&of, style::SUBTITLE.size, style::SUBTITLE.weight, room);
    svg.text((28.0, 58.0), Anchor::Start, style::SUBTITLE, &of);
    if let Some(notice) = label::notice(summary) {
        let notice = fitted(&notice, style::NOTICE.size, style::NOTICE.weight, room);
        svg.text((28.0, 78.0), Anchor::Start, style::NOTICE, &notice);
    }
    for (row, answer) in answers.iter().enumerate() {
        let cell = summary.cells.iter().find(|cell| cell.plan() == answer.cell());
        one(&mut svg, answer, cell, TOP + row as f64 * CELL);
    }
    let svg =
        svg.finish(title, "Share of requests that meet the objectives, TTFT and TPOT by load");
    Some(Named { name: SEARCH, title, svg, chart: None })
}

/// The three panels of a cell.
fn one(svg: &mut Svg, answer: &SearchAnswer, cell: Option<&Cell>, top: f64) {
    svg.text((28.0, top + 8.0), Anchor::Start, style::PANEL_TITLE, &answer.cell().to_string());
    let sentence = search::short(answer);
    let sentence = fitted(&sentence, style::KEY.size, style::KEY.weight, WIDTH - 56.0);
    svg.text((28.0, top + 28.0), Anchor::Start, style::KEY, &sentence);
    let loads: Vec<f64> = answer.loads.iter().map(|load| load.load).collect();
    let x = Scale::of_values(&loads);
    let latency = |of: fn(&PassSummary) -> Option<Distribution>| -> Vec<Line> {
        let at = |load: f64| of(longest(answer.over, cell?, load)?);
        let line = |name: &str, value: fn(&Distribution) -> (f64, Option<[f64; 2]>)| Line {
            name: name.to_owned(),
            points: loads
                .iter()
                .filter_map(|&load| {
                    let (value, whisker) = value(&at(load)?);
                    Some((load, value, whisker))
                })
                .collect(),
        };
        vec![line("p50", |it| (it.p50, it.p50_ci)), line("p99", |it| (it.p99, it.p99_ci))]
    };
    let cut_off = cell.is_some_and(|cell| cell.passes.iter().any(PassSummary::is_cut_off));
    let titles = match cut_off {
        true => ["TTFT (ms), of whole trials", "TPOT (ms), of whole trials"],
        false => ["TTFT (ms)", "TPOT (ms)"],
    };
    let panels = [
        (ATTAINMENT, attainment(answer)),
        (titles[0], latency(|pass| pass.ttft_ms)),
        (titles[1], latency(|pass| pass.tpot_ms)),
    ];
    for (number, (title, lines)) in (0..).zip(panels) {
        let area_top = top + 62.0 + f64::from(number) * STEP;
        panel(svg, answer, &x, (title, &lines), area_top);
    }
    let baseline = top + 62.0 + 2.0 * STEP + HEIGHT + 36.0;
    let unit = match answer.over {
        Over::Rate => "arrival rate (requests/s)",
        Over::Concurrency => "requests in flight",
    };
    svg.text(((LEFT + WIDTH - RIGHT) / 2.0, baseline), Anchor::Middle, style::AXIS_TITLE, unit);
}

/// The trial at a load that had most requests. One that was cut off has latencies of the few that
/// were quick enough to complete before, which say nothing of the load.
fn longest(over: Over, cell: &Cell, load: f64) -> Option<&PassSummary> {
    let is_of = |pass: &&PassSummary| match over {
        Over::Rate => pass.rate == Some(load),
        Over::Concurrency => pass.concurrency.map(f64::from) == Some(load),
    };
    let whole = cell.passes.iter().filter(|pass| !pass.is_cut_off());
    whole.filter(is_of).max_by_key(|pass| pass.planned)
}

/// The share of requests that meet each objective that is a share.
fn attainment(answer: &SearchAnswer) -> Vec<Line> {
    let lines = answer.objectives.iter().enumerate().filter(|(_, it)| it.share.is_some());
    lines
        .map(|(index, objective)| Line {
            name: objective.text.clone(),
            points: answer
                .loads
                .iter()
                .filter_map(|load| {
                    let measured = load.objectives.get(index).filter(|it| it.counted > 0)?;
                    let percent = measured.interval.map(|ends| ends.map(|end| end * 100.0));
                    Some((load.load, measured.value * 100.0, percent))
                })
                .collect(),
        })
        .collect()
}

fn panel(svg: &mut Svg, answer: &SearchAnswer, x: &Scale, what: (&str, &[Line]), top: f64) {
    let (title, lines) = what;
    let ends = lines.iter().flat_map(|line| &line.points).flat_map(|&(_, y, whisker)| {
        let [low, high] = whisker.unwrap_or([y, y]);
        [y, low, high]
    });
    let ends: Vec<f64> = ends.filter(|value| value.is_finite()).collect();
    let y = if title == ATTAINMENT { Scale::of_columns(&[100.0]) } else { Scale::of_values(&ends) };
    let at_x = |load: f64| LEFT + 12.0 + x.position(load) * (WIDTH - LEFT - RIGHT - 24.0);
    let at_y = |value: f64| top + (1.0 - y.position(value)) * HEIGHT;
    band(svg, answer, at_x, top);
    for &tick in &y.ticks {
        svg.line((LEFT, at_y(tick)), (WIDTH - RIGHT, at_y(tick)), Paint::Grid, "");
        let at = (LEFT - 8.0, at_y(tick) + 4.0);
        svg.text(at, Anchor::End, style::TICK, &y.tick_text(tick));
    }
    svg.line((LEFT, top + HEIGHT), (WIDTH - RIGHT, top + HEIGHT), Paint::Axis, "");
    for &tick in &x.ticks {
        let at = (at_x(tick), top + HEIGHT + 16.0);
        if (LEFT..=WIDTH - RIGHT).contains(&at.0) {
            svg.text(at, Anchor::Middle, style::TICK, &x.tick_text(tick));
        }
    }
    svg.text((LEFT, top - 10.0), Anchor::Start, style::AXIS_TITLE, title);
    let needed = answer.objectives.iter().filter_map(|it| it.share);
    for share in needed.filter(|_| title == ATTAINMENT) {
        let at = at_y(share * 100.0);
        svg.line((LEFT, at), (WIDTH - RIGHT, at), Paint::Alert, r#" stroke-dasharray="2 3""#);
    }
    for (index, line) in lines.iter().enumerate() {
        let look = Style::of(Palette::Named, index, lines.len());
        let points: Vec<(f64, f64)> =
            line.points.iter().map(|&(load, value, _)| (at_x(load), at_y(value))).collect();
        svg.polyline(&points, look.colour, &look.stroke());
        for (&at, (_, _, whisker)) in points.iter().zip(&line.points) {
            if let Some([low, high]) = whisker.filter(|ends| ends.iter().all(|e| e.is_finite())) {
                let ends = ((at.0, at_y(low)), (at.0, at_y(high)));
                svg.line(ends.0, ends.1, look.colour, r#" stroke-width="1.5""#);
            }
            look.marker(svg, at, Mark::Whole);
        }
        let from = 330.0 + index as f64 * 180.0;
        svg.line((from, top - 14.5), (from + 20.0, top - 14.5), look.colour, &look.stroke());
        look.marker(svg, (from + 10.0, top - 14.5), Mark::Whole);
        let name = fitted(&line.name, style::KEY.size, style::KEY.weight, 150.0);
        svg.text((from + 26.0, top - 10.0), Anchor::Start, style::KEY, &name);
    }
}

/// The interval of the answer, and its ends in figures.
fn band(svg: &mut Svg, answer: &SearchAnswer, at_x: impl Fn(f64) -> f64, top: f64) {
    if let (Some(low), Some(high)) = (answer.low, answer.high) {
        let (from, to) = (at_x(low), at_x(high));
        let width = (to - from).max(1.0);
        svg.rect(from, top, width, HEIGHT, Paint::Named(2), r#" fill-opacity="0.18""#);
    }
    for (load, anchor, aside) in
        [(answer.low, Anchor::End, -4.0), (answer.high, Anchor::Start, 4.0)]
    {
        let Some(load) = load else { continue };
        let x = at_x(load);
        let dashes = r#" stroke-width="1" stroke-dasharray="4 3""#;
        svg.line((x, top), (x, top + HEIGHT), Paint::Ink, dashes);
        svg.text((x + aside, top + HEIGHT - 6.0), anchor, style::VALUE, &significant(load));
    }
}
