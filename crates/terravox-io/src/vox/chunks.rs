//! Reads the chunks of a file: models, palette, materials, layers and the nodes of the scene graph.
//! All else is skipped. Voxels and lists of children stay in the file's bytes.

use super::error::VoxError;
use super::palette::{Palette, default_palette, read_palette};
use super::pose::{NO_ROTATION, Pose};
use crate::import_budget::ImportBudget;
use std::collections::{HashMap, HashSet};

/// First bytes of a file.
pub(super) const MAGIC: &[u8; 4] = b"VOX ";
/// Versions of the format that are known: of 2016, and of 2021.
const VERSIONS: std::ops::RangeInclusive<u32> = 150..=200;
/// Longest edge of a model: positions in it are bytes.
const MAX_EDGE: u32 = 256;

/// Units of work to read a chunk of the file, besides its bytes.
const FILE_CHUNK_WORK: u64 = 64;
/// Units of work of a byte of a dictionary, or of a node.
const BYTE_WORK: u64 = 2;
/// Memory of a node, while the map of nodes grows.
const NODE_BYTES: u64 = 224;
/// Memory of a model, while the list grows.
const MODEL_BYTES: u64 = 96;
/// Memory of a hidden layer.
const LAYER_BYTES: u64 = 32;

/// What a file says.
pub(super) struct VoxFile<'a> {
    /// Models by number.
    pub models: Vec<Model<'a>>,
    /// Nodes by id; ids come from the file, so the hash is keyed.
    pub nodes: HashMap<u32, Node<'a>>,
    /// Bytes of the root's id; `None` if there are no nodes.
    pub root: Option<&'a [u8]>,
    /// Ids of layers that are hidden.
    pub hidden_layers: HashSet<u32>,
    pub palette: Palette,
    /// Colours whose material is glass.
    pub glass: [bool; 256],
    /// Whether a node has more than one frame.
    pub is_animated: bool,
}

/// A box of voxels.
#[derive(Clone, Copy)]
pub(super) struct Model<'a> {
    /// Voxels along x, y and z, at most 256.
    pub size: [u16; 3],
    /// x, y, z and colour of each voxel.
    pub voxels: &'a [[u8; 4]],
}

/// A node of the scene graph. A transform has one child, a shape none.
pub(super) struct Node<'a> {
    /// Ids of children, 4 bytes each.
    pub children: &'a [[u8; 4]],
    /// Number of a shape's model.
    pub model: Option<u32>,
    pub layer: u32,
    pub is_hidden: bool,
    pub pose: Pose,
}

/// A part of the file that is read from its start.
struct Cursor<'a> {
    bytes: &'a [u8],
    /// Offset of the next byte in the file.
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn damaged(&self, what: impl Into<String>) -> VoxError {
        VoxError::Damaged { offset: self.offset, what: what.into() }
    }

    /// Takes `count` items of N bytes.
    fn take<const N: usize>(&mut self, what: &str, count: u32) -> Result<&'a [[u8; N]], VoxError> {
        let bytes = count as u64 * N as u64;
        let (items, _) = self.bytes.as_chunks::<N>();
        let Some(items) = items.get(..count as usize) else {
            let left = self.bytes.len();
            return Err(
                self.damaged(format!("{what} would take {bytes} bytes, but {left} are left"))
            );
        };
        self.bytes = &self.bytes[bytes as usize..];
        self.offset += bytes as usize;
        Ok(items)
    }

    fn u32(&mut self, what: &str) -> Result<u32, VoxError> {
        Ok(u32::from_le_bytes(self.take::<4>(what, 1)?[0]))
    }

    fn bytes(&mut self, what: &str, count: u32) -> Result<Cursor<'a>, VoxError> {
        let offset = self.offset;
        let bytes = self.take::<1>(what, count)?.as_flattened();
        Ok(Cursor { bytes, offset })
    }

    /// Reads a dictionary: calls `entry` with each key and value.
    fn dictionary(&mut self, mut entry: impl FnMut(&[u8], Cursor<'a>)) -> Result<(), VoxError> {
        for _ in 0..self.u32("a number of attributes")? {
            let length = self.u32("the length of a key")?;
            let key = self.bytes("a key", length)?;
            let length = self.u32("the length of a value")?;
            entry(key.bytes, self.bytes("a value", length)?);
        }
        Ok(())
    }
}

