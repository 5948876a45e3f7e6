//! Meshes for the renderer, made by the task that meshed the block, until they are shown.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bevy::asset::RenderAssetUsages;
use terravox::mesh::{BlockMesh, Surface};

use crate::surface_mesh::{Colours, SurfaceMesh, part_from, surface_bytes};

/// How surfaces become meshes.
#[derive(Clone)]
pub(crate) struct MeshStyle {
    pub colours: Arc<Colours>,
    /// Larger meshes are split.
    pub max_bytes: usize,
    pub usage: RenderAssetUsages,
}

impl MeshStyle {
    fn is_same(&self, other: &MeshStyle) -> bool {
        Arc::ptr_eq(&self.colours, &other.colours)
            && (self.max_bytes, self.usage) == (other.max_bytes, other.usage)
    }
}

/// The two surfaces of a block, ground and water, as meshes.
pub(crate) struct MadeMesh {
    /// Lives as long as the mesh of the block may be shown. While it is held, nothing else gets
    /// its address.
    source: Weak<BlockMesh>,
    style: MeshStyle,
    surfaces: [Option<SurfaceMesh>; 2],
}

impl MadeMesh {
    /// The meshes of a block, but for those that have to be split.
    pub fn of(source: &Arc<BlockMesh>, style: &MeshStyle) -> MadeMesh {
        let made = |surface: &Surface| {
            let fits = !surface.is_empty() && surface_bytes(surface) <= style.max_bytes;
            fits.then(|| part_from(surface, 0, style).0)
        };
        let surfaces = [made(&source.solid), made(&source.liquid)];
        MadeMesh { source: Arc::downgrade(source), style: style.clone(), surfaces }
    }
}

/// Meshes that are not shown yet, by the address of what they were made from.
#[derive(Default)]
pub(crate) struct MadeMeshes(HashMap<usize, MadeMesh>);

impl MadeMeshes {
    pub fn insert(&mut self, made: MadeMesh) {
        if made.surfaces.iter().any(Option::is_some) {
            self.0.insert(made.source.as_ptr() as usize, made);
        }
    }

    /// Takes the mesh of a surface, 0 for ground and 1 for water, if it was made in this style.
    pub fn take(
        &mut self,
        source: &Arc<BlockMesh>,
        which: usize,
        style: &MeshStyle,
    ) -> Option<SurfaceMesh> {
        let made = self.0.get_mut(&(Arc::as_ptr(source) as usize))?;
        made.surfaces.get_mut(which)?.take().filter(|_| made.style.is_same(style))
    }

    /// Forgets what is taken, and what will never be shown.
    pub fn forget_unused(&mut self) {
        self.0.retain(|_, made| {
            made.source.strong_count() > 0 && made.surfaces.iter().any(Option::is_some)
        });
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::mesh::{Mesher, PAD};
    use terravox::voxel::{DenseBox, MaterialTable, Region};

    fn hill() -> Arc<BlockMesh> {
        let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]).grow(PAD));
        terravox::generate::fill_sdf(&mut cells, 0, |[x, y, _]| 6.0 + 0.02 * x * x - y, |_| 8);
        let mut mesh = BlockMesh::new();
        Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
        Arc::new(mesh)
    }

    fn style() -> MeshStyle {
        MeshStyle {
            colours: Arc::new(Colours::of(&MaterialTable::default())),
            max_bytes: usize::MAX,
            usage: RenderAssetUsages::default(),
        }
    }

    #[test]
    fn a_mesh_is_taken_once_and_only_in_its_style() {
        let (style, hill) = (style(), hill());
        let mut made = MadeMeshes::default();
        made.insert(MadeMesh::of(&hill, &style));
        let taken = made.take(&hill, 0, &style).expect("ground was made");
        assert_eq!(taken.bytes, surface_bytes(&hill.solid));
        assert!(made.take(&hill, 0, &style).is_none() && made.take(&hill, 1, &style).is_none());
        made.insert(MadeMesh::of(&hill, &style));
        let recoloured = self::style();
        assert!(made.take(&hill, 0, &recoloured).is_none(), "the palette changed meanwhile");
        let small = MeshStyle { max_bytes: 1000, ..style };
        made.insert(MadeMesh::of(&hill, &small));
        assert!(made.take(&hill, 0, &small).is_none(), "what has to be split is not made");
    }

    #[test]
    fn what_is_never_shown_is_forgotten() {
        let (style, hill) = (style(), hill());
        let mut made = MadeMeshes::default();
        made.insert(MadeMesh::of(&hill, &style));
        made.forget_unused();
        assert_eq!(made.0.len(), 1);
        drop(hill);
        made.forget_unused();
        assert!(made.0.is_empty());
    }
}
