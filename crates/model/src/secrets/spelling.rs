//! How a text may spell a secret: with the escapes of web pages, URLs and JSON, or in base64.
//!
//! [`Decoded`] removes all escapes from a text and keeps the place of each byte. So a secret is found in any mixture of
//! escapes, also if a text was escaped several times.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// How often a text is decoded at most. Each escaping around another one needs one more.
const MOST_ROUNDS: usize = 8;

/// The references of HTML to characters of ASCII. Two names of similar characters stand for the character itself.
const NAMED: &str = "amp& AMP& lt< LT< gt> GT> quot\" QUOT\" apos' Tab\t excl! num# dollar$ percnt% lpar( rpar) ast* midast* plus+ \
                     comma, hyphen- dash- period. sol/ colon: semi; equals= quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ \
                     lowbar_ UnderBar_ grave` lcub{ lbrace{ verbar| vert| rcub} rbrace}";

/// A text without escapes.
pub(super) struct Decoded {
    pub bytes: Vec<u8>,
    /// For each byte, its place in the original text.
    places: Vec<Range<usize>>,
}

impl Decoded {
    /// Decodes a text; `None` if it has no escapes.
    pub(super) fn of(text: &str) -> Option<Self> {
        if !text.contains(['&', '%', '\\']) {
            return None;
        }
        let places = text.char_indices().flat_map(|(at, c)| {
            let place = at..at + c.len_utf8();
            std::iter::repeat_n(place, c.len_utf8())
        });
        let mut all = Self { bytes: text.as_bytes().to_vec(), places: places.collect() };
        let changes = (0..MOST_ROUNDS).take_while(|_| all.decode()).count();
        (changes > 0).then_some(all)
    }

    /// The place of a range of bytes in the original text.
    pub(super) fn place(&self, range: Range<usize>) -> Range<usize> {
        self.places[range.start].start..self.places[range.end - 1].end
    }

    /// Decodes all escapes once. Returns whether there were any.
    fn decode(&mut self) -> bool {
        let (mut bytes, mut places) = (Vec::with_capacity(self.bytes.len()), Vec::new());
        let mut at = 0;
        while at < self.bytes.len() {
            let (decoded, length) =
                escape(&self.bytes[at..]).unwrap_or_else(|| (Character::Byte(self.bytes[at]), 1));
            let place = self.place(at..at + length);
            let before = bytes.len();
            match decoded {
                Character::Byte(byte) => bytes.push(byte),
                Character::Char(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
            places.resize(places.len() + bytes.len() - before, place);
            at += length;
        }
        let is_changed = bytes.len() != self.bytes.len();
        *self = Self { bytes, places };
        is_changed
    }
}

#[derive(Clone, Copy)]
enum Character {
    /// A part of a character in UTF-8.
    Byte(u8),
    Char(char),
}

/// The escape with which a text begins: its character and its length.
fn escape(text: &[u8]) -> Option<(Character, usize)> {
    let number = |digits: &[u8], radix| {
        let digits = std::str::from_utf8(digits).ok()?;
        u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).map(Character::Char)
    };
    let byte = |digits: &[u8]| {
        let mut digits = digits.iter().map(|&digit| char::from(digit).to_digit(16));
        let value = digits.try_fold(0, |all, digit| Some(all * 16 + digit?))?;
        u8::try_from(value).ok().map(Character::Byte)
    };
    // The number of digits with which a text begins.
    let run = |text: &[u8], radix| {
        text.iter().take(8).take_while(|&&c| char::from(c).is_digit(radix)).count()
    };
    match text {
        [b'%', digits @ ..] => Some((byte(digits.get(..2)?)?, 3)),
        [b'\\', b'x', digits @ ..] => Some((byte(digits.get(..2)?)?, 4)),
        [b'\\', b'u', b'{', digits @ ..] => {
            let length = run(digits, 16);
            (digits.get(length) == Some(&b'}')).then_some(())?;
            Some((number(&digits[..length], 16)?, length + 4))
        }
        [b'\\', b'u', digits @ ..] if run(digits, 16) >= 4 => Some((number(&digits[..4], 16)?, 6)),
        [b'\\', c, ..] if c.is_ascii_punctuation() => Some((Character::Byte(*c), 2)),
        [b'&', b'#', digits @ ..] => {
            let (digits, radix, before) = match digits {
                [b'x' | b'X', digits @ ..] => (digits, 16, 3),
                digits => (digits, 10, 2),
            };
            let length = run(digits, radix);
            // Browsers also read a reference without a semicolon.
            let ends = usize::from(digits.get(length) == Some(&b';'));
            Some((number(&digits[..length], radix)?, before + length + ends))
        }
        [b'&', name @ ..] => {
            let known = |known: &&str| {
                name.starts_with(&known.as_bytes()[..known.len() - 1])
                    && name.get(known.len() - 1) == Some(&b';')
            };
            let known = NAMED.split(' ').find(known)?;
            Some((Character::Byte(*known.as_bytes().last()?), known.len() + 1))
        }
        _ => None,
    }
}

/// The parts of base64 texts that show that they contain a secret: one for each position of the secret in a group of
/// three bytes, and for each alphabet. The characters that also depend on other bytes are left out.
pub(super) fn base64_forms(secret: &[u8]) -> Vec<String> {
    let mut forms: Vec<String> = [STANDARD_NO_PAD, URL_SAFE_NO_PAD]
        .iter()
        .flat_map(|alphabet| {
            [(0, 0), (1, 2), (2, 3)].map(|(before, left_out)| {
                let text = alphabet.encode([&vec![0; before][..], secret].concat());
                text[left_out..(before + secret.len()) * 8 / 6].to_owned()
            })
        })
        .collect();
    forms.sort();
    forms.dedup();
    forms
}

/// The user and the password that the header `Authorization: Basic` contains, as `USER:PASSWORD`.
pub(super) fn basic_credentials(value: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(value).ok()?).ok()
}
