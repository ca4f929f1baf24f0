//! The dashboard: shows the runs of a store as pages in a browser.
//!
//! A page is a function from a request target to a response. [`Site`] selects the function in a table of
//! routes, and [`inferometer_net::http::pages::serve`] serves the pages. This crate never writes to the store
//! or to the log of a run. The report crate converts results to HTML; this crate adds the layout, which is a template.

mod error;
mod markup;

mod follow;

mod report;

mod files;
mod run_report;

mod report_cache;

mod site;

mod page;
mod routes;

pub(crate) use error::PageError;
pub(crate) use markup::{fill, html_response, trusted};
pub use site::Site;
