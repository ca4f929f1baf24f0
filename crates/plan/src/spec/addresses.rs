//! One address or several: `target = "http://a:8000"`, `target = ["http://a:8000", "http://b:8000"]`.

use inferometer_model::json::{form, one_of};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

/// The address of a server, or the addresses of several equal servers. A single address is serialized as
/// a text and not as a list, because earlier versions accepted only one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses(Vec<String>);

impl Serialize for Addresses {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.only() {
            Some(address) => address.serialize(to),
            None => self.0.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "an address or a list of addresses", |value| match value {
            Value::String(address) => Some(address.into()),
            value => form(value).map(Self),
        })
        // A plan with several servers has a table for each.
        .map_err(|error: D::Error| {
            D::Error::custom(format!(
                "{error}; tables [[target]] are several servers, and this command takes one: leave out the others"
            ))
        })
    }
}

impl From<String> for Addresses {
    fn from(address: String) -> Self {
        Self(vec![address])
    }
}

impl From<&str> for Addresses {
    fn from(address: &str) -> Self {
        Self(vec![address.to_owned()])
    }
}

impl Addresses {
    /// All addresses, in the given order.
    pub fn all(&self) -> &[String] {
        &self.0
    }

    /// The only address; `None` if there are several addresses, or none.
    pub fn only(&self) -> Option<&str> {
        match self.0.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_serialized_as_a_string_and_several_as_a_list() {
        for (text, all, only) in [
            (r#""a""#, vec!["a"], Some("a")),
            (r#"["a","b"]"#, vec!["a", "b"], None),
            ("[]", vec![], None),
        ] {
            let read: Addresses = serde_json::from_str(text).unwrap();
            assert_eq!(
                (read.all(), read.only()),
                (&all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..], only)
            );
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        let listed: Addresses = serde_json::from_str(r#"["a"]"#).unwrap();
        assert_eq!(serde_json::to_string(&listed).unwrap(), r#""a""#);
    }
}
