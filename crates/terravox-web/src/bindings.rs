//! What JavaScript sees: classes for a world, for changes of its meshes and for an imported file.
//! Lengths are metres, times milliseconds; ids of bodies are exact in a double.

use crate::opfs::SyncAccessHandle;
use crate::{News, Player, PlayerWorld, PlayerWorldOptions, Steering};
use js_sys::Uint8Array;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use terravox::collide::Filter;
use terravox::edit::EditOp;
use terravox::lod::{LodOptions, MeshSwap, ShownMesh};
use terravox::math::Aabb;
use terravox::mesh::{PackedIndices, PackedSurface, Surface};
use terravox::replicate::SharedBodyKind;
use terravox::terrain::{Budget, Terrain};
use terravox::voxel::{MipBlock, Region};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(text: &str);
}

/// Writes panics to the console, since the trap that follows has no message.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
}

/// Makes a world of a .tvx file, a Roblox place, a scene or a heightmap; the error says why it
/// cannot.
#[wasm_bindgen]
pub fn import_world(name: &str, bytes: Vec<u8>) -> Result<Imported, JsError> {
    crate::import_world(name, bytes).map(Imported).map_err(|e| JsError::new(&e))
}

/// A file as a world.
#[wasm_bindgen]
pub struct Imported(crate::ImportedWorld);

#[wasm_bindgen]
impl Imported {
    /// The bytes of a `.tvx` file.
    pub fn bytes(&self) -> Uint8Array {
        Uint8Array::from(self.0.bytes.as_slice())
    }

    /// A point above its ground, metres; empty if the file was a world already.
    pub fn start(&self) -> Vec<f64> {
        self.0.start_m.map(Vec::from).unwrap_or_default()
    }

    /// Notes for the user, a line each.
    pub fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }
}

/// A world, and the player in it.
#[wasm_bindgen]
pub struct WebWorld {
    world: PlayerWorld,
    player: Player,
    swaps: VecDeque<MeshSwap>,
    /// Whether all meshes that JavaScript has are to be dropped before it takes these.
    has_reset: bool,
    packet: Vec<u8>,
}

/// Why the game of a server refused something, if a message of it says so: `terravox serve` refuses
/// throws by `{"refused":"throw","reason":"…"}`.
fn refusal_of(message: &[u8]) -> Option<String> {
    let value = serde_json::from_slice::<Value>(message).ok()?;
    value.get("refused")?;
    Some(value.get("reason")?.as_str()?.to_owned())
}

/// What is said of [`News::Unreadable`].
const UNREADABLE: &str = "A part of this world cannot be read and is missing: download the world, \
    mend it with terravox repair, and drop it here.";

fn micros(now_ms: f64) -> u64 {
    (now_ms * 1000.0) as u64
}

fn options(view_m: f64, detail: f32) -> PlayerWorldOptions {
    // What a browser still draws.
    let max_triangles = 2_500_000;
    let lod =
        LodOptions { morph: true, detail: detail.max(1.0), max_triangles, ..Default::default() };
    PlayerWorldOptions { view_m, lod, clock: Some(performance_now) }
}

#[wasm_bindgen]
impl WebWorld {
    /// Joins the world of a server.
    pub fn join(token: &[u8], view_m: f64, detail: f32) -> Result<WebWorld, JsError> {
        let world =
            PlayerWorld::join(token, options(view_m, detail)).map_err(|e| JsError::new(&e))?;
        Ok(WebWorld::new(world))
    }

    /// Makes a local world of hills in memory.
    pub fn new_in_memory(seed: f64, view_m: f64, detail: f32) -> WebWorld {
        WebWorld::new(PlayerWorld::new_in_memory(seed as u64, options(view_m, detail)))
    }

    /// Opens a local world in a file of the browser. With a seed, makes a world of hills in an empty
    /// file.
    pub fn open(
        handle: SyncAccessHandle,
        name: &str,
        seed: Option<f64>,
        view_m: f64,
        detail: f32,
    ) -> Result<WebWorld, JsError> {
        let (disk, options) = (Arc::new(handle), options(view_m, detail));
        let world = match seed {
            Some(seed) => PlayerWorld::open_or_create(disk, name, seed as u64, options),
            None => PlayerWorld::open_existing(disk, name, options),
        };
        Ok(WebWorld::new(world.map_err(|e| JsError::new(&e))?))
    }

