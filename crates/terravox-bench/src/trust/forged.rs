//! Forged worlds of the store's own tests.

#[path = "../../../terravox-store/tests/it/forge/mod.rs"]
mod forge;
#[path = "../../../terravox-store/tests/it/forge/shapes.rs"]
mod shapes;

pub use shapes::SHAPES;

#[cfg(test)]
mod tests {
    use super::shapes::listed_world;
    use super::*;
    use crate::trust::folder::BenchFolder;
    use terravox_store::Store;

    #[test]
    fn forged_worlds_open_and_hold_what_was_forged() {
        let folder = BenchFolder::in_memory("forged").unwrap();
        let path = folder.file("world.tvx");
        for (name, file) in SHAPES {
            std::fs::write(&path, file(1200)).unwrap();
            let store = Store::open_read_only(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
            let bad = store.verify().unwrap().bad;
            // Bodies are valid, but many.
            assert_eq!(bad.is_empty(), name.contains("bodies"), "{name}");
        }
        std::fs::write(&path, listed_world(1024, 0xFF)).unwrap();
        let store = Store::open_read_only(&path).unwrap();
        assert_eq!(store.chunks().unwrap().len(), 1024);
        let loaded = store.load().unwrap();
        assert_eq!((loaded.bad.len(), loaded.grid.chunks().len()), (0, 1024));
    }
}
