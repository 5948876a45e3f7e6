//! Failures of calls, and the Python exceptions that they become.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileExistsError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use terravox::edit::EditError;
use terravox::terrain::{PlacementError, TerrainError};
use terravox::voxel::NotHeld;
use terravox_store::StoreError;

create_exception!(
    terravox,
    WorldError,
    PyException,
    "A world cannot do what a call requests; it is as it was before, unless this is an UnsureError."
);
create_exception!(
    terravox,
    UnsureError,
    WorldError,
    "The last step of a write failed: all of it was saved, or nothing. Open the world again to see."
);
create_exception!(terravox, NotAWorldError, WorldError, "The file is not a terravox world.");
create_exception!(terravox, WorldInUseError, WorldError, "Another program has the world open.");
create_exception!(terravox, DamagedWorldError, WorldError, "A part of the world is damaged.");
create_exception!(terravox, ReadOnlyError, WorldError, "The world was opened for reading only.");
create_exception!(
    terravox,
    InternalError,
    WorldError,
    "A bug of terravox: the call was stopped. Nothing that was saved is affected."
);

/// Adds the exceptions to the module.
pub fn add_exceptions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("WorldError", py.get_type::<WorldError>())?;
    module.add("UnsureError", py.get_type::<UnsureError>())?;
    module.add("NotAWorldError", py.get_type::<NotAWorldError>())?;
    module.add("WorldInUseError", py.get_type::<WorldInUseError>())?;
    module.add("DamagedWorldError", py.get_type::<DamagedWorldError>())?;
    module.add("ReadOnlyError", py.get_type::<ReadOnlyError>())?;
    module.add("InternalError", py.get_type::<InternalError>())
}

/// Why a call failed: plain data, made without the interpreter lock.
#[derive(Debug)]
pub enum Failure {
    /// A value that is out of its range: `ValueError`.
    Value(String),
    /// A value of another type: `TypeError`.
    Type(String),
    /// A world that cannot do it: `WorldError`.
    World(String),
    /// A write that may have been made: `UnsureError`.
    Unsure(String),
    /// A world that was opened for reading: `ReadOnlyError`.
    ReadOnly(String),
    /// What a store said.
    Store(StoreError),
    /// A panic: `InternalError`.
    Internal(String),
}

/// The result of work that is done without the interpreter lock.
pub type Outcome<T> = Result<T, Failure>;

/// A `ValueError`.
pub fn bad_value<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Failure::Value(what.into()))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<NotHeld> for Failure {
    fn from(error: NotHeld) -> Failure {
        Failure::World(format!(
            "{error}; the world grows from a generator, which is not part of it"
        ))
    }
}

impl From<PlacementError> for Failure {
    fn from(error: PlacementError) -> Failure {
        Failure::Value(error.to_string())
    }
}

impl From<TerrainError> for Failure {
    fn from(error: TerrainError) -> Failure {
        match error.reason {
            EditError::NotHeld(held) => held.into(),
            _ => Failure::Value(error.to_string()),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Value(what) => PyValueError::new_err(what),
            Failure::Type(what) => PyTypeError::new_err(what),
            Failure::World(what) => WorldError::new_err(what),
            Failure::Unsure(what) => UnsureError::new_err(what),
            Failure::ReadOnly(what) => ReadOnlyError::new_err(what),
            Failure::Internal(what) => InternalError::new_err(what),
            Failure::Store(error) => store_exception(&error),
        }
    }
}

/// The exception of an error of a store.
fn store_exception(error: &StoreError) -> PyErr {
    let text = error.to_string();
    match error {
        StoreError::Io { path, source, .. } => match source.raw_os_error() {
            // Python makes it a FileNotFoundError, PermissionError and so on.
            Some(code) => {
                PyOSError::new_err((code, source.to_string(), path.display().to_string()))
            }
            None => WorldError::new_err(text),
        },
        StoreError::Exists { path } => PyFileExistsError::new_err(format!(
            "{}: the file already exists; pass overwrite=True to overwrite it",
            path.display()
        )),
        StoreError::NotAWorld { .. } | StoreError::TooNew { .. } | StoreError::OldFormat { .. } => {
            NotAWorldError::new_err(text)
        }
        StoreError::Unsure { .. } => UnsureError::new_err(text),
        StoreError::InUse { .. } => WorldInUseError::new_err(text),
        StoreError::Damaged { .. } | StoreError::Index { .. } => DamagedWorldError::new_err(text),
        StoreError::ReadOnly { .. } => ReadOnlyError::new_err(text),
        _ => WorldError::new_err(text),
    }
}

/// Runs `work` without the interpreter lock; a panic becomes an `InternalError`.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Outcome<T> + Send) -> PyResult<T> {
    let run = || match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome,
        Err(panic) => Err(Failure::Internal(panic_text(&*panic))),
    };
    py.detach(run).map_err(PyErr::from)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a bug of terravox stopped the call: {}", text.unwrap_or("no message"))
}
