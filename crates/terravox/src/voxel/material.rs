//! What the material ids of a world mean.
//!
//! The default table is that of real terrain files (`docs/format.md`): air, water
//! and 21 solids.

use super::cell::WATER;

/// Whether a material is air, liquid or solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kind {
    /// Empty space; only material 0.
    Air,
    /// Fills space, has a liquid surface, is not solid.
    Liquid,
    /// Bounds the solid surface.
    #[default]
    Solid,
}

/// How a material's surface is shaped: where mesh vertices lie, never how they connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SurfaceShape {
    /// Rounded, with creases kept a little.
    #[default]
    Default,
    /// As round as the data allows.
    Smooth,
    /// Creases kept.
    Sharp,
    /// Exact cubes.
    Blocky,
    /// Broken ground: vertices displaced by a hash of their position.
    Rubble,
}

/// One entry of a [`MaterialTable`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Material {
    /// Name, unique by convention only.
    pub name: String,
    /// Air, liquid or solid. Never changes in a world that has data.
    pub kind: Kind,
    /// Shape of the surface.
    pub shape: SurfaceShape,
    /// sRGB colour, 0 to 255 per channel.
    pub colour: [u8; 3],
    /// Coulomb friction coefficient; finite, 0 or more.
    pub friction: f32,
    /// Restitution, 0 to 1.
    pub restitution: f32,
    /// Kilograms per cubic metre; finite, 0 or more.
    pub density: f32,
    /// How long digging takes, relative to ground at 1; finite, 0 or more. For the tools of a game;
    /// unused here.
    pub hardness: f32,
}

impl Default for Material {
    /// A grey solid like concrete, without a name.
    fn default() -> Material {
        Material {
            name: String::new(),
            kind: Kind::Solid,
            shape: SurfaceShape::Default,
            colour: [128; 3],
            friction: 0.6,
            restitution: 0.1,
            density: 2000.0,
            hardness: 1.0,
        }
    }
}

impl Material {
    /// What is wrong with a number of this material, if anything.
    fn fault(&self) -> Option<String> {
        let Material { friction, restitution, density, hardness, .. } = *self;
        let fields = [
            ("friction", friction, f32::MAX, "finite and at least 0"),
            ("restitution", restitution, 1.0, "0 to 1"),
            ("density", density, f32::MAX, "finite and at least 0"),
            ("hardness", hardness, f32::MAX, "finite and at least 0"),
        ];
        let wrong = fields.into_iter().find(|(_, value, most, _)| !(0.0..=*most).contains(value));
        wrong.map(|(name, value, _, range)| format!("{name} is {value}; it must be {range}"))
    }
}

/// Materials that are not a valid [`MaterialTable`]; the text says which, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaterialTableError(String);

impl std::fmt::Display for MaterialTableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MaterialTableError {}

/// Materials by id. Ids that are not listed are plain grey solids.
///
/// ```
/// use terravox::voxel::{Kind, Material, MaterialTable};
///
/// let ore = Material { name: "Ore".to_owned(), hardness: 4.0, ..Material::default() };
/// let mut materials = MaterialTable::default().materials().to_vec();
/// materials.push(ore);
/// let table = MaterialTable::new(materials);
/// assert_eq!(table.find("ore"), Some(23));
/// assert_eq!(table.kind(23), Kind::Solid);
/// assert_eq!(table.hardness(23), 4.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Vec<Material>", into = "Vec<Material>"))]
pub struct MaterialTable {
    materials: Vec<Material>,
    kinds: [Kind; 256],
    shapes: [SurfaceShape; 256],
}

impl MaterialTable {
    /// A table of up to 256 materials; the index is the id.
    ///
    /// # Panics
    /// If there are more than 256, material 0 is not the only one of kind air, there are liquids
    /// but material [`WATER`] is not one of them, or a coefficient is out of range: friction,
    /// density and hardness finite and 0 or more, restitution 0 to 1. For materials from a file,
    /// use `MaterialTable::try_from`.
    pub fn new(materials: Vec<Material>) -> MaterialTable {
        match MaterialTable::try_from(materials) {
            Ok(table) => table,
            Err(error) => panic!("{error}"),
        }
    }

    /// The listed materials, by id.
    pub fn materials(&self) -> &[Material] {
        &self.materials
    }

    /// The listed material `id`, if any.
    pub fn get(&self, id: u8) -> Option<&Material> {
        self.materials.get(usize::from(id))
    }

