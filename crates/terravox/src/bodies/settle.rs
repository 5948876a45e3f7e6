//! Writes a body that came to rest back into the world.
//!
//! If it lies almost along the axes, its cells are rotated by quarter turns and moved by whole
//! voxels, without loss. Otherwise the world's cells are sampled trilinearly from the body's, which
//! preserves the volume. In both cases the body is added to what is there: the fuller cell wins.

use super::LooseBody;
use crate::edit::{
    Blend, Clip, EditError, EditOp, Editor, History, PasteOp, PastePose, QuarterTurns,
};
use crate::voxel::{AIR, Cell, ChunkPos, DenseBox, Kind, LIMIT, Region, VoxelGrid, VoxelPos};
use std::collections::BTreeMap;

/// Position and rotation of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BodyPose {
    /// The min corner of the body's voxel (0, 0, 0), in voxels of the world.
    pub position_voxels: [f64; 3],
    /// Unit quaternion x, y, z, w.
    pub rotation: [f64; 4],
}

/// How a body was written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBackMethod {
    /// Cell by cell, after quarter turns about x, y and z.
    Turned(QuarterTurns),
    /// Sampled.
    Resampled,
}

/// Cosine of the largest angle at which a body snaps to the axes: 8°.
const SNAP_COS: f64 = 0.990_27;

type Matrix = [[f64; 3]; 3];

impl LooseBody {
    /// Returns the pose that the body had when it was cut off.
    pub fn first_pose(&self) -> BodyPose {
        let position_voxels = self.origin_voxel.to_array().map(f64::from);
        BodyPose { position_voxels, rotation: [0.0, 0.0, 0.0, 1.0] }
    }

    /// Writes the cells into the world, as one stroke or as part of the open one. Drop the body
    /// afterwards.
    ///
    /// # Errors
    /// [`EditError::Invalid`] if the pose is invalid, [`EditError::BeyondLimits`] and
    /// [`EditError::NotHeld`]; nothing is changed then.
    pub fn write_back(
        &self,
        grid: &mut VoxelGrid,
        pose: &BodyPose,
        mut history: Option<&mut History>,
    ) -> Result<WriteBackMethod, EditError> {
        let matrix = pose.matrix()?;
        let (turn, cos) = nearest_turn(&matrix);
        let (ops, how) = if cos >= SNAP_COS {
            (self.rotated_ops(pose, &matrix, turn)?, WriteBackMethod::Turned(turn))
        } else {
            (self.sampled_ops(pose, &matrix)?, WriteBackMethod::Resampled)
        };
        for op in &ops {
            check_held(grid, op)?;
        }
        let own_stroke = history.as_ref().is_some_and(|history| !history.is_stroke_open());
        if let Some(history) = history.as_deref_mut().filter(|_| own_stroke) {
            history.begin_stroke();
        }
        let mut editor = Editor::default();
        let done = ops
            .iter()
            .try_for_each(|op| editor.apply(grid, op, history.as_deref_mut()).map(|_| ()));
        if let Some(history) = history.filter(|_| own_stroke) {
            history.end_stroke();
        }
        done.map(|()| how)
    }

    /// Returns an operation per chunk of the body, rotated by quarter turns.
    fn rotated_ops(
        &self,
        pose: &BodyPose,
        matrix: &Matrix,
        turn: QuarterTurns,
    ) -> Result<Vec<EditOp>, EditError> {
        let turned = matrix_of(turn);
        // The centre of mass moves by at most half a voxel.
        let at = add(apply(matrix, self.mass.centre), pose.position_voxels);
        let rest = apply(&turned, self.mass.centre);
        let step = [0, 1, 2].map(|i| (at[i] - rest[i]).round());
        let mut ops = Vec::new();
        for chunk in self.grid.chunks() {
            let region = chunk.region().intersect(self.bounds);
            if region.is_empty() {
                continue;
            }
            let corners = [region.min, region.max];
            let corners = corners.map(|corner| apply(&turned, corner.to_array().map(f64::from)));
            let low = [0, 1, 2].map(|i| corners[0][i].min(corners[1][i]).round());
            let at = integers([0, 1, 2].map(|i| low[i] + step[i]))?;
            let pose =
                PastePose { at, quarter_turns: turn, blend: Blend::Add, ..PastePose::default() };
            ops.push(EditOp::Paste(PasteOp {
                clip: Clip::copy(self.grid.as_snapshot(), region)?,
                pose,
            }));
        }
        Ok(ops)
    }

