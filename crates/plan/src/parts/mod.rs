//! The parts of a resolved plan.

mod adapters;
mod agents;
mod classes;
mod drawn;
mod launch;
mod media;
mod observe;
mod pooling;
mod rows;
mod spread;
mod target;
mod timing;
mod trace;

pub use adapters::AdapterPlan;
pub use agents::{AgentsPlan, Answers};
pub use classes::{ClassPlan, ClassesPlan};
pub use drawn::{DrawnPlan, LengthPair, Lengths, PrefixPlan};
pub use launch::LaunchPlan;
pub use media::{
    AudioPlan, AudioSource, ImageFormat, ImageKind, ImageSize, ImageSource, ImagesPlan,
    JPEG_QUALITY, MediaPlan,
};
pub use observe::{MetricsAt, ObservePlan};
pub use pooling::PoolingPlan;
pub use rows::{RowsFormat, RowsPlan};
pub use spread::{Balance, SpreadPlan};
pub use target::TargetPlan;
pub use timing::{Repeat, Warmup};
pub use trace::{TraceFormat, TracePlan, TraceWindow};
