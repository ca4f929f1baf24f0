//! Fields and their values. A field has the same kind in all rows.

use std::borrow::Cow;

/// The type of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text, UTF-8.
    Text,
    /// A signed 64-bit integer.
    Integer,
    /// A 64-bit floating-point number, always finite.
    Number,
    /// True or false.
    Flag,
}

inferometer_model::names!(Kind {
    Text => "text", Integer => "integer", Number => "number", Flag => "flag",
});

/// Whether every row has a value for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Every row has one.
    Always,
    /// A row may have none.
    Sometimes,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name. It ends with the unit, if the values have one: `ttft_ms`.
    pub name: Cow<'static, str>,
    /// The type of the values.
    pub kind: Kind,
    /// Whether every row has a value.
    pub presence: Presence,
    /// The meaning, in one or two sentences; empty for columns of cells.
    pub about: Cow<'static, str>,
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Absent,
    /// A value of a field of [`Kind::Text`].
    Text(&'a str),
    /// A value of a field of [`Kind::Integer`].
    Integer(i64),
    /// A value of a field of [`Kind::Number`].
    Number(f64),
    /// A value of a field of [`Kind::Flag`].
    Flag(bool),
}

impl<'a> Value<'a> {
    /// Makes a text; `None` gives [`Value::Absent`].
    pub fn text(value: Option<&'a str>) -> Self {
        value.map_or(Self::Absent, Self::Text)
    }

    /// Makes an integer; `None` gives [`Value::Absent`].
    pub fn integer(value: Option<impl Into<i64>>) -> Self {
        value.map_or(Self::Absent, |value| Self::Integer(value.into()))
    }

    /// Makes a number; `None` and a number that is not finite give [`Value::Absent`].
    pub fn number(value: Option<f64>) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Absent, Self::Number)
    }

    /// Whether the value is allowed in a field.
    pub fn fits(&self, field: &Field) -> bool {
        match self {
            Self::Absent => field.presence == Presence::Sometimes,
            Self::Text(_) => field.kind == Kind::Text,
            Self::Integer(_) => field.kind == Kind::Integer,
            Self::Number(value) => field.kind == Kind::Number && value.is_finite(),
            Self::Flag(_) => field.kind == Kind::Flag,
        }
    }
}
