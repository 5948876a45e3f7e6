//! What a query meets inside one block: its quads on a 16-bit grid under a 4-wide tree
//! with 8-bit boxes.
//!
//! One [`QuadTree`] holds one surface of one block. Everything is in cells from the
//! block's lowest corner, f32; triangles are exactly the mesher's, since its positions
//! are multiples of 1/4096 of a cell and that is the grid here, in every block. Leaves
//! hold four quads, 64 bytes with their words, nodes four boxes in 32 bytes
//! (compare Wald, Benthin and Boulos, "Getting Rid of Packets", 2008, for four-wide
//! trees; Mahovsky and Wyvill, "Memory-Conserving Bounding Volume Hierarchies", 2006,
//! for boxes of bytes).

mod boxes;
mod build;
mod closest;
mod mesh;
#[cfg(test)]
mod naive;
mod node;
#[cfg_attr(all(target_arch = "x86_64", not(terravox_plain)), allow(dead_code))]
mod plain;
mod ray;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
mod simd;
#[cfg(test)]
mod surfaces;
#[cfg(test)]
mod tests;
mod walk;

pub use build::BuildScratch;
pub use closest::LocalPoint;
pub use mesh::{QuadInfo, Triangle};
pub use ray::{LocalHit, LocalRay};

use mesh::Mesh;
use node::Node;
#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
use plain as machine;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use simd as machine;

/// One surface of one block, ready for rays, boxes and points.
///
/// Quads have numbers of their own, `0..quad_count()`, in the order of the tree. Quads
/// without area are left out, and so is a triangle without area of a quad that has
/// some.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadTree {
    /// The root first; a node before its children.
    nodes: Box<[Node]>,
    mesh: Mesh,
}

impl QuadTree {
    /// Number of quads.
    pub fn quad_count(&self) -> usize {
        usize::from(self.mesh.quads)
    }

    /// Number of triangles with area.
    pub fn triangle_count(&self) -> usize {
        let words = (0..self.quad_count()).map(|quad| self.mesh.word(quad));
        words.map(|word| 2 - (word >> mesh::FLAT & 3).count_ones() as usize).sum()
    }

    /// What is known of a quad.
    ///
    /// # Panics
    /// If there is no such quad.
    pub fn quad(&self, quad: u16) -> QuadInfo {
        self.mesh.info(quad)
    }

    /// A triangle of a quad: the first, or the second.
    ///
    /// # Panics
    /// If there is no such quad.
    pub fn triangle(&self, quad: u16, second: bool) -> Triangle {
        self.mesh.triangle(quad, second)
    }

    /// Bytes that the tree takes, its own fields included.
    pub fn bytes(&self) -> usize {
        size_of::<QuadTree>() + self.heap_bytes()
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.nodes) + self.mesh.bytes()
    }

    /// Hands out the boxes of the tree, cells: depth from 0, lowest and highest corner.
    pub fn boxes(&self, mut visit: impl FnMut(usize, [f32; 3], [f32; 3])) {
        self.boxes_below(0, 0, &mut visit);
    }

    fn boxes_below(
        &self,
        node: usize,
        depth: usize,
        visit: &mut impl FnMut(usize, [f32; 3], [f32; 3]),
    ) {
        let node = &self.nodes[node];
        for lane in 0..node::WIDTH {
            let Some((min, max)) = node.bounds(lane) else { continue };
            visit(depth, min, max);
            if let node::Child::Node(child) = node.child(lane) {
                self.boxes_below(child, depth + 1, visit);
            }
        }
    }
}
