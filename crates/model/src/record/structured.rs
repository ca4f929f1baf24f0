//! Whether an answer has the form that its request asks for: calls of offered tools, JSON that fits a schema.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How one tool call, or the text of one answer, keeps to the form that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It has the form: the tool was offered, and the arguments or the text fit the schema.
    Fits,
    /// It is JSON that does not fit the schema, or a text that is none of the choices.
    Unfit,
    /// It is not JSON.
    NotJson,
    /// The answer reached its limit of tokens before the form was complete.
    Cut,
    /// A call of a tool that the request does not offer.
    NotOffered,
    /// There is no call although the request requires one, or no text although it asks for a form of the text.
    Missing,
    /// The form cannot be checked, for example a grammar.
    Unchecked,
}

crate::names!(Verdict {
    Fits => "fits", Unfit => "unfit", NotJson => "not_json", Cut => "cut", NotOffered => "not_offered",
    Missing => "missing", Unchecked => "unchecked",
});

/// The form of a completed answer, judged by what its request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structured {
    /// Whether the request offers tools.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub tools: bool,
    /// The tool calls of the answer by verdict.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<Verdict, u32>,
    /// The verdict on the text; `None` if the request asks for no form of it, or if calls replace it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Verdict>,
}

impl Structured {
    /// Whether everything that could be checked has its form.
    pub fn is_valid(&self) -> bool {
        let is_good = |verdict: &Verdict| matches!(verdict, Verdict::Fits | Verdict::Unchecked);
        self.calls.keys().chain(&self.text).all(is_good)
    }
}
