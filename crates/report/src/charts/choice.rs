//! Chooses passes for a chart that cannot show all of them, and names passes in notes.

use crate::count;

/// The maximum number of passes that a note names; further passes are only counted.
const MOST_NAMED: usize = 3;

/// The indices of at most `most` of `all` passes. They are evenly spaced, because such passes usually differ most in
/// their loads. The first and the last pass are included if `most` is at least 2.
pub(super) fn evenly(all: usize, most: usize) -> Vec<usize> {
    if all <= most {
        return (0..all).collect();
    }
    (0..most).map(|at| at * (all - 1) / (most - 1).max(1)).collect()
}

/// The names of passes as one text: all names if they are few, otherwise the first names and the number
/// of the others. `None` without names.
pub(super) fn named(places: &[&str]) -> Option<String> {
    Some(match places {
        [] => return None,
        few if few.len() <= MOST_NAMED => few.join("; "),
        many => {
            let (named, others) = many.split_at(MOST_NAMED);
            let others = match others {
                [_] => "1 other".to_owned(),
                others => format!("{} others", count(others.len() as u64)),
            };
            format!("{} and {others}", named.join("; "))
        }
    })
}
