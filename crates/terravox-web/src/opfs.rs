//! Files of the browser (the origin private file system) as disks of a store.

use js_sys::{Object, Reflect};
use std::{fmt, io};
use terravox_store::Disk;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A file of the origin private file system that this worker alone has open.
    #[wasm_bindgen(js_name = FileSystemSyncAccessHandle)]
    pub type SyncAccessHandle;

    #[wasm_bindgen(method, catch, js_name = getSize)]
    fn get_size(this: &SyncAccessHandle) -> Result<f64, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn read(this: &SyncAccessHandle, out: &mut [u8], options: &Object) -> Result<f64, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn write(this: &SyncAccessHandle, bytes: &[u8], options: &Object) -> Result<f64, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn flush(this: &SyncAccessHandle) -> Result<(), JsValue>;
}

/// Up to here, a double has all integers.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Returns the error of what was attempted, such as "flushing the file".
fn refused(attempt: impl fmt::Display) -> impl FnOnce(JsValue) -> io::Error {
    move |error| {
        let text = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
        let text = text.unwrap_or_else(|| "no reason was given".to_owned());
        io::Error::other(format!("the browser refused {attempt}: {text}"))
    }
}

/// The options of reading and writing at an offset.
fn at(offset: u64) -> io::Result<Object> {
    let options = Object::new();
    let set = Reflect::set(&options, &"at".into(), &JsValue::from_f64(offset as f64));
    set.map_err(refused(format_args!("setting the offset {offset}")))?;
    Ok(options)
}

impl Disk for SyncAccessHandle {
    fn length(&self) -> io::Result<u64> {
        let size = self.get_size().map_err(refused("telling the length of the file"))?;
        // A promise, as in browsers of 2022, would pass for an empty file, and a new world be
        // written over the one that is there.
        if !(0.0..MAX_SAFE_INTEGER).contains(&size) {
            return Err(io::Error::other(format!("the browser tells a length of {size} bytes")));
        }
        Ok(size as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let len = out.len();
        let attempt = format_args!("reading {len} bytes at {offset}");
        let n = self.read(out, &at(offset)?).map_err(refused(attempt))? as usize;
        if n != len {
            let what = format!("the file ends after {n} of {len} bytes at {offset}");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.len();
        let attempt = format_args!("writing {len} bytes at {offset}");
        let n = self.write(bytes, &at(offset)?).map_err(refused(attempt))? as usize;
        if n != len {
            return Err(io::Error::other(format!(
                "only {n} of {len} bytes were written; free some space and try again"
            )));
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.flush().map_err(refused("flushing the file"))
    }
}
