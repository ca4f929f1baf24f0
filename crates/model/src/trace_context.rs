//! The identity of a request in a tracer: the header `traceparent` of W3C Trace Context
//! (<https://www.w3.org/TR/trace-context/>). The identifiers are computed from a number of the process that sends the
//! request, and from the place of the request in the run, so a record has no more than this number.

use crate::{Record, sha256::sha256_hex};

/// The name of the header.
pub const TRACEPARENT: &str = "traceparent";
/// A value of the same length as every value, whose identifiers are not valid.
pub const NO_TRACEPARENT: &str = "00-00000000000000000000000000000000-0000000000000000-01";

impl Record {
    /// The hexadecimal digits of the identifiers of the trace (32) and of the client's span (16).
    fn trace_digits(&self) -> Option<(String, String)> {
        let Self { trace, pass, index, .. } = self;
        let digits =
            (*trace != 0).then(|| sha256_hex(format!("{trace} {pass} {index}").as_bytes()));
        digits.map(|digits| (digits[..32].to_owned(), digits[32..48].to_owned()))
    }

    /// The identifier of the request's trace; `None` if the request had no header `traceparent`.
    pub fn trace_id(&self) -> Option<String> {
        self.trace_digits().map(|(trace, _)| trace)
    }

    /// The value of the header `traceparent`, which asks servers to record the trace; `None` if there is none.
    pub fn traceparent(&self) -> Option<String> {
        self.trace_digits().map(|(trace, span)| format!("00-{trace}-{span}-01"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_request_has_its_own_traceparent_in_the_form_of_the_specification() {
        let record = |trace, pass, index| Record { trace, pass, index, ..Record::default() };
        assert_eq!((record(0, 1, 1).traceparent(), record(0, 1, 1).trace_id()), (None, None));
        let records = [record(1, 0, 0), record(2, 0, 0), record(1, 1, 0), record(1, 0, 1)];
        let ids: BTreeSet<String> = records.iter().filter_map(Record::trace_id).collect();
        assert_eq!(ids.len(), 4);
        for record in records {
            let (value, id) = (record.traceparent().unwrap(), record.trace_id().unwrap());
            assert_eq!((value.len(), id.len()), (NO_TRACEPARENT.len(), 32));
            assert_eq!(value[..36], format!("00-{id}-"));
            let fields: Vec<&str> = value.split('-').collect();
            assert!(fields.len() == 4 && fields[3] == "01" && fields[2].len() == 16, "{value}");
            assert!(value.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f' | '-')), "{value}");
        }
    }
}
