//! The list of records: results that were imported into the store, such as published tables. In the store,
//! a record is a run of the kind `imported`.

use crate::page::lines::{RunLine, lines};
use minijinja::context;

use crate::{PageError, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response};

/// The page `/records`.
pub(crate) fn records(site: &mut Site, _: &RequestTarget) -> Result<Response, PageError> {
    let mut records: Vec<RunLine> = lines(&site.store)?;
    records.retain(|line| line.kind == "imported");
    records.sort_by_key(|line| (line.model.to_lowercase(), line.card.clone(), line.engine.clone()));
    html_response("page/records.html", context! { records })
}
