//! From the user's input to a plan, and to the access that the plan does not contain.

pub(crate) mod access;
pub(crate) mod credentials;
pub(crate) mod dry_run;
pub(crate) mod resolve;
pub(crate) mod variants;
