//! One address or several: `target = "http://a:8000"`, `target = ["http://a:8000", "http://b:8000"]`.

use serde::{Deserialize, Serialize};

/// The address of a server, or the addresses of several equal servers. A single address is serialized as
/// a text and not as a list, because earlier versions accepted only one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Addresses(Vec<String>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One(String),
    Several(Vec<String>),
}

impl From<Written> for Addresses {
    fn from(written: Written) -> Self {
        match written {
            Written::One(address) => Self(vec![address]),
            Written::Several(addresses) => Self(addresses),
        }
    }
}

impl From<Addresses> for Written {
    fn from(Addresses(mut all): Addresses) -> Self {
        match all.len() {
            1 => Self::One(all.remove(0)),
            _ => Self::Several(all),
        }
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
