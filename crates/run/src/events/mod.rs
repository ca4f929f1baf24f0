//! The events of a run in progress, and their way to those who show them.

pub(crate) mod event;
pub(crate) mod live_state;
pub(crate) mod sender;
pub(crate) mod time_left;