/// Reads a file.
pub(super) fn read<'a>(
    bytes: &'a [u8],
    budget: &mut ImportBudget,
) -> Result<VoxFile<'a>, VoxError> {
    let mut file = VoxFile {
        models: Vec::new(),
        nodes: HashMap::new(),
        root: None,
        hidden_layers: HashSet::new(),
        palette: default_palette(),
        glass: [false; 256],
        is_animated: false,
    };
    let mut chunks = main_chunk(bytes)?;
    // Of the next model.
    let mut size = None;
    while !chunks.bytes.is_empty() {
        let id = chunks.take::<4>("the name of a chunk", 1)?[0];
        let [length, below] = [chunks.u32("a length")?, chunks.u32("a length")?];
        let content = chunks.bytes("a chunk", length)?;
        chunks.bytes("what is in a chunk", below)?;
        budget.spend_work("its chunks", FILE_CHUNK_WORK)?;
        match &id {
            b"SIZE" => size = Some(read_size(content)?),
            b"XYZI" => {
                let Some(size) = size.take() else {
                    return Err(content.damaged("a model has no size"));
                };
                budget.spend_memory("its models", MODEL_BYTES)?;
                file.models.push(read_model(content, size, file.models.len())?);
            }
            b"RGBA" => {
                let palette = read_palette(content.bytes);
                let short = || content.damaged("a palette has fewer than 255 colours");
                file.palette = palette.ok_or_else(short)?;
            }
            b"nTRN" | b"nGRP" | b"nSHP" => file.read_node(&id, content, budget)?,
            b"LAYR" => file.read_layer(content, budget)?,
            b"MATL" => file.read_material(content, budget)?,
            _ => {}
        }
    }
    Ok(file)
}

/// Returns the chunks in MAIN.
fn main_chunk(bytes: &[u8]) -> Result<Cursor<'_>, VoxError> {
    let mut file = Cursor { bytes, offset: 0 };
    if !bytes.starts_with(MAGIC) {
        let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        return Err(VoxError::Unknown { start: start.join(" ") });
    }
    file.u32("the magic number")?;
    let found = file.u32("the version")?;
    if !VERSIONS.contains(&found) {
        return Err(VoxError::Version { found });
    }
    let id = file.take::<4>("the chunk MAIN", 1)?[0];
    if &id != b"MAIN" {
        return Err(file.damaged("the first chunk is not MAIN"));
    }
    let [length, below] = [file.u32("a length")?, file.u32("a length")?];
    file.bytes("the chunk MAIN", length)?;
    file.bytes("what is in MAIN", below)
}

fn read_size(mut content: Cursor<'_>) -> Result<[u32; 3], VoxError> {
    let mut edge = || content.u32("the size of a model");
    Ok([edge()?, edge()?, edge()?])
}

fn read_model<'a>(
    mut content: Cursor<'a>,
    size: [u32; 3],
    model: usize,
) -> Result<Model<'a>, VoxError> {
    if size.iter().any(|edge| *edge > MAX_EDGE) {
        let [x, y, z] = size;
        let what = format!("its size is {x} × {y} × {z}, at most {MAX_EDGE} each");
        return Err(VoxError::Model { model, what });
    }
    let count = content.u32("the number of voxels")?;
    let voxels = content.take::<4>(&format!("{count} voxels"), count)?;
    if !content.bytes.is_empty() {
        return Err(content.damaged(format!("more follows the {count} voxels of a model")));
    }
    Ok(Model { size: size.map(|edge| edge as u16), voxels })
}

