//! The page with the list of runs, with a filter, an order, several pages, and checkboxes for a
//! comparison. No run is changed.

use minijinja::context;

use crate::page::lines::{Filter, RunLine};
use crate::{PageError, Site, html_response, markup::with};
use inferometer_net::http::pages::{RequestTarget, Response};

/// The number of runs on a page: the default, and the maximum.
const PAGE_SIZE: usize = 50;
const MAX_PAGE_SIZE: usize = 1000;

/// A column: its name in links, its heading, and the sort key of a run.
type Column = (&'static str, &'static str, fn(&RunLine) -> String);

const COLUMNS: [Column; 8] = [
    ("started", "Run", |line| line.id.clone()),
    ("model", "Model", |line| line.model.to_lowercase()),
    ("engine", "Engine", |line| line.engine.to_lowercase()),
    ("card", "Card", |line| line.card.to_lowercase()),
    ("kind", "Kind", |line| line.kind.to_owned()),
    ("state", "State", |line| line.state.to_owned()),
    ("cells", "Cells", |line| format!("{:010}", line.cells)),
    ("speed", "Tokens/s", |line| format!("{:020.6}", line.output_tokens_per_s.unwrap_or_default())),
];

/// The page `/`.
pub(crate) fn runs(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let filter = Filter::of(target)?;
    let rows = site.store.runs()?;
    let fit: Vec<bool> = rows.iter().map(|row| filter.fits(row)).collect();
    let all: Vec<RunLine> = rows.into_iter().map(RunLine::of).collect();
    let fitting = all.iter().zip(fit).filter(|(_, fits)| *fits);
    let mut shown: Vec<&RunLine> = fitting.map(|(line, _)| line).collect();
    let order = Order::of(target)?;
    order.sort(&mut shown);
    let size = number(target, "size", PAGE_SIZE)?.min(MAX_PAGE_SIZE);
    let pages = shown.len().div_ceil(size).max(1);
    let page = number(target, "page", 1)?.min(pages);
    let found = shown.len();
    let shown: Vec<&RunLine> = shown.into_iter().skip((page - 1) * size).take(size).collect();

    let first = (page - 1) * size + 1;
    let columns = COLUMNS.map(|(name, heading, _)| (name, heading));
    let (column, ascending) = (order.column.0, order.ascending);
    let (form, with) = (filter.form(&all), with(target));
    html_response(
        "page/runs.html",
        context! {
            form, with, all => all.len(), found, first, shown, columns, column, ascending, page, pages
        },
    )
}

/// The order of the list.
struct Order {
    column: Column,
    ascending: bool,
}

impl Order {
    fn of(target: &RequestTarget) -> Result<Self, PageError> {
        let name = target.value("sort").unwrap_or("-started");
        let (ascending, name) = match name.strip_prefix('-') {
            Some(name) => (false, name),
            None => (true, name),
        };
        let column = COLUMNS.into_iter().find(|column| column.0 == name);
        let names = COLUMNS.map(|column| column.0).join(", ");
        let unknown = || PageError::BadQuery(format!("sort={name}: is not one of {names}"));
        Ok(Self { column: column.ok_or_else(unknown)?, ascending })
    }

    /// Sorts runs by the column. Runs with equal keys are sorted by their start, the latest first.
    fn sort(&self, lines: &mut Vec<&RunLine>) {
        let mut keyed: Vec<(String, &RunLine)> =
            lines.drain(..).map(|line| ((self.column.2)(line), line)).collect();
        keyed.sort_unstable_by(|(a, one), (b, other)| {
            let order = if self.ascending { a.cmp(b) } else { b.cmp(a) };
            order.then_with(|| other.id.cmp(&one.id))
        });
        lines.extend(keyed.into_iter().map(|(_, line)| line));
    }
}

fn number(target: &RequestTarget, name: &str, otherwise: usize) -> Result<usize, PageError> {
    let wrong = |value: &str| {
        PageError::BadQuery(format!("{name}={value}: is not a positive whole number"))
    };
    let positive = |value: &str| value.parse().ok().filter(|number| *number > 0);
    target.value(name).map_or(Ok(otherwise), |value| positive(value).ok_or_else(|| wrong(value)))
}