    /// Returns an operation per chunk of the world that the body overlaps, sampled.
    fn sampled_ops(&self, pose: &BodyPose, matrix: &Matrix) -> Result<Vec<EditOp>, EditError> {
        // By chunk of the world: where cells of the body may lie. In the box around a long body
        // there may be thousands of chunks without any.
        let mut parts = BTreeMap::<ChunkPos, Region>::new();
        for chunk in self.grid.chunks() {
            let own = chunk.region().intersect(self.bounds);
            if own.is_empty() {
                continue;
            }
            let region = region_at(own.grow(1), pose, matrix)?;
            for chunk in region.blocks::<5>() {
                let part = parts.entry(chunk).or_default();
                *part = part.union(region.intersect(chunk.region()));
            }
        }
        let mut cells = DenseBox::default();
        let mut ops = Vec::new();
        for part in parts.into_values() {
            let read = body_region(part, pose, matrix)?.grow(2).intersect(self.bounds.grow(2));
            if read.is_empty() {
                continue;
            }
            self.grid.read(read, 0, &mut cells)?;
            let mut sampled = DenseBox::new(part);
            let mut any = false;
            for voxel in part.voxels() {
                let centre = voxel.to_array().map(|v| f64::from(v) + 0.5);
                let moved = [0, 1, 2].map(|i| centre[i] - pose.position_voxels[i]);
                let cell =
                    sample(&cells, self.grid.materials().kinds(), apply_inverse(matrix, moved));
                any |= !cell.is_air();
                sampled.set(voxel, cell);
            }
            if any {
                let pose = PastePose {
                    at: part.min.to_array(),
                    blend: Blend::Add,
                    ..PastePose::default()
                };
                ops.push(EditOp::Paste(PasteOp { clip: Clip::new(sampled)?, pose }));
            }
        }
        Ok(ops)
    }
}

/// Returns the voxels of the world that a box of the body may overlap.
fn region_at(own: Region, pose: &BodyPose, matrix: &Matrix) -> Result<Region, EditError> {
    let to_world = |corner| add(apply(matrix, corner), pose.position_voxels);
    box_around(own, to_world)
}

/// Returns the voxels of the body that a box of the world may overlap.
fn body_region(region: Region, pose: &BodyPose, matrix: &Matrix) -> Result<Region, EditError> {
    let at = pose.position_voxels;
    let to_body = |corner: [f64; 3]| apply_inverse(matrix, [0, 1, 2].map(|i| corner[i] - at[i]));
    box_around(region, to_body)
}

/// Returns the voxels around the corners of a box after they were moved.
fn box_around(region: Region, to: impl Fn([f64; 3]) -> [f64; 3]) -> Result<Region, EditError> {
    let (mut low, mut high) = ([f64::MAX; 3], [f64::MIN; 3]);
    for corner in 0..8 {
        let pick = |i: usize| {
            let end = if corner >> i & 1 == 0 { region.min } else { region.max };
            f64::from(end.to_array()[i])
        };
        let at = to([0, 1, 2].map(pick));
        for i in 0..3 {
            (low[i], high[i]) = (low[i].min(at[i]), high[i].max(at[i]));
        }
    }
    Ok(Region::new(integers(low.map(f64::floor))?, integers(high.map(f64::ceil))?))
}

