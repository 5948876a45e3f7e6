//! Operations as plain data.

use super::brush::{MAX_LENGTH, check_point};
use super::error::NamedNumber;
use super::shape::{bounds, region_of};
use super::{Blend, Brush, Clip, EditError, EditMask, PastePose};
use crate::voxel::{AIR, Kind, MaterialTable, Region, VoxelPos};

/// Operations of at most this many cells are done as one box.
pub(super) const ONE_BOX: u64 = 1 << 21;

/// An edit. Applied to equal grids it gives equal grids, on any machine.
///
/// ```
/// use terravox::edit::{Action, Brush, BrushOp, EditMask, EditOp};
///
/// // Grass (2) on ground of up to 35°, fading in over 2 voxels.
/// let brush = Brush::Ball { centre: [0.0; 3], radius: 8.0 };
/// let action = Action::Paint { material: 2 };
/// let mask = EditMask { slope: Some([0.0, 0.7]), ..EditMask::default() };
/// let op = BrushOp { falloff: 2.0, mask, ..BrushOp::new(brush, action) };
/// assert!(matches!(EditOp::from(op), EditOp::Brush(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum EditOp {
    /// Applies an action to the cells that a brush covers.
    Brush(BrushOp),
    /// Copies cells of the world to another position.
    Copy(CopyOp),
    /// Pastes cells that the operation contains. With [`Blend::Replace`], this is a raw write.
    Paste(PasteOp),
}

/// What a brush does, and where.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct BrushOp {
    /// The shape.
    pub brush: Brush,
    /// What happens to the cells in it.
    pub action: Action,
    /// Length over which the brush fades in from its surface, in the unit of the brush; 0 is a hard
    /// edge.
    #[cfg_attr(feature = "serde", serde(default))]
    pub falloff: f64,
    /// Scales the effect, 0 to 1.
    #[cfg_attr(feature = "serde", serde(default = "whole"))]
    pub strength: f64,
    /// Which cells it may change.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mask: EditMask,
}

#[cfg(feature = "serde")]
fn whole() -> f64 {
    1.0
}

/// What a brush does to the cells that it covers. The share `b` of a cell that the brush covers is
/// `clamp(½ + d, 0, 1)`, where d is the depth of the cell's centre inside the brush, in voxels;
/// falloff and strength reduce it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Action {
    /// Fills cells with `material` up to the share `b`; cells that become fuller take the material.
    /// Water stays in the rest of a cell. With a liquid, the same as `Flood`.
    Fill {
        /// A solid or a liquid.
        material: u8,
    },
    /// Empties solid cells down to the share `1 − b` and clears thin films that would be left.
    /// Water in the cells stays.
    Dig,
    /// Changes the material of solid cells that are covered by half or more; their occupancy stays.
    Paint {
        /// A solid.
        material: u8,
    },
    /// As `Paint`, but only for the cells of one material, of any kind. Replacing with air removes
    /// them.
    Replace {
        /// The material to replace; not air.
        from: u8,
        /// Its replacement.
        to: u8,
    },
    /// Smooths the ground; planes along the axes stay as they are.
    Smooth,
    /// Fills the ground up to a plane and removes what is above it.
    Flatten {
        /// A point of the plane; in the unit of the brush.
        point: [f64; 3],
        /// Up from the plane; of any non-zero length.
        normal: [f64; 3],
        /// Material that fills holes; `None` uses the neighbouring material.
        material: Option<u8>,
    },
    /// Moves the surface outward.
    Grow {
        /// How far, above 0 and up to one voxel; in the unit of the brush.
        amount: f64,
    },
    /// Moves the surface inward.
    Erode {
        /// How far, above 0 and up to one voxel; in the unit of the brush.
        amount: f64,
    },
    /// Moves the surface in and out by noise.
    Roughen {
        /// How far at most, above 0 and up to one voxel; in the unit of the brush.
        amount: f64,
        /// Size of the bumps, at least one voxel; in the unit of the brush.
        size: f64,
        /// Seed of the noise.
        seed: u64,
    },
    /// Fills space that is not solid with a liquid, shores included.
    Flood {
        /// A liquid.
        material: u8,
    },
    /// Removes liquids, also those in solid cells.
    Drain,
}

