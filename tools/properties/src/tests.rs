//! Failures are reported as proptest's own macro reports them, and passing tests get the same values.

use std::cell::RefCell;
use std::panic::catch_unwind;

use crate::prelude::*;
use crate::test_runner::RngSeed;

thread_local! {
    /// The values that a test got, in their order.
    static GOT: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 40,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn got(values: impl std::fmt::Debug) {
    GOT.with_borrow_mut(|all| all.push(format!("{values:?}")));
}

/// The tests that are declared by both macros.
macro_rules! properties {
    ($($declare:tt)+) => {
        $($declare)+! {
            #![proptest_config(config())]

            fn of_one(a in 0..1000) {
                got(a);
                prop_assert!(a < 700, "{a} is large");
            }

            fn of_pairs_and_any((a, _) in (0u8..9, 1.0..2.0f64), mut list in prop::collection::vec(-4..9i64, 0..9),
                flag: bool, text in "[a-c]{0,4}",) {
                got((a, &list, flag, &text));
                list.push(1);
                assert!(list.iter().sum::<i64>() < 6 || !flag || text.is_empty(), "sum of {list:?}");
            }

            fn that_pass(a: u64, b in 0..7u8, c in prop_oneof![Just(1), 5..9]) {
                prop_assume!(a % 3 > 0);
                got((a, b, c));
                if b == 3 {
                    return Ok(());
                }
                prop_assert!(c != 4);
            }

            fn that_reject_all(a in 0..4) {
                prop_assume!(a > 4);
            }
        }
    };
}

mod of_proptest {
    use super::*;
    properties!(::proptest::proptest);

    pub const ALL: [fn(); 4] = [of_one, of_pairs_and_any, that_pass, that_reject_all];
}

mod ours {
    use super::*;
    properties!(crate::proptest);

    pub const ALL: [fn(); 4] = [of_one, of_pairs_and_any, that_pass, that_reject_all];
}

/// What a test says, and the values that it got.
fn run(test: fn()) -> (Option<String>, Vec<String>) {
    let said = catch_unwind(test).err().map(|panic| {
        let said = panic.downcast::<String>().expect("a message");
        // Each macro is used in a line of its own.
        let parts = said.split("tests.rs:");
        parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect()
    });
    (said, GOT.take())
}

#[test]
fn messages_and_values_are_those_of_proptest() {
    for (i, (theirs, ours)) in of_proptest::ALL.into_iter().zip(ours::ALL).enumerate() {
        let (theirs, ours) = (run(theirs), run(ours));
        assert_eq!(ours, theirs, "test {i}");
        assert_eq!(ours.0.is_some(), i != 2, "test {i}: {ours:?}");
        assert_eq!(ours.1.is_empty(), i == 3, "test {i}");
    }
}

#[test]
fn a_failure_names_the_arguments_of_the_simplest_case() {
    let (said, _) = run(ours::ALL[0]);
    let said = said.expect("a failure");
    assert!(said.contains("700 is large"), "{said}");
    assert!(said.contains("minimal failing input: a = 700"), "{said}");
}

proptest! {
    #[test]
    fn properties_without_a_configuration_run(a: u8) {
        prop_assert!(u32::from(a) < 256);
    }
}
