//! The index of a world in 3D Tiles 1.1, for globes and viewers that stream models: which are shown
//! from afar, and which replace them from near.
//!
//! The models are `.glb` files ([`gltf`](crate::gltf)), one for each column of blocks of each mip that
//! has a surface: columns, since ground near the top of a block lies in the one above at another mip.
//! Meshes of a mip meet each other exactly; where a finer one lies beside a coarser one,
//! [`add_skirt`] covers the gap.
//!
//! Source: 3D Tiles 1.1 (OGC 22-025r4): "Bounding volumes", "Geometric error", "Refinement",
//! "Transforms".

use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use terravox::mesh::{BlockMesh, Surface};

/// A model of a column of blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct TileContent {
    /// The column, of the mip that the model was meshed at.
    pub column: TileColumn,
    /// The lowest and the highest coordinates of its vertices, metres.
    pub bounds_m: [[f64; 3]; 2],
    /// The path of its `.glb`, relative to the index, with `/`.
    pub uri: String,
}

/// A column of blocks of 32 × 32 cells of a mip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TileColumn {
    /// The mip.
    pub mip: u8,
    /// Position along x, in blocks.
    pub x: i32,
    /// Position along z, in blocks.
    pub z: i32,
}

impl TileColumn {
    /// The column of the next mip that holds this one.
    fn parent(self) -> TileColumn {
        TileColumn { mip: self.mip + 1, x: self.x >> 1, z: self.z >> 1 }
    }

    /// Returns the path of the model of the column: `MIP/X_Z.glb`.
    pub fn path(self) -> String {
        let TileColumn { mip, x, z } = self;
        format!("{mip}/{x}_{z}.glb")
    }
}

/// A location on Earth (WGS 84).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarthLocation {
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
    /// Where the origin of the world is, with north along -z; without a location, coordinates are
    /// those of the world.
    pub location: Option<EarthLocation>,
}

/// A node of the tree.
#[derive(Default)]
struct TileNode {
    uri: Option<String>,
    /// Of its vertices and those below it.
    bounds: Option<[[f64; 3]; 2]>,
    children: Vec<TileColumn>,
}

/// Returns the index as JSON: a tree of columns, from the coarsest mip down to the finest. A viewer
/// shows the finer ones instead of a coarse one where a cell of that would be wider than the error
/// that it allows, by default mostly 16 pixels.
///
/// ```
/// use terravox_io::tiles3d::{TileColumn, TileContent, TilesetOptions, tileset};
///
/// let content = |mip, uri: &str| TileContent {
///     column: TileColumn { mip, x: 0, z: 0 },
///     bounds_m: [[0.0; 3], [32.0, 8.0, 32.0]],
///     uri: uri.into(),
/// };
/// let options = TilesetOptions { voxel_size_m: 0.5, location: None };
/// let json = tileset(&[content(0, "0/0_0.glb"), content(1, "1/0_0.glb")], &options);
/// assert_eq!(json["root"]["geometricError"], 1.0);
/// assert_eq!(json["root"]["children"][0]["content"]["uri"], "0/0_0.glb");
/// ```
pub fn tileset(contents: &[TileContent], options: &TilesetOptions) -> Value {
    let top = contents.iter().map(|content| content.column.mip).max().unwrap_or(0);
    // Ordered by mip, so that each comes before its parent.
    let mut nodes: BTreeMap<TileColumn, TileNode> = BTreeMap::new();
    for TileContent { column, bounds_m, uri } in contents {
        let node = nodes.entry(*column).or_default();
        (node.uri, node.bounds) = (Some(uri.clone()), Some(*bounds_m));
    }
    for mip in 0..top {
        let below = nodes.iter().filter(|(column, _)| column.mip == mip);
        let below: Vec<_> = below.map(|(column, node)| (*column, node.bounds)).collect();
        for (column, bounds) in below {
            let node = nodes.entry(column.parent()).or_default();
            node.bounds = united(node.bounds, bounds);
            node.children.push(column);
        }
    }
    let roots: Vec<TileColumn> = nodes.keys().filter(|column| column.mip == top).copied().collect();
    let tile = |column: &TileColumn| tile_json(*column, &nodes, options);
    let cell_m = |mip: u8| 2_f64.powi(mip.into()) * options.voxel_size_m;
    let mut root = match &roots[..] {
        [one] => tile(one),
        all => {
            let bounds = all.iter().filter_map(|column| nodes.get(column));
            let bounds = bounds.fold(None, |sum, node| united(sum, node.bounds));
            json!({
                "boundingVolume": { "box": box_of(bounds.unwrap_or_default()) },
                "geometricError": cell_m(top + 1),
                "children": all.iter().map(tile).collect::<Vec<_>>(),
            })
        }
    };
    root["refine"] = json!("REPLACE");
    if let Some(location) = options.location {
        root["transform"] = json!(to_earth(location));
    }
    json!({
        "asset": { "version": "1.1", "generator": "terravox" },
        // Below it nothing is shown at all.
        "geometricError": cell_m(top + 2),
        "root": root,
    })
}

