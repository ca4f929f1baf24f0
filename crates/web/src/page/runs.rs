//! The page with the list of runs, with a filter, an order, several pages, and checkboxes for a
//! comparison. No run is changed.

use crate::page::lines::{Filter, RunLine};
use crate::{Html, Layout, PageError, Section, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response, link};

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

    let mut content = Html::new();
    content.raw("<h1>Runs</h1>\n").append(&filter.form(&all));
    if all.is_empty() {
        content.paragraph("The store has no runs yet. `inferometer run` creates one.");
    } else {
        let first = (page - 1) * size;
        let count = match found {
            0 => "No run matches.".to_owned(),
            1 => "1 run.".to_owned(),
            _ => format!("{} to {} of {found} runs.", first + 1, first + shown.len()),
        };
        content.raw("<p role=\"status\">").text(&count);
        if found < all.len() {
            content.text(&format!(" The store has {}.", all.len()));
        }
        content.raw("</p>\n");
    }
    if !shown.is_empty() {
        content.raw("<form method=\"get\" action=\"/compare\">\n");
        content.append(&table(&shown, &order, target));
        content.raw("<p><button>Compare the chosen runs</button> ");
        content.raw(
            "<span class=\"soft\">The oldest of them is the baseline. Tokens/s: output tokens \
                     per second of the fastest cell.</span></p></form>\n",
        );
        content.append(&pager(target, page, pages));
    }
    Ok(html_response(&Layout::new("Runs", Section::Runs).wrap(&content)))
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

/// The table of runs, each with its checkbox.
fn table(shown: &[&RunLine], order: &Order, target: &RequestTarget) -> Html {
    let mut out = Html::new();
    out.raw(
        "<div class=\"table runs\" role=\"region\" aria-label=\"Runs\" tabindex=\"0\"><table>\n",
    );
    out.raw(
        "<caption class=\"unseen\">Runs in the store; click a heading to sort. Tokens/s: output \
            tokens per second of a run's fastest cell</caption>\n",
    );
    out.raw("<thead><tr><th scope=\"col\"><span class=\"unseen\">Choose</span></th>");
    for (name, heading, _) in COLUMNS {
        let is_order = order.column.0 == name;
        out.raw("<th scope=\"col\"");
        if is_order {
            out.attribute("aria-sort", if order.ascending { "ascending" } else { "descending" });
        }
        let to = if is_order && order.ascending { format!("-{name}") } else { name.to_owned() };
        out.raw("><a").attribute("href", &target.with(&[("sort", Some(&to)), ("page", None)]));
        out.raw(">").text(heading);
        if is_order {
            let arrow = if order.ascending { " ▲" } else { " ▼" };
            out.raw("<span aria-hidden=\"true\">").text(arrow).raw("</span>");
        }
        out.raw("</a></th>");
    }
    out.raw("<th scope=\"col\">Tags</th></tr></thead>\n<tbody>\n");
    for line in shown {
        row(&mut out, line, target);
    }
    out.raw("</tbody>\n</table></div>\n");
    out
}

fn row(out: &mut Html, line: &RunLine, target: &RequestTarget) {
    out.raw("<tr><td><input type=\"checkbox\" name=\"run\"").attribute("value", &line.id);
    out.attribute("aria-label", &format!("Choose {} of {}", line.id, line.model));
    if !line.has_results {
        out.raw(" disabled");
    }
    out.raw("></td><th scope=\"row\">").link(&link(&["runs", &line.id], &[]), &line.id);
    out.raw("<br><span class=\"soft\">").text(&line.started).raw("</span></th><td>");
    out.text(&line.model).raw("</td><td>").text(&line.engine).raw("</td><td>");
    out.text(&line.card).raw("</td><td>").text(line.kind);
    if line.simulated {
        out.raw(" <span class=\"soft\">(simulation)</span>");
    }
    out.raw("</td><td>");
    if line.is_running() {
        out.link(&link(&["runs", &line.id, "live"], &[]), "running");
    } else {
        out.text(line.state);
    }
    for text in [&line.missing, &line.failures].into_iter().flatten() {
        out.raw(" <span class=\"soft\">").text(text).raw("</span>");
    }
    if let Some(validity) = &line.validity {
        let class = match validity.as_str() {
            "valid" => "badge good",
            // The verdict of an imported run is not about this client.
            _ if line.is_imported() => "badge",
            _ => "badge warning",
        };
        out.raw(" <span").attribute("class", class).raw(">").text(validity).raw("</span>");
    } else if line.has_results {
        out.raw(
            " <span class=\"soft\" title=\"No client was involved: there is no verdict\">-</span>",
        );
    }
    out.raw("</td><td class=\"n\">").text(&line.cells.to_string());
    out.raw("<br><span class=\"soft\">").text(&line.lengths).raw("</span></td><td class=\"n\">");
    out.text(&line.speed()).raw("</td><td>");
    for tag in &line.tags {
        let to = target.with(&[("tag", Some(tag)), ("page", None)]);
        out.raw("<a class=\"badge\"").attribute("href", &to).raw(">").text(tag).raw("</a> ");
    }
    out.raw("</td></tr>\n");
}

fn pager(target: &RequestTarget, page: usize, pages: usize) -> Html {
    let mut out = Html::new();
    if pages < 2 {
        return out;
    }
    let to = |page: usize| target.with(&[("page", Some(&page.to_string()))]);
    out.raw("<nav class=\"pager\" aria-label=\"Pages\">");
    if page > 1 {
        out.link(&to(1), "First").raw(" ").link(&to(page - 1), "Previous").raw(" ");
    }
    out.raw("<span aria-current=\"page\">").text(&format!("Page {page} of {pages}"));
    out.raw("</span>");
    if page < pages {
        out.raw(" ").link(&to(page + 1), "Next").raw(" ").link(&to(pages), "Last");
    }
    out.raw("</nav>\n");
    out
}
