//! Checks of what Python gives: arrays of the right type, shape and order, lists of a bounded
//! length, positions within the world.
//!
//! Arrays are indexed `[y, z, x]` (heights `[z, x]`), in C order: x is fastest, then z, then y.
//! That is how terravox holds cells, so that rows are copied as they are.

use crate::failure::{Failure, Outcome, bad_value};
use numpy::{
    Element, PyArray2, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArray,
    PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods, dtype,
    get_array_module, ndarray::IxDyn,
};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use terravox::voxel::{DenseBox, LIMIT, MAX_MIP, Region};

/// A voxel, as Python gives it: [`to_voxel`] extracts it.
pub type Voxel = [i64; 3];

/// Extracts an argument. An integer that its type cannot hold is a `ValueError` that says what is
/// allowed, where PyO3 has an `OverflowError`.
pub fn bounded<'py, T: FromPyObjectOwned<'py>>(
    given: &Bound<'py, PyAny>,
    name: &str,
    allowed: &str,
) -> PyResult<T> {
    given.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        match error.is_instance_of::<PyOverflowError>(given.py()) {
            true => Failure::Value(format!("{name} is {given}; it must be {allowed}")).into(),
            false => error,
        }
    })
}

/// Extracts a voxel.
pub fn to_voxel(given: &Bound<'_, PyAny>) -> PyResult<Voxel> {
    bounded(given, "a voxel", "within the limits of a world, ±1073741824 (2^30)")
}

/// Extracts a mip.
pub fn to_mip(given: &Bound<'_, PyAny>) -> PyResult<u8> {
    let allowed = format!("0 to {MAX_MIP}");
    match bounded(given, "mip", &allowed)? {
        mip @ 0..=MAX_MIP => Ok(mip),
        mip => Err(Failure::Value(format!("mip is {mip}; it must be {allowed}")).into()),
    }
}

/// An array of Python that was checked: its slice can be read without the interpreter lock.
pub struct Checked<'py, T: Element> {
    array: PyReadonlyArray<'py, T, IxDyn>,
    shape: Vec<usize>,
}

