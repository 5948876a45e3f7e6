//! Files that claim what they do not have, or that name each other: each is refused in one line.

use super::sample::*;
use super::*;
use crate::import_budget::{ImportBudget, ImportLimits};
use terravox::voxel::VoxelGrid;

/// Imports a file that must be refused; returns the line.
fn refused(bytes: &[u8]) -> String {
    let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(bytes.len()));
    let error = import(bytes, &VoxOptions::default(), &mut budget, &mut grid, |_, _| {});
    let line = error.expect_err("an error").to_string();
    assert!(!line.contains('\n') && line.len() < 300, "{line}");
    line
}

fn refused_with(chunks: &[Vec<u8>], words: &str) {
    let line = refused(&file(chunks));
    assert!(line.contains(words), "no {words:?} in: {line}");
}

fn dot() -> Vec<u8> {
    model([1, 1, 1], &[[0, 0, 0, 1]])
}

/// A transform without a frame's attributes.
fn below(id: u32, child: u32) -> Vec<u8> {
    transform([id, child, 0], &[], &[])
}

#[test]
fn other_formats_versions_and_empty_files() {
    assert!(refused(b"").starts_with("not a MagicaVoxel file: it starts with bytes , but"));
    assert!(refused(b"RIFF1234").contains("52 49 46 46 31 32 33 34"));
    let mut bytes = file(&[dot()]);
    bytes[4] = 201;
    assert!(refused(&bytes).starts_with("version 201, but only 150 to 200"));
    bytes[4..12].copy_from_slice(b"\x96\0\0\0MEIN");
    assert!(refused(&bytes).contains("byte 12: the first chunk is not MAIN"));
    refused_with(&[], "the file holds no model");
    refused_with(&[chunk(b"RGBA", &[1; 1024])], "the file holds no model");
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = scene();
    for length in 0..bytes.len() {
        let line = refused(&bytes[..length]);
        assert!(length < 4 || line.starts_with("byte "), "{length}: {line}");
    }
}

#[test]
fn counts_and_lengths_of_four_gigabytes() {
    let most = &numbers(&[u32::MAX])[..];
    let size = chunk(b"SIZE", &numbers(&[1, 1, 1]));
    let voxels = [most, &[0, 0, 0, 1]].concat();
    refused_with(
        &[size.clone(), chunk(b"XYZI", &voxels)],
        "4294967295 voxels would take 17179869180",
    );
    let long = [&b"XYZI"[..], most, &[0; 4]].concat();
    refused_with(&[size.clone(), long], "a chunk would take 4294967295 bytes, but 0 are left");
    let children = [&b"LAYR"[..], &[0; 4], most].concat();
    refused_with(&[children], "what is in a chunk would take 4294967295 bytes");
    refused_with(&[chunk(b"XYZI", &[0; 4])], "a model has no size");
    refused_with(&[size, chunk(b"SIZE", &[0; 8])], "the size of a model would take 4 bytes, but 0");
    let many = |head: &[u32], kind| [dot(), chunk(kind, &numbers(head))];
    refused_with(&many(&[0, 0, u32::MAX, 7], b"nGRP"), "4294967295 children would take");
    refused_with(&many(&[0, u32::MAX, 7], b"nTRN"), "a key would take 7 bytes, but 0 are left");
    refused_with(&many(&[0, 1, u32::MAX], b"nSHP"), "a key would take 4294967295 bytes");
    refused_with(&many(&[0, 1], b"MATL"), "the length of a key would take 4 bytes");
    refused_with(&many(&[0, 0, 0], b"nSHP"), "scene node 0: it has no model");
    refused_with(&[dot(), chunk(b"RGBA", &[0; 1000])], "fewer than 255 colours");
}

#[test]
fn models_of_two_gigavoxels_and_voxels_outside_of_their_model() {
    let edge = i32::MAX as u32;
    refused_with(&[model([edge, 1, 1], &[])], "model 0: its size is 2147483647 × 1 × 1, at most");
    refused_with(&[dot(), model([257, 1, 1], &[])], "model 1: its size is 257");
    let outside = model([3, 2, 1], &[[0, 0, 0, 1], [2, 2, 0, 1]]);
    refused_with(&[outside], "model 0: voxel 1 at (2, 2, 0) lies outside of its 3 × 2 × 1");
    refused_with(&[model([0, 0, 0], &[[0, 0, 0, 1]])], "lies outside");
}