impl<'a> VoxFile<'a> {
    fn read_node(
        &mut self,
        kind: &[u8; 4],
        mut content: Cursor<'a>,
        budget: &mut ImportBudget,
    ) -> Result<(), VoxError> {
        budget.spend_work("its scene", BYTE_WORK * content.bytes.len() as u64)?;
        budget.spend_memory("its scene", NODE_BYTES)?;
        let id_bytes = content.bytes;
        let id = content.u32("the id of a node")?;
        let mut is_hidden = false;
        content.dictionary(|key, value| {
            is_hidden |= key == b"_hidden" && value.bytes == b"1";
        })?;
        let mut node =
            Node { children: &[], model: None, layer: u32::MAX, is_hidden, pose: unmoved() };
        match kind {
            b"nTRN" => self.is_animated |= read_transform(&mut content, id, &mut node)? > 1,
            b"nGRP" => {
                let count = content.u32("the number of children")?;
                node.children = content.take::<4>(&format!("{count} children"), count)?;
            }
            // Further models are those of other frames.
            _ => match content.u32("the number of models")? {
                0 => return Err(VoxError::Node { node: id, what: "it has no model".to_owned() }),
                count => {
                    self.is_animated |= count > 1;
                    node.model = Some(content.u32("the number of a model")?);
                }
            },
        }
        // The editor's root is node 0.
        if self.root.is_none() || id == 0 {
            self.root = id_bytes.get(..4);
        }
        match self.nodes.insert(id, node) {
            None => Ok(()),
            Some(_) => Err(VoxError::Node { node: id, what: "it is there twice".to_owned() }),
        }
    }

    fn read_layer(
        &mut self,
        mut content: Cursor<'a>,
        budget: &mut ImportBudget,
    ) -> Result<(), VoxError> {
        budget.spend_work("its layers", BYTE_WORK * content.bytes.len() as u64)?;
        let id = content.u32("the id of a layer")?;
        let mut is_hidden = false;
        content.dictionary(|key, value| {
            is_hidden |= key == b"_hidden" && value.bytes == b"1";
        })?;
        if is_hidden {
            budget.spend_memory("its layers", LAYER_BYTES)?;
            self.hidden_layers.insert(id);
        }
        Ok(())
    }

    fn read_material(
        &mut self,
        mut content: Cursor<'a>,
        budget: &mut ImportBudget,
    ) -> Result<(), VoxError> {
        budget.spend_work("its materials", BYTE_WORK * content.bytes.len() as u64)?;
        let id = content.u32("the id of a material")?;
        let mut is_glass = false;
        content.dictionary(|key, value| {
            is_glass |= key == b"_type" && value.bytes == b"_glass";
        })?;
        // Ids beyond the palette, which the editor writes (256), are of no colour.
        if let Some(glass) = self.glass.get_mut(id as usize) {
            *glass = is_glass;
        }
        Ok(())
    }
}

fn unmoved() -> Pose {
    let pose = Pose::from_packed(NO_ROTATION, [0; 3]);
    let Some(pose) = pose else { unreachable!("no rotation is one") };
    pose
}

/// Reads a transform behind its attributes: the first of its frames counts. Returns how many it
/// has.
fn read_transform<'a>(
    content: &mut Cursor<'a>,
    id: u32,
    node: &mut Node<'a>,
) -> Result<u32, VoxError> {
    node.children = content.take::<4>("the child of a node", 1)?;
    content.u32("a reserved number")?;
    node.layer = content.u32("the layer of a node")?;
    let (mut rotation, mut translation) = (None, None);
    let frames = content.u32("the number of frames")?;
    if frames > 0 {
        content.dictionary(|key, value| match key {
            b"_r" => rotation = Some(value),
            b"_t" => translation = Some(value),
            _ => {}
        })?;
    }
    let invalid = |text: Cursor<'_>, what: &str| {
        let text: String = String::from_utf8_lossy(text.bytes).chars().take(40).collect();
        VoxError::Node { node: id, what: format!("{text:?} is no {what}") }
    };
    let translation = match translation {
        None => [0; 3],
        Some(text) => three(text.bytes).ok_or_else(|| invalid(text, "translation"))?,
    };
    node.pose = match rotation {
        None => Pose::from_packed(NO_ROTATION, translation).unwrap_or_else(unmoved),
        Some(text) => {
            let byte = std::str::from_utf8(text.bytes).ok().and_then(|text| text.parse().ok());
            let pose = byte.and_then(|byte| Pose::from_packed(byte, translation));
            pose.ok_or_else(|| invalid(text, "rotation"))?
        }
    };
    Ok(frames)
}

/// Returns the three numbers of a text.
fn three(text: &[u8]) -> Option<[i32; 3]> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut next = || words.next()?.parse().ok();
    let numbers = [next()?, next()?, next()?];
    words.next().is_none().then_some(numbers)
}