impl<'py, T: Element> Checked<'py, T> {
    /// Checks that `given` is a C-ordered array of `T` with `axes` axes.
    pub fn new(given: &Bound<'py, PyAny>, name: &str, axes: usize) -> PyResult<Checked<'py, T>> {
        let py = given.py();
        let wanted = dtype::<T>(py);
        let Ok(untyped) = given.cast::<PyUntypedArray>() else {
            let what = format!(
                "{name} is a {}; it must be a numpy array of {wanted}",
                given.get_type().name()?
            );
            return Err(Failure::Type(what).into());
        };
        check_unmasked(given, name)?;
        if !untyped.dtype().is_equiv_to(&wanted) {
            let what = format!(
                "{name} is an array of {}; it must be of {wanted}: {name}.astype(\"{wanted}\")",
                untyped.dtype()
            );
            return Err(Failure::Type(what).into());
        }
        if untyped.ndim() != axes {
            let order = ["", "", ": [z, x]", ": [y, z, x]"].get(axes).copied().unwrap_or("");
            let given = untyped.ndim();
            let what = format!("{name} has {given} axes; it must have {axes}{order}");
            return Err(Failure::Value(what).into());
        }
        if !untyped.is_c_contiguous() {
            let what = format!(
                "{name} is not in C order (its last axis must be contiguous): \
                 numpy.ascontiguousarray({name})"
            );
            return Err(Failure::Value(what).into());
        }
        // Slices of Rust must be aligned. A field of a record or a buffer with an offset may not be.
        if !untyped.is_aligned() {
            let what = format!("{name} is not aligned in memory: {name}.copy()");
            return Err(Failure::Value(what).into());
        }
        let shape = untyped.shape().to_vec();
        let array: PyReadonlyArrayDyn<'py, T> = given.cast::<PyArrayDyn<T>>()?.try_readonly()?;
        Ok(Checked { array, shape })
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All elements, in C order.
    pub fn slice(&self) -> Outcome<&[T]> {
        let slice = self.array.as_slice();
        slice.map_err(|error| Failure::Value(format!("the array cannot be read: {error}")))
    }

    /// Checks that the array has the shape of another one.
    pub fn check_shape(&self, name: &str, shape: &[usize], of: &str) -> Outcome<()> {
        match self.shape == shape {
            true => Ok(()),
            false => bad_value(format!(
                "{name} has the shape {:?}; it must be that of {of}, {shape:?}",
                self.shape
            )),
        }
    }
}

/// Refuses a masked array: its masked elements would be read as what lies beneath the mask.
fn check_unmasked(given: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    // It is a subclass. Ordinary arrays need no look at that module.
    if given.is_exact_instance_of::<PyUntypedArray>() || !given.is_instance_of::<PyUntypedArray>() {
        return Ok(());
    }
    let masked = given.py().import("numpy.ma")?.getattr("MaskedArray")?;
    match given.is_instance(&masked)? {
        true => {
            let what = format!(
                "{name} is a masked array, whose mask would be ignored; say what masked elements \
                 are: {name}.filled(…)"
            );
            Err(Failure::Type(what).into())
        }
        false => Ok(()),
    }
}

/// What the elements of an array may be, before they are converted.
#[derive(Clone, Copy)]
pub enum Numbers {
    /// Integers and floats.
    Real,
    /// Integers: a float that is cut to an integer would be a mistake.
    Integer,
}

/// Copies what Python gave as an array of two axes and of `T`: an array, or anything that NumPy
/// makes one of. `check` refuses shapes before anything is copied: an array that NumPy repeats may
/// have any length.
pub fn copied<'py, T: Element>(
    given: &Bound<'py, PyAny>,
    name: &str,
    numbers: Numbers,
    check: impl FnOnce([usize; 2]) -> Outcome<()>,
) -> PyResult<PyReadonlyArray2<'py, T>> {
    let py = given.py();
    check_unmasked(given, name)?;
    let array = get_array_module(py)?.call_method1("asarray", (given,))?;
    let array = array.cast_into::<PyUntypedArray>()?;
    let (kinds, wanted) = match numbers {
        Numbers::Real => (&b"iuf"[..], "numbers"),
        Numbers::Integer => (&b"iu"[..], "integers"),
    };
    if !kinds.contains(&array.dtype().kind()) {
        let what = format!("{name} is an array of {}; it must be of {wanted}", array.dtype());
        return Err(Failure::Type(what).into());
    }
    let &[rows, columns] = array.shape() else {
        let what = format!("{name} has {} axes; it must have 2", array.ndim());
        return Err(Failure::Value(what).into());
    };
    check([rows, columns])?;
    // Always a new array: aligned, in C order, and of no other owner.
    let copy = array.call_method1("astype", (dtype::<T>(py), "C"))?;
    Ok(copy.cast_into::<PyArray2<T>>()?.try_readonly()?)
}

/// How many rows an array may have.
pub struct RowLimit {
    pub rows: usize,
    /// The limit in words, such as "a path takes 4096".
    pub text: &'static str,
}

/// Copies the rows of an array of shape (n, 3).
pub fn triples<T: Element + Copy>(
    given: &Bound<'_, PyAny>,
    name: &str,
    numbers: Numbers,
    limit: &RowLimit,
) -> PyResult<Vec<[T; 3]>> {
    let array = copied(given, name, numbers, |[rows, columns]| {
        if columns != 3 {
            return bad_value(format!(
                "{name} has the shape [{rows}, {columns}]; it must be (n, 3)"
            ));
        }
        match rows > limit.rows {
            true => bad_value(format!("{name} has {rows} rows; {}", limit.text)),
            false => Ok(()),
        }
    })?;
    Ok(array.as_slice()?.as_chunks().0.to_vec())
}

