//! The tool calls of an answer, put together from the parts of a stream.

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    key: Option<u64>,
    id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// A part of a tool call, or a whole one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallPart<'a> {
    /// The number of the call, or of its item, in the answer; `None` if the message does not state it.
    pub(crate) key: Option<u64>,
    /// The id of the call; empty if the message does not state it.
    pub(crate) id: &'a str,
    /// The name of the tool; empty if the message does not state it.
    pub(crate) name: &'a str,
    /// The arguments, or the next part of them.
    pub(crate) arguments: &'a str,
}

/// The tool calls of an answer so far; `None` if they are not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls(Option<Vec<Call>>);

impl Calls {
    pub(crate) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(crate) fn are_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a part. It begins another call if its number differs, or if it has another id. Without a number, a name
    /// begins another call.
    pub(crate) fn add(&mut self, part: CallPart<'_>) {
        let Some(calls) = &mut self.0 else { return };
        let of_other_id =
            |call: &Call| !(part.id.is_empty() || call.id.is_empty() || call.id == part.id);
        let same = calls.iter_mut().rfind(|call| match part.key {
            Some(_) => call.key == part.key,
            None => part.name.is_empty(),
        });
        let call = match same.filter(|call| !of_other_id(call)) {
            Some(call) => call,
            None => {
                calls.push(Call { key: part.key, ..Call::default() });
                calls.last_mut().expect("invariant: a call was added")
            }
        };
        for (kept, said) in [(&mut call.id, part.id), (&mut call.name, part.name)] {
            if kept.is_empty() {
                said.clone_into(kept);
            }
        }
        call.arguments.push_str(part.arguments);
    }

    pub(crate) fn list(&self) -> &[Call] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The memory of the calls, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let of = |call: &Call| size_of::<Call>() + call.name.capacity() + call.arguments.capacity();
        self.list().iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts as key, id, name and arguments, and the calls that they give, as `name(arguments)`.
    #[test]
    fn parts_with_the_same_number_and_id_are_one_call() {
        type Part = (Option<u64>, &'static str, &'static str, &'static str);
        let cases: [(&[Part], &[&str]); 6] = [
            (
                &[(Some(0), "a", "f", ""), (Some(0), "", "", "{"), (Some(0), "", "", "}")],
                &["f({})"],
            ),
            // Two calls whose parts come in turns.
            (
                &[(Some(0), "", "f", "1"), (Some(1), "", "g", "2"), (Some(0), "", "", "3")],
                &["f(13)", "g(2)"],
            ),
            // A server that repeats id and name in each part.
            (&[(Some(0), "a", "f", "1"), (Some(0), "a", "f", "2")], &["f(12)"]),
            // A server that gives all calls the number 0.
            (&[(Some(0), "a", "f", "1"), (Some(0), "b", "f", "2")], &["f(1)", "f(2)"]),
            (
                &[(None, "", "f", "1"), (None, "", "g", "2"), (None, "", "", "3")],
                &["f(1)", "g(23)"],
            ),
            (&[], &[]),
        ];
        for (parts, expected) in cases {
            let mut calls = Calls::default();
            calls.keep();
            for (key, id, name, arguments) in parts {
                calls.add(CallPart { key: *key, id, name, arguments });
            }
            let shown =
                calls.list().iter().map(|call| format!("{}({})", call.name, call.arguments));
            assert_eq!(shown.collect::<Vec<_>>(), expected);
        }
    }
}
