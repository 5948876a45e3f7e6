//! `World`: making, opening, describing, saving and closing.

use crate::failure::{Failure, Outcome, bad_value, detached};
use crate::materials::{Material, MaterialRef, materials_of, table_of};
use crate::opened::{Cells, OWN_DATA, Opened, is_database};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use terravox::terrain::Placement;
use terravox::voxel::Region;
use terravox_store::WorldInfo;

/// A world of cells: in memory, in a file (`.tvx`) or in a database.
///
/// Make one with `World.memory`, `World.create` or `World.open`. Used as a context manager, it
/// saves at the end of the block, unless that ends by an exception, and closes. If that save fails,
/// it stays open, so that nothing is lost: save again, or `save_as`, and close it.
///
/// Positions of voxels are whole numbers (x, y, z), y up; lengths and points are metres. Arrays of
/// cells are indexed [y, z, x]. Methods release the interpreter lock, so that threads run at once;
/// those that change the world wait for each other.
#[pyclass(frozen, module = "terravox", weakref)]
pub struct World {
    path: Option<String>,
    /// The process that opened it. After a fork, parent and child would write one file.
    process: u32,
    /// `None` once it is closed. Taken after the interpreter lock was released, never while it is
    /// held.
    opened: RwLock<Option<Opened>>,
}

impl World {
    fn of(opened: Opened) -> World {
        // That of the store, since the address of a database may hold a password.
        let path = opened.store.as_ref().map(|store| store.path().display().to_string());
        World { path, process: std::process::id(), opened: RwLock::new(Some(opened)) }
    }

    /// Refuses a world that was opened before a fork.
    fn check_process(&self) -> Outcome<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Failure::World(
                "the world was opened by another process, from which this one was forked; open it \
                 in this process, or start processes with multiprocessing's \"spawn\""
                    .to_owned(),
            )),
        }
    }

    fn lock_to_read(&self) -> Outcome<RwLockReadGuard<'_, Option<Opened>>> {
        self.check_process()?;
        self.opened.read().map_err(|_| broken())
    }

    fn lock_to_write(&self) -> Outcome<RwLockWriteGuard<'_, Option<Opened>>> {
        self.check_process()?;
        self.opened.write().map_err(|_| broken())
    }

    /// Runs `work` on the open world beside other readers, without the interpreter lock.
    pub fn look<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Opened) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        detached(py, || work(self.lock_to_read()?.as_ref().ok_or_else(closed)?))
    }

    /// Runs `work` on the open world alone, without the interpreter lock.
    pub fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Opened) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        detached(py, || work(self.lock_to_write()?.as_mut().ok_or_else(closed)?))
    }

    /// The id of a material, by the table of the world.
    pub fn material_id(&self, py: Python<'_>, material: &MaterialRef) -> PyResult<u8> {
        self.look(py, |opened| material.id(&opened.materials()))
    }
}

fn closed() -> Failure {
    Failure::Value("the world is closed".to_owned())
}

fn broken() -> Failure {
    let what = "an earlier call stopped in the middle by a bug; open the world again";
    Failure::Internal(what.to_owned())
}

impl Drop for World {
    fn drop(&mut self) {
        if self.check_process().is_err() {
            // Closing it here would end what the other process still uses.
            let opened = self.opened.get_mut().map(Option::take);
            std::mem::forget(opened.ok().flatten());
        }
    }
}

/// The description of a new world.
fn description(
    voxel_size_m: f64,
    origin_m: [f64; 3],
    materials: Option<&Bound<'_, PyAny>>,
) -> PyResult<WorldInfo> {
    let placement = Placement { voxel_size_m, origin_m };
    placement.check().map_err(Failure::from)?;
    Ok(WorldInfo { materials: table_of(materials)?, ..WorldInfo::complete(placement) })
}

pub fn text_of(path: PathBuf) -> Outcome<String> {
    let lossy = path.to_string_lossy().into_owned();
    match path.into_os_string().into_string() {
        Ok(path) => Ok(path),
        // An address may hold a password.
        Err(_) if is_database(&lossy) => bad_value("the address of the database is not UTF-8"),
        Err(_) => bad_value(format!("the path {lossy} is not UTF-8")),
    }
}

/// A region as Python sees it: two corners, or `None` if it is empty.
pub fn corners(region: Region) -> Option<([i32; 3], [i32; 3])> {
    (!region.is_empty()).then(|| (region.min.to_array(), region.max.to_array()))
}

