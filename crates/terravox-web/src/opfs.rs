//! Files of the browser (the origin private file system) as disks of a store.

use js_sys::{Object, Reflect};
use std::io;
use terravox_store::Disk;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A file that a worker has opened for itself.
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

fn io_error(error: JsValue) -> io::Error {
    let text = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    io::Error::other(text.unwrap_or_else(|| "the browser refused".to_owned()))
}

/// The options of reading and writing at an offset.
fn at(offset: u64) -> io::Result<Object> {
    let options = Object::new();
    Reflect::set(&options, &"at".into(), &JsValue::from_f64(offset as f64)).map_err(io_error)?;
    Ok(options)
}

impl Disk for SyncAccessHandle {
    fn length(&self) -> io::Result<u64> {
        self.get_size().map(|size| size as u64).map_err(io_error)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let count = out.len();
        match self.read(out, &at(offset)?).map_err(io_error)? as usize == count {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self.write(bytes, &at(offset)?).map_err(io_error)? as usize == bytes.len() {
            true => Ok(()),
            false => Err(io::Error::other("the disk is full: free some space")),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.flush().map_err(io_error)
    }
}
