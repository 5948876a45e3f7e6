//! A property whose arguments are boxed, so that running it is one function.

use std::any::Any;
use std::fmt::{self, Debug};
use std::marker::PhantomData;

use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::{Config, Reason, TestCaseResult, TestRunner};

/// A value of any type.
trait Argument: Any + Debug {}

impl<T: Any + Debug> Argument for T {}

/// Where values of an argument come from.
trait Source: Debug {
    fn new_choice(&self, runner: &mut TestRunner) -> Result<Box<dyn Choice>, Reason>;
}

impl<S: Strategy<Value: 'static, Tree: 'static>> Source for S {
    fn new_choice(&self, runner: &mut TestRunner) -> Result<Box<dyn Choice>, Reason> {
        Ok(Box::new(self.new_tree(runner)?))
    }
}

/// A value that can be made simpler: a [`ValueTree`].
trait Choice {
    fn current(&self) -> Box<dyn Argument>;
    fn simplify(&mut self) -> bool;
    fn complicate(&mut self) -> bool;
}

impl<T: ValueTree<Value: 'static>> Choice for T {
    fn current(&self) -> Box<dyn Argument> {
        Box::new(ValueTree::current(self))
    }

    fn simplify(&mut self) -> bool {
        ValueTree::simplify(self)
    }

    fn complicate(&mut self) -> bool {
        ValueTree::complicate(self)
    }
}

/// The arguments of a test.
#[derive(Debug, Default)]
struct Arguments {
    names: Vec<&'static str>,
    sources: Vec<Box<dyn Source>>,
}

/// Values of all arguments.
struct Values {
    names: Vec<&'static str>,
    values: Vec<Box<dyn Argument>>,
}

/// `a = 1, b = 2`; the flags of the formatter are those of each value.
impl Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.names.iter().zip(&self.values).enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            write!(f, "{name} = ")?;
            value.fmt(f)?;
        }
        Ok(())
    }
}

/// Values that become simpler one after the other, from left to right: what a tuple does.
struct Choices {
    names: Vec<&'static str>,
    choices: Vec<Box<dyn Choice>>,
    /// Choices before this one are as simple as they get.
    at: usize,
    /// Which one was made simpler last.
    last: Option<usize>,
}

impl Strategy for Arguments {
    type Tree = Choices;
    type Value = Values;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Arguments> {
        let choices = self
            .sources
            .iter()
            .map(|source| source.new_choice(runner))
            .collect::<Result<_, _>>()?;
        Ok(Choices { names: self.names.clone(), choices, at: 0, last: None })
    }
}

impl ValueTree for Choices {
    type Value = Values;

    fn current(&self) -> Values {
        let values = self.choices.iter().map(|choice| choice.current()).collect();
        Values { names: self.names.clone(), values }
    }

    fn simplify(&mut self) -> bool {
        while let Some(choice) = self.choices.get_mut(self.at) {
            if choice.simplify() {
                self.last = Some(self.at);
                return true;
            }
            self.at += 1;
        }
        false
    }

    fn complicate(&mut self) -> bool {
        let Some(last) = self.last else { return false };
        if self.choices[last].complicate() {
            self.at = last;
            return true;
        }
        self.last = None;
        false
    }
}

/// What values of all arguments are unpacked to: `((), a)`, `(((), a), b)`.
#[doc(hidden)]
pub trait Unpack {
    /// Takes its values from the end.
    fn unpack(values: &mut Vec<Box<dyn Any>>) -> Self;
}

impl Unpack for () {
    fn unpack(_: &mut Vec<Box<dyn Any>>) {}
}

impl<L: Unpack, T: 'static> Unpack for (L, T) {
    fn unpack(values: &mut Vec<Box<dyn Any>>) -> (L, T) {
        let last = values
            .pop()
            .and_then(|value| value.downcast().ok())
            .expect("a value for each argument");
        (L::unpack(values), *last)
    }
}

/// A test with arguments of the types `L`.
#[doc(hidden)]
pub struct Property<L> {
    config: Config,
    arguments: Arguments,
    types: PhantomData<L>,
}

impl Property<()> {
    /// One without arguments.
    pub fn new(config: Config) -> Property<()> {
        Property { config, arguments: Arguments::default(), types: PhantomData }
    }
}

impl<L: Unpack> Property<L> {
    /// Adds an argument.
    pub fn with<S>(mut self, name: &'static str, strategy: S) -> Property<(L, S::Value)>
    where
        S: Strategy<Value: 'static, Tree: 'static> + 'static,
    {
        self.arguments.names.push(name);
        self.arguments.sources.push(Box::new(strategy));
        Property { config: self.config, arguments: self.arguments, types: PhantomData }
    }

    /// Tests random cases.
    ///
    /// # Panics
    ///
    /// If one fails, with the simplest that does.
    #[track_caller]
    pub fn run(self, test: impl Fn(L) -> TestCaseResult) {
        run(self.config, &self.arguments, &|mut values| test(L::unpack(&mut values)));
    }
}

#[track_caller]
fn run(config: Config, arguments: &Arguments, test: &dyn Fn(Vec<Box<dyn Any>>) -> TestCaseResult) {
    let mut runner = TestRunner::new(config);
    let result = runner
        .run(arguments, |values| test(values.values.into_iter().map(|value| value as _).collect()));
    if let Err(failure) = result {
        panic!("{failure}\n{runner}");
    }
}
