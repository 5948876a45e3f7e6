//! [`mod@proptest`], whose macro of the same name compiles the runner once instead of once a test.
//!
//! The macro of that crate instantiates the runner, with its shrinking and its files of failures, and the tree of all
//! arguments, for each test: half of what rustc had to compile of the tests of terravox. Here, arguments are boxed, a
//! test is a `dyn Fn`, and what is left for each test is its body. Syntax, random numbers, shrinking, files of failures
//! and messages are those of proptest, and the tests below compare them.
//!
//! Crates of the workspace depend on this package by the name of `proptest`, whose other items it re-exports.

pub use ::proptest::*;

mod property;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use property::Property;

/// What tests import: that of proptest, but for the macro.
pub mod prelude {
    pub use crate::proptest;
    pub use ::proptest::prelude::*;
}

/// Declares tests of properties, in the syntax of [`proptest::proptest`](::proptest::proptest) for functions.
///
/// ```
/// use properties::prelude::*;
///
/// proptest! {
///     #![proptest_config(ProptestConfig::with_cases(16))]
///     # /*
///     #[test]
///     # */
///     fn sums_do_not_depend_on_the_order(a in 0..9, b: u8) {
///         prop_assert_eq!(a + i32::from(b), i32::from(b) + a);
///     }
/// }
/// # sums_do_not_depend_on_the_order();
/// ```
#[macro_export]
macro_rules! proptest {
    (#![proptest_config($config:expr)] $($(#[$meta:meta])* fn $name:ident($($arguments:tt)+) $body:block)*) => {
        $(
            $(#[$meta])*
            fn $name() {
                let mut config = $crate::test_runner::contextualize_config($config.clone());
                config.test_name = Some(concat!(module_path!(), "::", stringify!($name)));
                config.source_file = Some(file!());
                $crate::property!($body [$crate::Property::new(config)] [()] $($arguments)+)
            }
        )*
    };
    ($($tests:tt)*) => {
        $crate::proptest! { #![proptest_config($crate::test_runner::Config::default())] $($tests)* }
    };
}

/// Takes one argument after the other from a test: first the property, then a pattern for all values, then the rest.
#[doc(hidden)]
#[macro_export]
macro_rules! property {
    ($body:block [$($property:tt)+] [$values:pat] $(,)?) => {
        $($property)+.run(|$values| {
            let (): () = $body;
            Ok(())
        })
    };
    ($body:block [$($property:tt)+] [$values:pat] $value:pat in $strategy:expr $(, $($rest:tt)*)?) => {
        $crate::property!(
            $body [$($property)+.with(stringify!($value), $strategy)] [($values, $value)] $($($rest)*)?
        )
    };
    ($body:block [$($property:tt)+] [$values:pat] $value:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::property!(
            $body [$($property)+.with(stringify!($value), $crate::arbitrary::any::<$type>())] [($values, $value)]
            $($($rest)*)?
        )
    };
}
