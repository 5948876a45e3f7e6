//! The machine on which figures are measured.

use std::fmt;
use std::process::Command;

use serde_json::{Value, json};

/// The machine and the build, as far as known.
pub struct Machine {
    /// Processor name.
    cpu: String,
    /// Cores that this process may use.
    cores: usize,
    /// Vector extensions that matter here.
    features: Vec<&'static str>,
    os: String,
    compiler: String,
    /// Load average of the last minute.
    load: Option<f64>,
}

impl Machine {
    /// This machine.
    pub fn this() -> Machine {
        Machine {
            cpu: cpu_name().unwrap_or_else(|| std::env::consts::ARCH.to_string()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            features: features(),
            os: std::env::consts::OS.to_string(),
            compiler: compiler().unwrap_or_else(|| "unknown compiler".to_string()),
            load: load(),
        }
    }

    /// As one JSON object.
    pub fn json(&self) -> Value {
        json!({"cpu": self.cpu, "cores": self.cores, "features": self.features, "os": self.os,
            "arch": std::env::consts::ARCH, "compiler": self.compiler, "load_1min": self.load,
            "optimised": !cfg!(debug_assertions)})
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cpu, cores, features, os, compiler, load } = self;
        let features = if features.is_empty() { "none".to_string() } else { features.join(" ") };
        write!(f, "{cpu}, {cores} cores, {os}; vector extensions: {features}; {compiler}")?;
        if let Some(load) = load {
            write!(f, "; load {load}")?;
        }
        if cfg!(debug_assertions) {
            write!(f, "\nTHIS BUILD IS NOT OPTIMISED: use --release")?;
        }
        Ok(())
    }
}

/// Linux' name of the first processor.
fn cpu_name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let name = field("model name")?;
    let family = field("cpu family").zip(field("model"));
    Some(family.map_or(name.clone(), |(family, model)| format!("{name} ({family}/{model})")))
}

fn features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let found = [
            ("avx2", std::arch::is_x86_feature_detected!("avx2")),
            ("bmi2", std::arch::is_x86_feature_detected!("bmi2")),
            ("avx512bw", std::arch::is_x86_feature_detected!("avx512bw")),
        ];
        found.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

fn compiler() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (!text.trim().is_empty()).then(|| text.trim().to_string())
}

fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_names_its_processor_and_says_if_the_build_is_slow() {
        let text = Machine::this().to_string();
        assert!(text.contains("cores"));
        assert_eq!(text.contains("NOT OPTIMISED"), cfg!(debug_assertions));
    }
}
