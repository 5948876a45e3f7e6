//! `terravox-studio`: see `terravox-studio --help`.

use std::process::ExitCode;

use terravox_studio::args::{Args, HELP};

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => return fail(&error),
    };
    if args.help {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    if args.version {
        println!("terravox-studio {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    #[cfg(feature = "window")]
    terravox_studio::look::seconds();
    terravox_studio::app::run(&args).unwrap_or_else(|error| fail(&error))
}

fn fail(error: &str) -> ExitCode {
    eprintln!("terravox-studio: {error}");
    ExitCode::from(2)
}