#[pymethods]
impl World {
    /// Makes a world in memory; `save_as` writes it to a file.
    #[staticmethod]
    #[pyo3(signature = (*, voxel_size_m = 1.0, origin_m = [0.0; 3], materials = None))]
    fn memory(
        py: Python<'_>,
        voxel_size_m: f64,
        origin_m: [f64; 3],
        materials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<World> {
        let info = description(voxel_size_m, origin_m, materials)?;
        Ok(World::of(detached(py, || Opened::in_memory(&info))?))
    }

    /// Makes a world in a new file, or in a database by its address.
    ///
    /// It exists when this returns: with `overwrite`, the world that was in the file is gone then,
    /// whatever comes of the new one. To keep the old one until the new one is complete, make it
    /// under another name and `os.replace` it.
    #[staticmethod]
    #[pyo3(signature = (
        path, *, voxel_size_m = 1.0, origin_m = [0.0; 3], materials = None, overwrite = false,
        load = true
    ))]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        voxel_size_m: f64,
        origin_m: [f64; 3],
        materials: Option<&Bound<'_, PyAny>>,
        overwrite: bool,
        load: bool,
    ) -> PyResult<World> {
        let path = text_of(path)?;
        let info = description(voxel_size_m, origin_m, materials)?;
        let opened = detached(py, || Opened::create(&path, &info, overwrite, load))?;
        Ok(World::of(opened))
    }

    /// Opens a world in a file, or in a database by its address.
    ///
    /// With `load`, all of its cells are read into memory (at most 8 GiB). Without, each `read` and
    /// `mesh` takes what it needs from the file, at any mip, and `merge` adds to it; edits and rays
    /// need the cells in memory. Any number of programs can open a file with `read_only`.
    ///
    /// Damaged chunks raise DamagedWorldError, unless `skip_damaged`: then they are air, and listed
    /// in `damaged`.
    #[staticmethod]
    #[pyo3(signature = (path, *, read_only = false, load = true, skip_damaged = false))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        read_only: bool,
        load: bool,
        skip_damaged: bool,
    ) -> PyResult<World> {
        let path = text_of(path)?;
        let opened = detached(py, || Opened::open(&path, read_only, load))?;
        if let (Some(first), false) = (opened.damaged.first(), skip_damaged) {
            return Err(crate::failure::DamagedWorldError::new_err(format!(
                "{}: {} parts are damaged, first {}: {}; terravox repair keeps what is whole, \
                 skip_damaged=True opens it without them",
                opened.store()?.path().display(),
                opened.damaged.len(),
                first.part,
                first.what
            )));
        }
        Ok(World::of(opened))
    }

    /// Closes the file. What was not saved is lost. Closing twice is harmless.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.check_process().is_err() {
            // It is the other process's to close.
            return Ok(());
        }
        // Also after a bug: the file must not stay open.
        py.detach(|| {
            let mut opened = match self.opened.write() {
                Ok(opened) => opened,
                Err(poisoned) => poisoned.into_inner(),
            };
            drop(opened.take());
        });
        Ok(())
    }

    fn __enter__(slf: Bound<'_, World>) -> Bound<'_, World> {
        slf
    }

    #[pyo3(signature = (kind, _error, _traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Bound<'_, PyAny>,
        _error: Bound<'_, PyAny>,
        _traceback: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if kind.is_none() {
            // Closing it after a failure would lose all that is in memory only.
            self.save_at_end(py)?;
        }
        self.close(py)
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || Ok(self.lock_to_read()?.is_none()))
    }

    /// The path or address that it was opened by; None for a world in memory.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Edge of a voxel, metres.
    #[getter]
    fn voxel_size_m(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, |opened| Ok(opened.info().voxel_size_m))
    }

    /// Where the min corner of voxel (0, 0, 0) lies, metres.
    #[getter]
    fn origin_m(&self, py: Python<'_>) -> PyResult<(f64, f64, f64)> {
        self.look(py, |opened| Ok(opened.info().origin_m.into()))
    }

    /// The materials, by id.
    #[getter]
    fn materials(&self, py: Python<'_>) -> PyResult<Vec<Material>> {
        self.look(py, |opened| Ok(materials_of(&opened.materials())))
    }

    /// The id of the material of a name; ASCII case is ignored.
    fn material(&self, py: Python<'_>, name: String) -> PyResult<u8> {
        self.material_id(py, &MaterialRef::Name(name))
    }

    /// The smallest box of whole chunks (32 voxels) that holds all of them: its lowest voxel, and
    /// one past its highest. None for an empty world.
    #[getter]
    fn bounds(&self, py: Python<'_>) -> PyResult<Option<([i32; 3], [i32; 3])>> {
        let bounds = self.look(py, |opened| match &opened.cells {
            Cells::Loaded(terrain) => Ok(terrain.grid().bounds()),
            Cells::Stored => {
                let chunks = opened.store()?.chunks()?.into_iter();
                Ok(chunks.fold(Region::default(), |all, chunk| all.union(chunk.region())))
            }
        })?;
        Ok(corners(bounds))
    }

    /// Number of chunks of 32 x 32 x 32 voxels.
    #[getter]
    fn chunks(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |opened| match &opened.cells {
            Cells::Loaded(terrain) => Ok(terrain.grid().chunks().len()),
            Cells::Stored => Ok(opened.store()?.chunks()?.len()),
        })
    }

    /// Whether all changes are on disk.
    #[getter]
    fn saved(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |opened| match &opened.cells {
            Cells::Loaded(terrain) => Ok(terrain.is_saved()),
            Cells::Stored => Ok(true),
        })
    }

    /// Damaged parts that were skipped when the world was opened, as text.
    #[getter]
    fn damaged(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |opened| {
            let text = |bad: &terravox_store::BadPart| format!("{}: {}", bad.part, bad.what);
            Ok(opened.damaged.iter().map(text).collect())
        })
    }

    /// What the world is, and how large: a dict.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (info, memory, stored) = self.look(py, |opened| {
            let memory = match &opened.cells {
                Cells::Loaded(terrain) => Some(terrain.grid().memory().total()),
                Cells::Stored => None,
            };
            let stored = opened.store.as_ref().map(|store| store.stats()).transpose()?;
            Ok((opened.info(), memory, stored))
        })?;
        let dict = PyDict::new(py);
        dict.set_item("path", &self.path)?;
        dict.set_item("voxel_size_m", info.voxel_size_m)?;
        dict.set_item("origin_m", <(f64, f64, f64)>::from(info.origin_m))?;
        dict.set_item("chunks", self.chunks(py)?)?;
        dict.set_item("bounds", self.bounds(py)?)?;
        dict.set_item("memory_bytes", memory)?;
        dict.set_item("file_bytes", stored.map(|stats| stats.file_bytes))?;
        dict.set_item("stored_chunks", stored.map(|stats| stats.chunks))?;
        dict.set_item("saved", self.saved(py)?)?;
        Ok(dict)
    }

    /// A hash of all cells, their water and the materials: 32 hexadecimal digits. Equal worlds have
    /// equal digests, however they were made. Of a world that is not loaded, the digest of what is
    /// stored.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        let digest = self.look(py, |opened| match &opened.cells {
            Cells::Loaded(terrain) => Ok(terrain.grid().digest()?),
            Cells::Stored => {
                let loaded = opened.store()?.load()?;
                match loaded.bad.first() {
                    None => Ok(loaded.grid.digest()?),
                    Some(bad) => Err(Failure::World(format!(
                        "{} is damaged: {}; a world with damage has no digest",
                        bad.part, bad.what
                    ))),
                }
            }
        })?;
        Ok(format!("{digest:032x}"))
    }

    /// Writes all changes in one transaction. They are on disk when this returns. Returns the
    /// number of chunks written. If it fails, nothing changed, and it can be called again; after
    /// UnsureError, all of them may be on disk: in a file the next save completes it, in a database
    /// only `save_as` still writes.
    fn save(&self, py: Python<'_>) -> PyResult<usize> {
        self.change(py, Opened::save)
    }

    /// Writes a copy of the world to a new file: cells, materials, the undo history, and what
    /// `set_data` and other programs stored. Issues a RuntimeWarning if some of that could not be
    /// read where the world was opened; the copy is without it.
    #[pyo3(signature = (path, *, overwrite = false))]
    fn save_as(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        let path = text_of(path)?;
        let left_out = self.look(py, |opened| opened.save_as(&path, overwrite))?;
        if left_out.is_empty() {
            return Ok(());
        }
        let what = format!("the copy is without what could not be read: {}", left_out.join("; "));
        let what = CString::new(what.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &what, 1)
    }

    /// Reads all of the file and compares every hash and every coarse cell. Returns what is
    /// damaged, as text: an empty list for a whole world.
    fn verify(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, |opened| {
            let bad = opened.store()?.verify()?.bad;
            Ok(bad.iter().map(|bad| format!("{}: {}", bad.part, bad.what)).collect())
        })
    }

    /// Bytes that were stored in the file under a name; None if there are none.
    fn data<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.look(py, |opened| Ok(opened.store()?.extra(name)?))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Stores bytes in the file under a name, at once; None removes them.
    #[pyo3(signature = (name, bytes))]
    fn set_data(&self, py: Python<'_>, name: &str, bytes: Option<&[u8]>) -> PyResult<()> {
        if OWN_DATA.contains(&name) || name.starts_with("journal/") {
            bad_value(format!("the name {name:?} is of terravox's own data; use another"))?;
        }
        self.look(py, |opened| {
            opened.check_writable("set_data")?;
            opened.written(opened.store()?.set_extra(name, bytes))
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let path = self.path.as_deref().unwrap_or("in memory");
        Ok(match self.closed(py)? {
            true => format!("<terravox.World {path}, closed>"),
            false => format!("<terravox.World {path}, {} chunks>", self.chunks(py)?),
        })
    }
}

impl World {
    /// Saves what is unsaved, if the world has a file and may be written.
    fn save_at_end(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || match self.lock_to_write()?.as_mut() {
            Some(opened) if opened.store.is_some() && !opened.is_read_only => {
                opened.save().map(drop)
            }
            _ => Ok(()),
        })
    }
}
