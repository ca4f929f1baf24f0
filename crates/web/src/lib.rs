//! The dashboard: a store's runs as pages for a browser.
//!
//! A page is a function from what was asked ([`Asked`]) to an [`Answer`]; [`Site`] finds it in one
//! table of routes, and [`Front`] serves it over `net`. Nothing is written here: neither to the
//! store nor to a run's log. Other [`Pages`] than a site's are served in the same way. How figures
//! look is the report's room; this one puts its pieces into a frame.

mod error;

mod answer;
mod asked;
mod markup;

mod follow;

mod chrome;
mod page;
mod site;

mod access;
mod connection;
mod front;
mod serve;

pub use access::Access;
pub use answer::{Answer, Content, LiveEvent};
pub use asked::Asked;
pub use error::WebError;
pub use front::{Front, Pages};
pub use serve::serve;
pub use site::Site;
