//! Schedulers: they decide which sequences take part in the next step. To add a scheduler, add a file here and a line
//! in `registry.rs`.

mod queues;
mod scheduler;

mod vllm_limits;
mod vllm_v1_defaults;

mod tgi_1_3;
mod vllm_02;
mod vllm_v1;

mod registry;

pub use queues::{Queues, Sequence};
pub use registry::scheduler;
pub use scheduler::{Batch, Scheduler};
