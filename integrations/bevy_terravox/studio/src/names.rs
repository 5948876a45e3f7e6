//! Names of the values of an enumeration: for key maps, replays and panels.

/// Declares an enumeration of plain values with a name and a label for each.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $value:ident $text:literal $label:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* #[doc = $label] $value,)+
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [$name] = &[$($name::$value,)+];

            /// The name in key maps and replays.
            pub fn name(self) -> &'static str {
                match self { $($name::$value => $text,)+ }
            }

            /// The name that panels show.
            pub fn label(self) -> &'static str {
                match self { $($name::$value => $label,)+ }
            }

            /// The value of a name; `None` if there is none.
            pub fn find(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

pub(crate) use named;