/// Refuses a sequence of more than `most` items before memory is taken for it: `range(10**12)` is
/// one.
pub fn check_length(given: &Bound<'_, PyAny>, name: &str, most: usize) -> Outcome<()> {
    match given.len() {
        Ok(length) if length > most => {
            bad_value(format!("{name} has {length} entries; at most {most} are allowed"))
        }
        // What has no length is no sequence, which its extraction says.
        _ => Ok(()),
    }
}

/// Checks that there is no NaN, and nothing infinite unless that is allowed.
pub fn check_numbers(name: &str, shape: &[usize], values: &[f32], infinite: bool) -> Outcome<()> {
    let is_wrong = |v: &f32| if infinite { v.is_nan() } else { !v.is_finite() };
    // Chunks, so that the common case runs on vectors.
    let first =
        values.chunks(4096).position(|part| part.iter().filter(|v| is_wrong(v)).count() > 0);
    let Some(part) = first else { return Ok(()) };
    let at = values[part * 4096..].iter().position(is_wrong).unwrap_or(0) + part * 4096;
    let wrong = values[at..].iter().filter(|v| is_wrong(v)).count();
    let allowed = if infinite { "numbers" } else { "finite numbers" };
    bad_value(format!(
        "{name}{:?} is {} ({wrong} such values); it must hold {allowed} only",
        index(at, shape),
        values[at]
    ))
}

/// The index along each axis of an element in C order.
fn index(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (axis, &length) in shape.iter().enumerate().rev() {
        index[axis] = at % length.max(1);
        at /= length.max(1);
    }
    index
}

/// Most chunks that the region of one call may cross: thin regions have many for their cells.
const MAX_CHUNKS: u64 = 1 << 18;

/// The region from `min` up to, not including, `max`, in cells of a mip.
pub fn region_between(min: Voxel, max: Voxel, mip: u8) -> Outcome<Region> {
    if (0..3).any(|axis| min[axis] > max[axis]) {
        return bad_value(format!("the box from {min:?} to {max:?} is inverted"));
    }
    let limit = i64::from(LIMIT) >> mip;
    if min.iter().chain(&max).any(|v| !(-limit..=limit).contains(v)) {
        let unit = if mip == 0 { "voxels" } else { "cells of that mip" };
        return bad_value(format!(
            "the box from {min:?} to {max:?} is not within the limits of a world, ±{limit} {unit}"
        ));
    }
    let [min, max] = [min, max].map(|corner| corner.map(|v| v as i32));
    let region = Region::new(min, max);
    if region.volume() > DenseBox::MAX_CELLS {
        return bad_value(format!(
            "the box from {min:?} to {max:?} has {} cells; at most {} (2^30) are allowed, so split it",
            region.volume(),
            DenseBox::MAX_CELLS
        ));
    }
    let chunks = region.coarser(5).volume();
    if chunks > MAX_CHUNKS {
        return bad_value(format!(
            "the box from {min:?} to {max:?} crosses {chunks} blocks of 32 x 32 x 32 cells; one call \
             takes {MAX_CHUNKS} (2^18), so split it"
        ));
    }
    Ok(region)
}

/// The region of an array of shape `[y, z, x]` whose lowest cell is `min`.
pub fn region_of_array(min: Voxel, shape: &[usize]) -> Outcome<Region> {
    let length = |axis: usize| i64::try_from(shape[axis]).unwrap_or(i64::MAX);
    let size = [length(2), length(0), length(1)];
    let max = [0, 1, 2].map(|axis| min[axis].saturating_add(size[axis]));
    region_between(min, max, 0)
}

/// The shape `[y, z, x]` of an array over a region.
pub fn shape_of(region: Region) -> [usize; 3] {
    let [x, y, z] = region.size();
    [y, z, x]
}
