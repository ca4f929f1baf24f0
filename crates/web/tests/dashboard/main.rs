//! Tests of the dashboard with small stores: pages as functions, and the HTTP server on a virtual
//! network.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod front;
mod made;
mod markup;
#[path = "../../../report/tests/outputs/page_text.rs"]
mod page_text;
mod pages;
mod texts;
