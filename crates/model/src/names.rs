//! Enumerations whose variants have stable names.

/// Gives an enumeration `ALL`, every variant in the order of lists, and `name`, the stable name of
/// a variant: `names!(Kind { Open => "open", Closed => "closed" });`.
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// Every one, in the order of lists.
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
