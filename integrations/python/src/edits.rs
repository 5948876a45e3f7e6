//! Edits with brushes, copies and pastes, undo and redo.

use crate::arrays::{Voxel, bounded, check_length, region_between, to_voxel};
use crate::brush::Brush;
use crate::cells::CellArrays;
use crate::failure::{Failure, Outcome, bad_value};
use crate::materials::MaterialRef;
use crate::world::{World, corners};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use terravox::edit::{self, Action, BrushOp, Clip, EditMask, EditOp, Volume};
use terravox::voxel::{MaterialTable, VoxelPos};

/// Two corners of a box of voxels.
type Corners = ([i32; 3], [i32; 3]);

/// What an edit changed.
#[pyclass(frozen, module = "terravox")]
pub struct EditSummary {
    /// The smallest box that holds every cell that changed: its lowest voxel, and one past its
    /// highest. None if nothing changed.
    #[pyo3(get)]
    region: Option<Corners>,
    /// Cubic metres taken away, by material id.
    #[pyo3(get)]
    removed: BTreeMap<u8, f64>,
    /// Cubic metres added, by material id.
    #[pyo3(get)]
    added: BTreeMap<u8, f64>,
}

#[pymethods]
impl EditSummary {
    fn __repr__(&self) -> String {
        let total = |volume: &BTreeMap<u8, f64>| volume.values().sum::<f64>();
        let (removed, added) = (total(&self.removed), total(&self.added));
        format!("<terravox.EditSummary removed {removed} m³, added {added} m³>")
    }
}

/// Which cells an edit may change.
#[pyclass(frozen, module = "terravox")]
pub struct Mask {
    materials: Vec<MaterialRef>,
    heights_m: Option<[f64; 2]>,
    slope: Option<[f64; 2]>,
}

#[pymethods]
impl Mask {
    /// `materials`: only cells of these, if any are given. `heights_m`: only cells whose centre lies
    /// between two heights. `slope`: only surfaces whose rise over run lies between two numbers (0
    /// is flat, 1 is 45°).
    #[new]
    #[pyo3(signature = (*, materials = None, heights_m = None, slope = None))]
    fn new(
        materials: Option<&Bound<'_, PyAny>>,
        heights_m: Option<[f64; 2]>,
        slope: Option<[f64; 2]>,
    ) -> PyResult<Mask> {
        if let Some(materials) = materials {
            check_length(materials, "materials", 256)?;
        }
        let materials = materials.map(|given| given.extract()).transpose()?.unwrap_or_default();
        Ok(Mask { materials, heights_m, slope })
    }
}

impl Mask {
    fn resolved(&self, table: &MaterialTable) -> Outcome<EditMask> {
        let materials = self.materials.iter().map(|material| material.id(table));
        let materials = materials.collect::<Outcome<Vec<_>>>()?;
        Ok(EditMask { materials, heights: self.heights_m, slope: self.slope })
    }
}

/// What limits an action: keyword arguments that all of them have.
struct Limits<'a> {
    falloff_m: f64,
    strength: f64,
    mask: Option<&'a Mask>,
}

impl World {
    /// Applies an action, made by `action` once the materials are known.
    fn brush(
        &self,
        py: Python<'_>,
        doing: &str,
        brush: &Brush,
        limits: Limits<'_>,
        action: impl FnOnce(&MaterialTable) -> Outcome<Action> + Send,
    ) -> PyResult<EditSummary> {
        let Limits { falloff_m, strength, mask } = limits;
        self.change(py, |opened| {
            let table = opened.materials();
            let action = action(&table)?;
            let mask = mask.map(|mask| mask.resolved(&table)).transpose()?.unwrap_or_default();
            let brush = brush.inner.clone();
            let op = BrushOp { brush, action, falloff: falloff_m, strength, mask };
            apply(opened.writable(doing)?, &EditOp::Brush(op))
        })
    }
}

