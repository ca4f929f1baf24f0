//! Configuration of an engine: as it is given, and resolved. No scheduling and no cost; what an
//! absent option means is decided in `crate::resolve`.

mod dtype;
mod options;
mod resolved;

pub use dtype::{Dtype, KvCacheDtype};
pub use options::EngineConfig;
pub use resolved::{Limits, ResolvedConfig};
