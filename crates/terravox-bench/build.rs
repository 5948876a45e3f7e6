//! Builds the C++ peers' thin layer when asked to and when they are there.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(cpp_peers)");
    println!("cargo::rerun-if-changed=peers-cpp");
    #[cfg(feature = "cpp-peers")]
    cpp_peers();
}

/// Says aloud what is missing and goes on without: a build with all features must not
/// need what cargo cannot fetch.
#[cfg(feature = "cpp-peers")]
fn cpp_peers() {
    const NEEDED: [&str; 2] =
        ["/usr/include/embree3/rtcore.h", "/usr/include/bullet/btBulletCollisionCommon.h"];
    if let Some(missing) = NEEDED.iter().find(|path| !std::path::Path::new(path).is_file()) {
        println!("cargo::warning=without Embree and Bullet: there is no {missing}");
        return;
    }
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).include("/usr/include/bullet").warnings(false);
    for file in ["peers-cpp/embree.cpp", "peers-cpp/bullet.cpp"] {
        println!("cargo::rerun-if-changed={file}");
        build.file(file);
    }
    if let Err(error) = build.try_compile("terravox_cpp_peers") {
        println!("cargo::warning=without Embree and Bullet: {error}");
        return;
    }
    for library in ["embree3", "BulletCollision", "LinearMath"] {
        println!("cargo::rustc-link-lib={library}");
    }
    println!("cargo::rustc-cfg=cpp_peers");
}