    /// Whether all edits of a local world are written.
    pub fn is_saved(&self) -> bool {
        self.world.is_saved()
    }

    /// Writes the edits of a local world.
    pub fn save(&mut self) -> Result<(), JsError> {
        self.world.save().map_err(|e| JsError::new(&e))
    }

    /// A local world, with all its edits, as the bytes of a `.tvx` file.
    pub fn bytes(&self) -> Result<Option<Uint8Array>, JsError> {
        let bytes = self.world.to_bytes().map_err(|e| JsError::new(&e))?;
        Ok(bytes.map(|bytes| Uint8Array::from(bytes.as_slice())))
    }

    /// What is shown, as the bytes of a `.glb` file.
    pub fn glb(&self) -> Result<Uint8Array, JsError> {
        let bytes = self.world.to_glb().map_err(|e| JsError::new(&e))?;
        Ok(Uint8Array::from(bytes.as_slice()))
    }

    fn new(world: PlayerWorld) -> WebWorld {
        WebWorld {
            world,
            player: Player::new([0.0, 0.0, 0.0]),
            swaps: VecDeque::new(),
            has_reset: false,
            packet: Vec::new(),
        }
    }

    /// Queues what changed of the meshes.
    fn take_swaps(&mut self) {
        if self.world.take_mesh_reset() {
            self.swaps.clear();
            self.has_reset = true;
        }
        self.swaps.extend(self.world.mesh_swaps());
    }

    /// Whether all meshes that were taken so far are to be dropped before the next one is taken.
    pub fn take_reset(&mut self) -> bool {
        std::mem::take(&mut self.has_reset)
    }

    /// Lets all meshes be taken again, for a graphics card that was lost.
    pub fn reset_meshes(&mut self) {
        self.world.reset_mesh_swaps();
        self.take_swaps();
    }

    /// Begins again over a new link: call it when that is open.
    pub fn reconnect(&mut self) {
        self.world.reconnect();
    }

    /// Takes a packet of the server.
    pub fn receive(&mut self, packet: &[u8], now_ms: f64) -> Result<(), JsError> {
        self.world.receive(packet, micros(now_ms)).map_err(|e| JsError::new(&e))
    }

    /// The next packet for the server, if there is one.
    pub fn transmit(&mut self, now_ms: f64) -> Option<Uint8Array> {
        let is_due = self.world.transmit(micros(now_ms), &mut self.packet);
        is_due.then(|| Uint8Array::from(self.packet.as_slice()))
    }

    /// Works for some milliseconds on what the player's view needs.
    pub fn update(&mut self, now_ms: f64, millis: f32) -> Result<(), JsError> {
        let eye_m = self.player.eye_m();
        let updated = self.world.update(micros(now_ms), eye_m, Budget::Millis(millis));
        self.take_swaps();
        updated.map_err(|e| JsError::new(&e))
    }

    /// Makes meshes for some milliseconds, without handling messages of the server: before others'
    /// edits are applied, and while there is no link.
    pub fn update_terrain(&mut self, millis: f32) {
        self.world.update_terrain(self.player.eye_m(), Budget::Millis(millis));
        self.take_swaps();
    }

    /// Moves the player.
    #[allow(clippy::too_many_arguments)]
    pub fn steer(
        &mut self,
        seconds: f64,
        x: f64,
        z: f64,
        climb: f64,
        jumps: bool,
        is_fast: bool,
        is_flying: bool,
    ) {
        let Some(terrain) = self.world.terrain() else { return };
        self.player.is_flying = is_flying;
        self.player.step(terrain, &Steering { walk: [x, z], climb, jumps, is_fast }, seconds);
    }

    /// Puts the player's feet at a point.
    pub fn teleport(&mut self, x: f64, y: f64, z: f64) {
        self.player.teleport([x, y, z]);
    }

    /// Eye x, y, z; 1 on the ground; 1 in water.
    pub fn eye(&self) -> Vec<f64> {
        let [x, y, z] = self.player.eye_m();
        let flag = |is: bool| f64::from(u8::from(is));
        vec![x, y, z, flag(self.player.is_on_ground()), flag(self.player.is_in_water())]
    }

