//! The dashboard: shows a store's runs as pages in a browser.
//!
//! A page is a function from a request target to a response. [`Site`] finds it in a table of routes, and
//! [`inferometer_http::pages::serve`] serves it. This crate writes nothing, neither to the store nor to a run's log.
//! The report crate defines how results look; this crate arranges them in a layout.

mod error;
mod markup;

mod follow;

mod report;

mod files;
mod run_report;

mod report_cache;

mod site;

mod layout;
mod page;
mod routes;

pub use site::Site;
