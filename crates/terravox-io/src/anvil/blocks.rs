//! Which material a block becomes, and how full its cell is.

use super::error::AnvilError;
use std::collections::HashMap;
use terravox::voxel::{AIR, Cell, Kind, Material, MaterialTable, WATER};

/// Longest table, bytes.
const MAX_TABLE_BYTES: usize = 1 << 20;
/// Longest name of a block, in tables and in files, bytes.
pub(super) const MAX_NAME_BYTES: usize = 128;
/// Units of work to compare a name with a line.
const LINE_WORK: u64 = 128;
/// The namespace of the game, which tables leave out.
const NAMESPACE: &str = "minecraft:";
/// Fill of a source of water or lava, and of its steps as it flows, from thick to thin.
const STEPS: u32 = 8;

/// What blocks become: a list of patterns of names, each with a material and a fill. The first that
/// fits counts.
#[derive(Clone, Debug)]
pub struct BlockTable {
    lines: Vec<BlockLine>,
    /// Bytes of all patterns with a `*`.
    starred_bytes: u64,
    materials: MaterialTable,
}

#[derive(Clone, Debug)]
struct BlockLine {
    /// A name without the game's namespace; `*` stands for any characters.
    pattern: String,
    material: u8,
    /// In 256ths.
    units: u32,
}

/// What a block becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    pub cell: Cell,
    /// Whether the rest of a solid cell is water.
    pub holds_water: bool,
}

/// The properties of a block that say how full it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockState {
    pub is_waterlogged: bool,
    /// `type=double`, of slabs.
    pub is_double: bool,
    /// `type=bottom` or `top`, of slabs.
    pub is_half: bool,
    /// Of snow: 1 to 8.
    pub layers: Option<u32>,
    /// Of liquids: 0 for a source, 1 to 7 as it thins out, from 8 on where it falls.
    pub level: Option<u32>,
}

impl BlockTable {
    /// The table that is used where no other one says more.
    pub const DEFAULT: &'static str = include_str!("blocks.txt");

    /// Reads a table: a line for each pattern, `BLOCK MATERIAL [FILL]`, as [`BlockTable::DEFAULT`]
    /// has and explains them. The lines of the default table follow. Colours like `#b8945f` are added
    /// to `materials` as solids.
    ///
    /// # Errors
    /// If a line has no material or an unknown one, a fill outside of 0 to 1, or the text or a name is
    /// too long.
    pub fn parse(text: &str, materials: &MaterialTable) -> Result<BlockTable, AnvilError> {
        let mut table =
            BlockTable { lines: Vec::new(), starred_bytes: 0, materials: materials.clone() };
        if text.len() > MAX_TABLE_BYTES {
            let what = format!("the table has {} bytes, at most {MAX_TABLE_BYTES}", text.len());
            return Err(AnvilError::Table { line: 1, what });
        }
        for part in [text, BlockTable::DEFAULT] {
            for (i, line) in part.lines().enumerate() {
                let line = table.line(line.trim());
                let line = line.map_err(|what| AnvilError::Table { line: i + 1, what })?;
                let starred = line.iter().filter(|line| line.pattern.contains('*'));
                table.starred_bytes += starred.map(|line| line.pattern.len() as u64).sum::<u64>();
                table.lines.extend(line);
            }
        }
        Ok(table)
    }

    /// The materials of a world that is made with this table.
    pub fn materials(&self) -> &MaterialTable {
        &self.materials
    }

