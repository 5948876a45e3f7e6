//! Embree and Bullet, through the thin layer in `peers-cpp`. One call per query; it costs a
//! nanosecond or two.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::super::blocks::SurfaceBlock;
use super::{Index, Triangle, between};

type Handle = NonNull<c_void>;

unsafe extern "C" {
    fn peer_embree_build(
        positions: *const f32,
        vertices: usize,
        indices: *const u32,
        triangles: usize,
        bytes: *mut i64,
    ) -> Option<Handle>;
    fn peer_embree_free(scene: Handle);
    fn peer_embree_closest(scene: Handle, from: *const f32, direction: *const f32) -> f32;
    fn peer_bullet_build(
        positions: *const f32,
        vertices: usize,
        indices: *const u32,
        triangles: usize,
        bytes: *mut i64,
    ) -> Option<Handle>;
    fn peer_bullet_free(peer: Handle);
    fn peer_bullet_closest(peer: Handle, from: *const f32, to: *const f32) -> f32;
    fn peer_bullet_boxed(
        peer: Handle,
        min: *const f32,
        max: *const f32,
        out: *mut f32,
        room: usize,
    ) -> usize;
}

/// An Embree scene.
pub struct Embree {
    scene: Handle,
    bytes: usize,
}

impl Index for Embree {
    const NAME: &'static str = "Embree";
    const HAS_BOXES: bool = false;

    fn build(block: &SurfaceBlock) -> Embree {
        let (positions, indices, mut bytes) =
            (block.surface.positions.as_flattened(), &block.surface.indices, 0);
        let (vertices, triangles) = (positions.len() / 3, indices.len() / 3);
        // SAFETY: the arrays have as many numbers as stated, and are copied.
        let scene = unsafe {
            let (positions, indices) = (positions.as_ptr(), indices.as_ptr());
            peer_embree_build(positions, vertices, indices, triangles, &mut bytes)
        };
        let scene = scene.expect("Embree makes a scene");
        Embree { scene, bytes: bytes.max(0) as usize }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        let direction = between(from, to);
        // SAFETY: the scene is alive, the arrays have three numbers.
        let t = unsafe { peer_embree_closest(self.scene, from.as_ptr(), direction.as_ptr()) };
        t.is_finite().then_some(t)
    }
}

impl Drop for Embree {
    fn drop(&mut self) {
        // SAFETY: it is alive, and not used again.
        unsafe { peer_embree_free(self.scene) }
    }
}

/// A Bullet shape.
pub struct Bullet {
    peer: Handle,
    bytes: usize,
}

impl Index for Bullet {
    const NAME: &'static str = "Bullet, quantized";
    const BUILD_INTERVAL_ROUNDS: usize = 8;

    fn build(block: &SurfaceBlock) -> Bullet {
        let (positions, indices, mut bytes) =
            (block.surface.positions.as_flattened(), &block.surface.indices, 0);
        let (vertices, triangles) = (positions.len() / 3, indices.len() / 3);
        // SAFETY: the arrays have as many numbers as stated, and are copied.
        let peer = unsafe {
            let (positions, indices) = (positions.as_ptr(), indices.as_ptr());
            peer_bullet_build(positions, vertices, indices, triangles, &mut bytes)
        };
        let peer = peer.expect("Bullet makes a shape");
        Bullet { peer, bytes: bytes.max(0) as usize }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        // SAFETY: the peer is alive, the arrays have three numbers.
        let t = unsafe { peer_bullet_closest(self.peer, from.as_ptr(), to.as_ptr()) };
        t.is_finite().then_some(t)
    }

    fn in_box(&self, min: [f32; 3], max: [f32; 3], out: &mut Vec<Triangle>) {
        let old = out.len();
        out.resize(old + 256, Triangle::default());
        let room = out[old..].as_flattened_mut();
        let (first, max_triangles) = (room.as_flattened_mut().as_mut_ptr(), 256);
        // SAFETY: the peer is alive, the corners have three numbers, and there is room
        // for as many triangles as stated.
        let count = unsafe {
            peer_bullet_boxed(self.peer, min.as_ptr(), max.as_ptr(), first, max_triangles)
        };
        assert!(count <= max_triangles, "more triangles than room");
        out.truncate(old + count);
    }
}

impl Drop for Bullet {
    fn drop(&mut self) {
        // SAFETY: it is alive, and not used again.
        unsafe { peer_bullet_free(self.peer) }
    }
}
