//! Checking a whole world file: checksums, structure, and that its parts agree.

use crate::error::{BadPart, StoreError, StoredPart};
use crate::guard::guarded;
use crate::key::{BlockKey, KEY_BYTES, ranges};
use crate::listing::page_of;
use crate::pyramid::{CHUNK_MIP, extract, rebuild};
use crate::read::{CellsTable, entry_bytes, read_block};
use crate::store::{ReadView, Store};
use crate::value::ValueError;
use std::collections::{BTreeMap, BTreeSet};
use terravox::voxel::{ChunkPos, DenseBox, MAX_MIP, Region};

/// The result of [`Store::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Chunks that are listed.
    pub chunks: usize,
    /// Blocks of coarse mips that are stored.
    pub mip_blocks: usize,
    /// Bytes of the values of both.
    pub value_bytes: u64,
    /// Damaged parts; empty for an intact world.
    pub bad: Vec<BadPart>,
}

impl Store {
    /// Checks everything: the database's own checksums and structure, every chunk and coarse
    /// block, that the listings and the chunks agree, and that every coarse cell agrees with the
    /// finer ones. Memory is bounded by a block and its children.
    ///
    /// The database may repair redundant data while it checks.
    ///
    /// # Errors
    /// If the file cannot be read or was opened read-only.
    pub fn verify(&mut self) -> Result<Verification, StoreError> {
        let mut report = Verification::default();
        self.check_database(&mut report)?;
        let store = &*self;
        let view = store.begin_read()?;
        let table = store.cells_table(&view.transaction)?;
        let listed = store.stored_chunks(&view.transaction, &table, &mut report.bad)?;
        report.chunks = listed.len();
        let mut expected: BTreeSet<[u8; KEY_BYTES]> =
            listed.iter().map(|&chunk| BlockKey::chunk(chunk).bytes()).collect();
        Store::check_chunks(&view, &table, &mut expected, &mut report);
        for missing in expected {
            if let Some(key) = BlockKey::from_bytes(&missing) {
                report
                    .bad
                    .push(BadPart { part: StoredPart::block(key), what: ValueError::Missing });
            }
        }
        for mip in 1..=MAX_MIP {
            Store::check_mip(&view, &table, &listed, mip, &mut report);
        }
        Ok(report)
    }

    /// The integrity check of the database.
    fn check_database(&mut self, report: &mut Verification) -> Result<(), StoreError> {
        let path = self.path().to_owned();
        let db = self.db_mut().writer(&path)?;
        let what = match guarded(|| db.check_integrity()) {
            Ok(true) => return Ok(()),
            Ok(false) => "it was not closed properly; repaired".to_owned(),
            Err(fault) => fault.text(),
        };
        let what = ValueError::Database(what);
        report.bad.push(BadPart { part: StoredPart::Database, what });
        Ok(())
    }

    /// Checks all stored chunks and removes them from `expected`.
    fn check_chunks(
        view: &ReadView,
        table: &CellsTable,
        expected: &mut BTreeSet<[u8; KEY_BYTES]>,
        report: &mut Verification,
    ) {
        let mut coder = view.coder();
        let mut cells = DenseBox::default();
        walk(table, 0, report, |key, value, report| {
            let listed = expected.remove(&key.bytes());
            let decoded = coder.decode(key, value, &mut cells);
            let fault = match decoded {
                Ok(()) if !key.within_limits() => Some(ValueError::Key),
                Ok(()) if !listed => Some(ValueError::NotListed),
                Ok(()) => None,
                Err(what) => Some(what),
            };
            report.bad.extend(fault.map(|what| BadPart { part: StoredPart::block(key), what }));
        });
    }

    /// Checks that every block of a mip, stored or not, agrees with the finer ones.
    fn check_mip(
        view: &ReadView,
        table: &CellsTable,
        listed: &[ChunkPos],
        mip: u8,
        report: &mut Verification,
    ) {
        let mut keys: BTreeMap<[u8; KEY_BYTES], Vec<ChunkPos>> = BTreeMap::new();
        for &chunk in listed {
            keys.entry(BlockKey::over(chunk, mip).bytes()).or_default().push(chunk);
        }
        walk(table, mip, report, |key, _, report| {
            report.mip_blocks += 1;
            keys.entry(key.bytes()).or_default();
        });
        let mut coder = view.coder();
        let (mut stored, mut made) = (DenseBox::default(), DenseBox::default());
        for (key, listed) in &keys {
            let Some(key) = BlockKey::from_bytes(key) else { continue };
            let fault = match read_block(table, &mut coder, key, &mut stored) {
                Err(what) => Some(what),
                Ok(_) => {
                    let read = |key, out: &mut DenseBox| {
                        read_block(table, &mut coder, key, out).map(|_| ())
                    };
                    // A damaged finer block was reported already; there is nothing to compare
                    // this one with.
                    let bad = rebuild(key, &view.info.materials, read, &mut made);
                    if view.info.grows() {
                        // The rest is the generator's.
                        made = decided(&made, &stored, mip, listed);
                    }
                    (bad.is_none() && made != stored).then_some(ValueError::NotTheMip)
                }
            };
            report.bad.extend(fault.map(|what| BadPart { part: StoredPart::block(key), what }));
        }
    }
}

/// For a block of a world that grows: the cells of `made` under the chunks `listed`, and those of
/// `stored` elsewhere.
fn decided(made: &DenseBox, stored: &DenseBox, mip: u8, listed: &[ChunkPos]) -> DenseBox {
    let mut regions: Vec<Region> = match mip {
        0..=CHUNK_MIP => listed.iter().map(|chunk| chunk.region()).collect(),
        _ => listed.iter().map(|&chunk| page_of(chunk).region()).collect(),
    };
    regions.sort_unstable_by_key(|region| region.min);
    regions.dedup();
    let (mut cells, mut part) = (stored.clone(), DenseBox::default());
    for region in regions {
        extract(made, region.coarser(mip.into()), &mut part);
        cells.copy_from(&part);
    }
    cells
}

/// Calls `visit` with all stored blocks of a mip, and reports where the table ends early.
fn walk(
    table: &CellsTable,
    mip: u8,
    report: &mut Verification,
    mut visit: impl FnMut(BlockKey, &[u8], &mut Verification),
) {
    let failed = |text: String| {
        let what = ValueError::Database(text);
        BadPart { part: StoredPart::Table("cells"), what }
    };
    for range in ranges(mip, Region::new([i32::MIN; 3], [i32::MAX; 3])) {
        let open = guarded(|| table.range::<&[u8; KEY_BYTES]>(range.start()..=range.end()));
        let mut entries = match open {
            Ok(entries) => entries,
            Err(fault) => return report.bad.push(failed(fault.text())),
        };
        loop {
            match guarded(|| entries.next().transpose()) {
                Ok(None) => break,
                Err(fault) => return report.bad.push(failed(fault.text())),
                Ok(Some(entry)) => {
                    let (key, value) = match entry_bytes(&entry) {
                        Ok(entry) => entry,
                        Err(fault) => return report.bad.push(failed(fault.text())),
                    };
                    report.value_bytes += value.len() as u64;
                    match BlockKey::from_bytes(&key) {
                        Some(key) => visit(key, value, report),
                        None => {
                            let what = ValueError::Key;
                            report.bad.push(BadPart { part: StoredPart::Table("cells"), what });
                        }
                    }
                }
            }
        }
    }
}