    fn line(&mut self, line: &str) -> Result<Option<BlockLine>, String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (pattern, material, fill) = match words[..] {
            [pattern, material] => (pattern, material, "1"),
            [pattern, material, fill] => (pattern, material, fill),
            _ => return Err("give BLOCK MATERIAL [FILL]".to_owned()),
        };
        let pattern = pattern.strip_prefix(NAMESPACE).unwrap_or(pattern).to_owned();
        if pattern.len() > MAX_NAME_BYTES {
            return Err(format!("the name of a block is longer than {MAX_NAME_BYTES} bytes"));
        }
        let share: f64 = fill.parse().unwrap_or(f64::NAN);
        if !(0.0..=1.0).contains(&share) {
            return Err(format!("the fill {fill:?} is not a number from 0 to 1"));
        }
        let material = match material.strip_prefix('#') {
            Some(colour) => self.colour(colour, material)?,
            None => self.materials.find(material).ok_or_else(|| {
                let known = self.materials.materials().iter().map(|it| it.name.as_str());
                let known = known.collect::<Vec<_>>().join(", ");
                format!(
                    "unknown material {material:?}; give a colour like #b8945f, or one of {known}"
                )
            })?,
        };
        let units = (share * 256.0).round() as u32;
        let material = if units == 0 { AIR } else { material };
        Ok(Some(BlockLine { pattern, material, units }))
    }

    /// The material of a colour; a new one if there is none that was made for it.
    fn colour(&mut self, digits: &str, name: &str) -> Result<u8, String> {
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 6);
        let number =
            number.ok_or_else(|| format!("{name:?} is no colour; give one like #b8945f"))?;
        if let Some(id) = self.materials.find(name) {
            return Ok(id);
        }
        let mut materials = self.materials.materials().to_vec();
        // 255 stands for no material.
        if materials.len() >= 255 {
            return Err("a world has at most 255 materials; use fewer colours".to_owned());
        }
        let [_, r, g, b] = number.to_be_bytes();
        let name = name.to_ascii_lowercase();
        materials.push(Material { name, colour: [r, g, b], ..Material::default() });
        self.materials = MaterialTable::new(materials);
        Ok((self.materials.materials().len() - 1) as u8)
    }

    /// Units of work to find a name of so many bytes: a pattern with a `*` is tried from each byte on.
    pub(super) fn find_work(&self, name_bytes: usize) -> u64 {
        let starts = name_bytes as u64 + 1;
        LINE_WORK * self.lines.len() as u64 + self.starred_bytes * starts
    }

    /// Finds the line of a name with its namespace.
    pub(super) fn find(&self, name: &str) -> KnownBlock {
        let name = name.strip_prefix(NAMESPACE).unwrap_or(name);
        let line = self.lines.iter().find(|line| fits(line.pattern.as_bytes(), name.as_bytes()));
        let flows = matches!(name, "water" | "lava" | "flowing_water" | "flowing_lava");
        match line {
            Some(line) => KnownBlock {
                kind: self.materials.kind(line.material),
                material: line.material,
                units: line.units,
                flows,
                is_listed: true,
            },
            None => {
                // Without rock in the table: a plain grey solid.
                let material = self.materials.find("Rock").unwrap_or(254);
                let kind = self.materials.kind(material);
                KnownBlock { kind, material, units: 256, flows, is_listed: false }
            }
        }
    }
}

/// A name that was looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownBlock {
    kind: Kind,
    material: u8,
    units: u32,
    flows: bool,
    /// Whether a line of the table fits it.
    pub is_listed: bool,
}

impl KnownBlock {
    /// The block in a state.
    pub fn in_state(self, state: BlockState) -> Block {
        let mut units = self.units;
        if let Some(layers) = state.layers {
            units = (32 * layers).clamp(1, 256);
        } else if state.is_half {
            units = units.min(128);
        } else if self.flows {
            let thinner = state.level.filter(|level| *level < STEPS).unwrap_or(0);
            units = units.min(256 * (STEPS - thinner) / STEPS);
        }
        if state.is_double {
            units = 256;
        }
        if self.kind == Kind::Air {
            let cell = if state.is_waterlogged { Cell::full(WATER) } else { Cell::AIR };
            return Block { cell, holds_water: false };
        }
        let cell = Cell::new(self.material, (units.clamp(1, 256) - 1) as u8);
        let holds_water = state.is_waterlogged && units < 256 && self.kind == Kind::Solid;
        Block { cell, holds_water }
    }
}

/// The names of a file, each looked up once. They come from the file, so the hashes are keyed.
pub(super) type KnownBlocks = HashMap<String, KnownBlock>;

