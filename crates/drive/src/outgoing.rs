//! The bytes of a request that are left to send. Files are shared with their source, and written as base64 piece by
//! piece while the request is sent: a body with pictures never lies in memory as a whole.

use std::collections::VecDeque;
use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use inferometer_model::Media;
use inferometer_wire::dialect::media::split;

/// How many bytes of a file are written as base64 at once: a multiple of 3, so that no padding stands in between.
const FILE_BYTES_AT_ONCE: usize = 3 << 14;

/// The bytes of a request, from the next one that is not sent.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// The bytes that can be sent now, and how many of them are sent.
    ready: Vec<u8>,
    sent: usize,
    /// What follows `ready`.
    later: VecDeque<Part>,
}

#[derive(Debug)]
enum Part {
    Text(Vec<u8>),
    /// The pieces of a file that are not encoded yet. `from` is the first byte of the first piece.
    File {
        pieces: VecDeque<Arc<[u8]>>,
        from: usize,
    },
}

impl Outgoing {
    /// The body of a request with these media, as its dialect made it.
    ///
    /// # Errors
    /// When the body has not one mark for each file.
    pub fn of(body: Vec<u8>, media: &[Media]) -> Result<Self, String> {
        if media.is_empty() {
            return Ok(Self { ready: body, ..Self::default() });
        }
        let texts = split(&body, media.len()).ok_or(NO_PLACE)?;
        let ready = texts[0].to_vec();
        let later = media.iter().zip(&texts[1..]).flat_map(|(file, text)| {
            let pieces = file.pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect();
            [Part::File { pieces, from: 0 }, Part::Text(text.to_vec())]
        });
        Ok(Self { ready, sent: 0, later: later.collect() })
    }

    /// The number of bytes that are left to send.
    pub fn len(&self) -> usize {
        let later = self.later.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::File { .. } => part.file_bytes().div_ceil(3) * 4,
        });
        self.unsent().len() + later.sum::<usize>()
    }

    /// The memory of the bytes, which requests may share: files count as a whole.
    pub fn memory(&self) -> usize {
        self.ready.len() + self.later.iter().map(Part::file_bytes).sum::<usize>()
    }

    /// Puts the head of the request before its body, of which nothing is sent yet.
    #[must_use]
    pub fn after(self, head: Vec<u8>) -> Self {
        Self { ready: [head, self.ready].concat(), ..self }
    }

    /// Replaces a text in the head by another one of the same length.
    pub fn replace(&mut self, old: &str, new: &str) {
        let place = self.ready.windows(old.len()).position(|bytes| bytes == old.as_bytes());
        if let Some(at) = place {
            self.ready[at..at + old.len()].copy_from_slice(new.as_bytes());
        }
    }

    /// Bytes that can be sent now; empty if all are sent.
    pub fn unsent(&self) -> &[u8] {
        &self.ready[self.sent..]
    }

    /// Records that the next `count` bytes of [`Self::unsent`] are sent.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent < self.ready.len() {
            return;
        }
        self.sent = 0;
        match self.later.front_mut() {
            None => self.ready = Vec::new(),
            Some(Part::Text(text)) => {
                self.ready = std::mem::take(text);
                self.later.pop_front();
            }
            Some(Part::File { pieces, from }) => {
                encode_next(pieces, from, &mut self.ready);
                if pieces.is_empty() {
                    self.later.pop_front();
                }
            }
        }
    }
}

/// Replaces `text` by the next part of a file as base64.
fn encode_next(pieces: &mut VecDeque<Arc<[u8]>>, from: &mut usize, text: &mut Vec<u8>) {
    let mut bytes = Vec::with_capacity(FILE_BYTES_AT_ONCE);
    while let Some(piece) = pieces.front().filter(|_| bytes.len() < FILE_BYTES_AT_ONCE) {
        let end = piece.len().min(*from + FILE_BYTES_AT_ONCE - bytes.len());
        bytes.extend_from_slice(&piece[*from..end]);
        *from = end;
        if end == piece.len() {
            pieces.pop_front();
            *from = 0;
        }
    }
    text.resize(bytes.len().div_ceil(3) * 4, 0);
    let length = BASE64_STANDARD.encode_slice(&bytes, text);
    debug_assert_eq!(length, Ok(text.len()));
}

impl Part {
    fn file_bytes(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::File { pieces, from } => {
                pieces.iter().map(|piece| piece.len()).sum::<usize>() - from
            }
        }
    }
}

const NO_PLACE: &str =
    "its body has no place for its pictures or sounds: its last message is not a text of the user";

#[cfg(test)]
mod tests {
    use inferometer_model::MediaKind;

    use super::*;

    fn media(pieces: &[&[u8]]) -> Media {
        Media {
            kind: MediaKind::Image,
            media_type: "image/png",
            id: "x".into(),
            pieces: pieces.iter().map(|piece| (*piece).into()).collect(),
            size: (1, 1),
            duration_ms: 0,
        }
    }

    fn all(mut outgoing: Outgoing, at_once: usize) -> Vec<u8> {
        let (mut all, length) = (Vec::new(), outgoing.len());
        while !outgoing.unsent().is_empty() {
            let next = &outgoing.unsent()[..outgoing.unsent().len().min(at_once)];
            all.extend_from_slice(next);
            let count = next.len();
            outgoing.sent(count);
        }
        assert_eq!(all.len(), length);
        all
    }

    #[test]
    fn files_are_sent_as_base64_in_the_places_of_their_marks() {
        let large: Vec<u8> = (0..200_000_u32).map(|at| (at * 7) as u8).collect();
        let (a, b) = large.split_at(65_537);
        let body = br#"{"a":"\u0001file\u0001","b":"x\u0001file\u0001y"}"#.to_vec();
        let media = [media(&[b"Ma", b"", b"n"]), media(&[a, b])];
        let encoded = BASE64_STANDARD.encode(&large);
        let expected = format!(r#"HEAD{{"a":"TWFu","b":"x{encoded}y"}}"#);
        for at_once in [1, 1_000, usize::MAX] {
            let outgoing = Outgoing::of(body.clone(), &media).unwrap().after(b"HEAD".to_vec());
            assert!(all(outgoing, at_once) == expected.as_bytes(), "{at_once} at once");
        }
    }

    #[test]
    fn a_body_without_a_place_for_each_file_is_refused() {
        for body in ["{}", r#""\u0001file\u0001 \u0001file\u0001""#] {
            assert!(Outgoing::of(body.into(), &[media(&[b"a"])]).is_err(), "{body}");
        }
    }
}