    /// Shows others where the player is and looks, with a name.
    pub fn show_avatar(&mut self, rotation: &[f64], name: &[u8]) {
        if let Ok(rotation) = <[f64; 4]>::try_from(rotation) {
            self.world.set_avatar(self.player.eye_m(), rotation, name);
        }
    }

    /// Applies an operation: an `EditOp` as JSON, in metres. Returns the voxels that it may change,
    /// from the lowest to one past the highest.
    pub fn edit(&mut self, operation: &str) -> Result<Vec<i32>, JsError> {
        let op: EditOp = serde_json::from_str(operation)?;
        let done = self.world.edit(&op);
        self.edited(done)
    }

    fn edited(&mut self, done: Result<Region, String>) -> Result<Vec<i32>, JsError> {
        self.take_swaps();
        let Region { min, max } = done.map_err(|e| JsError::new(&e))?;
        Ok([min.to_array(), max.to_array()].concat())
    }

    /// Copies the voxels of a box, from the lowest to one past the highest; returns their meshes.
    pub fn copy(&mut self, from: &[i32], to: &[i32], is_cut: bool) -> Result<Swap, JsError> {
        let (from, to) = (<[i32; 3]>::try_from(from)?, <[i32; 3]>::try_from(to)?);
        let copied = self.world.copy(Region::new(from, to), is_cut);
        self.take_swaps();
        let added = copied.map_err(|e| JsError::new(&e))?.into();
        Ok(Swap { removed: Vec::new(), added, packed: PackedSurface::default() })
    }

    /// Pastes what was copied last with its lowest voxel at a point, turned about the vertical
    /// axis. Returns the voxels that it may change, as [`WebWorld::edit`].
    pub fn paste(&mut self, x: i32, y: i32, z: i32, turns: u8) -> Result<Vec<i32>, JsError> {
        let done = self.world.paste([x, y, z].into(), turns);
        self.edited(done)
    }

    /// Tells the game at the server something.
    pub fn send_message(&mut self, bytes: &[u8]) -> bool {
        self.world.send_message(bytes)
    }

    /// Where the other players look: the number of the body and a point, for each who looks at
    /// ground.
    pub fn cursors(&self, max_m: f64) -> Vec<f64> {
        let mut out = Vec::new();
        for (number, body, from_m, [x, y, z, w]) in self.world.bodies() {
            // Ahead is −z, turned by the quaternion.
            let ahead =
                [-2.0 * (x * z + w * y), -2.0 * (y * z - w * x), -1.0 + 2.0 * (x * x + y * y)];
            let is_avatar = matches!(body.kind, SharedBodyKind::Avatar(_));
            if let Some(hit) =
                is_avatar.then(|| self.world.ray(from_m, ahead.map(|v| v as f32), max_m)).flatten()
            {
                out.push(number as f64);
                out.extend(hit.point_m);
            }
        }
        out
    }

    /// Corners of the triangles that bodies collide with around a point, metres from it: nine
    /// numbers each.
    pub fn collision_near(&self, x: f64, y: f64, z: f64, radius_m: f64) -> Vec<f32> {
        let mut out = Vec::new();
        let Some(terrain) = self.world.terrain() else { return out };
        let placement = terrain.placement();
        let at = placement.voxel_from_world([x, y, z]);
        let reach = radius_m / placement.voxel_size_m;
        let aabb = Aabb { min: at.map(|v| v - reach), max: at.map(|v| v + reach) };
        terrain.collider().triangles_in(&aabb, &Filter::SOLID, |triangle| {
            for corner in triangle.corners {
                let from = [0, 1, 2].map(|i| (corner[i] - at[i]) * placement.voxel_size_m);
                out.extend(from.map(|v| v as f32));
            }
        });
        out
    }

    /// Undoes the last stroke of this player.
    pub fn undo(&mut self) -> Result<(), JsError> {
        self.world.undo().map_err(|e| JsError::new(&e))
    }

    /// Redoes the stroke that was undone last.
    pub fn redo(&mut self) -> Result<(), JsError> {
        self.world.redo().map_err(|e| JsError::new(&e))
    }

