//! Arrival processes: iterators over the offsets at which requests arrive. They never end.

mod poisson;

pub use poisson::Poisson;
