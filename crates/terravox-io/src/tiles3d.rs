//! The index of a world in 3D Tiles 1.1, for globes and viewers that stream models: which are shown
//! from afar, and which replace them from near.
//!
//! The models are `.glb` files ([`gltf`](crate::gltf)), one for each block of each mip that has a
//! surface. Meshes of a mip meet each other exactly; where a finer one lies beside a coarser one,
//! [`add_skirt`] covers the gap.
//!
//! Source: 3D Tiles 1.1 (OGC 22-025r4): "Bounding volumes", "Geometric error", "Refinement",
//! "Transforms".

use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use terravox::mesh::Surface;
use terravox::voxel::{MipBlock, VoxelPos};

/// A model of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct TileContent {
    /// The block, of the mip that the model was meshed at.
    pub block: MipBlock,
    /// The lowest and the highest coordinates of its vertices, metres.
    pub bounds_m: [[f64; 3]; 2],
    /// The path of its `.glb`, relative to the index, with `/`.
    pub uri: String,
}

/// A place on Earth (WGS 84).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarthPlace {
    /// Degrees east.
    pub longitude: f64,
    /// Degrees north.
    pub latitude: f64,
    /// Metres above the ellipsoid.
    pub height_m: f64,
}

/// How to write an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TilesetOptions {
    /// Metres per voxel.
    pub voxel_size_m: f64,
    /// Where the origin of the world is, with north along -z; without a place, coordinates are those
    /// of the world.
    pub place: Option<EarthPlace>,
}

/// A node of the tree.
#[derive(Default)]
struct TileNode {
    uri: Option<String>,
    /// Of its vertices and those below it.
    bounds: Option<[[f64; 3]; 2]>,
    children: Vec<MipBlock>,
}

/// Returns the index as JSON: a tree of blocks, from the coarsest mip down to the finest. A viewer
/// shows the finer blocks instead of a coarse one where a cell of that would be wider than the error
/// that it allows, by default mostly 16 pixels.
///
/// ```
/// use terravox::voxel::MipBlock;
/// use terravox_io::tiles3d::{TileContent, TilesetOptions, tileset};
///
/// let content = |mip, uri: &str| TileContent {
///     block: MipBlock::new(mip, [0; 3]),
///     bounds_m: [[0.0; 3], [32.0, 8.0, 32.0]],
///     uri: uri.into(),
/// };
/// let options = TilesetOptions { voxel_size_m: 0.5, place: None };
/// let json = tileset(&[content(0, "0/0_0_0.glb"), content(1, "1/0_0_0.glb")], &options);
/// assert_eq!(json["root"]["geometricError"], 1.0);
/// assert_eq!(json["root"]["children"][0]["content"]["uri"], "0/0_0_0.glb");
/// ```
pub fn tileset(contents: &[TileContent], options: &TilesetOptions) -> Value {
    let top = contents.iter().map(|content| content.block.mip).max().unwrap_or(0);
    // Ordered by mip, so that each comes before its parent.
    let mut nodes: BTreeMap<(u8, [i32; 3]), TileNode> = BTreeMap::new();
    let key = |block: MipBlock| (block.mip, block.pos.to_array());
    for TileContent { block, bounds_m, uri } in contents {
        let node = nodes.entry(key(*block)).or_default();
        (node.uri, node.bounds) = (Some(uri.clone()), Some(*bounds_m));
    }
    for mip in 0..top {
        let below: Vec<_> = nodes.range((mip, [i32::MIN; 3])..(mip + 1, [i32::MIN; 3])).collect();
        let below: Vec<_> = below.into_iter().map(|(at, node)| (*at, node.bounds)).collect();
        for ((_, pos), bounds) in below {
            let block = MipBlock { mip, pos: pos.into() };
            let parent = MipBlock { mip: mip + 1, pos: block.pos.coarser(1) };
            let node = nodes.entry(key(parent)).or_default();
            node.bounds = united(node.bounds, bounds);
            node.children.push(block);
        }
    }
    let roots = nodes.iter().filter(|((mip, _), _)| *mip == top);
    let roots: Vec<MipBlock> =
        roots.map(|((mip, pos), _)| MipBlock { mip: *mip, pos: (*pos).into() }).collect();
    let tile = |block: &MipBlock| tile_json(*block, &nodes, options);
    let cell_m = |mip: u8| 2_f64.powi(mip.into()) * options.voxel_size_m;
    let mut root = match &roots[..] {
        [one] => tile(one),
        all => {
            let bounds = all.iter().filter_map(|block| nodes.get(&key(*block)));
            let bounds = bounds.fold(None, |sum, node| united(sum, node.bounds));
            json!({
                "boundingVolume": { "box": box_of(bounds.unwrap_or_default()) },
                "geometricError": cell_m(top + 1),
                "children": all.iter().map(tile).collect::<Vec<_>>(),
            })
        }
    };
    root["refine"] = json!("REPLACE");
    if let Some(place) = options.place {
        root["transform"] = json!(to_earth(place));
    }
    json!({
        "asset": { "version": "1.1", "generator": "terravox" },
        // Below it nothing is shown at all.
        "geometricError": cell_m(top + 2),
        "root": root,
    })
}

