//! The comparison of two servers in alternating blocks.

pub(crate) mod again;
pub(crate) mod measure;
mod settings;
