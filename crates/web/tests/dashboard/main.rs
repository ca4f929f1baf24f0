//! The dashboard over small stores: pages as functions, and the front over a virtual network.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod front;
mod made;
mod markup;
mod pages;