    /// Sets the colour of a listed material; `false` if it is not listed.
    pub fn set_colour(&mut self, id: u8, colour: [u8; 3]) -> bool {
        let material = self.materials.get_mut(usize::from(id));
        material.map(|m| m.colour = colour).is_some()
    }

    /// Sets the shape of a listed material; `false` if it is not listed.
    pub fn set_shape(&mut self, id: u8, shape: SurfaceShape) -> bool {
        match self.materials.get_mut(usize::from(id)) {
            Some(material) => {
                material.shape = shape;
                self.shapes[usize::from(id)] = shape;
                true
            }
            None => false,
        }
    }

    /// The id of the material called `name`, ASCII case ignored.
    pub fn find(&self, name: &str) -> Option<u8> {
        self.materials.iter().position(|m| m.name.eq_ignore_ascii_case(name)).map(|id| id as u8)
    }

    /// Kind of `id`.
    #[inline]
    pub fn kind(&self, id: u8) -> Kind {
        self.kinds[usize::from(id)]
    }

    /// Kinds of all 256 ids.
    #[inline]
    pub fn kinds(&self) -> &[Kind; 256] {
        &self.kinds
    }

    /// Shape of `id`.
    #[inline]
    pub fn shape(&self, id: u8) -> SurfaceShape {
        self.shapes[usize::from(id)]
    }

    /// Shapes of all 256 ids.
    #[inline]
    pub fn shapes(&self) -> &[SurfaceShape; 256] {
        &self.shapes
    }

    /// sRGB colour of `id`; mid grey if it is not listed.
    pub fn colour(&self, id: u8) -> [u8; 3] {
        self.get(id).map_or([128; 3], |m| m.colour)
    }

    /// Kilograms per cubic metre of `id`; 2000 if it is not listed.
    pub fn density(&self, id: u8) -> f32 {
        self.get(id).map_or(2000.0, |m| m.density)
    }

    /// How long digging `id` takes, relative to ground at 1; 1 if it is not listed.
    pub fn hardness(&self, id: u8) -> f32 {
        self.get(id).map_or(1.0, |m| m.hardness)
    }

    /// Name of `id`; `material N` if it is not listed.
    pub fn name(&self, id: u8) -> String {
        self.get(id).map_or_else(|| format!("material {id}"), |m| m.name.clone())
    }
}

impl TryFrom<Vec<Material>> for MaterialTable {
    type Error = MaterialTableError;

    /// A table of up to 256 materials; the index is the id.
    fn try_from(materials: Vec<Material>) -> Result<MaterialTable, MaterialTableError> {
        if materials.len() > 256 {
            return Err(MaterialTableError(format!("{} materials; at most 256", materials.len())));
        }
        for (id, material) in materials.iter().enumerate() {
            let fault = match (id == 0, material.kind == Kind::Air) {
                (true, false) => Some("its kind must be air, as that of no other".to_owned()),
                (false, true) => Some("only material 0 is air".to_owned()),
                _ => material.fault(),
            };
            if let Some(fault) = fault {
                let name = &material.name;
                return Err(MaterialTableError(format!("material {id} ({name}): {fault}")));
            }
        }
        let is_liquid = |material: &Material| material.kind == Kind::Liquid;
        if let Some(id) = materials.iter().position(is_liquid)
            && !is_liquid(&materials[usize::from(WATER)])
        {
            let name = &materials[id].name;
            return Err(MaterialTableError(format!(
                "material {id} ({name}) is a liquid, so material {WATER} must be one: it is what \
                 solid cells at a shore hold"
            )));
        }
        let mut kinds = [Kind::Solid; 256];
        let mut shapes = [SurfaceShape::Default; 256];
        kinds[0] = Kind::Air;
        for (id, material) in materials.iter().enumerate() {
            kinds[id] = material.kind;
            shapes[id] = material.shape;
        }
        Ok(MaterialTable { materials, kinds, shapes })
    }
}

impl From<MaterialTable> for Vec<Material> {
    fn from(table: MaterialTable) -> Vec<Material> {
        table.materials
    }
}

impl Default for MaterialTable {
    fn default() -> MaterialTable {
        MaterialTable::new(DEFAULT_MATERIALS.iter().map(DefaultMaterial::expand).collect())
    }
}