    /// Where a ray meets the ground: x, y, z, normal, distance, material; empty if nowhere.
    #[allow(clippy::too_many_arguments)]
    pub fn ray(&self, x: f64, y: f64, z: f64, dx: f32, dy: f32, dz: f32, max_m: f64) -> Vec<f64> {
        let Some(hit) = self.world.ray([x, y, z], [dx, dy, dz], max_m) else { return Vec::new() };
        let mut out = hit.point_m.to_vec();
        out.extend(hit.normal.map(f64::from));
        out.extend([hit.distance_m, f64::from(hit.material)]);
        out
    }

    /// The next change of the meshes that are shown.
    pub fn next_swap(&mut self) -> Option<Swap> {
        let swap = self.swaps.pop_front()?;
        Some(Swap {
            removed: swap.removed,
            added: swap.added.into(),
            packed: PackedSurface::default(),
        })
    }

    /// The bodies that are seen: number, kind, position, rotation for each. The kind is −1 for a
    /// loose piece, −2 for an avatar, else that of the game.
    pub fn bodies(&self) -> Vec<f64> {
        let mut out = Vec::new();
        for (number, body, position_m, rotation) in self.world.bodies() {
            let kind = match body.kind {
                SharedBodyKind::Loose => -1.0,
                SharedBodyKind::Avatar(_) => -2.0,
                SharedBodyKind::Game(kind) => f64::from(kind),
            };
            out.extend([number as f64, kind]);
            out.extend(position_m);
            out.extend(rotation);
        }
        out
    }

    /// The bytes of a body, such as a name.
    pub fn body_bytes(&self, number: f64) -> Option<Uint8Array> {
        Some(Uint8Array::from(&*self.world.body(number as u64)?.bytes))
    }

    /// The meshes of a loose piece; their positions are voxels of the body.
    pub fn loose_mesh(&self, number: f64) -> Option<Swap> {
        let body = self.world.loose(self.world.body(number as u64)?)?;
        let shown = |mesh: terravox::mesh::BlockMesh| {
            let pos = mesh.block.min.coarser(5);
            let block = MipBlock { mip: 0, pos };
            ShownMesh { block, mip: 0, mesh: mesh.into() }
        };
        let added = body.meshes.into_iter().map(shown).collect();
        Some(Swap { removed: Vec::new(), added, packed: PackedSurface::default() })
    }

    /// The next line for the player: `joined`, `refused: ` and why an operation was, or a sentence.
    pub fn next_news(&mut self) -> Option<String> {
        loop {
            return Some(match self.world.take_news()? {
                News::Joined => "joined".to_owned(),
                News::Refused(reason) => format!("refused: {reason}"),
                News::Unreadable => UNREADABLE.to_owned(),
                News::Message(bytes) => match refusal_of(&bytes) {
                    Some(reason) => format!("refused: {reason}"),
                    // Of a game that this page does not know.
                    None => continue,
                },
            });
        }
    }

    /// By mip, the distances in voxels at which vertices start to morph and at which they arrive.
    pub fn morph_ranges(&self) -> Vec<f32> {
        let Some(terrain) = self.world.terrain() else { return Vec::new() };
        let (morph, mips) = (terrain.lod().morph(), 0..=terrain.lod().options().max_mip);
        mips.flat_map(|mip| morph.range_voxels(mip)).collect()
    }

    /// The materials: name, kind (`"Air"`, `"Liquid"` or `"Solid"`) and colour of each, as JSON.
    pub fn materials(&self) -> String {
        let table = self.world.terrain().map(|terrain| terrain.grid().materials().clone());
        serde_json::to_string(&table.unwrap_or_default()).unwrap_or_default()
    }

    /// Metres per voxel.
    pub fn voxel_m(&self) -> f64 {
        self.world.terrain().map_or(1.0, |terrain| terrain.placement().voxel_size_m)
    }

    /// Where voxel (0, 0, 0) lies, metres.
    pub fn origin_m(&self) -> Vec<f64> {
        self.world.terrain().map(Terrain::placement).unwrap_or_default().origin_m.to_vec()
    }

    /// Whether all that is to be seen is shown, and nothing waits for the server.
    pub fn is_settled(&self) -> bool {
        self.world.is_settled()
    }

    /// Returns the number of operations without a reply from the server.
    pub fn pending_edits(&self) -> u32 {
        self.world.pending_edits() as u32
    }

