//! `NO_PROXY`: the servers that are reached without a proxy, with the syntax of curl and other programs.
//! Names are never resolved. When names are compared, case and a final dot do not matter.

use std::net::IpAddr;

/// The servers that are reached without a proxy.
#[derive(Clone, Debug, Default)]
pub(super) struct Exceptions {
    entries: Vec<(Hosts, Option<u16>)>,
    /// The first entry that cannot be parsed.
    pub unreadable: Option<String>,
}

#[derive(Clone, Debug)]
enum Hosts {
    All,
    /// A name, and all names that end with a dot and this name.
    Name(String),
    /// A network: an address, and the number of first bits that all addresses of the network share.
    Network(IpAddr, u32),
}

impl Exceptions {
    /// Parses hosts, suffixes of names, addresses and networks (`10.0.0.0/8`), and `*` for all. A host or an
    /// address may have a port. Entries are separated by commas or spaces.
    pub(super) fn parse(text: &str) -> Self {
        let mut read = Self::default();
        let texts = text.split(|c: char| c == ',' || c.is_whitespace());
        for text in texts.filter(|text| !text.is_empty()) {
            match entry(text) {
                Some(entry) => read.entries.push(entry),
                None => read.unreadable = read.unreadable.or_else(|| Some(text.to_owned())),
            }
        }
        read
    }

    /// Whether a server is reached without a proxy.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        let address = name.parse::<IpAddr>().ok();
        self.entries.iter().any(|(hosts, only)| {
            only.is_none_or(|only| only == port)
                && match hosts {
                    Hosts::All => true,
                    Hosts::Name(suffix) => {
                        let before = name.strip_suffix(suffix.as_str());
                        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
                    }
                    Hosts::Network(network, bits) => {
                        address.is_some_and(|address| agree(address, *network, *bits))
                    }
                }
        })
    }
}

fn entry(text: &str) -> Option<(Hosts, Option<u16>)> {
    if text == "*" {
        return Some((Hosts::All, None));
    }
    if let Some((address, bits)) = text.split_once('/') {
        let address: IpAddr = without_brackets(address).parse().ok()?;
        let bits = bits.parse().ok().filter(|&bits| bits <= width(address))?;
        return Some((Hosts::Network(address, bits), None));
    }
    let (host, port) = match text.rsplit_once(':') {
        // In an IPv6 address without brackets, all colons belong to the address.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, Some(port.parse().ok()?))
        }
        _ => (text, None),
    };
    let host = without_brackets(host);
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some((Hosts::Network(address, width(address)), port));
    }
    let suffix = host.trim_start_matches("*.").trim_start_matches('.').trim_end_matches('.');
    let is_name = !suffix.is_empty();
    is_name.then(|| (Hosts::Name(suffix.to_ascii_lowercase()), port))
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Whether the first `bits` bits of two addresses are equal.
fn agree(one: IpAddr, other: IpAddr, bits: u32) -> bool {
    // For 0 bits, all bits are shifted out, so all addresses of one IP version match.
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            (one.to_bits() ^ other.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            (one.to_bits() ^ other.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}
