//! Reads which clients leave before their answers are complete: the key `abandon`.

use inferometer_model::load::{Abandon, LeaveAfter};

use super::{Mistakes, Spec, Value, values};

const FORM: &str = "write it as 10%,after=20tok (after 20 output tokens), 10%,after=500ms (500 ms after the request was \
                    sent) or 10%,no-token=2s (if no token came within 2 s); ,by=reset resets the connection instead of \
                    closing it";

impl Spec {
    /// The clients that leave; `None` if all stay.
    pub(crate) fn abandon(&self, mistakes: &mut Mistakes) -> Option<Abandon> {
        let text = self.abandon.as_ref()?;
        let abandon = read(text);
        if abandon.is_none() {
            mistakes.add("abandon", format!("`{text}` does not say who leaves when; {FORM}"));
        }
        if abandon.is_some_and(|it| it.share >= 1.0) {
            mistakes.add(
                "abandon",
                "all clients leave, so nothing is measured; give a share below 100%",
            );
        }
        if (self.stream == Some(false) || self.pools())
            && abandon.is_some_and(|it| !matches!(it.after, LeaveAfter::Time(_)))
        {
            let problem = "counts tokens as they arrive, but answers are not streamed; give a time, such as after=500ms";
            mistakes.add("abandon", problem);
        }
        abandon
    }
}

fn read(text: &str) -> Option<Abandon> {
    let mut parts = text.split(',').map(str::trim);
    let share = values::share(&Value::Text(parts.next()?.to_owned())).ok();
    let share = share.filter(|share| *share > 0.0)?;
    let (mut after, mut by) = (None, None);
    for part in parts {
        let (name, value) = part.split_once('=')?;
        let time = || values::span(&Value::Text(value.to_owned())).ok();
        let is_again = match name {
            "after" => after.replace(match value.strip_suffix("tok") {
                Some(count) => LeaveAfter::Tokens(count.parse().ok().filter(|count| *count > 0)?),
                None => LeaveAfter::Time(time()?),
            }),
            "no-token" => after.replace(LeaveAfter::NoToken(time()?)),
            "by" => {
                let resets = ["close", "reset"].iter().position(|way| *way == value)? == 1;
                by.replace(resets).and(Some(LeaveAfter::Tokens(0)))
            }
            _ => return None,
        }
        .is_some();
        if is_again {
            return None;
        }
    }
    Some(Abandon { share, after: after?, by_reset: by.unwrap_or(false) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::pooled::EMBEDDINGS;
    use std::time::Duration;

    #[test]
    fn a_share_leaves_after_tokens_or_a_time_and_closes_or_resets() {
        let ms = Duration::from_millis;
        for (text, share, after, by_reset) in [
            ("10%,after=20tok", 0.1, LeaveAfter::Tokens(20), false),
            ("0.5,after=500ms,by=reset", 0.5, LeaveAfter::Time(ms(500)), true),
            ("100%, by=close, no-token=2s", 1.0, LeaveAfter::NoToken(ms(2_000)), false),
        ] {
            let found = read(text);
            assert_eq!(found, Some(Abandon { share, after, by_reset }), "{text}");
            let shown = found.map(|it| it.to_string()).unwrap_or_default();
            assert_eq!(read(&shown), found, "{shown}");
        }
        for (text, stream, dialect, problem) in [
            ("100%,after=1s", None, None, "all clients leave"),
            ("10%,after=2tok", Some(false), None, "not streamed"),
            ("10%,after=2tok", None, Some(EMBEDDINGS), "not streamed"),
        ] {
            let (abandon, dialect) = (Some(text.into()), dialect.map(str::to_owned));
            let mut mistakes = Mistakes::default();
            Spec { abandon, stream, dialect, ..Spec::default() }.abandon(&mut mistakes);
            assert!(mistakes.0.len() == 1 && mistakes.0[0].problem.contains(problem), "{text}");
        }
        for text in [
            "", "10%", "0%,after=1s", "10%,after=0tok", "10%,after=soon",
            "10%,after=1s,no-token=1s", "10%,after=1s,by=force", "10%,when=1s", "after=1s",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