fn tile_json(
    block: MipBlock,
    nodes: &BTreeMap<(u8, [i32; 3]), TileNode>,
    options: &TilesetOptions,
) -> Value {
    let node = &nodes[&(block.mip, block.pos.to_array())];
    let error = match node.children.is_empty() {
        true => 0.0,
        false => 2_f64.powi(block.mip.into()) * options.voxel_size_m,
    };
    let mut tile = json!({
        "boundingVolume": { "box": box_of(node.bounds.unwrap_or_default()) },
        "geometricError": error,
    });
    if let Some(uri) = &node.uri {
        tile["content"] = json!({ "uri": uri });
    }
    if !node.children.is_empty() {
        let children = node.children.iter().map(|&child| tile_json(child, nodes, options));
        tile["children"] = Value::Array(children.collect());
    }
    tile
}

fn united(a: Option<[[f64; 3]; 2]>, b: Option<[[f64; 3]; 2]>) -> Option<[[f64; 3]; 2]> {
    let (Some([low, high]), Some([other_low, other_high])) = (a, b) else { return a.or(b) };
    Some([
        [0, 1, 2].map(|axis| low[axis].min(other_low[axis])),
        [0, 1, 2].map(|axis| high[axis].max(other_high[axis])),
    ])
}

/// The centre of a box and half of its edges, with z up as in 3D Tiles: (x, -z, y).
fn box_of([low, high]: [[f64; 3]; 2]) -> [f64; 12] {
    let centre = [0, 1, 2].map(|axis| 0.5 * (low[axis] + high[axis]));
    let half = [0, 1, 2].map(|axis| 0.5 * (high[axis] - low[axis]));
    let [x, y, z] = centre;
    let [width, height, depth] = half;
    [x, -z, y, width, 0.0, 0.0, 0.0, depth, 0.0, 0.0, 0.0, height]
}

/// The matrix, by columns, from (east, north, up) at a place to coordinates of Earth.
fn to_earth(place: EarthPlace) -> [f64; 16] {
    // WGS 84: equatorial radius and flattening.
    const RADIUS_M: f64 = 6_378_137.0;
    const FLATTENING: f64 = 1.0 / 298.257_223_563;
    const ECCENTRICITY_SQUARED: f64 = FLATTENING * (2.0 - FLATTENING);
    let (sin_lon, cos_lon) = place.longitude.to_radians().sin_cos();
    let (sin_lat, cos_lat) = place.latitude.to_radians().sin_cos();
    // To the polar axis, along the vertical.
    let normal = RADIUS_M / (1.0 - ECCENTRICITY_SQUARED * sin_lat * sin_lat).sqrt();
    let around = (normal + place.height_m) * cos_lat;
    let along = (normal * (1.0 - ECCENTRICITY_SQUARED) + place.height_m) * sin_lat;
    let east = [-sin_lon, cos_lon, 0.0];
    let north = [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat];
    let up = [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat];
    let at = [around * cos_lon, around * sin_lon, along];
    let mut matrix = [0.0; 16];
    for (column, (axis, w)) in
        [(east, 0.0), (north, 0.0), (up, 0.0), (at, 1.0)].into_iter().enumerate()
    {
        matrix[4 * column..4 * column + 3].copy_from_slice(&axis);
        matrix[4 * column + 3] = w;
    }
    matrix
}

