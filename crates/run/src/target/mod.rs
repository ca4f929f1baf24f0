//! The servers under test: started or found, identified, and observed.

mod connect;
pub(crate) mod embedded;
pub(crate) mod ignore_eos;
pub(crate) mod noise;
pub(crate) mod observers;
pub(crate) mod reach;
pub(crate) mod ready;
pub(crate) mod servers;
pub(crate) mod spread;
