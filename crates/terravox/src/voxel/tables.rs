//! What a grid consists of: pages, far blocks, materials, each behind a reference count.
//!
//! A [`Snapshot`](super::Snapshot) shares the tables of its grid and only reads them. The grid
//! copies a table when it writes to one that a snapshot shares.

use super::far::FarTable;
use super::material::MaterialTable;
use super::options::{GridOptions, UnlistedChunks};
use super::page::Page;
use super::position::PagePos;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub(super) type PageTable = FxHashMap<PagePos, Arc<Page>>;

#[derive(Clone, Default)]
pub(super) struct Tables {
    pages: Arc<PageTable>,
    far: Arc<FarTable>,
    materials: Arc<MaterialTable>,
    unlisted: UnlistedChunks,
}

impl Tables {
    pub fn new(options: GridOptions) -> Tables {
        let GridOptions { unlisted, materials } = options;
        Tables { materials: Arc::new(materials), unlisted, ..Tables::default() }
    }

    #[inline]
    pub fn pages(&self) -> &PageTable {
        &self.pages
    }

    #[inline]
    pub fn far(&self) -> &FarTable {
        &self.far
    }

    #[inline]
    pub fn materials(&self) -> &MaterialTable {
        &self.materials
    }

    #[inline]
    pub fn unlisted(&self) -> UnlistedChunks {
        self.unlisted
    }

    pub fn pages_mut(&mut self) -> &mut PageTable {
        Arc::make_mut(&mut self.pages)
    }

    pub fn far_mut(&mut self) -> &mut FarTable {
        Arc::make_mut(&mut self.far)
    }

    pub fn set_materials(&mut self, materials: MaterialTable) {
        self.materials = Arc::new(materials);
    }
}