#[test]
fn nodes_that_are_missing_there_twice_or_of_no_use() {
    refused_with(&[dot(), below(0, 1)], "scene node 0: its child 1 is missing");
    refused_with(&[dot(), below(0, 1), shape(1, &[4])], "scene node 1: it shows model 4");
    refused_with(&[dot(), below(0, 1), below(0, 1)], "scene node 0: it is there twice");
    let turned = |key, value| [dot(), transform([0, 1, 0], &[], &[(key, value)]), shape(1, &[0])];
    for rotation in ["0", "3", "256", "-1", "", "x"] {
        refused_with(&turned("_r", rotation), &format!("{rotation:?} is no rotation"));
    }
    for translation in ["1 2", "1 2 3 4", "1 2 3000000000", "a b c", ""] {
        refused_with(&turned("_t", translation), &format!("{translation:?} is no translation"));
    }
}

#[test]
fn nodes_below_themselves() {
    refused_with(&[dot(), below(0, 0)], "scene node 0 is below itself");
    let ring = [dot(), below(0, 1), group(1, &[2, 3]), below(2, 4), below(3, 1), shape(4, &[0])];
    refused_with(&ring, "scene node 1 is below itself");
}

#[test]
fn nodes_deeper_than_any_scene() {
    let chain: Vec<Vec<u8>> = (0..5000).map(|id| below(id, id + 1)).collect();
    let chunks = [vec![dot()], chain, vec![shape(5000, &[0])]].concat();
    refused_with(&chunks, "scene nodes: nested 1025 deep, at most 1024");
}

/// Each group has the next one twice: 2^40 shapes from 41 nodes.
#[test]
fn groups_that_double() {
    let doubling = |visible: bool| {
        let groups = (0..40).map(|id| group(id, &[id + 1, id + 1]));
        let last = if visible { shape(40, &[0]) } else { group(40, &[]) };
        [vec![dot()], groups.collect(), vec![last]].concat()
    };
    for visible in [true, false] {
        let bytes = file(&doubling(visible));
        let limits = ImportLimits { memory_bytes: 8 << 20, work: 1 << 26, depth: 64 };
        let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::new(limits));
        let options = VoxOptions::default();
        let error = import(&bytes, &options, &mut budget, &mut grid, |_, _| {});
        let line = error.expect_err("an error").to_string();
        assert!(line.starts_with("its scene: "), "{line}");
        assert!(line.ends_with("raise the limits if you trust the file"), "{line}");
        assert!(grid.is_empty());
    }
}

#[test]
fn positions_beyond_the_limits_of_a_grid() {
    let at = |frame: &[(&str, &str)]| {
        [dot(), transform([0, 1, 0], &[], frame), below(1, 2), shape(2, &[0])]
    };
    refused_with(&at(&[("_t", "1073741824 0 0")]), "model 0 would reach voxel 1073741825");
    refused_with(&at(&[("_t", "0 0 -1073741825")]), "voxel -1073741825 of the world, but only");
    refused_with(&at(&[("_t", "-2147483648 0 0")]), "voxel -2147483648");
    let twice = [dot(), transform([0, 1, 0], &[], &[("_t", "0 2147483647 0")]), group(1, &[2])];
    let last = [transform([2, 3, 0], &[], &[("_t", "0 2147483647 0")]), shape(3, &[0])];
    refused_with(&[&twice[..], &last].concat(), "model 0 would reach voxel -4294967295");
}

#[test]
fn one_model_again_and_again() {
    let full = |x: u8| (0..=255).map(move |y| [x, y, 0, 1]);
    let voxels: Vec<[u8; 4]> = (0..=255).flat_map(full).collect();
    let placed = vec![1; 4000];
    let chunks = [model([256, 256, 1], &voxels), group(0, &placed), shape(1, &[0])];
    refused_with(&chunks, "its voxels: ");
}

#[test]
fn a_scene_that_shows_nothing_is_a_note() {
    for chunks in [
        vec![model([0, 0, 0], &[])],
        vec![model([1, 1, 1], &[[0, 0, 0, 0]])],
        vec![dot(), group(0, &[])],
        vec![dot(), transform([0, 1, 0], &[("_hidden", "1")], &[])],
        vec![dot(), transform([0, 1, 5], &[], &[]), layer(5, &[("_hidden", "1")])],
    ] {
        let bytes = file(&chunks);
        let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(bytes.len()));
        let imported = import(&bytes, &VoxOptions::default(), &mut budget, &mut grid, |_, _| {});
        let imported = imported.expect("a scene");
        assert_eq!((imported.voxels, imported.chunks), (0, 0));
        assert!(imported.notes[0].starts_with("the scene shows no voxels"), "{imported:?}");
        assert!(grid.is_empty());
    }
}
