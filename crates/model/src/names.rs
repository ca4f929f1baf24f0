//! Enumerations whose variants have stable names.

/// Gives an enumeration `ALL`, with all variants in the order of lists, and `name`, the stable name of a
/// variant: `names!(Kind { Open => "open", Closed => "closed" });`.
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// All variants, in the order of lists.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
