//! Enumerations whose variants have stable names.

/// Adds three items to an enumeration. The constant `ALL` has all variants in the order of the invocation.
/// The method `name` returns the stable name of a variant, and `named` the variant with a name.
///
/// Example: `names!(Kind { Open => "open", Closed => "closed" });`.
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// All variants, in a fixed order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The variant with this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }
    };
}

/// An array of structs as a table: the names of the fields once, then the values of each struct.
///
/// Example: `table! { Point { x, y } (1, 2) (3, 4) }`.
#[macro_export]
macro_rules! table {
    (@row $type:ident { $($field:ident),+ } ($($value:expr),+)) => {
        $type { $($field: $value),+ }
    };
    ($type:ident $fields:tt $($row:tt)+) => {
        [$($crate::table!(@row $type $fields $row)),+]
    };
}
