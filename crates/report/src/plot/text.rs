//! How wide a text is before it is drawn. Never exact: kerning is left out, and characters
//! beyond ASCII count as their usual width.

use unicode_width::UnicodeWidthChar;

/// Advances of the printable ASCII characters in Noto Sans Regular, in thousandths of an em.
const ASCII_ADVANCE: [u16; 95] = [
    260, 269, 408, 646, 572, 831, 732, 225, 300, 300, 551, 572, 268, 322, 268, 372, 572, 572, 572,
    572, 572, 572, 572, 572, 572, 572, 268, 268, 572, 572, 572, 434, 899, 639, 650, 632, 730, 556,
    519, 728, 741, 339, 273, 619, 524, 907, 760, 781, 605, 781, 622, 549, 556, 731, 600, 930, 586,
    566, 572, 329, 372, 329, 572, 444, 281, 561, 615, 480, 615, 564, 344, 615, 618, 258, 258, 534,
    258, 935, 618, 605, 615, 615, 413, 479, 361, 618, 508, 786, 529, 510, 470, 380, 551, 380, 572,
];

/// Bold letters are about this much wider.
const BOLD: f64 = 1.07;

/// Width in pixels at a font size and a weight.
pub(crate) fn width(text: &str, size: f64, weight: u16) -> f64 {
    let thousandths: f64 = text.chars().map(advance).sum();
    let bold = if weight >= 600 { BOLD } else { 1.0 };
    thousandths * size * bold / 1000.0
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

/// The text, or as much of its beginning as fits with an ellipsis.
pub(crate) fn fitted(text: &str, size: f64, weight: u16, room: f64) -> String {
    if width(text, size, weight) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if width(&kept, size, weight) + width("…", size, weight) > room {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_character_is_an_em_and_a_digit_is_not() {
        assert!((width("模型", 10.0, 400) - 20.0).abs() < 1e-9);
        assert!((width("00", 10.0, 400) - 11.44).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_fit_ends_in_an_ellipsis_and_then_fits() {
        let text = "a rather long model name";
        let cut = fitted(text, 12.0, 400, 80.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0, 400) <= 80.0, "{cut}");
        assert_eq!(fitted(text, 12.0, 400, 1000.0), text);
    }
}
