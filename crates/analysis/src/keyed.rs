//! Values in a JSON document under the keys of the registry of metrics, in the order of the document.

use std::{fmt, marker::PhantomData};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Values, each with its key.
pub type Keyed<T> = Vec<(&'static str, T)>;

struct Keys<T, F>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: Fn(&str) -> Option<&'static str>> Visitor<'de> for Keys<T, F> {
    type Value = Keyed<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values by the keys of metrics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match (self.0)(&key) {
                Some(key) => found.push((key, map.next_value()?)),
                // Other fields of the document are in the same map; they are skipped.
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Reads the values whose keys `known` returns.
///
/// # Errors
/// If a value has another type.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
    known: impl Fn(&str) -> Option<&'static str>,
) -> Result<Keyed<T>, D::Error> {
    from.deserialize_map(Keys(known, PhantomData))
}