/// An entry of the default table: name, kind, colour, friction, restitution, density, hardness.
struct DefaultMaterial(&'static str, Kind, [u8; 3], f32, f32, f32, f32);

impl DefaultMaterial {
    fn expand(&self) -> Material {
        Material {
            name: self.0.to_owned(),
            kind: self.1,
            shape: SurfaceShape::Default,
            colour: self.2,
            friction: self.3,
            restitution: self.4,
            density: self.5,
            hardness: self.6,
        }
    }
}

/// Names and order are those of real terrain files; colours, friction, density
/// and hardness are ours, from everyday values.
const DEFAULT_MATERIALS: [DefaultMaterial; 23] = {
    use Kind::{Air, Liquid, Solid};
    [
        DefaultMaterial("Air", Air, [0, 0, 0], 0.0, 0.0, 1.2, 0.0),
        DefaultMaterial("Water", Liquid, [42, 98, 124], 0.0, 0.0, 1000.0, 0.0),
        DefaultMaterial("Grass", Solid, [98, 131, 62], 0.6, 0.1, 1300.0, 1.0),
        DefaultMaterial("Slate", Solid, [92, 95, 99], 0.6, 0.15, 2700.0, 5.0),
        DefaultMaterial("Concrete", Solid, [143, 140, 132], 0.7, 0.2, 2400.0, 8.0),
        DefaultMaterial("Brick", Solid, [142, 84, 66], 0.7, 0.2, 1900.0, 6.0),
        DefaultMaterial("Sand", Solid, [205, 184, 134], 0.5, 0.05, 1600.0, 0.7),
        DefaultMaterial("WoodPlanks", Solid, [139, 104, 68], 0.5, 0.3, 700.0, 2.0),
        DefaultMaterial("Rock", Solid, [108, 102, 95], 0.65, 0.2, 2600.0, 6.0),
        DefaultMaterial("Glacier", Solid, [152, 190, 208], 0.1, 0.2, 900.0, 3.0),
        DefaultMaterial("Snow", Solid, [228, 234, 240], 0.25, 0.05, 400.0, 0.4),
        DefaultMaterial("Sandstone", Solid, [171, 135, 93], 0.65, 0.15, 2300.0, 4.0),
        DefaultMaterial("Mud", Solid, [88, 68, 50], 0.35, 0.02, 1700.0, 0.8),
        DefaultMaterial("Basalt", Solid, [56, 54, 58], 0.65, 0.2, 3000.0, 9.0),
        DefaultMaterial("Ground", Solid, [110, 86, 60], 0.55, 0.05, 1500.0, 1.0),
        DefaultMaterial("CrackedLava", Solid, [176, 70, 32], 0.6, 0.1, 2800.0, 7.0),
        DefaultMaterial("Asphalt", Solid, [70, 70, 72], 0.8, 0.15, 2300.0, 5.0),
        DefaultMaterial("Cobblestone", Solid, [124, 118, 110], 0.6, 0.2, 2500.0, 6.0),
        DefaultMaterial("Ice", Solid, [176, 212, 226], 0.05, 0.2, 920.0, 3.0),
        DefaultMaterial("LeafyGrass", Solid, [86, 120, 48], 0.6, 0.1, 1250.0, 1.0),
        DefaultMaterial("Salt", Solid, [218, 212, 202], 0.5, 0.1, 2100.0, 2.0),
        DefaultMaterial("Limestone", Solid, [190, 180, 152], 0.65, 0.2, 2400.0, 4.0),
        DefaultMaterial("Pavement", Solid, [146, 146, 138], 0.75, 0.2, 2300.0, 6.0),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table_has_air_water_and_21_solids() {
        let table = MaterialTable::default();
        assert_eq!(table.materials().len(), 23);
        assert_eq!(table.kind(0), Kind::Air);
        assert_eq!(table.kind(1), Kind::Liquid);
        assert!((2..=255).all(|id| table.kind(id) == Kind::Solid));
        assert_eq!(table.find("crackedlava"), Some(15));
        assert_eq!(table.name(200), "material 200");
    }

    #[test]
    #[should_panic(expected = "material 3 (Water) is a liquid, so material 1 must be one")]
    fn a_liquid_needs_water_where_shores_look_for_it() {
        let table = MaterialTable::default();
        let [air, water, grass] = [0, 1, 2].map(|id| table.materials()[id].clone());
        MaterialTable::new(vec![air, grass.clone(), grass, water]);
    }

    #[test]
    #[should_panic(expected = "only material 0 is air")]
    fn a_second_air_is_refused() {
        let mut materials = MaterialTable::default().materials().to_vec();
        materials[3].kind = Kind::Air;
        MaterialTable::new(materials);
    }
}