/// Adds triangles below the open edges of a surface, `depth` cells into the ground: they cover the
/// gaps beside coarser or finer surfaces. Returns the number of edges.
pub fn add_skirt(surface: &mut Surface, depth: f32) -> usize {
    let quads = surface.quad_materials.len();
    // Sheets that touch have vertices of their own, but no gap.
    let place = |index: u32| surface.positions[index as usize].map(f32::to_bits);
    let mut sides: HashMap<[[u32; 3]; 2], i32> = HashMap::new();
    let edges = |corners: &[u32; 3]| {
        let [a, b, c] = *corners;
        [[a, b], [b, c], [c, a]]
    };
    for [a, b] in surface.indices.as_chunks::<3>().0.iter().flat_map(edges) {
        *sides.entry([place(a), place(b)]).or_default() += 1;
        *sides.entry([place(b), place(a)]).or_default() -= 1;
    }
    let mut open = Vec::new();
    for (triangle, corners) in surface.indices.as_chunks::<3>().0.iter().enumerate() {
        let material = match triangle < 2 * quads {
            true => surface.quad_materials[triangle / 2],
            false => surface.loose_materials[triangle - 2 * quads],
        };
        let all = edges(corners).into_iter();
        let is_open = |&[a, b]: &[u32; 2]| sides[&[place(a), place(b)]] > 0;
        open.extend(all.filter(is_open).map(|edge| (edge, material)));
    }
    let mut lower: HashMap<u32, u32> = HashMap::new();
    for &([a, b], material) in &open {
        let [under_a, under_b] =
            [a, b].map(|top| *lower.entry(top).or_insert_with(|| add_lower(surface, top, depth)));
        surface.indices.extend([b, a, under_a, b, under_a, under_b]);
        surface.loose_materials.extend([material; 2]);
    }
    open.len()
}

/// Adds the vertex `depth` cells below another.
fn add_lower(surface: &mut Surface, top: u32, depth: f32) -> u32 {
    let at = top as usize;
    let (position, normal) = (surface.positions[at], surface.normals[at]);
    surface.positions.push([0, 1, 2].map(|axis| position[axis] - normal[axis] * depth));
    surface.normals.push(normal);
    surface.materials.push(surface.materials[at]);
    surface.weights.push(surface.weights[at]);
    surface.positions.len() as u32 - 1
}

