//! The page with the definitions of the metrics. The texts come from the crates that compute the metrics.

use inferometer_analysis::{blocks, serving_run};
use inferometer_model::metrics::definitions as metrics;
use minijinja::context;

use crate::{PageError, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response};

/// The page `/metrics`.
pub(crate) fn definitions(_: &mut Site, _: &RequestTarget) -> Result<Response, PageError> {
    let of_blocks = blocks::FIELDS.iter().map(|field| (field.name, field.formula));
    let rules = blocks::RULES.iter().map(|rule| (rule.name, rule.definition));
    let of_script = serving_run::FIELDS.iter().map(|field| (field.name, field.formula));
    let parts = [
        ("Text blocks", of_blocks.chain(rules).collect::<Vec<_>>()),
        ("The serving script of vLLM 0.2", of_script.collect()),
    ];
    html_response("page/definitions.html", context! { metrics => metrics(), parts })
}