fn tile_json(
    column: TileColumn,
    nodes: &BTreeMap<TileColumn, TileNode>,
    options: &TilesetOptions,
) -> Value {
    let node = &nodes[&column];
    let error = match node.children.is_empty() {
        true => 0.0,
        false => 2_f64.powi(column.mip.into()) * options.voxel_size_m,
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

/// The matrix, by columns, from (east, north, up) at a location to coordinates of Earth.
fn to_earth(location: EarthLocation) -> [f64; 16] {
    // WGS 84: equatorial radius and flattening.
    const RADIUS_M: f64 = 6_378_137.0;
    const FLATTENING: f64 = 1.0 / 298.257_223_563;
    const ECCENTRICITY_SQUARED: f64 = FLATTENING * (2.0 - FLATTENING);
    let (sin_lon, cos_lon) = location.longitude.to_radians().sin_cos();
    let (sin_lat, cos_lat) = location.latitude.to_radians().sin_cos();
    // To the polar axis, along the vertical.
    let normal = RADIUS_M / (1.0 - ECCENTRICITY_SQUARED * sin_lat * sin_lat).sqrt();
    let around = (normal + location.height_m) * cos_lat;
    let along = (normal * (1.0 - ECCENTRICITY_SQUARED) + location.height_m) * sin_lat;
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

/// How far from the sides of its block the open edges of a mesh lie at most, cells.
const BORDER_CELLS: f32 = 2.0;

/// The place of a vertex, in the steps of positions.
type Place = [i64; 3];

/// The corners of the sides of a triangle.
fn sides([a, b, c]: [u32; 3]) -> [[u32; 2]; 3] {
    [[a, b], [b, c], [c, a]]
}

/// Adds triangles to the ground of blocks of one mip, `depth` cells down from edges that no two
/// triangles share: they cover the gaps beside coarser or finer ground. Returns the number of edges.
pub fn add_skirt(meshes: &mut [BlockMesh], depth: f32) -> usize {
    // Sheets that touch, and blocks, have vertices of their own, but no gaps.
    let mut open: HashMap<[Place; 2], i32> = HashMap::new();
    for mesh in meshes.iter() {
        let triangles = mesh.solid.indices.as_chunks::<3>().0.iter();
        let edges = triangles.flat_map(|corners| sides(*corners));
        for edge in edges.filter(|edge| is_at_border(mesh, *edge)) {
            let [a, b] = edge.map(|index| place(mesh, index));
            *open.entry([a, b]).or_default() += 1;
            *open.entry([b, a]).or_default() -= 1;
        }
    }
    meshes.iter_mut().map(|mesh| add_skirt_to(mesh, &open, depth)).sum()
}

/// Whether both ends of an edge are near one side of the block: others are inside of the surface.
fn is_at_border(mesh: &BlockMesh, edge: [u32; 2]) -> bool {
    let size = mesh.block.size();
    let [a, b] = edge.map(|index| mesh.solid.positions[index as usize]);
    (0..3).any(|axis| {
        let low = a[axis].max(b[axis]) <= BORDER_CELLS;
        low || a[axis].min(b[axis]) >= size[axis] as f32 - BORDER_CELLS
    })
}

fn place(mesh: &BlockMesh, index: u32) -> Place {
    let (min, at) = (mesh.block.min.to_array(), mesh.solid.positions[index as usize]);
    // Exact: positions are whole steps.
    [0, 1, 2].map(|axis| ((f64::from(min[axis]) + f64::from(at[axis])) * 32_768.0) as i64)
}

fn add_skirt_to(mesh: &mut BlockMesh, open: &HashMap<[Place; 2], i32>, depth: f32) -> usize {
    let quads = mesh.solid.quad_materials.len();
    let mut edges = Vec::new();
    for (triangle, corners) in mesh.solid.indices.as_chunks::<3>().0.iter().enumerate() {
        let material = match triangle < 2 * quads {
            true => mesh.solid.quad_materials[triangle / 2],
            false => mesh.solid.loose_materials[triangle - 2 * quads],
        };
        let is_open = |edge: &[u32; 2]| {
            is_at_border(mesh, *edge) && open[&edge.map(|index| place(mesh, index))] > 0
        };
        edges.extend(sides(*corners).into_iter().filter(is_open).map(|edge| (edge, material)));
    }
    let surface = &mut mesh.solid;
    let mut lower: HashMap<u32, u32> = HashMap::new();
    for &([a, b], material) in &edges {
        let [under_a, under_b] =
            [a, b].map(|top| *lower.entry(top).or_insert_with(|| add_lower(surface, top, depth)));
        surface.indices.extend([b, a, under_a, b, under_a, under_b]);
        surface.loose_materials.extend([material; 2]);
    }
    edges.len()
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

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::generate::fill_sdf;
    use terravox::mesh::{Mesher, PAD};
    use terravox::voxel::{DenseBox, MaterialTable, Region};

    fn content(mip: u8, [x, z]: [i32; 2]) -> TileContent {
        let edge = f64::from(32 << mip);
        let [low, high] = [0, 1].map(|end| [x + end, z + end].map(|v| f64::from(v) * edge));
        let bounds_m = [[low[0], -3.0, low[1]], [high[0], 9.0 + edge, high[1]]];
        let column = TileColumn { mip, x, z };
        TileContent { column, bounds_m, uri: column.path() }
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
        let options = TilesetOptions { voxel_size_m: 1.0, location: None };
        // One that no coarser one covers, and others on both sides of the origin.
        let list = [
            content(0, [-1, 0]),
            content(0, [0, 5]),
            content(0, [1, 1]),
            content(1, [0, 0]),
            content(1, [-1, 0]),
            content(2, [0, 0]),
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
        let location = EarthLocation { longitude: 0.0, latitude: 0.0, height_m: 10.0 };
        let matrix = to_earth(location);
        assert_eq!(matrix[12..15], [6_378_147.0, 0.0, 0.0]);
        assert_eq!(matrix[8..11], [1.0, 0.0, 0.0]);
        let pole = to_earth(EarthLocation { longitude: 90.0, latitude: 90.0, height_m: 0.0 });
        assert!((pole[14] - 6_356_752.314_2).abs() < 1e-3, "{}", pole[14]);
        // Up is the cross product of east and north.
        for matrix in [matrix, pole] {
            let [e, n] = [&matrix[..3], &matrix[4..7]];
            let cross = |i: usize, j: usize| e[i] * n[j] - e[j] * n[i];
            let up = [cross(1, 2), cross(2, 0), cross(0, 1)];
            assert!((0..3).all(|axis| (up[axis] - matrix[8 + axis]).abs() < 1e-12));
        }
    }

    /// The surface of a ball around the origin in the blocks above and below it.
    fn cut_ball(blocks: &[[i32; 3]]) -> Vec<BlockMesh> {
        let mesh = |min: &[i32; 3]| {
            let region = Region::new(*min, min.map(|v| v + 32));
            let mut cells = DenseBox::new(region.grow(PAD));
            let ball = |p: [f64; 3]| 20.0 - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
            fill_sdf(&mut cells, 0, ball, |_| 2);
            let mut mesh = BlockMesh::new();
            Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
            mesh
        };
        blocks.iter().map(mesh).collect()
    }

    #[test]
    fn a_skirt_hangs_from_open_edges_and_faces_away_from_the_surface() {
        let mut one = cut_ball(&[[0; 3]]);
        let triangles = one[0].solid.indices.len() / 3;
        let edges = add_skirt(&mut one, 2.0);
        assert!(edges > 60, "{edges}");
        let surface = &one[0].solid;
        assert_eq!(surface.indices.len() / 3, triangles + 2 * edges);
        assert_eq!(surface.loose_materials.len(), 2 * edges);
        assert_eq!(surface.positions.len(), surface.normals.len());
        let at = |index: u32| surface.positions[index as usize];
        for corners in &surface.indices.as_chunks::<3>().0[triangles..] {
            let [a, b, c] = corners.map(at);
            let along = |from: [f32; 3], to: [f32; 3]| [0, 1, 2].map(|axis| to[axis] - from[axis]);
            let (u, v) = (along(a, b), along(a, c));
            let cross = |i: usize, j: usize| u[i] * v[j] - u[j] * v[i];
            let normal = [cross(1, 2), cross(2, 0), cross(0, 1)];
            // Edges are on the faces at 0: out of the block.
            let side = (0..3).min_by(|&i, &j| a[i].total_cmp(&a[j])).expect("three axes");
            assert!(normal[side] <= 0.0, "{a:?} {b:?} {c:?}");
        }
    }

    #[test]
    fn blocks_of_a_column_have_no_skirt_between_them() {
        let mut halves = [cut_ball(&[[0; 3]]), cut_ball(&[[0, -32, 0]])];
        let apart: usize = halves.iter_mut().map(|half| add_skirt(half, 2.0)).sum();
        let mut both = cut_ball(&[[0; 3], [0, -32, 0]]);
        let together = add_skirt(&mut both, 2.0);
        assert!(together < apart * 3 / 4, "{together} of {apart}");
        let mut ball: Vec<[i32; 3]> = Vec::new();
        for corner in 0..8 {
            ball.push([corner & 1, corner >> 1 & 1, corner >> 2].map(|v| 32 * v - 32));
        }
        assert_eq!(add_skirt(&mut cut_ball(&ball), 2.0), 0);
    }
}