/// Returns the path of the model of a block: `MIP/X_Y_Z.glb`.
pub fn tile_path(block: MipBlock) -> String {
    let VoxelPos { x, y, z } = block.pos;
    format!("{}/{x}_{y}_{z}.glb", block.mip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::generate::fill_sdf;
    use terravox::mesh::{BlockMesh, Mesher, PAD};
    use terravox::voxel::{DenseBox, MaterialTable, Region};

    fn content(mip: u8, pos: [i32; 3]) -> TileContent {
        let block = MipBlock::new(mip, pos);
        let Region { min, max } = block.voxels();
        let bounds_m = [min, max].map(|corner| corner.to_array().map(f64::from));
        TileContent { block, bounds_m, uri: tile_path(block) }
    }

    fn numbers(value: &Value) -> Vec<f64> {
        let all = value.as_array().expect("numbers");
        all.iter().map(|v| v.as_f64().expect("a number")).collect()
    }

    /// Checks the tiles below one, and returns their paths.
    fn checked(tile: &Value) -> Vec<String> {
        let ends = |tile: &Value| {
            let list = numbers(&tile["boundingVolume"]["box"]);
            let half = [list[3], list[7], list[11]];
            [0, 1, 2].map(|axis| [list[axis] - half[axis], list[axis] + half[axis]])
        };
        let error = tile["geometricError"].as_f64().expect("an error");
        let mut all: Vec<String> =
            tile["content"]["uri"].as_str().map(str::to_owned).into_iter().collect();
        for child in tile["children"].as_array().unwrap_or(&Vec::new()) {
            assert!(child["geometricError"].as_f64().expect("an error") < error);
            let (own, below) = (ends(tile), ends(child));
            assert!(
                (0..3).all(|axis| own[axis][0] <= below[axis][0] && below[axis][1] <= own[axis][1])
            );
            all.extend(checked(child));
        }
        all
    }

    #[test]
    fn all_models_are_in_the_tree_once_within_the_boxes_above_them() {
        let options = TilesetOptions { voxel_size_m: 1.0, place: None };
        // One that no coarser one covers, and others on both sides of the origin.
        let list = [
            content(0, [-1, 0, 0]),
            content(0, [0, 0, 5]),
            content(0, [1, 1, 1]),
            content(1, [0, 0, 0]),
            content(1, [-1, 0, 0]),
            content(2, [0, 0, 0]),
        ];
        for count in 0..=list.len() {
            let json = tileset(&list[..count], &options);
            let mut found = checked(&json["root"]);
            found.sort();
            let mut wanted: Vec<String> =
                list[..count].iter().map(|content| content.uri.clone()).collect();
            wanted.sort();
            assert_eq!(found, wanted);
            assert_eq!(json["root"]["refine"], "REPLACE");
        }
    }

    #[test]
    fn a_place_on_earth_is_where_geodesists_say() {
        // Greenwich on the equator, and the pole, whose distance is the polar radius.
        let place = EarthPlace { longitude: 0.0, latitude: 0.0, height_m: 10.0 };
        let matrix = to_earth(place);
        assert_eq!(matrix[12..15], [6_378_147.0, 0.0, 0.0]);
        assert_eq!(matrix[8..11], [1.0, 0.0, 0.0]);
        let pole = to_earth(EarthPlace { longitude: 90.0, latitude: 90.0, height_m: 0.0 });
        assert!((pole[14] - 6_356_752.314_2).abs() < 1e-3, "{}", pole[14]);
        // Up is the cross product of east and north.
        for matrix in [matrix, pole] {
            let [e, n] = [&matrix[..3], &matrix[4..7]];
            let cross = |i: usize, j: usize| e[i] * n[j] - e[j] * n[i];
            let up = [cross(1, 2), cross(2, 0), cross(0, 1)];
            assert!((0..3).all(|axis| (up[axis] - matrix[8 + axis]).abs() < 1e-12));
        }
    }

    /// The surface of a ball that the block cuts.
    fn cut_ball() -> Surface {
        let region = Region::new([0; 3], [32; 3]);
        let mut cells = DenseBox::new(region.grow(PAD));
        let ball = |p: [f64; 3]| 20.0 - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
        fill_sdf(&mut cells, 0, ball, |_| 2);
        let mut mesh = BlockMesh::new();
        Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
        mesh.solid
    }

    #[test]
    fn a_skirt_hangs_from_all_open_edges_and_faces_away_from_the_surface() {
        let mut surface = cut_ball();
        let (vertices, triangles) = (surface.vertex_count(), surface.indices.len() / 3);
        let edges = add_skirt(&mut surface, 2.0);
        assert!(edges > 60, "{edges}");
        assert_eq!(surface.indices.len() / 3, triangles + 2 * edges);
        assert_eq!(surface.loose_materials.len(), 2 * edges);
        assert_eq!(surface.positions.len(), surface.normals.len());
        let at = |index: u32| surface.positions[index as usize];
        for corners in surface.indices.as_chunks::<3>().0[triangles..].iter() {
            let [a, b, c] = corners.map(at);
            let along = |from: [f32; 3], to: [f32; 3]| [0, 1, 2].map(|axis| to[axis] - from[axis]);
            let (u, v) = (along(a, b), along(a, c));
            let cross = |i: usize, j: usize| u[i] * v[j] - u[j] * v[i];
            let normal = [cross(1, 2), cross(2, 0), cross(0, 1)];
            // Out of the block.
            let away: f32 = (0..3).map(|axis| normal[axis] * (16.0 - a[axis]).signum()).sum();
            assert!(away < 0.0, "{a:?} {b:?} {c:?}");
        }
        // What was open is the skirt's lower rim.
        let mut again = surface.clone();
        assert_eq!(add_skirt(&mut again, 2.0), edges);
        let deep = |index: u32| index as usize >= vertices;
        let added = &again.indices.as_chunks::<3>().0[triangles + 2 * edges..];
        assert!(added.iter().flatten().all(|&index| deep(index)));
    }
}
