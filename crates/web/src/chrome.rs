//! The frame around every page: head, navigation, and what keyboards and readers of screens need.

use crate::markup::Html;

/// Layout and colours of the frame; those of what stands in it are the report's.
pub(crate) const STYLE: &str = include_str!("web.css");
/// What makes live views live. Everything can be read without it.
pub(crate) const SCRIPT: &str = include_str!("web.js");

/// A part of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Runs,
    Live,
    Records,
    Definitions,
    /// None of them.
    Elsewhere,
}

/// The parts that the navigation leads to.
const NAVIGATION: [(Part, &str, &str); 4] = [
    (Part::Runs, "/", "Runs"),
    (Part::Live, "/live", "Live"),
    (Part::Records, "/records", "Records"),
    (Part::Definitions, "/metrics", "Definitions"),
];

/// What a page is, besides its content.
pub(crate) struct Frame<'a> {
    /// Its title.
    pub(crate) title: &'a str,
    /// Where it belongs.
    pub(crate) part: Part,
    /// Whether a browser without scripts loads it anew every few seconds.
    pub(crate) is_live: bool,
}

impl<'a> Frame<'a> {
    /// The frame of a page that stays as it is.
    pub(crate) fn of(title: &'a str, part: Part) -> Self {
        Self { title, part, is_live: false }
    }

    /// The whole page.
    pub(crate) fn around(&self, content: &Html) -> Html {
        let mut out = Html::new();
        out.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
        out.text(self.title).raw(" · Inferometer</title>\n");
        out.raw("<link rel=\"icon\" href=\"data:,\">\n");
        out.raw("<link rel=\"stylesheet\" href=\"/style.css\">\n");
        if self.is_live {
            out.raw("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n");
        }
        out.raw("<script src=\"/script.js\" defer></script>\n</head>\n<body>\n");
        out.raw("<a class=\"skip\" href=\"#content\">Skip to the content</a>\n");
        out.raw(
            "<header class=\"top\"><nav aria-label=\"Dashboard\"><a class=\"home\" href=\"/\">",
        );
        out.raw("Inferometer</a>\n<ul>");
        for (part, link, name) in NAVIGATION {
            out.raw("<li><a").attribute("href", link);
            if part == self.part {
                out.raw(" aria-current=\"page\"");
            }
            out.raw(">").text(name).raw("</a></li>\n");
        }
        out.raw("</ul><button id=\"theme\" type=\"button\" hidden>Theme</button></nav></header>\n<main id=\"content\" tabindex=\"-1\">\n");
        out.piece(content).raw("</main>\n</body>\n</html>\n");
        out
    }
}
