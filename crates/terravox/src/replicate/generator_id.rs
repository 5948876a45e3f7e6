//! What made the ground of a world, by name.

use crate::generate::{Hills, Seeded};

/// The generator that made the ground of a world: what a guest needs to make the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorId {
    /// Its name, at most 200 bytes.
    pub name: String,
    /// Its version: another one makes other ground.
    pub version: u32,
    /// Its parameters, such as a seed, at most 4,096 bytes.
    pub parameters: Vec<u8>,
}

impl GeneratorId {
    /// The generator [`Hills`] with a seed: its parameters are the eight bytes of the seed, the
    /// lowest first.
    pub fn of_hills(seed: u64) -> GeneratorId {
        let parameters = seed.to_le_bytes().to_vec();
        GeneratorId { name: Hills::NAME.to_owned(), version: Hills::VERSION, parameters }
    }

    /// A generator of this crate by the name that worlds are saved with, and the eight bytes of the
    /// seed, the lowest first.
    pub fn of(seeded: &Seeded) -> GeneratorId {
        let parameters = seeded.seed().to_le_bytes().to_vec();
        GeneratorId { name: seeded.stored_name(), version: seeded.version(), parameters }
    }

    /// Returns the generator if it is one of this crate, of the version that it has.
    ///
    /// ```
    /// use terravox::replicate::GeneratorId;
    ///
    /// let fjords = "world:7:fjords".parse()?;
    /// assert_eq!(GeneratorId::of(&fjords).seeded(), Some(fjords));
    /// # Ok::<(), terravox::generate::SeededError>(())
    /// ```
    pub fn seeded(&self) -> Option<Seeded> {
        let seed = <[u8; 8]>::try_from(self.parameters.as_slice()).ok()?;
        Seeded::of_stored(&self.name, self.version, u64::from_le_bytes(seed))
    }

    /// Returns the generator if it is [`Hills`] of the version that this crate has.
    ///
    /// ```
    /// use terravox::replicate::GeneratorId;
    ///
    /// assert!(GeneratorId::of_hills(7).hills().is_some());
    /// let newer = GeneratorId { version: 999, ..GeneratorId::of_hills(7) };
    /// assert!(newer.hills().is_none()); // all cells have to be sent
    /// ```
    pub fn hills(&self) -> Option<Hills> {
        let is_ours = self.name == Hills::NAME && self.version == Hills::VERSION;
        let seed = <[u8; 8]>::try_from(self.parameters.as_slice()).ok().filter(|_| is_ours)?;
        Some(Hills::new(u64::from_le_bytes(seed)))
    }
}
