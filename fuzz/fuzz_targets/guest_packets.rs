#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| terravox_fuzz::checks::guest_packets(bytes));