/// Whether a name fits a pattern in which `*` stands for any characters.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Behind the last star, and where the name went on from there.
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                star = Some((p, n));
            }
            Some(byte) if *byte == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((after, at)) => {
                    (p, n) = (after, at + 1);
                    star = Some((after, at + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(table: &BlockTable, name: &str, state: BlockState) -> (String, u32, bool) {
        let Block { cell, holds_water } = table.find(name).in_state(state);
        (table.materials().name(cell.material), cell.units(), holds_water)
    }

    #[test]
    fn patterns_fit_names() {
        for (pattern, name, expected) in [
            ("stone", "stone", true),
            ("stone", "stones", false),
            ("*stone", "sandstone", true),
            ("*_slab*", "oak_slab", true),
            ("*", "", true),
            ("a*b*c", "axxbxbxc", true),
            ("a*b*c", "axxbxbx", false),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    /// `fits` takes as many steps as both are long, multiplied, for patterns like these.
    #[test]
    fn long_patterns_cost_more_for_long_names() {
        let of = |pattern: &str| {
            let text = format!("{pattern} Rock\n").repeat(1000);
            BlockTable::parse(&text, &MaterialTable::default()).expect("a table")
        };
        let costly = of(&format!("*{}b*c", "a".repeat(62)));
        let work = costly.find_work(127);
        assert!(work > 1000 * 62 * 128, "{work}");
        assert!(costly.find_work(7) < work / 8);
        assert!(of("*_slab").find_work(20) < 400_000);
        assert!(of("stone").find_work(127) < 300_000);
    }

    #[test]
    fn the_default_table_is_overridden_line_by_line() {
        let text = "# mine\n\nstone #B8945f\n*_planks Concrete 0.25\ndeepslate #b8945f\n";
        let table = BlockTable::parse(text, &MaterialTable::default()).expect("a table");
        let none = BlockState::default();
        assert_eq!(block(&table, "minecraft:stone", none), ("#b8945f".to_owned(), 256, false));
        assert_eq!(block(&table, "deepslate", none), ("#b8945f".to_owned(), 256, false));
        assert_eq!(block(&table, "oak_planks", none), ("Concrete".to_owned(), 64, false));
        assert_eq!(block(&table, "minecraft:dirt", none), ("Ground".to_owned(), 256, false));
        assert!(!table.find("mod:dirt").is_listed);
        assert_eq!(table.materials().materials().len(), 24);
    }

    #[test]
    fn states_say_how_full_a_cell_is() {
        let table = BlockTable::parse("", &MaterialTable::default()).expect("the default");
        let none = BlockState::default();
        let state = BlockState { layers: Some(3), ..none };
        assert_eq!(block(&table, "snow", state), ("Snow".to_owned(), 96, false));
        let half = BlockState { is_half: true, is_waterlogged: true, ..none };
        assert_eq!(block(&table, "oak_slab", half), ("WoodPlanks".to_owned(), 128, true));
        let double = BlockState { is_double: true, is_waterlogged: true, ..none };
        assert_eq!(block(&table, "oak_slab", double), ("WoodPlanks".to_owned(), 256, false));
        for (level, units) in [(0, 256), (1, 224), (7, 32), (8, 256), (15, 256)] {
            let state = BlockState { level: Some(level), ..none };
            assert_eq!(block(&table, "water", state), ("Water".to_owned(), units, false));
            assert_eq!(block(&table, "lava", state).1, units);
            assert_eq!(block(&table, "composter", state).1, 256);
        }
        let wet = BlockState { is_waterlogged: true, ..none };
        assert_eq!(block(&table, "oak_fence", wet), ("Water".to_owned(), 256, false));
        assert_eq!(block(&table, "oak_fence", none), ("Air".to_owned(), 0, false));
        assert_eq!(block(&table, "sea_lantern", none).0, "Ice");
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, line, words) in [
            ("stone", 1, "give BLOCK MATERIAL [FILL]"),
            ("\nstone Rock 1 2", 2, "give BLOCK"),
            (
                "stone Marble",
                1,
                "unknown material \"Marble\"; give a colour like #b8945f, or one of Air",
            ),
            ("stone #12345", 1, "is no colour"),
            ("stone Rock 1.5", 1, "from 0 to 1"),
            ("stone Rock NaN", 1, "from 0 to 1"),
        ] {
            let error = BlockTable::parse(text, &MaterialTable::default()).expect_err("an error");
            let AnvilError::Table { line: found, what } = &error else { panic!("{error}") };
            assert!(*found == line && what.contains(words), "{error}");
            assert!(!error.to_string().contains('\n'));
        }
    }
}
