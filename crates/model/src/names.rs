//! Enumerations whose variants have stable names.

/// Gives an enumeration the constant `ALL`, all variants in the order of the invocation, and `name`, the
/// stable name of a variant: `names!(Kind { Open => "open", Closed => "closed" });`.
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
        }
    };
}
