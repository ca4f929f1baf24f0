//! Tests of the protocols: recorded responses, responses written by hand, framing, bodies.

mod bodies;
mod endings;
mod exchange;
mod fixtures;
mod forms;
mod hostile;
mod http;
mod messages;
mod native;
mod pooled;
mod sse;
mod sse_items;
mod support;
mod template;
mod think;
mod times;
