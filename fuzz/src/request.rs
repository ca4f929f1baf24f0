//! Parses any bytes as requests of a client to a server of this program, such as the dashboard. The parser must not
//! panic. The requests, and whether the bytes after them are refused, must not depend on how the bytes are split. The
//! target of each request is decoded, and a link to this target must lead to the same page.

use inferometer_net::http::pages::RequestTarget;
use inferometer_wire::http::{Request, RequestParser};

/// The limits. They are smaller than those of the dashboard, so that the fuzzer reaches them.
const HEAD_BYTES: usize = 512;
const BODY_BYTES: usize = 256;

pub fn check(bytes: &[u8]) {
    let (at, bytes) = super::cut(bytes);
    let (requests, refused) = read([bytes]);
    assert_eq!(read(super::in_two(at, bytes)), (requests.clone(), refused));
    assert_eq!(read(super::in_pieces(bytes)), (requests.clone(), refused));
    for request in requests {
        assert!(request.body.len() <= BODY_BYTES);
        let target = RequestTarget::parse(&request.target);
        let link = target.with(&[]);
        assert_eq!(RequestTarget::parse(&link).with(&[]), link);
        assert_eq!(RequestTarget::parse(&link).segments(), target.segments());
    }
}

/// The complete requests, and whether the bytes after them were refused.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Request>, bool) {
    let mut parser = RequestParser::with_limits(HEAD_BYTES, BODY_BYTES);
    let mut requests = Vec::new();
    for mut piece in pieces {
        loop {
            match parser.push(piece) {
                Ok(Some(request)) => requests.push(request),
                Ok(None) => break,
                Err(_) => return (requests, true),
            }
            piece = &[];
        }
    }
    (requests, false)
}
