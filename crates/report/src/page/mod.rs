//! The common parts of every page: the document, its style, its script, and tables.
//!
//! A page is one file that loads nothing else. Its content security policy allows only its own style and
//! script, by their SHA-256, so that no text from a server can run as a script. Without the script, a reader
//! can still read everything, except lines that a chart hides at first. This module does not depend on the
//! content of a page.

mod script;
mod table;

use std::sync::OnceLock;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use inferometer_model::sha256::sha256;

use crate::plot::Theme;

pub use crate::escape::xml as escape;
pub use script::script;
pub use table::table;

/// The colours of lines, backgrounds and callouts. Pages use the colours of plots for everything else.
const LIGHT: &str =
    "--line:#d8dee4;--shade:#f6f8fa;--good:#1a7f37;--note:#0969da;--warning:#b43a00;";
const DARK: &str =
    "--line:#30363d;--shade:#161b22;--good:#3fb950;--note:#4493f8;--warning:#f0883e;";

/// The parts of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The title of the document, as text.
    pub title: &'a str,
    /// Additional directives of the content security policy, such as `connect-src 'self'`; empty for a
    /// page in a file.
    pub policy: &'a str,
    /// The links of the navigation, as HTML. The button for the theme follows them.
    pub links: &'a str,
    /// Whether `links` is a table of contents. It is then shown at the side of the page if there is room,
    /// otherwise at the top.
    pub has_contents: bool,
    /// The content, as HTML.
    pub body: &'a str,
}

/// The whole document.
pub fn document(page: &Page<'_>) -> String {
    format!(
        concat!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n",
            "<title>{title}</title>\n<style>{style}</style>\n</head>\n",
            "<body>\n<main{class}>\n<nav aria-label=\"Page\">{links}",
            "<button id=\"theme\" type=\"button\" hidden>Theme</button></nav>\n",
            "{body}</main>\n<script>{script}</script>\n</body>\n</html>\n"
        ),
        policy = escape(&policy(page.policy)),
        title = escape(page.title),
        style = style(),
        class = if page.has_contents { " class=\"contents\"" } else { "" },
        links = page.links,
        body = page.body,
        script = script()
    )
}

/// The content security policy of a page, with additional directives. A server can also send it as an
/// HTTP header.
pub fn policy(further: &str) -> String {
    let [style, script] = [style(), script()].map(source);
    let mut out = format!(
        "default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; \
         form-action 'none'"
    );
    if !further.is_empty() {
        out += "; ";
        out += further;
    }
    out
}

/// The source expression of a style or a script in a policy: `'sha256-...'` (CSP 3, section 2.3.1).
fn source(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(sha256(text.as_bytes())))
}

/// The style sheet with both themes, light and dark.
pub fn style() -> &'static str {
    static STYLE_SHEET: OnceLock<String> = OnceLock::new();
    STYLE_SHEET.get_or_init(|| {
        let light = Theme::Light.properties() + LIGHT;
        let dark = Theme::Dark.properties() + DARK;
        format!(
            ":root{{{light}}}\n@media (prefers-color-scheme: dark) \
             {{:root:not([data-theme=\"light\"]){{{dark}}}}}\n\
             :root[data-theme=\"dark\"]{{{dark}}}\n{}",
            include_str!("style.css")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_security_policy_allows_only_the_style_and_script_of_the_page() {
        let page = Page {
            title: "<a>",
            policy: "",
            links: "",
            has_contents: false,
            body: "<p>书生</p>\n",
        };
        let page = document(&page);
        assert!(page.contains("<title>&lt;a&gt;</title>"));
        let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
        let policy = policy.split('"').next().unwrap();
        assert!(policy.starts_with("default-src &#39;none&#39;; style-src &#39;sha256-"));
        assert!(!policy.contains("unsafe"));
        for (open, close, text) in
            [("<style>", "</style>", style()), ("<script>", "</script>", script())]
        {
            let inside = page.split_once(open).unwrap().1.split_once(close).unwrap().0;
            assert_eq!(inside, text);
        }
        assert_eq!(source(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
        assert!(super::policy("connect-src 'self'").ends_with("; connect-src 'self'"));
    }
}
