//! The page with the definitions of the metrics. The texts come from the crates that compute the metrics.

use inferometer_analysis::{blocks, serving_run};
use inferometer_model::metrics::{CoveredRequests, Direction, Origin, definitions as metrics};

use crate::{Html, Layout, PageError, Section, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response};

/// The page `/metrics`.
pub(crate) fn definitions(_: &mut Site, _: &RequestTarget) -> Result<Response, PageError> {
    let mut content = Html::new();
    content.raw("<h1>Definitions</h1>\n");
    content.paragraph(
        "Every figure that was not imported is computed from the raw records of requests, by these \
         formulas. Latencies count from the first byte sent, unless their name says that they \
         count from the due time.",
    );
    content.raw("<div class=\"definitions\">\n");
    for metric in metrics() {
        let origin = match metric.origin {
            Some(Origin::Sent) => ", from the send",
            Some(Origin::Due) => ", from the due time",
            None => "",
        };
        let better = match metric.direction {
            Some(Direction::Lower) => "Lower is better.",
            Some(Direction::Higher) => "Higher is better.",
            None => "Neither direction is better.",
        };
        let over = match metric.over {
            CoveredRequests::Completed => "Over completed requests.",
            CoveredRequests::Sent => "Over all sent requests.",
            CoveredRequests::Planned => "Over all planned requests.",
        };
        content.raw("<section><h2").attribute("id", metric.name).raw(">").text(metric.name);
        content.raw("</h2>\n<p class=\"soft\">");
        content.text(&format!("{}{origin}; version {}", metric.unit, metric.version));
        content.raw("</p>\n<pre><code>").text(metric.formula).raw("</code></pre>\n");
        content.paragraph(&format!("{better} {over} {}", metric.notes));
        content.raw("<p class=\"soft\">").text(&format!("Source: {}", metric.source));
        content.raw("</p></section>\n");
    }
    content.raw("</div>\n<h2>Text blocks</h2>\n<dl>\n");
    let fields = blocks::FIELDS.iter().map(|field| (field.name, field.formula));
    terms(
        &mut content,
        fields.chain(blocks::RULES.iter().map(|rule| (rule.name, rule.definition))),
    );
    content.raw("</dl>\n<h2>The serving script of vLLM 0.2</h2>\n<dl>\n");
    terms(&mut content, serving_run::FIELDS.iter().map(|field| (field.name, field.formula)));
    content.raw("</dl>\n");
    Ok(html_response(&Layout::new("Definitions", Section::Definitions).wrap(&content)))
}

fn terms<'a>(out: &mut Html, terms: impl Iterator<Item = (&'a str, &'a str)>) {
    for (term, meaning) in terms {
        out.raw("<dt>").text(term).raw("</dt><dd>").text(meaning).raw("</dd>\n");
    }
}