impl BodyPose {
    /// Returns the rotation as a row-major matrix.
    fn matrix(&self) -> Result<Matrix, EditError> {
        let [x, y, z, w] = self.rotation;
        let square = x * x + y * y + z * z + w * w;
        let finite = self.position_voxels.iter().all(|v| v.is_finite());
        if !(finite && square > 1e-6 && square < 1e6) {
            return Err(EditError::Invalid(
                "a pose needs a finite position and a non-zero, finite rotation",
            ));
        }
        let s = 2.0 / square;
        Ok([
            [1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)],
        ])
    }
}

/// Returns an error if an operation needs chunks that are not held.
fn check_held(grid: &VoxelGrid, op: &EditOp) -> Result<(), EditError> {
    let EditOp::Paste(PasteOp { clip, pose }) = op else { return Ok(()) };
    let mut size = clip.cells().region().max.to_array();
    for (axis, turns) in pose.quarter_turns.iter().enumerate() {
        if turns % 2 == 1 {
            size.swap((axis + 1) % 3, (axis + 2) % 3);
        }
    }
    let min = VoxelPos::from(pose.at);
    let region = Region { min, max: min + size.into() };
    if !region.within_limits() {
        return Err(EditError::BeyondLimits(region));
    }
    region.blocks::<5>().try_for_each(|chunk| Ok(grid.chunk(chunk).map(|_| ())?))
}

/// Returns the quarter turns nearest to a rotation, and the cosine of the angle between them.
fn nearest_turn(matrix: &Matrix) -> (QuarterTurns, f64) {
    let mut best = ([0; 3], f64::MIN);
    for number in 0..64u8 {
        let turn = [number & 3, number >> 2 & 3, number >> 4];
        let other = matrix_of(turn);
        let trace: f64 = (0..9).map(|i| other[i / 3][i % 3] * matrix[i / 3][i % 3]).sum();
        // The first of equal ones, so that the same rotation always has the same turns.
        if (trace - 1.0) / 2.0 > best.1 + 1e-9 {
            best = (turn, (trace - 1.0) / 2.0);
        }
    }
    best
}

/// Returns the rotation by quarter turns about x, then y, then z.
fn matrix_of(turn: QuarterTurns) -> Matrix {
    let column = |axis: usize| {
        let mut v = [0.0; 3];
        v[axis] = 1.0;
        for (about, &turns) in turn.iter().enumerate() {
            let (b, c) = ((about + 1) % 3, (about + 2) % 3);
            for _ in 0..turns % 4 {
                (v[b], v[c]) = (-v[c], v[b]);
            }
        }
        v
    };
    let columns = [column(0), column(1), column(2)];
    [0, 1, 2].map(|row| [0, 1, 2].map(|axis| columns[axis][row]))
}

