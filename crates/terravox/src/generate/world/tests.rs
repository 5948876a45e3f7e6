use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::voxel::{Cell, LIMIT, VoxelPos, WATER};

fn cells(world: &World, region: Region, mip: u8) -> DenseBox {
    let mut cells = DenseBox::new(region);
    world.fill(&mut cells, mip);
    cells
}

fn worlds() -> impl Strategy<Value = World> {
    (0..1000u64, 0..Preset::ALL.len()).prop_map(|(seed, i)| World::new(seed, Preset::ALL[i]))
}

/// Worlds of any options.
fn any_worlds() -> impl Strategy<Value = World> {
    let which = prop::collection::vec((0usize..16, 0.0f32..=1.0), 0..9);
    (worlds(), which).prop_map(|(world, which)| {
        let mut options = *world.options();
        for (i, t) in which {
            options.set_within_range(i, t);
        }
        World { options, ..world }
    })
}

/// A region of cells of a mip, at the ground or anywhere.
fn region_at(world: &World, at: (i32, i32, i32), size: (i32, i32, i32), mip: u8) -> Region {
    let (height, _) = world.ground(f64::from(at.0), f64::from(at.2));
    let min = VoxelPos::new(at.0, height as i32 + at.1, at.2).coarser(mip.into());
    Region { min, max: min + VoxelPos::new(size.0, size.1, size.2) }
}

