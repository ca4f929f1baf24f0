//! The dashboard: a store's runs as pages for a browser.
//!
//! A page is a function from a request target to a response. [`Site`] finds it in one table of
//! routes, and [`inferometer_http::pages::serve`] serves it. Nothing is written here: neither to the
//! store nor to a run's log. How results look is the report crate's; this crate puts its pieces into
//! a layout.

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
