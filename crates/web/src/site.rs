//! The site: a store, and the page that answers each question to it. It writes nothing.

use std::path::Path;

use inferometer_report::page as report;
use inferometer_store::Store;

use crate::answer::{Answer, LiveEvent, Trouble};
use crate::asked::Asked;
use crate::chrome::{Frame, Part, SCRIPT, STYLE};
use crate::front::Pages;
use crate::markup::Html;
use crate::page::{self, Followed, Reports};

/// What a page is made by.
type Page = fn(&mut Site, &Asked) -> Result<Answer, Trouble>;

/// Every page: the segments of its path, where `*` is any one, and what makes it.
const ROUTES: [(&[&str], Page); 12] = [
    (&[], page::runs),
    (&["runs"], at_home),
    (&["style.css"], style),
    (&["script.js"], script),
    (&["live"], page::in_progress),
    (&["records"], page::records),
    (&["metrics"], page::definitions),
    (&["compare"], page::compare),
    (&["runs", "*"], page::run),
    (&["runs", "*", "live"], page::live),
    (&["runs", "*", "events"], page::events),
    (&["runs", "*", "*"], page::file),
];

/// When whoever asks for something that is being made may come again, in seconds.
const COME_AGAIN_S: u32 = 2;

/// A store as a site.
pub struct Site {
    pub(crate) store: Store,
    /// The runs in progress that somebody watches.
    pub(crate) followed: Followed,
    /// The reports that were made lately.
    pub(crate) reports: Reports,
}

impl Site {
    /// The site of the store in a file, which is read and never written.
    ///
    /// # Errors
    /// As [`Store::open_to_read`].
    pub fn open(store: &Path) -> Result<Self, inferometer_store::StoreError> {
        let store = Store::open_to_read(store)?;
        Ok(Self { store, followed: Followed::default(), reports: Reports::default() })
    }
}

impl Pages for Site {
    fn answer(&mut self, asked: &Asked) -> Answer {
        let segments = asked.segments();
        let fits = |pattern: &[&str]| {
            pattern.len() == segments.len()
                && pattern.iter().zip(&segments).all(|(part, given)| *part == "*" || part == given)
        };
        let page = ROUTES.iter().find(|(pattern, _)| fits(pattern)).map(|(_, page)| page);
        let made = match page {
            Some(page) => page(self, asked),
            None => Err(Trouble::NotFound("there is no such page".to_owned())),
        };
        made.unwrap_or_else(|trouble| {
            let answer = refusal(trouble.status(), &trouble.to_string());
            match trouble {
                // Browsers honour the one, programs the other.
                Trouble::NotYet => answer
                    .with("refresh", COME_AGAIN_S.to_string())
                    .with("retry-after", COME_AGAIN_S.to_string()),
                _ => answer,
            }
        })
    }

    fn refusal(&self, status: u16, why: &str) -> Answer {
        refusal(status, why)
    }

    fn live_event(&mut self, run: &str) -> LiveEvent {
        page::live_event(self, run)
    }
}

/// The list of runs is the first page, whatever is asked of it.
fn at_home(_: &mut Site, asked: &Asked) -> Result<Answer, Trouble> {
    Ok(Answer::see(asked.with(&[]).replacen("/runs", "/", 1)))
}

fn style(_: &mut Site, _: &Asked) -> Result<Answer, Trouble> {
    let style = [report::style(), STYLE].concat();
    Ok(Answer::of("text/css; charset=utf-8", style.into_bytes()))
}

fn script(_: &mut Site, _: &Asked) -> Result<Answer, Trouble> {
    let script = [report::script(), SCRIPT].concat();
    Ok(Answer::of("text/javascript; charset=utf-8", script.into_bytes()))
}

/// A page that says why there is no other.
pub(crate) fn refusal(status: u16, why: &str) -> Answer {
    let title = match status {
        404 => "Not found",
        405 => "Read only",
        500 | 503 => "This cannot be shown now",
        _ => "Not understood",
    };
    let mut content = Html::new();
    content.raw("<h1>").text(title).raw("</h1>\n").paragraph(why);
    content.raw("<p>").link("/", "All runs").raw("</p>\n");
    Answer::page(&Frame::of(title, Part::Elsewhere).around(&content)).status(status)
}

/// What the page that asks for the token may do: it has a style of its own, and no text of others.
const TOKEN_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                            form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page that asks for the token. It says nothing of what is behind it, and stands alone, since
/// neither style nor script can be had without the token.
pub(crate) fn token_wanted() -> Answer {
    let mut page = Html::new();
    page.raw(include_str!("token.html"));
    Answer::page(&page)
        .status(401)
        .with("content-security-policy", TOKEN_POLICY.to_owned())
        .with("www-authenticate", "Bearer realm=\"inferometer\"".to_owned())
}