/// A copy within the world.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct CopyOp {
    /// Lowest voxel that is copied.
    pub from: [i32; 3],
    /// One past the highest voxel that is copied.
    pub to: [i32; 3],
    /// Where it is pasted, and how.
    pub pose: PastePose,
}

/// A paste of cells that the operation contains.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PasteOp {
    /// The cells.
    pub clip: Clip,
    /// Where they are pasted, and how.
    pub pose: PastePose,
}

impl From<BrushOp> for EditOp {
    fn from(op: BrushOp) -> EditOp {
        EditOp::Brush(op)
    }
}

impl BrushOp {
    /// The action with a hard brush of full strength and no mask.
    pub fn new(brush: Brush, action: Action) -> BrushOp {
        BrushOp { brush, action, falloff: 0.0, strength: 1.0, mask: EditMask::default() }
    }

    /// Returns an error if a number of the operation is invalid.
    pub(super) fn check(&self, materials: &MaterialTable) -> Result<(), EditError> {
        self.brush.check()?;
        self.mask.check()?;
        let (falloff, strength) = (self.falloff, self.strength);
        let is_allowed = (0.0..=MAX_LENGTH).contains(&falloff);
        NamedNumber::length("the falloff", falloff).check(is_allowed, "0 or more")?;
        NamedNumber::plain("the strength", strength)
            .check((0.0..=1.0).contains(&strength), "0 to 1")?;
        self.action.check(materials)
    }
}

impl Action {
    fn check(&self, materials: &MaterialTable) -> Result<(), EditError> {
        let wrong = |what| Err(EditError::Invalid(what));
        let needs = |material: u8, needed: Kind| match materials.kind(material) == needed {
            true => Ok(()),
            false => Err(EditError::WrongKind { material, needed }),
        };
        let check_amount = |amount: f64| {
            NamedNumber::length("the amount", amount)
                .check(amount > 0.0 && amount <= 1.0, "above 0, at most 1 voxel")
        };
        match *self {
            Action::Fill { material: AIR } => wrong("air cannot be filled in; use dig"),
            Action::Replace { from: AIR, .. } => wrong("air cannot be replaced; use fill"),
            Action::Paint { material } => needs(material, Kind::Solid),
            Action::Flood { material } => needs(material, Kind::Liquid),
            Action::Flatten { material, point, normal } => {
                let long = normal.iter().map(|v| v * v).sum::<f64>();
                check_point("a coordinate of the plane's point", &point)?;
                if !(long > 1e-18 && long < 1e18) {
                    return wrong("the plane's normal must be finite and not zero");
                }
                material.map_or(Ok(()), |material| needs(material, Kind::Solid))
            }
            Action::Grow { amount } | Action::Erode { amount } => check_amount(amount),
            Action::Roughen { amount, size, .. } => {
                check_amount(amount)?;
                let is_allowed = (1.0..=MAX_LENGTH).contains(&size);
                NamedNumber::length("the size of the bumps", size)
                    .check(is_allowed, "at least 1 voxel")
            }
            _ => Ok(()),
        }
    }

    fn scaled(&self, scale: f64, offset: [f64; 3]) -> Action {
        let mut action = self.clone();
        match &mut action {
            Action::Flatten { point, .. } => {
                *point = [0, 1, 2].map(|i| point[i] * scale + offset[i]);
            }
            Action::Grow { amount } | Action::Erode { amount } => *amount *= scale,
            Action::Roughen { amount, size, .. } => {
                *amount *= scale;
                *size *= scale;
            }
            _ => {}
        }
        action
    }
}

impl EditOp {
    /// Maximum number of cells in the box of one operation. Larger operations return
    /// [`EditError::TooLarge`].
    pub const MAX_CELLS: u64 = 1 << 30;

