//! Plain data goes through JSON and back: what a game keeps in its settings and messages.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use terravox::bodies::LooseOptions;
use terravox::collide::{ColliderOptions, Filter, Ray};
use terravox::contacts::Submersion;
use terravox::edit::{EditOp, Volume};
use terravox::generate::{Deep, Fractal, Hills, Noise2};
use terravox::lod::LodOptions;
use terravox::mesh::shade::{LayerTable, SlopeRule};
use terravox::particles::EffectOptions;
use terravox::scatter::{Instance, ScatterRule};
use terravox::terrain::{Placement, RayOutcome, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{Cell, Material, MaterialTable, MipBlock, Region, VoxelPos};

fn there_and_back<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it is plain data");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn assert_comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    assert_eq!(there_and_back(&value), value);
}

#[test]
fn plain_data_comes_back() {
    assert_comes_back(MaterialTable::default());
    assert_comes_back(LodOptions::default());
    assert_comes_back(ColliderOptions::default());
    assert_comes_back(LooseOptions::default());
    assert_comes_back(EffectOptions::default());
    assert_comes_back(SlopeRule::default());
    assert_comes_back(LayerTable::new(&MaterialTable::default()));
    assert_comes_back(Viewer::at([1.0, 2.0, 3e7]));
    assert_comes_back(Placement { voxel_size_m: 0.25, origin_m: [1e9, 0.0, -3.5] });
    assert_comes_back(Region::new([-1, 2, -3], [4, 5, 6]));
    assert_comes_back(MipBlock::new(3, VoxelPos::new(-7, 0, 9)));
    assert_comes_back(Cell::new(8, 77));
    assert_comes_back(Volume::from(vec![(2, 300), (255, 1)]));
    assert_comes_back((Hills::new(7), Noise2::new(8), Deep { depth: 4.0, material: 8 }));
    assert_comes_back(EditOp::dig_ball([1.5, 0.0, -2.0], 3.0));
    assert_comes_back((Filter::SOLID, Submersion::default()));
    assert_comes_back(Fractal::new(3, 100.0, 20.0));
    assert_comes_back((ScatterRule::default(), Instance::default()));
    assert_comes_back(Ray { origin: [0.0; 3], direction: [0.0, -1.0, 0.0], max_distance: 9.0 });
}

#[test]
fn options_may_name_only_what_differs() {
    let text = r#"{ "placement": { "voxel_size_m": 0.5, "origin_m": [0, 0, 0] },
                    "lod": { "detail": 2.0 } }"#;
    let options: TerrainOptions = serde_json::from_str(text).expect("the rest is as usual");
    assert_eq!(options.lod, LodOptions { detail: 2.0, ..LodOptions::default() });
    let terrain = Terrain::new(there_and_back(&options));
    assert_eq!(terrain.placement().voxel_size_m, 0.5);
    let rule: ScatterRule = serde_json::from_str(r#"{ "spacing_voxels": 6 }"#).expect("as usual");
    assert_eq!(rule, ScatterRule { spacing_voxels: 6.0, ..ScatterRule::default() });
    let outcome = terrain.ray([0.0; 3], [0.0, -1.0, 0.0], 9.0);
    assert!(matches!(there_and_back(&outcome), RayOutcome::Unknown(_)));
}

#[test]
fn a_material_table_that_cannot_be_is_an_error_that_names_the_field() {
    let error = |change: fn(&mut Vec<Material>)| {
        let mut materials = MaterialTable::default().materials().to_vec();
        change(&mut materials);
        let text = serde_json::to_string(&materials).expect("it is plain data");
        serde_json::from_str::<MaterialTable>(&text).expect_err("it cannot be").to_string()
    };
    let friction = error(|materials| materials[2].friction = -1.0);
    assert!(friction.contains("material 2 (Grass): friction is -1; it must be"), "{friction}");
    let restitution = error(|materials| materials[9].restitution = 1.5);
    assert!(restitution.contains("restitution is 1.5; it must be 0 to 1"), "{restitution}");
    let air = error(|materials| drop(materials.remove(0)));
    assert!(air.contains("material 0 (Water): its kind must be air"), "{air}");
}
