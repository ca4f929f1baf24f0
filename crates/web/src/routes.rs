//! The table of routes, which maps paths to the functions that make pages. This module itself makes only
//! error pages, the token form, a redirect, the style sheet and the script.

use inferometer_net::http::pages::{Event, Pages, RequestTarget, Response};
use inferometer_report::page as report;

use minijinja::context;

use crate::{PageError, Site, html_response, markup, page};

/// The style sheet of the dashboard, in addition to the style sheet of reports.
const STYLE: &str = include_str!("web.css");
/// The script that updates live views. Pages can be read without it.
const SCRIPT: &str = include_str!("web.js");

/// A function that makes a page.
type Page = fn(&mut Site, &RequestTarget) -> Result<Response, PageError>;

/// All pages: the segments of the path, where `*` matches any segment, and the function. The first match
/// is used.
const ROUTES: [(&[&str], Page); 13] = [
    (&[], page::runs),
    (&["runs"], to_home),
    (&["style.css"], style),
    (&["script.js"], script),
    (&["live"], page::in_progress),
    (&["records"], page::records),
    (&["metrics"], page::definitions),
    (&["compare"], page::compare),
    (&["trend"], page::trend),
    (&["runs", "*"], page::run),
    (&["runs", "*", "live"], page::live),
    (&["runs", "*", "events"], page::events),
    (&["runs", "*", "*"], page::file),
];

/// The number of seconds after which a browser should request again a report that is not ready.
const RETRY_AFTER_S: u32 = 2;

impl Pages for Site {
    fn page(&mut self, target: &RequestTarget) -> Response {
        let segments = target.segments();
        let fits = |pattern: &[&str]| {
            pattern.len() == segments.len()
                && pattern.iter().zip(&segments).all(|(part, given)| *part == "*" || part == given)
        };
        let page = ROUTES.iter().find(|(pattern, _)| fits(pattern)).map(|(_, page)| page);
        let made = match page {
            Some(page) => page(self, target),
            None => Err(PageError::NotFound("there is no such page".to_owned())),
        };
        made.unwrap_or_else(|error| {
            let response = refusal(error.status(), &error.to_string());
            match error {
                // Browsers use `refresh`, and programs use `retry-after`.
                PageError::NotReady => response
                    .with_header("refresh", RETRY_AFTER_S.to_string())
                    .with_header("retry-after", RETRY_AFTER_S.to_string()),
                _ => response,
            }
        })
    }

    fn refusal(&self, status: u16, why: &str) -> Response {
        match status {
            401 => token_form(),
            _ => refusal(status, why),
        }
    }

    fn event(&mut self, run: &str) -> Event {
        page::event(self, run)
    }
}

/// `/runs` is redirected to the list of runs, whose path is `/`.
fn to_home(_: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    Ok(Response::redirect(target.with(&[]).replacen("/runs", "/", 1)))
}

fn style(_: &mut Site, _: &RequestTarget) -> Result<Response, PageError> {
    let style = [report::style(), STYLE].concat();
    Ok(Response::new("text/css; charset=utf-8", style.into_bytes()))
}

fn script(_: &mut Site, _: &RequestTarget) -> Result<Response, PageError> {
    let script = [report::script(), SCRIPT].concat();
    Ok(Response::new("text/javascript; charset=utf-8", script.into_bytes()))
}

/// A page that states why the request failed.
fn refusal(status: u16, why: &str) -> Response {
    let title = match status {
        404 => "Not found",
        405 => "Read only",
        500 | 503 => "This page cannot be shown now",
        _ => "Invalid request",
    };
    let page = html_response("refusal.html", context! { title, why });
    page.expect("invariant: the template has all its values").with_status(status)
}

/// The content security policy of the token form, whose style is inline.
const TOKEN_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                            form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A form in which a user enters the token. It contains no data of the store. Its style is part of the
/// page, because requests for `/style.css` also require the token.
fn token_form() -> Response {
    markup::html(include_str!("token.html").to_owned())
        .with_status(401)
        .with_header("content-security-policy", TOKEN_POLICY.to_owned())
        .with_header("www-authenticate", "Bearer realm=\"inferometer\"".to_owned())
}
