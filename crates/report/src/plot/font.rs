//! The fonts of charts, and estimates of the width of a text. The estimates ignore kerning, and use
//! average widths for characters that are not ASCII.

use unicode_width::UnicodeWidthChar;

use super::theme::Paint;

/// The font of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Font {
    /// Size in pixels.
    pub size: f64,
    /// Its colour.
    pub colour: Paint,
    /// The weight: 400 or 700, because only these weights are bundled.
    pub weight: u16,
}

pub(crate) const TITLE: Font = Font { size: 20.0, colour: Paint::Ink, weight: 700 };
pub(crate) const SUBJECT: Font = Font { size: 13.0, colour: Paint::Soft, weight: 400 };
pub(crate) const NOTICE: Font = Font { size: 13.0, colour: Paint::Alert, weight: 700 };
pub(crate) const PANEL_TITLE: Font = Font { size: 13.0, colour: Paint::Ink, weight: 700 };
pub(crate) const AXIS_TITLE: Font = Font { size: 13.0, colour: Paint::Ink, weight: 400 };
pub(crate) const TICK: Font = Font { size: 12.0, colour: Paint::Soft, weight: 400 };
pub(crate) const NOTE: Font = TICK;
pub(crate) const LEGEND: Font = Font { size: 13.0, colour: Paint::Ink, weight: 400 };
pub(crate) const VALUE: Font = Font { size: 12.0, colour: Paint::Ink, weight: 400 };

/// The widths (advances) of the printable ASCII characters in Noto Sans Regular, in thousandths of an em.
const ASCII_ADVANCE: [u16; 95] = [
    260, 269, 408, 646, 572, 831, 732, 225, 300, 300, 551, 572, 268, 322, 268, 372, 572, 572, 572,
    572, 572, 572, 572, 572, 572, 572, 268, 268, 572, 572, 572, 434, 899, 639, 650, 632, 730, 556,
    519, 728, 741, 339, 273, 619, 524, 907, 760, 781, 605, 781, 622, 549, 556, 731, 600, 930, 586,
    566, 572, 329, 372, 329, 572, 444, 281, 561, 615, 480, 615, 564, 344, 615, 618, 258, 258, 534,
    258, 935, 618, 605, 615, 615, 413, 479, 361, 618, 508, 786, 529, 510, 470, 380, 551, 380, 572,
];

/// The approximate ratio of the width of bold text to that of regular text.
const BOLD: f64 = 1.07;

impl Font {
    /// The width of a text in pixels.
    pub(crate) fn width(self, text: &str) -> f64 {
        let thousandths: f64 = text.chars().map(advance).sum();
        let bold = if self.weight >= 600 { BOLD } else { 1.0 };
        thousandths * self.size * bold / 1000.0
    }

    /// The text if it fits into `room` pixels, otherwise its beginning with an ellipsis.
    pub(crate) fn fitted(self, text: &str, room: f64) -> String {
        if self.width(text) <= room {
            return text.to_owned();
        }
        let mut start = String::new();
        for character in text.chars() {
            start.push(character);
            if self.width(&start) + self.width("…") > room {
                start.pop();
                break;
            }
        }
        format!("{}…", start.trim_end())
    }

    /// The words of a text, wrapped to lines of at most `room` pixels. A longer word has a line of its
    /// own.
    pub(crate) fn wrapped(self, text: &str, room: f64) -> Vec<String> {
        crate::text_table::wrapped(text, |line, word| self.width(&format!("{line} {word}")) <= room)
    }
}

fn advance(character: char) -> f64 {
    let ascii = (character as usize).checked_sub(0x20).and_then(|i| ASCII_ADVANCE.get(i));
    match (ascii, character.width()) {
        (Some(&advance), _) => f64::from(advance),
        (None, Some(2)) => 1000.0,
        (None, Some(0) | None) => 0.0,
        (None, Some(_)) => 600.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_character_is_one_em_wide_and_a_digit_is_narrower() {
        let font = Font { size: 10.0, ..TICK };
        assert!((font.width("模型") - 20.0).abs() < 1e-9);
        assert!((font.width("00") - 11.44).abs() < 1e-9);
    }

    #[test]
    fn a_text_that_is_too_wide_is_shortened_with_an_ellipsis_or_wrapped() {
        let text = "a rather long model name";
        let cut = TICK.fitted(text, 80.0);
        assert!(cut.ends_with('…') && TICK.width(&cut) <= 80.0, "{cut}");
        assert_eq!(TICK.fitted(text, 1000.0), text);
        let lines = TICK.wrapped(text, 80.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| TICK.width(line) <= 80.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }
}
