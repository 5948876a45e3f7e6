//! The ground rules of meshing, one cell, corner or vertex at a time.
//!
//! | file | what it defines |
//! |---|---|
//! | [`block`] | the padded box of a block |
//! | [`cells`] | which cells are inside and outside a surface, and the stencil around a cell |
//! | [`face`] | the six directions of a face, and its four corners |
//! | [`corner`] | how the faces at a corner connect to sheets |
//! | [`plane`] | the plane that a cell contributes |
//! | [`thin`] | the planes of cells one cell thick |
//! | [`place`] | the vertex of a sheet from its planes |
//! | [`blend`] | the materials of a vertex |
//! | [`vertex`] | all of it together: the vertex of a sheet at a corner of a block |
//! | [`split`] | edges that two solids share, split |
//! | [`boundary`] | the sides, edges and corners of a block |
//!
//! Nothing here knows how a mesh is stored, so the mesher and its naive twin share these
//! definitions and nothing else.

pub(crate) mod blend;
pub(crate) mod block;
pub(crate) mod boundary;
pub(crate) mod cells;
pub(crate) mod corner;
pub(crate) mod face;
pub(crate) mod place;
pub(crate) mod plane;
pub(crate) mod split;
pub(crate) mod thin;
pub(crate) mod vertex;