fn apply(terrain: &mut terravox::Terrain, op: &EditOp) -> Outcome<EditSummary> {
    let done: edit::EditSummary = terrain.edit(op)?;
    let voxel_m3 = terrain.placement().voxel_size_m.powi(3);
    let volumes = |volume: &Volume| -> BTreeMap<u8, f64> {
        volume.iter().map(|(id, _)| (id, volume.voxels(id) * voxel_m3)).collect()
    };
    Ok(EditSummary {
        region: corners(done.region),
        removed: volumes(&done.removed),
        added: volumes(&done.added),
    })
}

/// Extracts a seed.
fn to_seed(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    bounded(given, "seed", "0 to 18446744073709551615 (2^64 - 1)")
}

/// Defines actions that take a brush and the limits, and whatever they have of their own.
macro_rules! actions {
    ($($(#[$doc:meta])* fn $name:ident($text:literal, $sig:tt; $($(#[$from:meta])* $arg:ident: $type:ty),*)
        |$table:ident| $action:expr;)*) => {
        #[pymethods]
        impl World {
            $(
                $(#[$doc])*
                #[pyo3(signature = $sig)]
                #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
                fn $name(
                    &self,
                    py: Python<'_>,
                    brush: &Bound<'_, Brush>,
                    $($(#[$from])* $arg: $type,)*
                    falloff_m: f64,
                    strength: f64,
                    mask: Option<&Bound<'_, Mask>>,
                ) -> PyResult<EditSummary> {
                    let mask = mask.map(Bound::get);
                    let limits = Limits { falloff_m, strength, mask };
                    self.brush(py, $text, brush.get(), limits, move |$table| $action)
                }
            )*
        }
    };
}

actions! {
    /// Removes ground in the brush, in metres. Water in it stays. As all edits: it can be undone,
    /// and fades in over `falloff_m` from the surface of the brush, scaled by `strength` (0 to 1),
    /// where the `mask` allows.
    fn dig("dig", (brush, *, falloff_m = 0.0, strength = 1.0, mask = None);)
        |_table| Ok(Action::Dig);

    /// Fills the brush with a material: a solid, or a liquid in the space that is free.
    fn fill("fill", (brush, material, *, falloff_m = 0.0, strength = 1.0, mask = None);
        material: MaterialRef)
        |table| Ok(Action::Fill { material: material.id(table)? });

    /// Gives the ground in the brush another material.
    fn paint("paint", (brush, material, *, falloff_m = 0.0, strength = 1.0, mask = None);
        material: MaterialRef)
        |table| Ok(Action::Paint { material: material.id(table)? });

    /// Replaces one material by another; air removes it.
    fn replace("replace", (brush, old, new, *, falloff_m = 0.0, strength = 1.0, mask = None);
        old: MaterialRef, new: MaterialRef)
        |table| Ok(Action::Replace { from: old.id(table)?, to: new.id(table)? });

    /// Smooths the ground.
    fn smooth("smooth", (brush, *, falloff_m = 0.0, strength = 1.0, mask = None);)
        |_table| Ok(Action::Smooth);

    /// Fills the ground up to a plane through `point` and removes what is above it. Holes get
    /// `material`; the one beside them if None.
    fn flatten("flatten", (
            brush, point, normal = [0.0, 1.0, 0.0], *, material = None, falloff_m = 0.0,
            strength = 1.0, mask = None
        );
        point: [f64; 3], normal: [f64; 3], material: Option<MaterialRef>)
        |table| {
            let material = material.map(|material| material.id(table)).transpose()?;
            Ok(Action::Flatten { point, normal, material })
        };

    /// Moves the surface outward, by up to one voxel.
    fn grow("grow", (brush, amount_m, *, falloff_m = 0.0, strength = 1.0, mask = None);
        amount_m: f64)
        |_table| Ok(Action::Grow { amount: amount_m });

    /// Moves the surface inward, by up to one voxel.
    fn erode("erode", (brush, amount_m, *, falloff_m = 0.0, strength = 1.0, mask = None);
        amount_m: f64)
        |_table| Ok(Action::Erode { amount: amount_m });

    /// Moves the surface in and out by noise: at most `amount_m`, in bumps of `size_m`.
    fn roughen("roughen", (
            brush, amount_m, size_m, *, seed = 0, falloff_m = 0.0, strength = 1.0, mask = None
        );
        amount_m: f64, size_m: f64, #[pyo3(from_py_with = to_seed)] seed: u64)
        |_table| Ok(Action::Roughen { amount: amount_m, size: size_m, seed });

    /// Fills what is not solid with a liquid, shores included.
    fn flood("flood", (brush, material, *, falloff_m = 0.0, strength = 1.0, mask = None);
        material: MaterialRef)
        |table| Ok(Action::Flood { material: material.id(table)? });

    /// Removes liquids.
    fn drain("drain", (brush, *, falloff_m = 0.0, strength = 1.0, mask = None);)
        |_table| Ok(Action::Drain);
}

#[pymethods]
impl World {
    /// Copies the voxels from `min` up to `max` so that the lowest goes to `to`. Air is not copied.
    fn copy(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = to_voxel)] min: Voxel,
        #[pyo3(from_py_with = to_voxel)] max: Voxel,
        #[pyo3(from_py_with = to_voxel)] to: Voxel,
    ) -> PyResult<EditSummary> {
        let source = region_between(min, max, 0)?;
        let size = [0, 1, 2].map(|axis| max[axis] - min[axis]);
        let end = [0, 1, 2].map(|axis| to[axis].saturating_add(size[axis]));
        let target = region_between(to, end, 0)?;
        if source.is_empty() {
            bad_value(format!("the box from {min:?} to {max:?} is empty"))?;
        }
        let op = EditOp::copy(source, target.min);
        self.change(py, |opened| apply(opened.writable("copy")?, &op))
    }

    /// As `write`, as an edit that can be undone; of at most 2^24 cells.
    #[pyo3(signature = (min, material, occupancy = None, *, water_index = None, water = None))]
    fn paste(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = to_voxel)] min: Voxel,
        material: &Bound<'_, PyAny>,
        occupancy: Option<&Bound<'_, PyAny>>,
        water_index: Option<&Bound<'_, PyAny>>,
        water: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<EditSummary> {
        let given = CellArrays::new(min, material, occupancy, [water_index, water])?;
        let (region, arrays) = given.slices()?;
        self.change(py, |opened| {
            let terrain = opened.writable("paste")?;
            if region.is_empty() || region.volume() > Clip::MAX_CELLS {
                return bad_value(format!(
                    "paste takes 1 to {} cells, not {}; write takes more",
                    Clip::MAX_CELLS,
                    region.volume()
                ));
            }
            let clip = Clip::new(arrays.dense_box(region))
                .map_err(|error| Failure::Value(error.to_string()))?;
            apply(terrain, &EditOp::write(clip, VoxelPos::from(region.min.to_array())))
        })
    }

    /// Undoes the last edit, or the last stroke. Returns the box of its voxels; None if there is
    /// nothing to undo.
    fn undo(&self, py: Python<'_>) -> PyResult<Option<Corners>> {
        let region = self.change(py, |opened| Ok(opened.writable("undo")?.undo()?))?;
        Ok(region.and_then(corners))
    }

    /// Redoes the last edit that was undone. Returns as `undo`.
    fn redo(&self, py: Python<'_>) -> PyResult<Option<Corners>> {
        let region = self.change(py, |opened| Ok(opened.writable("redo")?.redo()?))?;
        Ok(region.and_then(corners))
    }

    /// Begins a stroke: edits until `end_stroke` are undone as one.
    fn begin_stroke(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |opened| {
            opened.writable("begin_stroke")?.history_mut().begin_stroke();
            Ok(())
        })
    }

    /// Ends a stroke.
    fn end_stroke(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |opened| {
            opened.writable("end_stroke")?.history_mut().end_stroke();
            Ok(())
        })
    }
}
