//! Configuration of an engine, as given and as resolved. `crate::resolve` determines the defaults.

mod dtype;
mod options;
mod resolved;

pub use dtype::{Dtype, KvCacheDtype};
pub use options::EngineConfig;
pub use resolved::{Limits, ResolvedConfig};
