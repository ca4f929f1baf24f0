//! Adds a header or a cookie with the identifier of a session to requests, so that a router can send all requests of a
//! session to one server, and a header for tracers. The identifiers contain no part of the prompt.

use std::borrow::Cow;

use inferometer_model::sha256::sha256_hex;
use inferometer_model::trace_context::{NO_TRACEPARENT, TRACEPARENT};

/// The number of hexadecimal digits in an identifier.
const DIGITS: usize = 16;
const COOKIE: &str = "cookie";

/// How the session of a request is sent, and its identity in a tracer.
#[derive(Clone, Debug, Default)]
pub struct SessionHeaders {
    /// The name of the header.
    pub header: Option<String>,
    /// The name of the cookie.
    pub cookie: Option<String>,
    /// A text that differs between passes and runs, so that their sessions have different identifiers.
    pub scope: String,
    /// The rank of this process: each rank numbers its own conversations.
    pub rank: u32,
    /// The number from which the `traceparent` of each request is computed; 0: requests have none.
    pub trace: u64,
}

/// The session of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// The turns of a conversation.
    Conversation(u32),
    /// Prompts with the same prefix.
    Prefix(u64),
}

impl Session {
    /// The number by which the server of the session is chosen.
    pub fn number(self) -> u64 {
        match self {
            Self::Conversation(number) => number.into(),
            Self::Prefix(number) => number,
        }
    }
}

impl SessionHeaders {
    /// The headers of a request: `given`, the headers of its session, and the place of its `traceparent`.
    pub(crate) fn with<'a>(
        &self,
        given: &'a [(String, String)],
        session: Option<Session>,
    ) -> Cow<'a, [(String, String)]> {
        let is_told = self.header.is_some() || self.cookie.is_some();
        let session = session.filter(|_| is_told);
        if session.is_none() && self.trace == 0 {
            return given.into();
        }
        let mut headers = given.to_vec();
        if self.trace != 0 {
            headers.push((TRACEPARENT.to_owned(), NO_TRACEPARENT.to_owned()));
        }
        let Some(session) = session else { return headers.into() };
        if let Some(name) = &self.header {
            headers.push((name.clone(), self.identifier(session)));
        }
        if let Some(name) = &self.cookie {
            let cookie = format!("{name}={}", self.identifier(session));
            match headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(COOKIE)) {
                Some((_, others)) => *others += &format!("; {cookie}"),
                None => headers.push((COOKIE.to_owned(), cookie)),
            }
        }
        headers.into()
    }

    fn identifier(&self, session: Session) -> String {
        let scope = &self.scope;
        let text = match session {
            Session::Conversation(number) => format!("{scope} rank {} {number}", self.rank),
            Session::Prefix(number) => format!("{scope} prefix {number}"),
        };
        let mut digits = sha256_hex(text.as_bytes());
        digits.truncate(DIGITS);
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_id_is_unique_and_a_prefix_has_the_same_id_on_all_ranks() {
        let of = |scope: &str, rank, session| {
            let headers = SessionHeaders {
                header: Some("X-Session-Id".to_owned()),
                scope: scope.to_owned(),
                rank,
                ..SessionHeaders::default()
            };
            headers.with(&[], Some(session))[0].1.clone()
        };
        let one = of("salt pass 0", 0, Session::Conversation(3));
        assert_eq!((one.len(), &one), (16, &of("salt pass 0", 0, Session::Conversation(3))));
        for other in [
            of("salt pass 0", 0, Session::Conversation(4)),
            of("salt pass 1", 0, Session::Conversation(3)),
            of("salt pass 0", 1, Session::Conversation(3)),
            of("salt pass 0", 0, Session::Prefix(3)),
        ] {
            assert_ne!(one, other);
        }
        // Requests with the same prefix belong together, whichever rank sends them.
        let prefix = |rank| of("s", rank, Session::Prefix(3));
        assert_eq!(prefix(0), prefix(1));
    }

    #[test]
    fn the_session_cookie_is_added_to_the_cookies_of_the_user() {
        let names = SessionHeaders { cookie: Some("sid".to_owned()), ..SessionHeaders::default() };
        let given = [("Cookie".to_owned(), "a=1".to_owned())];
        let session = Some(Session::Conversation(0));
        let alone = names.with(&[], session);
        let id = alone[0].1.strip_prefix("sid=").expect("the cookie");
        let both = ("Cookie".to_owned(), format!("a=1; sid={id}"));
        assert_eq!(names.with(&given, session).into_owned(), [both]);
        assert_eq!(names.with(&given, None).into_owned(), given);
    }
}
