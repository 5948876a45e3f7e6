//! Ids in the default material table that generators use.

pub(super) const GRASS: u8 = 2;
pub(super) const SLATE: u8 = 3;
pub(super) const SAND: u8 = 6;
pub(super) const ROCK: u8 = 8;
pub(super) const GLACIER: u8 = 9;
pub(super) const SNOW: u8 = 10;
pub(super) const SANDSTONE: u8 = 11;
pub(super) const MUD: u8 = 12;
pub(super) const BASALT: u8 = 13;
pub(super) const GROUND: u8 = 14;
pub(super) const CRACKED_LAVA: u8 = 15;
pub(super) const COBBLESTONE: u8 = 17;
pub(super) const ICE: u8 = 18;
pub(super) const LEAFY_GRASS: u8 = 19;
pub(super) const SALT: u8 = 20;
pub(super) const LIMESTONE: u8 = 21;
