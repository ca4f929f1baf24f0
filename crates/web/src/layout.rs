//! The layout of every page: head, navigation, and elements for users of keyboards and screen readers. It
//! does not depend on the content.

use inferometer_net::http::pages::Response;

use crate::Html;

/// The style sheet of the dashboard, in addition to the style sheet of reports.
pub(crate) const STYLE: &str = include_str!("web.css");
/// The script that updates live views. Pages can be read without it.
pub(crate) const SCRIPT: &str = include_str!("web.js");

/// A section of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Runs,
    Live,
    Records,
    Trend,
    Definitions,
    /// The page belongs to no section of the navigation.
    Other,
}

/// The sections in the navigation.
const NAVIGATION: [(Section, &str, &str); 5] = [
    (Section::Runs, "/", "Runs"),
    (Section::Live, "/live", "Live"),
    (Section::Records, "/records", "Records"),
    (Section::Trend, "/trend", "Trend"),
    (Section::Definitions, "/metrics", "Definitions"),
];

/// The parts of a page other than its content.
pub(crate) struct Layout<'a> {
    /// The title of the page.
    pub(crate) title: &'a str,
    /// The section that the navigation marks as current.
    pub(crate) section: Section,
    /// Whether a browser without scripts reloads the page every 5 s.
    pub(crate) is_live: bool,
}

impl<'a> Layout<'a> {
    /// The layout of a page that does not change by itself.
    pub(crate) fn new(title: &'a str, section: Section) -> Self {
        Self { title, section, is_live: false }
    }

    /// The whole page with this content.
    pub(crate) fn wrap(&self, content: &Html) -> Html {
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
        for (section, link, name) in NAVIGATION {
            out.raw("<li><a").attribute("href", link);
            if section == self.section {
                out.raw(" aria-current=\"page\"");
            }
            out.raw(">").text(name).raw("</a></li>\n");
        }
        out.raw("</ul><button id=\"theme\" type=\"button\" hidden>Theme</button></nav></header>\n<main id=\"content\" tabindex=\"-1\">\n");
        out.append(content).raw("</main>\n</body>\n</html>\n");
        out
    }
}

/// A response with a whole page.
pub(crate) fn html_response(page: &Html) -> Response {
    Response::new("text/html; charset=utf-8", page.as_str().as_bytes().to_vec())
}