/// Cell by cell: every column by itself, every cell with all caves of the neighbourhood, nothing
/// known of the whole box.
fn naive(world: &World, region: Region, mip: u8) -> DenseBox {
    let setting = world.setting(mip);
    let mut all = DenseBox::new(region);
    for pos in region.voxels() {
        let one = Region::one(pos);
        let columns = columns::columns(&setting, one);
        let mut cell = DenseBox::new(one);
        cells::fill(&setting, &mut cell, mip, &columns);
        all.set(pos, cell.cell(pos));
        all.set_water(pos, cell.water_at(pos));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn boxes_are_what_every_cell_is_alone(
        world in worlds(),
        at in (-9000..9000i32, -110..40i32, -9000..9000i32),
        size in (1..7i32, 1..14i32, 1..5i32),
        mip in 0u8..9,
    ) {
        let region = region_at(&world, at, size, mip);
        prop_assert!(cells(&world, region, mip) == naive(&world, region, mip));
    }

    #[test]
    fn a_cell_is_the_same_in_any_region(
        world in worlds(),
        at in (-9000..9000i32, -110..30i32, -9000..9000i32),
        size in (1..40i32, 1..20i32, 1..40i32),
        mip in 0u8..6,
    ) {
        let region = region_at(&world, at, size, mip);
        let part = cells(&world, region, mip);
        let whole = cells(&world, region.grow(5), mip);
        for pos in region.voxels() {
            prop_assert_eq!(part.cell(pos), whole.cell(pos));
            prop_assert_eq!(part.water_at(pos), whole.water_at(pos));
        }
    }

    /// What bounds call air or deep is so where every cell is asked.
    #[test]
    fn bounds_are_conservative(
        world in any_worlds(),
        at in (-(1 << 30)..1 << 30i32, -(1 << 30)..1 << 30i32),
        near in prop::option::weighted(0.7, (-90_000..90_000i32, -90_000..90_000i32)),
        mip in prop_oneof![4 => 0u8..8, 1 => 8u8..=20],
        edge in 1..33i32,
    ) {
        let at = near.unwrap_or(at);
        let min = VoxelPos::new(at.0, 0, at.1).coarser(mip.into());
        let setting = world.setting(mip);
        let boxed = |y: i32| {
            let min = VoxelPos::new(min.x, y, min.z);
            Region { min, max: min + VoxelPos::new(edge, 1, edge) }
        };
        let heights = world.heights();
        let layers = (heights.start >> mip) - 4..=(heights.end >> mip) + 4;
        let columns = columns::columns(&setting, boxed(0));
        let filled = |region: Region| {
            let mut all = DenseBox::new(region);
            cells::fill(&setting, &mut all, mip, &columns);
            all
        };
        // The lowest box that is air, by samples and by the world; the highest that is deep.
        let is_known = [
            layers.clone().find(|&y| bounds::is_air(&setting, boxed(y))),
            layers.clone().find(|&y| bounds::uniform(&setting, boxed(y)) == Some(Uniform::Air)),
        ];
        prop_assert!(is_known[1].is_some());
        for air in is_known.into_iter().flatten() {
            let all = filled(boxed(air));
            prop_assert!(all.materials().iter().all(|&material| material == 0), "{air}");
        }
        let deep = layers.rev().find_map(|y| match bounds::uniform(&setting, boxed(y)) {
            Some(Uniform::Deep(material)) => Some((y, material)),
            _ => None,
        });
        let (deep, material) = deep.unwrap();
        let all = filled(boxed(deep));
        for pos in all.region().voxels() {
            prop_assert_eq!(all.cell(pos), Cell::full(material));
        }
    }

    /// Each sample's bounds, against columns all over its box.
    #[test]
    fn no_column_is_higher_than_the_bounds_of_its_box(
        world in any_worlds(),
        at in (-(1 << 30)..1 << 30i32, -(1 << 30)..1 << 30i32),
        near in prop::option::weighted(0.7, (-90_000..90_000i32, -90_000..90_000i32)),
        mip in 0u8..7,
        edge in 1..33i32,
    ) {
        let at = near.unwrap_or(at);
        let min = VoxelPos::new(at.0, 0, at.1).coarser(mip.into());
        let region = Region { min, max: min + VoxelPos::new(edge, 1, edge) };
        let setting = world.setting(mip);
        let highest = columns::columns(&setting, region)
            .iter()
            .map(|column| {
                let island = column.island.map_or(f32::MIN, |island| island.top);
                column.around[1].max(column.water).max(island)
            })
            .fold(f32::MIN, f32::max);
        prop_assert!(!samples::are_below(&setting, region, f64::from(highest) - 0.1));
        prop_assert!(f64::from(highest) < f64::from(world.heights().end) + 0.5 * setting.edge);
    }

    #[test]
    fn many_columns_are_what_each_is_alone(
        world in any_worlds(),
        at in (-900_000..900_000i32, -900_000..900_000i32),
        off in prop::collection::vec((0.0..70.0f64, 0.0..70.0f64), 1..40),
    ) {
        let at = [at.0, at.1].map(f64::from);
        let columns: Vec<_> = off.iter().map(|&(x, z)| [at[0] + x, at[1] + z]).collect();
        for (&[x, z], ground) in columns.iter().zip(world.grounds(&columns)) {
            prop_assert_eq!(world.grounds(&[[x, z]]), [ground]);
            prop_assert_eq!(world.ground(x, z), (ground.height, ground.biomes));
            prop_assert_eq!(world.biome(x, z), ground.biome());
            prop_assert!(ground.water.is_none_or(|level| level > ground.height));
            prop_assert_eq!(ground.height < 0.0, ground.biome() == Biome::Sea);
        }
    }

    /// Blocks that cover a tile are filled from columns that are kept.
    #[test]
    fn kept_columns_give_the_cells_of_new_ones(
        world in any_worlds(),
        at in (-9000..9000i32, -9000..9000i32),
        mip in 0u8..9,
        up in prop::collection::vec(-2..9i32, 1..4),
    ) {
        let (height, _) = world.ground(f64::from(at.0), f64::from(at.1));
        let block = VoxelPos::new(at.0, height as i32, at.1).coarser(u32::from(mip) + 5);
        let setting = world.setting(mip);
        for up in up {
            let min = VoxelPos::new(block.x * 32, (block.y + up) * 32, block.z * 32);
            let region = Region { min, max: min + VoxelPos::new(32, 32, 32) };
            let mut all = DenseBox::new(region);
            cells::fill(&setting, &mut all, mip, &columns::columns(&setting, region));
            prop_assert!(cells(&world, region, mip) == all);
        }
    }

    #[test]
    fn rivers_never_flow_uphill(
        world in worlds(),
        at in (-1_000_000..1_000_000i32, -1_000_000..1_000_000i32),
    ) {
        let setting = Setting { edge: 0.0, ..world.setting(0) };
        let anchor = [f64::from(at.0), f64::from(at.1)];
        let reaches = rivers::near(&setting, anchor, [[-1500.0, 1500.0]; 2]);
        for reach in &reaches {
            prop_assert!(reach.level[1] <= reach.level[0] && reach.level[1] >= 0.0, "{reach:?}");
            prop_assert!(reach.half_width.iter().all(|&w| w > 0.0 && w <= drainage::MAX_HALF_WIDTH));
        }
        // Within the rectangle each reach goes on with one that is not higher, or ends in a lake or
        // the sea.
        let is_inside = |p: [f32; 2]| p.iter().all(|v| v.abs() < 1200.0);
        let ends = |p: [f32; 2], q: [f32; 2]| (p[0] - q[0]).abs() + (p[1] - q[1]).abs() < 0.01;
        for reach in reaches.iter().filter(|reach| is_inside(reach.to) && reach.half_width[1] < 20.0) {
            let next = reaches.iter().find(|next| ends(next.from, reach.to));
            match next {
                Some(next) => prop_assert!(next.level[0] <= reach.level[1] + 1e-3),
                // A lake's own is level.
                None => prop_assert!(reach.level[1] == 0.0 || reach.level[0] == reach.level[1], "{reach:?} ends nowhere"),
            }
        }
    }
}

/// Edge of the windows in which river cells are looked at.
const WINDOW: usize = 192;

/// The wet columns of a window, by index; the sea is not among them.
fn wet_columns(columns: &[columns::LandColumn]) -> Vec<usize> {
    let is_wet = |&i: &usize| columns[i].water > 0.0 && columns[i].water > columns[i].height;
    (0..columns.len()).filter(is_wet).collect()
}

/// The columns beside one, within the window.
fn beside(i: usize) -> impl Iterator<Item = usize> {
    let (x, z) = (i % WINDOW, i / WINDOW);
    let sides = [
        (x > 0).then(|| i - 1),
        (x + 1 < WINDOW).then_some(i + 1),
        (z > 0).then(|| i - WINDOW),
        (z + 1 < WINDOW).then_some(i + WINDOW),
    ];
    sides.into_iter().flatten()
}

/// From every wet cell the water runs down, from cell to cell, out of the window, into the sea or
/// into a lake; nowhere does it stand above what it may spill over, but within a voxel of the sea.
#[test]
fn water_runs_downhill_from_cell_to_cell_between_banks() {
    let (mut wet_cells, mut spills) = (0, 0);
    for preset in [Preset::Continents, Preset::Alps, Preset::Canyons, Preset::Wetlands] {
        let world = World::new(7, preset);
        for i in 0..24 {
            let [x, z] = [i % 6 * 1731 - 6000, i / 6 * 1517 - 5000];
            let edge = WINDOW as i32;
            let region = Region::new([x, 0, z], [x + edge, 1, z + edge]);
            let columns = columns::columns(&world.setting(0), region);
            let wet = wet_columns(&columns);
            wet_cells += wet.len();
            for &i in &wet {
                let dry = |&j: &usize| columns[j].water <= columns[j].height;
                for j in beside(i).filter(dry) {
                    let over = columns[i].water - columns[j].height.max(0.0);
                    assert!(over < 1.0, "{preset:?}: {over} at {x}, {z}, {i}");
                    spills += usize::from(over > 0.25);
                }
                for j in beside(i).filter(|&j| columns[j].water > columns[j].height) {
                    let step = (columns[i].water - columns[j].water).abs();
                    assert!(step < 0.25 || columns[j].water == 0.0, "{preset:?}: {step}");
                }
            }
            assert_runs_down(&columns, wet, &format!("{preset:?} at {x}, {z}"));
        }
    }
    assert!(wet_cells > 40_000, "{wet_cells}");
    assert!(spills * 400 < wet_cells, "{spills} of {wet_cells}");
}

/// Floods uphill from the lowest wet cell, then from the lowest that was not reached, and so on:
/// each of those must be an end of a river.
fn assert_runs_down(columns: &[columns::LandColumn], mut wet: Vec<usize>, what: &str) {
    wet.sort_by(|&a, &b| columns[a].water.total_cmp(&columns[b].water));
    let mut reached = vec![false; columns.len()];
    for &lowest in &wet {
        if std::mem::replace(&mut reached[lowest], true) {
            continue;
        }
        let level = columns[lowest].water;
        let (mut is_end, mut pool, mut stack) = (false, 0, vec![lowest]);
        while let Some(i) = stack.pop() {
            let near = columns[i].water < level + 0.5;
            pool += usize::from(near);
            is_end |= near && beside(i).count() < 4;
            for j in beside(i) {
                let next = &columns[j];
                is_end |= next.water == 0.0 && next.height < 0.5 && near;
                let is_wet = next.water > 0.0 && next.water > next.height;
                let runs_here = is_wet && next.water > columns[i].water - 0.02;
                if runs_here && !std::mem::replace(&mut reached[j], true) {
                    stack.push(j);
                }
            }
        }
        // A lake is at least as wide as half a node's smallest.
        assert!(is_end || pool > 200, "{what}: {pool} cells at {level} end nowhere");
    }
}

/// How far the ground beside rivers lies above their water, voxels: at 8 to 64 voxels from it, on
/// land.
fn banks(columns: &[columns::LandColumn]) -> Vec<f32> {
    let wet = wet_columns(columns);
    let mut nearest = vec![None; columns.len()];
    wet.iter().for_each(|&i| nearest[i] = Some(columns[i].water));
    let (mut banks, mut front) = (Vec::new(), wet);
    for away in 1..=64 {
        let mut next = Vec::new();
        for &i in &front {
            for j in beside(i).filter(|&j| columns[j].height > 0.0) {
                if nearest[j].is_none() {
                    nearest[j] = nearest[i];
                    next.push(j);
                    if away >= 8 {
                        banks.extend(nearest[j].map(|level| columns[j].height - level));
                    }
                }
            }
        }
        front = next;
    }
    banks
}

/// Rivers lie in valleys: beside them the ground is not below their water.
#[test]
fn rivers_run_in_valleys_and_not_on_dams() {
    for preset in Preset::ALL {
        let (mut below, mut count, mut worst) = (0, 0, 0.0_f32);
        for seed in [7, 19] {
            let world = World::new(seed, preset);
            for i in (seed as i32 % 4..24).step_by(4) {
                let [x, z] = [i % 6 * 1731 - 6000, i / 6 * 1517 - 5000];
                let edge = WINDOW as i32;
                let region = Region::new([x, 0, z], [x + edge, 1, z + edge]);
                let banks = banks(&columns::columns(&world.setting(0), region));
                count += banks.len();
                below += banks.iter().filter(|&&above| above < -0.5).count();
                worst = banks.iter().fold(worst, |worst, &above| worst.min(above));
            }
        }
        assert!(count > 1000 && below * 500 <= count, "{preset:?}: {below} of {count} are below");
        assert!(worst > -2.0, "{preset:?}: {worst}");
    }
}

/// Mean difference of the surface of a mip from that of mip 0, in cells of the mip.
fn disagreement(world: &World, mip: u8, [x, z]: [i32; 2]) -> f64 {
    let edge = 1 << mip;
    let surface = |mip: u8, x: i32, z: i32| {
        let setting = world.setting(mip);
        let pos = VoxelPos::new(x, 0, z).coarser(mip.into());
        f64::from(columns::columns(&setting, Region::one(pos))[0].height)
    };
    let mut sum = 0.0;
    let count = 24;
    for i in 0..count {
        let [x, z] = [x + i * 37 * edge, z + i * 23 * edge];
        // The middle of a cell of the mip is the corner of four voxels.
        let corner =
            VoxelPos::new(x, 0, z).coarser(mip.into()).to_array().map(|v| v * edge + edge / 2);
        let around = [[0, 0], [-1, 0], [0, -1], [-1, -1]];
        let fine = around.map(|[dx, dz]| surface(0, corner[0] + dx, corner[2] + dz));
        let coarse = surface(mip, x, z);
        sum += (coarse - fine.iter().sum::<f64>() / 4.0).abs();
    }
    sum / f64::from(count) / f64::from(edge)
}

#[test]
fn mips_agree() {
    for preset in Preset::ALL {
        let world = World::new(7, preset);
        for mip in 1..=6 {
            let off = disagreement(&world, mip, [-3000, 2000]);
            assert!(off < 0.35, "{preset:?}, mip {mip}: {off} cells");
        }
    }
}

#[test]
fn worlds_have_their_biomes_and_materials() {
    let mut materials: BTreeSet<u8> = BTreeSet::new();
    let mut digests = BTreeSet::new();
    for preset in Preset::ALL {
        let world = World::new(7, preset);
        let mut sum = 0_u64;
        for i in 0..120 {
            let (x, z) = (i % 11 * 1700 - 9000, i / 11 * 1900 - 9000);
            let (height, _) = world.ground(f64::from(x), f64::from(z));
            let region = Region::new([x, height as i32 - 6, z], [x + 4, height as i32 + 4, z + 4]);
            let cells = cells(&world, region, 0);
            materials.extend(cells.materials().iter().copied());
            for (&material, &occupancy) in cells.materials().iter().zip(cells.occupancies()) {
                sum = sum
                    .wrapping_mul(31)
                    .wrapping_add(u64::from(material) << 8 | u64::from(occupancy));
            }
        }
        digests.insert(sum);
        // What is rare is found from afar: the ground of nine square kilometres.
        let wide = Region::new([0, 0, 0], [96, 1, 96]);
        let columns = columns::columns(&world.setting(5), wide);
        materials.extend(columns.iter().map(|column| column.top));
    }
    assert_eq!(digests.len(), Preset::ALL.len(), "presets differ");
    materials.retain(|&material| material > WATER);
    assert!(materials.len() >= 14, "{materials:?}");
}

#[test]
fn every_biome_is_somewhere_and_has_a_name_of_its_own() {
    let mut found: BTreeSet<Biome> = BTreeSet::new();
    let worlds = Preset::ALL.map(|preset| World::new(7, preset));
    for row in 0..40 {
        let z = f64::from(row * 430 - 8000);
        let columns: Vec<_> = (0..40).map(|i| [f64::from(i * 410 - 8000), z]).collect();
        for world in &worlds {
            found.extend(world.grounds(&columns).iter().map(Ground::biome));
        }
        if found.len() == Biome::ALL.len() {
            break;
        }
    }
    assert_eq!(found, BTreeSet::from(Biome::ALL));
    for biome in Biome::ALL {
        assert_eq!(Biome::find(biome.name()), Some(biome));
        assert_eq!(biome.to_string(), biome.name());
    }
    assert_eq!(Biome::find("Sea"), None);
}

#[test]
fn the_ends_of_the_world_are_ground_like_any() {
    for preset in [Preset::Fjords, Preset::Skylands] {
        let world = World::new(7, preset);
        for mip in [0, 3, 6, 8, 20, 31] {
            for end in [-LIMIT, LIMIT - 64, -(1 << 30), (1 << 30) - 64] {
                let min = VoxelPos::new(end, -200, -end).coarser(mip);
                let region = Region { min, max: min + VoxelPos::new(5, 9, 3) };
                let mip = mip as u8;
                assert!(
                    cells(&world, region, mip) == naive(&world, region, mip),
                    "{region:?} {mip}"
                );
            }
        }
    }
}

/// On one thread or several, in any order.
#[test]
fn the_order_of_blocks_does_not_matter() {
    let world = World::new(3, Preset::Volcanoes);
    let blocks: Vec<Region> = Region::new([-64, -32, 32], [64, 64, 96])
        .blocks::<5>()
        .map(|block| block.region())
        .collect();
    let forwards: Vec<DenseBox> = blocks.iter().map(|&region| cells(&world, region, 0)).collect();
    let backwards: Vec<DenseBox> = std::thread::scope(|scope| {
        let fill = |&region: &Region| scope.spawn(move || cells(&world, region, 0));
        let threads: Vec<_> = blocks.iter().rev().map(fill).collect();
        threads.into_iter().rev().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(forwards == backwards);
}

#[test]
fn options_out_of_range_make_no_world() {
    let options = WorldOptions { relief: f32::NAN, ..WorldOptions::default() };
    let error = World::with_options(1, options).unwrap_err().to_string();
    assert!(error.starts_with("relief is NaN"), "{error}");
}

/// The bits that worlds are made with: they change with [`World::VERSION`] only.
#[test]
fn the_cells_are_those_of_this_version() {
    let digests = Preset::ALL.map(|preset| {
        let world = World::new(7, preset);
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |byte: u8| digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        for (i, mip) in [0, 0, 1, 3, 6].into_iter().enumerate() {
            let at = (i as i32 * 1900 - 3800, -9, i as i32 * 700 - 1000);
            let cells = cells(&world, region_at(&world, at, (16, 18, 16), mip), mip);
            cells.materials().iter().for_each(|&byte| add(byte));
            cells.occupancies().iter().for_each(|&byte| add(byte));
            cells.water().iter().for_each(|&(_, byte)| add(byte));
        }
        digest
    });
    assert_eq!(digests, DIGESTS, "{digests:#x?}");
}

const DIGESTS: [u64; 10] = [
    0x9302_5855_b3e0_6f23,
    0x2b8f_3fc4_5257_5bde,
    0x1eed_696b_b9ae_16ec,
    0xc5e5_b0df_266a_709c,
    0x2998_b3ff_2539_4beb,
    0x00aa_74c4_579e_d9e5,
    0x4a8e_7ea2_54a9_987c,
    0x6830_642e_ff35_37fb,
    0x0ed6_f3c2_febb_f592,
    0x73cd_aad3_c44f_9f21,
];
