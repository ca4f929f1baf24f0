//! The list of records: results that were imported into the store, such as published tables. In the store,
//! a record is a run of the kind `imported`.

use crate::page::lines::{RunLine, lines};
use crate::{Html, Layout, PageError, Section, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response, link};

/// The page `/records`.
pub(crate) fn records(site: &mut Site, _: &RequestTarget) -> Result<Response, PageError> {
    let mut records: Vec<RunLine> = lines(&site.store)?;
    records.retain(|line| line.kind == "imported");
    records.sort_by_key(|line| (line.model.to_lowercase(), line.card.clone(), line.engine.clone()));
    let mut content = Html::new();
    content.raw("<h1>Records</h1>\n");
    content.paragraph(
        "Results that were imported into the store: published tables, and results of other tools \
            or stores. They were not measured here: all facts about them come from their sources.",
    );
    if records.is_empty() {
        content.raw("<p>There are none yet: <code>inferometer import FILE</code> takes tables in ");
        content.raw("Markdown and results of other tools.</p>\n");
    } else {
        content.append(&table(&records));
    }
    Ok(html_response(&Layout::new("Records", Section::Records).wrap(&content)))
}

fn table(records: &[RunLine]) -> Html {
    let mut out = Html::new();
    out.raw("<form method=\"get\" action=\"/compare\">\n");
    out.raw("<div class=\"table\" role=\"region\" aria-label=\"Records\" tabindex=\"0\"><table>\n");
    out.raw("<caption class=\"unseen\">Imported results</caption>\n<thead><tr>");
    out.raw("<th scope=\"col\"><span class=\"unseen\">Choose</span></th>");
    for heading in
        ["Model", "Card", "Engine", "Lengths", "Tokens/s, fastest cell", "Cells", "Run", "Tags"]
    {
        out.raw("<th scope=\"col\">").text(heading).raw("</th>");
    }
    out.raw("</tr></thead>\n<tbody>\n");
    for line in records {
        out.raw("<tr><td><input type=\"checkbox\" name=\"run\"").attribute("value", &line.id);
        out.attribute("aria-label", &format!("Choose {} by {}", line.model, line.engine));
        out.raw("></td><th scope=\"row\">").text(&line.model).raw("</th><td>");
        out.text(&line.card).raw("</td><td>").text(&line.engine).raw("</td><td>");
        out.text(&line.lengths).raw("</td><td class=\"n\">").text(&line.speed());
        out.raw("</td><td class=\"n\">").text(&line.cells.to_string()).raw("</td><td>");
        out.link(&link(&["runs", &line.id], &[]), &line.id).raw("</td><td>");
        out.text(&line.tags.join(", ")).raw("</td></tr>\n");
    }
    out.raw(
        "</tbody>\n</table></div>\n<p><button>Compare the chosen records</button></p></form>\n",
    );
    out
}
