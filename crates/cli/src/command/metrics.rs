//! `metrics`: every metric with its definition.

use std::fmt::Write;

use inferometer_core::metric::{Direction, Origin, definitions};

use crate::exit::{Failure, print};

/// Prints the definitions.
pub fn metrics() -> Result<(), Failure> {
    let mut text = String::new();
    for definition in definitions() {
        let origin = match definition.origin {
            Some(Origin::Sent) => ", from the send",
            Some(Origin::Due) => ", from the due time",
            None => "",
        };
        let better = match definition.direction {
            Some(Direction::Lower) => ", lower is better",
            Some(Direction::Higher) => ", higher is better",
            None => "",
        };
        let _ = writeln!(
            text,
            "{} ({}{origin}{better}; version {})\n    = {}\n    {}\n    source: {}\n",
            definition.name,
            definition.unit,
            definition.version,
            definition.formula,
            definition.notes,
            definition.source
        );
    }
    print(&text)
}
