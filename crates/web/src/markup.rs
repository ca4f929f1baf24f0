//! Makes HTML from templates, which are files beside the pages. A value from outside becomes only text or the value
//! of an attribute: a function of the report crate escapes it and replaces its control characters. A template that
//! names a value that is missing is an error.

use std::sync::LazyLock;

use inferometer_net::http::pages::{RequestTarget, Response, link};
use inferometer_report::page::escape;
use minijinja::value::{Kwargs, Value};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};

use crate::PageError;

/// The name and the text of a template.
macro_rules! templates {
    ($($file:literal),*) => { [$(($file, include_str!($file))),*] };
}

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, _, value| {
        let text = match value {
            value if value.is_safe() => value.to_string(),
            value if value.is_none() => String::new(),
            value => escape(&value.to_string()),
        };
        out.write_str(&text).map_err(Error::from)
    });
    environment.add_function("link", |segments: Vec<String>, query: Kwargs| {
        let query = pairs(&query)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let query = query.iter().map(|(name, value)| Some((*name, value.as_deref()?)));
        Ok::<_, Error>(link(&segments, &query.flatten().collect::<Vec<_>>()))
    });
    for (name, text) in templates![
        "layout.html", "refusal.html", "page/compare.html", "page/definitions.html",
        "page/in_progress.html", "page/live.html", "page/no_results.html", "page/records.html",
        "page/run.html", "page/runs.html", "page/trend.html", "page/view.html"
    ] {
        environment.add_template(name, text).expect("invariant: a test fills every template");
    }
    environment
});

/// The named arguments of a function of a template; `None` for the value `none`.
fn pairs(arguments: &Kwargs) -> Result<Vec<(&str, Option<String>)>, Error> {
    let pair = |name| {
        let value: Value = arguments.get(name)?;
        Ok((name, (!value.is_none()).then(|| value.to_string())))
    };
    arguments.args().map(pair).collect()
}

/// The function `with` of a template: a link to this target with some values of the query changed.
pub(crate) fn with(target: &RequestTarget) -> Value {
    let target = target.clone();
    Value::from_function(move |changes: Kwargs| {
        let changes = pairs(&changes)?;
        let changes = changes.iter().map(|(name, value)| (*name, value.as_deref()));
        Ok::<_, Error>(target.with(&changes.collect::<Vec<_>>()))
    })
}

/// Markup that another crate of this program has created and escaped.
pub(crate) fn trusted(markup: String) -> Value {
    Value::from_safe_string(markup)
}

/// Fills a template.
///
/// # Errors
/// If the template needs a value that `context` does not have.
pub(crate) fn fill(template: &str, context: Value) -> Result<String, PageError> {
    let filled = TEMPLATES.get_template(template).and_then(|template| template.render(context));
    filled.map_err(|error| PageError::Failed(format!("{error:#}")))
}

/// A response with a whole page.
///
/// # Errors
/// As [`fill`].
pub(crate) fn html_response(template: &str, context: Value) -> Result<Response, PageError> {
    Ok(html(fill(template, context)?))
}

/// A response with HTML.
pub(crate) fn html(page: String) -> Response {
    Response::new("text/html; charset=utf-8", page.into_bytes())
}