    /// Bytes of cells and messages.
    pub fn memory(&self) -> f64 {
        self.world.memory() as f64
    }
}

/// What changed of the meshes that are shown: all of it belongs into one frame.
#[wasm_bindgen]
pub struct Swap {
    removed: Vec<MipBlock>,
    added: VecDeque<ShownMesh>,
    packed: PackedSurface,
}

#[wasm_bindgen]
impl Swap {
    /// Keys of meshes that are no longer shown.
    pub fn removed(&self) -> Vec<String> {
        self.removed.iter().map(ToString::to_string).collect()
    }

    /// Whether it may show a change of voxels, from the lowest to one past the highest.
    pub fn touches(&self, region: &[i32]) -> bool {
        let &[ax, ay, az, bx, by, bz] = region else { return false };
        let changed = Region::new([ax, ay, az], [bx, by, bz]);
        let added = self.added.iter().map(|shown| shown.block);
        let mut blocks = added.chain(self.removed.iter().copied());
        blocks.any(|block| !block.voxels().grow(1).intersect(changed).is_empty())
    }

    /// The next mesh that is shown now.
    pub fn next_added(&mut self) -> Option<Mesh> {
        let shown = self.added.pop_front()?;
        let solid = Part::new(&shown.mesh.solid, &mut self.packed);
        let liquid = Part::new(&shown.mesh.liquid, &mut self.packed);
        Some(Mesh { shown, solid, liquid })
    }
}

/// Buffers of a surface, as `docs/gpu.md` describes them.
struct Part {
    vertices: Uint8Array,
    targets: Uint8Array,
    indices: Uint8Array,
    has_long_indices: bool,
    triangles: u32,
}

impl Part {
    fn new(surface: &Surface, packed: &mut PackedSurface) -> Part {
        surface.pack(packed);
        let (indices, has_long_indices) = match &packed.indices {
            PackedIndices::U16(indices) => (bytemuck::cast_slice(indices), false),
            PackedIndices::U32(indices) => (bytemuck::cast_slice(indices), true),
        };
        Part {
            vertices: Uint8Array::from(bytemuck::cast_slice::<_, u8>(&packed.vertices)),
            targets: Uint8Array::from(bytemuck::cast_slice::<_, u8>(&packed.targets)),
            indices: Uint8Array::from(indices),
            has_long_indices,
            triangles: surface.triangle_count() as u32,
        }
    }
}

/// A mesh that is shown.
#[wasm_bindgen]
pub struct Mesh {
    shown: ShownMesh,
    solid: Part,
    liquid: Part,
}

#[wasm_bindgen]
impl Mesh {
    /// Its key, by which it is removed.
    pub fn key(&self) -> String {
        self.shown.block.to_string()
    }

    /// Its mip.
    pub fn mip(&self) -> u8 {
        self.shown.mip
    }

    /// The voxel at its corner, the origin of its positions.
    pub fn min_voxel(&self) -> Vec<f64> {
        self.shown.min_voxel().to_array().map(f64::from).to_vec()
    }

    /// Its bounds, voxels: lowest, then highest corner.
    pub fn bounds(&self) -> Vec<f64> {
        let bounds = self.shown.bounds_voxels();
        [bounds.min, bounds.max].concat()
    }

    fn part(&self, is_liquid: bool) -> &Part {
        if is_liquid { &self.liquid } else { &self.solid }
    }

    /// Number of triangles, of the ground or of water.
    pub fn triangles(&self, is_liquid: bool) -> u32 {
        self.part(is_liquid).triangles
    }

    /// Vertices, 16 bytes each.
    pub fn vertices(&self, is_liquid: bool) -> Uint8Array {
        self.part(is_liquid).vertices.clone()
    }

    /// Morph targets, 12 bytes each.
    pub fn targets(&self, is_liquid: bool) -> Uint8Array {
        self.part(is_liquid).targets.clone()
    }

    /// Indices, of two bytes or four.
    pub fn indices(&self, is_liquid: bool) -> Uint8Array {
        self.part(is_liquid).indices.clone()
    }

    /// Whether indices have four bytes.
    pub fn has_long_indices(&self, is_liquid: bool) -> bool {
        self.part(is_liquid).has_long_indices
    }
}