    /// Digs a ball. Centre and radius are in voxels for [`Editor`](super::Editor), in world metres
    /// for [`Terrain::edit`](crate::Terrain::edit); the same holds for the balls below.
    pub fn dig_ball(centre: impl Into<[f64; 3]>, radius: f64) -> EditOp {
        ball(centre, radius, Action::Dig)
    }

    /// Fills a ball with `material`.
    pub fn fill_ball(material: u8, centre: impl Into<[f64; 3]>, radius: f64) -> EditOp {
        ball(centre, radius, Action::Fill { material })
    }

    /// Paints the ground in a ball with `material`.
    pub fn paint_ball(material: u8, centre: impl Into<[f64; 3]>, radius: f64) -> EditOp {
        ball(centre, radius, Action::Paint { material })
    }

    /// Smooths the ground in a ball, `strength` from 0 to 1.
    pub fn smooth_ball(centre: impl Into<[f64; 3]>, radius: f64, strength: f64) -> EditOp {
        let brush = Brush::Ball { centre: centre.into(), radius };
        BrushOp { strength, ..BrushOp::new(brush, Action::Smooth) }.into()
    }

    /// Writes the cells of `clip` so that its lowest voxel is `at`, over whatever is there.
    pub fn write(clip: Clip, at: VoxelPos) -> EditOp {
        let pose = PastePose { at: at.to_array(), blend: Blend::Replace, ..PastePose::default() };
        EditOp::Paste(PasteOp { clip, pose })
    }

    /// Copies the voxels of `region` so that the lowest one goes to `at`, leaving what is
    /// there where the copy has air.
    pub fn copy(region: Region, at: VoxelPos) -> EditOp {
        let pose = PastePose { at: at.to_array(), ..PastePose::default() };
        EditOp::Copy(CopyOp { from: region.min.to_array(), to: region.max.to_array(), pose })
    }

    /// Returns the smallest box of voxels outside of which an operation, in voxels, changes
    /// nothing: for the rules of a game, such as in
    /// [`HostWorld::decide`](crate::replicate::HostWorld::decide).
    ///
    /// ```
    /// use terravox::edit::EditOp;
    /// use terravox::voxel::Region;
    ///
    /// let dig = EditOp::dig_ball([0.5, -18.0, 0.0], 3.0);
    /// assert_eq!(dig.region()?, Region::new([-3, -21, -3], [4, -15, 3]));
    /// let is_too_deep = dig.region()?.min.y < -20;
    /// assert!(is_too_deep);
    /// # Ok::<(), terravox::edit::EditError>(())
    /// ```
    ///
    /// # Errors
    /// If a number of the shape or of the pose is invalid, or the box is beyond the limits of the
    /// grid.
    pub fn region(&self) -> Result<Region, EditError> {
        match self {
            EditOp::Brush(op) => {
                op.brush.check()?;
                region_of(bounds(&op.brush)?)
            }
            EditOp::Copy(op) => {
                let source = Region::new(op.from, op.to);
                Clip::check_source(source)?;
                op.pose.region(source.size())
            }
            EditOp::Paste(op) => op.pose.region(op.clip.cells().region().size()),
        }
    }

    /// The same operation with every length of it multiplied by `scale` and every point
    /// then moved by `offset`: how an operation in metres becomes one in voxels. What is
    /// in whole voxels (copies, pastes) stays.
    #[must_use]
    pub fn scaled(&self, scale: f64, offset: [f64; 3]) -> EditOp {
        let EditOp::Brush(op) = self else { return self.clone() };
        EditOp::Brush(BrushOp {
            brush: op.brush.scaled(scale, offset),
            action: op.action.scaled(scale, offset),
            falloff: op.falloff * scale,
            strength: op.strength,
            mask: op.mask.scaled(scale, offset),
        })
    }
}

fn ball(centre: impl Into<[f64; 3]>, radius: f64, action: Action) -> EditOp {
    BrushOp::new(Brush::Ball { centre: centre.into(), radius }, action).into()
}