fn apply(matrix: &Matrix, v: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

/// Applies the inverse rotation.
fn apply_inverse(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| m[0][i] * v[0] + m[1][i] * v[1] + m[2][i] * v[2])
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Converts to integers within the limits of the grid.
fn integers(v: [f64; 3]) -> Result<[i32; 3], EditError> {
    let limit = f64::from(LIMIT);
    match v.iter().all(|v| v.abs() <= limit) {
        true => Ok(v.map(|v| v as i32)),
        // The casts saturate.
        false => {
            let min = v.map(|v| v as i32);
            Err(EditError::BeyondLimits(Region::new(min, min.map(|v| v.saturating_add(1)))))
        }
    }
}

/// Samples the body at a point: the mean fill of the eight nearest centres, of the material with
/// the largest share.
fn sample(cells: &DenseBox, kinds: &[Kind; 256], at: [f64; 3]) -> Cell {
    let low = at.map(|v| (v - 0.5).floor());
    let share = [0, 1, 2].map(|i| at[i] - 0.5 - low[i]);
    // The cast saturates, and what is outside is air.
    let low = VoxelPos::from(low.map(|v| v as i32));
    let region = cells.region();
    if !region.contains(low) || !region.contains(low + VoxelPos::splat(1)) {
        return Cell::AIR;
    }
    let (mut sum, mut most) = (0.0, (0.0, AIR));
    for corner in 0..8 {
        let bits = [corner & 1, corner >> 1 & 1, corner >> 2];
        let cell = cells.cell(low + bits.into());
        if kinds[usize::from(cell.material)] != Kind::Solid {
            continue;
        }
        let weight = |i: usize| if bits[i] == 1 { share[i] } else { 1.0 - share[i] };
        let units = weight(0) * weight(1) * weight(2) * f64::from(cell.units());
        sum += units;
        if units > most.0 {
            most = (units, cell.material);
        }
    }
    // Fainter cells would show as a film around the body.
    if sum < MIN_SAMPLED_UNITS {
        Cell::AIR
    } else {
        Cell::new(most.1, (sum.round() - 1.0).min(255.0) as u8)
    }
}

/// Least fill of a sampled cell, in 1/256.
const MIN_SAMPLED_UNITS: f64 = 24.0;

#[cfg(test)]
mod tests {
    use super::super::{LooseCutter, LooseOptions};
    use super::*;

    const ROCK: u8 = 8;

    /// Returns an asymmetric body, and the world that it was cut from.
    fn lump() -> (VoxelGrid, LooseBody) {
        let mut grid = VoxelGrid::default();
        let mut cells = DenseBox::new(Region::new([-20, -20, -20], [40, 40, 40]));
        let region = |min: [i32; 3], max: [i32; 3]| Region::new(min, max);
        for part in [region([-9, 0, 3], [20, 6, 9]), region([12, 6, 3], [20, 11, 34])] {
            part.voxels().for_each(|voxel| cells.set(voxel, Cell::full(ROCK)));
        }
        region([-9, 6, 3], [12, 7, 9]).voxels().for_each(|v| cells.set(v, Cell::new(14, 90)));
        grid.write(&cells).unwrap();
        let mut loose = LooseCutter::default();
        loose.touch(cells.region());
        let mut cut = loose.cut(&mut grid, None, &LooseOptions::default()).unwrap();
        assert_eq!(cut.bodies.len(), 1);
        (grid, cut.bodies.remove(0))
    }

    fn turned(pose: &BodyPose, axis: usize, degrees: f64) -> BodyPose {
        let half = degrees.to_radians() / 2.0;
        let mut by = [0.0, 0.0, 0.0, half.cos()];
        by[axis] = half.sin();
        let ([a, b, c, w], [x, y, z, v]) = (by, pose.rotation);
        let rotation = [
            w * x + a * v + b * z - c * y,
            w * y - a * z + b * v + c * x,
            w * z + a * y - b * x + c * v,
            w * v - a * x - b * y - c * z,
        ];
        BodyPose { rotation, ..*pose }
    }

    /// Returns the mass and centre of everything in a grid.
    fn weight(grid: &VoxelGrid) -> (f64, [f64; 3]) {
        let (mut sum, mut at) = (0.0, [0.0; 3]);
        for voxel in grid.bounds().voxels() {
            let cell = grid.cell(voxel).unwrap();
            let density = f64::from(grid.materials().density(cell.material));
            let units = f64::from(cell.units()) / 256.0 * density;
            sum += units;
            (0..3).for_each(|i| at[i] += units * (f64::from(voxel.to_array()[i]) + 0.5));
        }
        (sum, at.map(|v| v / sum))
    }

    #[test]
    fn at_its_first_pose_the_world_is_restored() {
        let (mut grid, body) = lump();
        let empty = grid.digest().unwrap();
        let mut history = History::default();
        let how = body.write_back(&mut grid, &body.first_pose(), Some(&mut history)).unwrap();
        assert_eq!(how, WriteBackMethod::Turned([0; 3]));
        let mut again = LooseCutter::default();
        again.touch(grid.bounds());
        assert!(grid.digest().unwrap() != empty);
        let cut = again.cut(&mut grid, None, &LooseOptions::default()).unwrap();
        assert_eq!(cut.bodies[0].grid.digest().unwrap(), body.grid.digest().unwrap());
        history.undo(&mut grid).unwrap();
        assert_eq!(grid.digest().unwrap(), empty, "one stroke");
    }

    #[test]
    fn near_an_axis_all_cells_are_kept_and_rotated() {
        let (_, body) = lump();
        let first = body.first_pose();
        for number in 0..64 {
            let turns = [number & 3, number >> 2 & 3, number >> 4].map(f64::from);
            let pose = (0..3).fold(first, |pose, axis| turned(&pose, axis, 90.0 * turns[axis]));
            // Slightly rotated.
            let pose = turned(&turned(&pose, 1, 4.0), 2, -3.0);
            let mut grid = VoxelGrid::default();
            let how = body.write_back(&mut grid, &pose, None).unwrap();
            assert!(matches!(how, WriteBackMethod::Turned(_)), "{how:?}");
            let (mass, centre) = weight(&grid);
            assert!((mass / body.mass.mass - 1.0).abs() < 1e-9);
            let matrix = pose.matrix().unwrap();
            let there = add(apply(&matrix, body.mass.centre), pose.position_voxels);
            for i in 0..3 {
                assert!((centre[i] - there[i]).abs() <= 0.5 + 1e-6, "{centre:?} {there:?}");
            }
            // Every cell is where its rotated position is, to the voxel.
            let WriteBackMethod::Turned(turn) = how else { unreachable!() };
            let exact = matrix_of(turn);
            let step = [0, 1, 2].map(|i| centre[i] - apply(&exact, body.mass.centre)[i]);
            for voxel in body.bounds.voxels() {
                let middle = voxel.to_array().map(|v| f64::from(v) + 0.5);
                let at = add(apply(&exact, middle), step).map(|v| v.floor() as i32);
                assert_eq!(grid.cell(at.into()).unwrap(), body.grid.cell(voxel).unwrap());
            }
        }
    }

    #[test]
    fn between_the_axes_mass_and_centre_are_kept() {
        let (_, body) = lump();
        for degrees in [20.0, 45.0, 71.0] {
            let pose = turned(&turned(&body.first_pose(), 0, degrees), 1, 33.0);
            let pose = BodyPose { position_voxels: [100.3, -7.7, 3.1], ..pose };
            let mut grid = VoxelGrid::default();
            let how = body.write_back(&mut grid, &pose, None).unwrap();
            assert_eq!(how, WriteBackMethod::Resampled);
            let (mass, centre) = weight(&grid);
            assert!((mass / body.mass.mass - 1.0).abs() < 0.05, "{mass} of {}", body.mass.mass);
            let there = add(apply(&pose.matrix().unwrap(), body.mass.centre), pose.position_voxels);
            let off = [0, 1, 2].map(|i| (centre[i] - there[i]).abs());
            assert!(off.iter().all(|&off| off < 0.15), "{off:?}");
        }
    }

    #[test]
    fn invalid_poses_and_ground_that_is_not_held_are_refused() {
        use crate::voxel::{GridOptions, UnlistedChunks};
        let (mut grid, body) = lump();
        let first = body.first_pose();
        let before = grid.digest().unwrap();
        let nan = BodyPose { position_voxels: [f64::NAN, 0.0, 0.0], ..first };
        let flat = BodyPose { rotation: [0.0; 4], ..first };
        for pose in [nan, flat] {
            let error = body.write_back(&mut grid, &pose, None).unwrap_err();
            assert!(matches!(error, EditError::Invalid(_)), "{error}");
        }
        for far in [f64::from(LIMIT) - 5.0, f64::from(LIMIT), -2e9, 1e300] {
            let far = BodyPose { position_voxels: [far, 0.0, 0.0], ..first };
            for pose in [far, turned(&far, 1, 30.0)] {
                let error = body.write_back(&mut grid, &pose, None).unwrap_err();
                assert!(matches!(error, EditError::BeyondLimits(_)), "{error}");
            }
        }
        assert_eq!(grid.digest().unwrap(), before);
        let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
        let mut unknown = VoxelGrid::new(options);
        let error = body.write_back(&mut unknown, &first, None).unwrap_err();
        assert!(matches!(error, EditError::NotHeld(_)), "{error}");
    }
}
