//! Resolves how many times each cell is measured.

use crate::spec::{Mistakes, Spec};
use crate::{Repeat, precision as repeat};

/// The default limit on repeats if a cell is repeated until figures are precise enough.
const MOST_UNTIL: u32 = 20;

/// The repeats of each cell.
pub(super) fn repeat(spec: &Spec, mistakes: &mut Mistakes) -> Repeat {
    let until = spec.until.as_deref().map_or_else(Vec::new, |text| {
        repeat::parse(text).unwrap_or_else(|errors| {
            errors.iter().for_each(|error| mistakes.add("until", error.to_string()));
            Vec::new()
        })
    });
    let at_least = mistakes.count("repeat", spec.repeat, 1);
    let at_most = match (spec.max_repeats, &spec.until) {
        (Some(_), None) => {
            mistakes.add("max_repeats", "needs --until; without it use --repeat");
            at_least
        }
        (None, None) => at_least,
        (most, Some(_)) => most.unwrap_or(MOST_UNTIL.max(at_least)),
    };
    if at_most < at_least || (spec.until.is_some() && at_most < 2) {
        let fewest = at_least.max(2);
        mistakes.add("max_repeats", format!("is {at_most}, but the minimum is {fewest} repeats"));
    }
    Repeat { at_least, at_most, until }
}
