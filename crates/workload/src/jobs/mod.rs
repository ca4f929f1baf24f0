//! Traces of agents and other recorded requests: files of many formats, read into one graph of calls. Nothing is sent,
//! and no text is made here.
//!
//! [`Trace`] is the form. `source` reads rows, `format` knows what they mean, `builder` and `link` make the graph.
//! [`Figures`] describe it, and [`write()`] writes it in other formats.

mod tree;

mod call;
mod error;

mod values;

mod source;

mod prompt;

mod builder;
mod link;

mod format;

mod read;
pub mod record;
pub mod synthetic;

mod figures;
pub mod ideal;
mod write;

pub use call::{Call, Content, GapKind, Known, Trace};
pub use error::{Fault, JobsError, Problem};
pub use figures::{Figures, Gaps, Ideal, Sum, Values};
pub use format::names;
pub use read::{read, read_bytes};
pub use tree::Tree;
pub use write::{Target, Written, write};
